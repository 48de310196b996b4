"""TopologicalSort: sorts the pods of an AppGroup by the order of its workloads, others by priority.

Source: sigs.k8s.io/scheduler-plugins, pkg/networkaware/topologicalsort.
"""

from __future__ import annotations

from typing import Self

import msgspec

from scheduler_core.api.plugin_args import Complain, PluginArgs
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.errors import InputError
from scheduler_core.framework import interface as fwk
from scheduler_core.plugins.contrib.app_groups import APP_GROUP, WORKLOAD, bisected, found_in


class TopologicalSortArgs(PluginArgs, frozen=True, kw_only=True):
    """The namespaces in which AppGroups are searched."""

    namespaces: tuple[str, ...] = ()

    def finish(self, complain: Complain) -> Self:
        return msgspec.structs.replace(self, namespaces=self.namespaces or ("default",))


class TopologicalKey:
    """A key whose comparison is upstream's: equal pods of a group are less than each other."""

    def __init__(self, plugin: TopologicalSort, pod: PodInfo, timestamp: float) -> None:
        self.plugin, self.pod = plugin, pod
        self.group = pod.labels.get(APP_GROUP, "")
        self.by_priority = (-pod.priority, timestamp)

    def __lt__(self, other: TopologicalKey) -> bool:
        if not self.group or self.group != other.group:
            return self.by_priority < other.by_priority
        return self.plugin.position(self.pod) <= other.plugin.position(other.pod)


class TopologicalSort(fwk.QueueSortPlugin):
    name = "TopologicalSort"
    args_class = TopologicalSortArgs
    in_tree = False

    def sort_key(self, pod: PodInfo, timestamp: float) -> tuple[TopologicalKey]:
        return (TopologicalKey(self, pod, timestamp),)

    def position(self, pod: PodInfo) -> int:
        """Return the index of the pod's workload in its AppGroup; -1 if it has none. Raises InputError."""
        group = pod.labels[APP_GROUP]
        found = found_in(self.args.namespaces, group, self.cluster.app_groups)
        if found is None:
            where = ", ".join(self.args.namespaces)
            problem = f"is not in the cluster (namespace {where}): TopologicalSort makes kube-scheduler crash here"
            raise InputError(f"AppGroup {group}", "", problem)
        workload = pod.labels.get(WORKLOAD, "")
        entry = bisected(found.status.topology_order, workload, lambda one: one.workload.selector)
        return -1 if entry is None else entry.index
