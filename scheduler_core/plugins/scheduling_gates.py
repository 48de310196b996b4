"""SchedulingGates: a pod with scheduling gates is not let into the queue.

Upstream: pkg/scheduler/framework/plugins/schedulinggates.
"""

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import events
from scheduler_core.framework.interface import PreEnqueuePlugin, Status, unresolvable


class SchedulingGates(PreEnqueuePlugin):
    name = "SchedulingGates"

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        gates = pod.pod.spec.scheduling_gates
        if not gates:
            return None
        return unresolvable(f"waiting for scheduling gates: [{' '.join(gate.name for gate in gates)}]")

    def events_to_register(self) -> list[events.EventHint]:
        return [events.registered(events.POD, events.UPDATE_POD_GATES_ELIMINATED, hint=self._own_gates_gone)]

    def _own_gates_gone(self, pod: PodInfo, old: PodInfo, new: PodInfo) -> bool:
        return pod.key == new.key
