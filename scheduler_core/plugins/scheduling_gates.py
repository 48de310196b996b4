"""SchedulingGates: keeps pods with scheduling gates out of the active queue.

Upstream: pkg/scheduler/framework/plugins/schedulinggates.
"""

from typing import Any

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import events
from scheduler_core.framework import interface as fwk
from scheduler_core.provenance.context import View
from scheduler_core.provenance.tree import Tree, constant, equal, opposite, some


class SchedulingGates(fwk.PreEnqueuePlugin):
    name = "SchedulingGates"
    pod_fields = ("schedulingGates",)

    def pre_enqueue(self, pod: PodInfo) -> fwk.Status | None:
        gates = pod.pod.spec.scheduling_gates
        if not gates:
            return None
        return fwk.unresolvable(f"waiting for scheduling gates: [{' '.join(gate.name for gate in gates)}]")

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

    @staticmethod
    def suggest_edits(pod: PodInfo) -> list[fwk.PodEdit]:
        gates = [gate.name for gate in pod.pod.spec.scheduling_gates]

        def edit(document: dict[str, Any]) -> None:
            document["spec"].pop("schedulingGates", None)

        text = f"remove scheduling gate{'s' if len(gates) > 1 else ''} {', '.join(gates)}"
        return [fwk.PodEdit(text, 0.5, edit)] if gates else []

    def events_to_register(self) -> list[events.EventHint]:
        return [events.registered(events.POD, events.UPDATE_POD_GATES_ELIMINATED, hint=self._own_gates_gone)]

    def _own_gates_gone(self, pod: PodInfo, old: PodInfo, new: PodInfo) -> bool:
        return pod.key == new.key
