"""DefaultBinder: binds the pod to the node.

Upstream: pkg/scheduler/framework/plugins/defaultbinder. What binding means to the cluster is the simulation's business.
"""

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework.interface import BindPlugin, CycleState, Status


class DefaultBinder(BindPlugin):
    name = "DefaultBinder"

    def bind(self, state: CycleState, pod: PodInfo, node: str) -> Status | None:
        return None
