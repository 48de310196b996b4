"""Runs predicates and priorities in place of framework plugins.

The extension points are those of `scheduler_core.framework.runtime`. In PreFilter, predicates prepare data that they
share between nodes (upstream's predicate metadata); it never rejects a pod. Source:
pkg/scheduler/core/generic_scheduler.go (podFitsOnNode, addNominatedPods).
"""

from collections.abc import Mapping
from typing import Any

from scheduler_core.api.profile import Profile
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import interface as fwk
from scheduler_core.framework.runtime import Framework
from scheduler_core.framework.status_merge import FIRST
from scheduler_core.framework.tie_break import Picker
from scheduler_core.preemption.victims import Candidate


class LegacyFramework(Framework):
    """The framework of one scheduler that has predicates and priorities."""

    def __init__(
        self,
        profile: Profile,
        registry: Mapping[str, type[fwk.Plugin]],
        cluster: Cluster,
        picker: Picker,
        percentage: int | None,
    ) -> None:
        own = {name: registry[kind] for name, kind in profile.kinds.items()}
        super().__init__(profile, {**registry, **own}, cluster, picker, percentage)
        for name, algorithm in self._plugins.items():
            setattr(algorithm, "name", name)  # noqa: B010  only of this instance; its class has a different name
        self.merges = FIRST if profile.always_check_all else 0
        self.tried: dict[str, tuple[Any, Candidate | fwk.Status]] = {}  # node -> inputs, result of preemption

    def run_pre_filter(
        self, state: fwk.CycleState, pod: PodInfo
    ) -> tuple[frozenset[str] | None, fwk.Status | None, list[str]]:
        """Let predicates prepare their data. No node is left out and no pod is rejected."""
        for predicate in self.pre_filter:
            predicate.pre_filter(state, pod)
        return None, None, []

    def run_filter(self, state: fwk.CycleState, pod: PodInfo) -> dict[str, fwk.Verdict]:
        """Return the verdict of each predicate over all nodes, in their order."""
        return {predicate.name: predicate.filter(state, pod) for predicate in self.filter}

    def refusals(
        self, state: fwk.CycleState, pod: PodInfo, verdicts: Mapping[str, fwk.Verdict], change: fwk.NodePodsChange
    ) -> dict[str, fwk.Status]:
        """Return the rejections of one node under a change, by predicate in their order."""
        found = {}
        for predicate in self.filter:
            if (change.added or change.removed) and predicate.filter_node is not None:
                status = predicate.filter_node(state, pod, change)
            else:
                status = verdicts[predicate.name].at(change.row)
            if status is not None:
                found[predicate.name] = status
        return found
