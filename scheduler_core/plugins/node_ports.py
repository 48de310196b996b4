"""NodePorts: the host ports that a pod wants must be free.

Upstream: pkg/scheduler/framework/plugins/nodeports, pkg/scheduler/framework/types.go (HostPortInfo).
"""

import numpy as np

from scheduler_core.cluster.nodes import ports_conflict
from scheduler_core.cluster.pod_info import PodInfo
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
        removed = {other.key for other in change.removed}
        users = [p for p in self.cluster.nodes.pods_of(change.row) if p.host_ports and p.key not in removed]
        used: dict[tuple[str, int], set[str]] = {}
        for other in (*users, *change.added):
            for ip, protocol, port in other.host_ports:
                used.setdefault((protocol, port), set()).add(ip)
        clash = any(ports_conflict(ip, used.get((protocol, port), ())) for ip, protocol, port in pod.host_ports)
        return REJECTED if clash else None
