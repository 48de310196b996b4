"""SchedulingGates: keeps pods with scheduling gates out of the active queue.

Upstream: pkg/scheduler/framework/plugins/schedulinggates.
"""

from scheduler_core.api.objects import Pod
from scheduler_core.cluster import formatting
from scheduler_core.cluster.formatting import listing
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import causes, events
from scheduler_core.framework import interface as fwk
from scheduler_core.framework.causes import Obstacle
from scheduler_core.framework.rejection_context import RejectionContext
from scheduler_core.provenance.context import View
from scheduler_core.provenance.tree import Tree, constant, equal, opposite, some

KUEUE_GATE = "kueue.x-k8s.io/admission"
"""Kueue deletes a pod that loses this gate before its Workload is admitted.

Source: kubernetes-sigs/kueue pkg/controller/jobframework/reconciler.go and Stop in
pkg/controller/jobs/pod/pod_controller.go.
"""
OWNERS = {
    "kueue.x-k8s.io/topology": "Kueue removes it when it has assigned the pod to a topology domain",
    "kueue.x-k8s.io": "Kueue removes it when the quota of the pod's queue admits its Workload",
    "volcano.sh": "Volcano removes it when the pod's queue has capacity",
    "grove.io": "Grove removes it when the pod's PodGang exists",
    "multiarch.openshift.io": "the Multiarch Tuning Operator removes it when it has inspected the pod's images",
    "run.ai": "Run:ai removes it",
    "ApplicationAwareQuotaGate": "Application Aware Quota removes it when the quota of the namespace admits the pod",
}
"""Gate, or the end of its domain -> the controller that removes it, as a part of a sentence.

Source: kubernetes-sigs/kueue pkg/constants, apis/kueue/v1beta1 (TopologySchedulingGate); volcano-sh/apis
QueueAllocationGateKey; ai-dynamo/grove podGangSchedulingGate; openshift/multiarch-tuning-operator; kubevirt
application-aware-quota.
"""


def gate_owner(gate: str) -> str:
    """Return which controller removes the gate, as a part of a sentence; "" if that is not known."""
    domain = f".{gate.partition('/')[0]}"
    return OWNERS.get(gate) or next((text for end, text in OWNERS.items() if domain.endswith(f".{end}")), "")


def gates_of_controllers(pod: Pod) -> str:
    """Return which controllers remove gates of the pod, as a sentence; "" if none is known.

    Such a gate is not to be removed by hand, because the controller has a reason to keep it, such as a quota.
    """
    found: dict[str, list[str]] = {}
    for gate in pod.spec.scheduling_gates:
        if text := gate_owner(gate.name):
            found.setdefault(text, []).append(gate.name)
    parts = [f"{listing(gates)}: {text}" for text, gates in found.items()]
    return f"{'; '.join(parts)}." if parts else ""


class SchedulingGates(fwk.PreEnqueuePlugin):
    name = "SchedulingGates"
    cause = causes.GATED
    effort = 1.0
    pod_fields = ("schedulingGates",)

    def pre_enqueue(self, pod: PodInfo) -> fwk.Status | None:
        gates = pod.pod.spec.scheduling_gates
        if not gates:
            return None
        return fwk.unresolvable(f"waiting for scheduling gates: [{' '.join(gate.name for gate in gates)}]")

    @classmethod
    def pod_obstacle(cls, context: RejectionContext | None, status: fwk.Status) -> Obstacle:
        if context is None:
            return super().pod_obstacle(context, status)
        gates = [gate.name for gate in context.pod.pod.spec.scheduling_gates]
        text = f"It waits until the scheduling gate{'s' if len(gates) > 1 else ''} {formatting.listing(gates)} "
        text += f"{'are' if len(gates) > 1 else 'is'} removed. {gates_of_controllers(context.pod.pod)}".rstrip()
        return Obstacle(cls.cause, cls.effort, text, tuple(gates))

    def explain_pre_enqueue(self, view: View) -> Tree:
        gates = view.pod.pod.spec.scheduling_gates
        parts = []
        for i, gate in enumerate(gates):
            name = view.field(view.pod, "spec", "schedulingGates", i, "name")
            parts.append(opposite(equal(name, constant("")), f"gate {gate.name}"))
        text = (
            f"waits for {', '.join(gate.name for gate in gates)} to be removed" if gates else "has no scheduling gates"
        )
        return some(parts, "scheduling gates of the pod").with_text(f"The pod {text}")

    def events_to_register(self) -> list[events.EventHint]:
        return [events.registered(events.POD, events.UPDATE_POD_GATES_ELIMINATED, hint=self._own_gates_gone)]

    def _own_gates_gone(self, pod: PodInfo, old: PodInfo, new: PodInfo) -> bool:
        return pod.key == new.key
