"""NodeUnschedulable: cordoned nodes take only pods that tolerate it.

Upstream: pkg/scheduler/framework/plugins/nodeunschedulable.
"""

from scheduler_core import selectors
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework.interface import PASSES, CycleState, FilterPlugin, Verdict, unresolvable
from scheduler_core.objects import Taint

REJECTED = unresolvable("node(s) were unschedulable")
TAINT = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class NodeUnschedulable(FilterPlugin):
    name = "NodeUnschedulable"

    def filter(self, state: CycleState, pod: PodInfo) -> Verdict:
        if any(selectors.tolerates(toleration, TAINT) for toleration in pod.pod.spec.tolerations):
            return PASSES
        nodes = self.cluster.nodes
        return nodes.memo(self.name, lambda: Verdict.reject(nodes.unschedulable, REJECTED))
