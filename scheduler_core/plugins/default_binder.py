"""DefaultBinder: binds the pod to the node.

Upstream: pkg/scheduler/framework/plugins/defaultbinder. The simulation applies the binding to the cluster.
"""

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework.interface import BindPlugin, CycleState, Status
from scheduler_core.provenance.context import View
from scheduler_core.provenance.tree import Tree, constant


class DefaultBinder(BindPlugin):
    name = "DefaultBinder"

    def bind(self, state: CycleState, pod: PodInfo, node: str) -> Status | None:
        return None

    def explain_bind(self, state: CycleState, view: View) -> Tree:
        told = f"DefaultBinder writes {view.node.name} into the pod's spec.nodeName; it refuses nothing"
        return constant(False, "it refuses nothing").tells(told)
