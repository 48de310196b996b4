"""DefaultBinder: binds the pod to the node.

Upstream: pkg/scheduler/framework/plugins/defaultbinder. The simulation applies the binding to the cluster.
"""

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import interface as fwk
from scheduler_core.provenance.context import View
from scheduler_core.provenance.tree import Tree, constant

GATES = "SchedulingGates"
GATED = (
    'running Bind plugin "{plugin}": Operation cannot be fulfilled on pods/binding "{pod}": '
    "pod {pod} has non-empty .spec.schedulingGates"
)


class DefaultBinder(fwk.BindPlugin):
    name = "DefaultBinder"

    def bind(self, state: fwk.CycleState, pod: PodInfo, node: str) -> fwk.Status | None:
        """Return the API server's error if the pod has scheduling gates, which it knows since 1.27.

        Source: pkg/registry/core/pod/storage/storage.go (setPodNodeAndMetadata).
        """
        if pod.pod.spec.scheduling_gates and any(name == GATES for name, _ in self.cluster.release.default_plugins):
            return fwk.error(GATED.format(plugin=self.name, pod=pod.name))
        return None

    def explain_bind(self, state: fwk.CycleState, view: View) -> Tree:
        if view.pod.pod.spec.scheduling_gates:
            return constant(True, "has scheduling gates").with_text(GATED.format(plugin=self.name, pod=view.pod.name))
        text = f"DefaultBinder writes {view.node.name} into the pod's spec.nodeName; it refuses nothing"
        return constant(False, "it refuses nothing").with_text(text)
