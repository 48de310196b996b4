"""DefaultBinder: binds the pod to the node.

Upstream: pkg/scheduler/framework/plugins/defaultbinder. The simulation applies the binding to the cluster.
"""

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import interface as fwk
from scheduler_core.provenance.context import View
from scheduler_core.provenance.tree import Tree, constant


class DefaultBinder(fwk.BindPlugin):
    name = "DefaultBinder"

    def bind(self, state: fwk.CycleState, pod: PodInfo, node: str) -> fwk.Status | None:
        return None

    def explain_bind(self, state: fwk.CycleState, view: View) -> Tree:
        text = f"DefaultBinder writes {view.node.name} into the pod's spec.nodeName; it refuses nothing"
        return constant(False, "it refuses nothing").with_text(text)
