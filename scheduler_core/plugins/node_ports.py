"""NodePorts: the host ports that a pod wants must be free.

Upstream: pkg/scheduler/framework/plugins/nodeports, pkg/scheduler/framework/types.go (HostPortInfo).
"""

import numpy as np

from scheduler_core.cluster.nodes import ports_conflict
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import events
from scheduler_core.framework.interface import (
    PASSES,
    SKIPPED,
    Change,
    CycleState,
    FilterPlugin,
    PreFilterPlugin,
    PreFilterResult,
    Status,
    Verdict,
    unschedulable,
)

REJECTED = unschedulable("node(s) didn't have free ports for the requested pod ports")


class NodePorts(PreFilterPlugin, FilterPlugin):
    name = "NodePorts"

    def pre_filter(self, state: CycleState, pod: PodInfo) -> Status | PreFilterResult | None:
        return SKIPPED if self.cluster.release.prefilter_skips and not pod.host_ports else None

    def filter(self, state: CycleState, pod: PodInfo) -> Verdict:
        if not pod.host_ports:
            return PASSES
        nodes = self.cluster.nodes
        taken = np.zeros(len(nodes), np.bool_)
        for ip, protocol, port in pod.host_ports:
            for name, used in nodes.host_ports.get((protocol, port), {}).items():
                row = nodes.rows.get(name)
                if row is not None and ports_conflict(ip, used):
                    taken[row] = True
        return Verdict.reject(taken, REJECTED)

    def filter_node(self, state: CycleState, pod: PodInfo, change: Change) -> Status | None:
        """Replays who came and went: upstream keeps a set, so of two users of a port the first to go frees it."""
        name = self.cluster.nodes.names[change.row]
        for ip, protocol, port in pod.host_ports:
            used = set(self.cluster.nodes.host_ports.get((protocol, port), {}).get(name, ()))
            for other, step in change.history:
                for other_ip, other_protocol, other_port in other.host_ports:
                    if (other_protocol, other_port) == (protocol, port):
                        (used.add if step > 0 else used.discard)(other_ip)
            if ports_conflict(ip, used):
                return REJECTED
        return None

    def events_to_register(self) -> list[events.EventHint]:
        return [
            events.registered(events.POD, events.DELETE, hint=self._after_pod_deleted),
            events.registered(events.NODE, events.ADD),
        ]

    def _after_pod_deleted(self, pod: PodInfo, old: PodInfo, new: None) -> bool:
        """A pod that had, or was promised, a place freed a port that the pod wants."""
        if not old.node and not old.nominated_node:
            return False
        freed: dict[tuple[str, int], set[str]] = {}
        for ip, protocol, port in old.host_ports:
            freed.setdefault((protocol, port), set()).add(ip)
        return any(ports_conflict(ip, freed.get((protocol, port), ())) for ip, protocol, port in pod.host_ports)
