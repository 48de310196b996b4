"""Binding cycles in virtual time: Permit may delay the pod, and binding takes time and may fail.

Source: pkg/scheduler/schedule_one.go (bindingCycle, handleBindingCycleError).
"""

import copy
from dataclasses import dataclass

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.schedule_one import Scheduler
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.framework import events
from scheduler_core.framework.interface import CycleState, Status, error
from scheduler_core.framework.runtime import Framework
from scheduler_core.framework.waiting_pods import WaitingPod, timeout_message
from scheduler_core.legacy.queue import OldQueue
from scheduler_core.queue import QueuedPod, SchedulingQueue
from scheduler_core.virtual_time.api_server import ApiServer

INJECTED = "the binding was made to fail by the scenario"
NOT_FOUND = 'pods "{name}" not found'


@dataclass(slots=True)
class BindingCycle:
    """An assumed pod with the state of its scheduling cycle. `cycle`: the number of that cycle in the queue. `over`:
    the pod was deleted in the meantime."""

    queued: QueuedPod
    framework: Framework
    state: CycleState
    trace: CycleTrace
    cycle: int
    over: bool = False

    @property
    def pod(self) -> PodInfo:
        return self.queued.info


@dataclass(eq=False)
class Binder:
    """Runs binding cycles. `seconds`: duration of a binding. `failures`: pod -> number of its bindings that fail."""

    api: ApiServer
    scheduler: Scheduler
    queue: SchedulingQueue
    seconds: float
    failures: dict[str, int]

    def __post_init__(self) -> None:
        self._waiting: dict[str, BindingCycle] = {}
        self._under_way: dict[str, BindingCycle] = {}
        self.api.abandon = self.abandon

    def begin(self, binding: BindingCycle) -> None:
        """Assume the pod after its scheduling cycle; it waits if Permit plugins require it."""
        pod, trace = binding.pod, binding.trace
        self.api.lifecycle.assume(pod, pod.node)
        if trace.result != "waiting":
            self._permitted(binding)
            return
        waiting = binding.framework.waiting_pods.add(pod, pod.node, trace.permit_waits)
        self._waiting[pod.key] = binding
        waits = dict(trace.permit_waits)
        loop = self.api.loop
        with loop.caused(loop.record("permit.waiting", pod=pod.key, node=pod.node, plugins=waits)):
            for plugin, timeout in waits.items():
                loop.at(loop.clock.now + timeout, lambda p=plugin, t=timeout: self._late(waiting, p, t))  # type: ignore[misc]

    def _late(self, waiting: WaitingPod, plugin: str, timeout: float) -> None:
        if self._waiting.get(waiting.pod.key) and plugin in waiting.pending:
            waiting.reject(plugin, timeout_message(plugin, timeout))
            self.settle()

    def settle(self) -> None:
        """Continue with all pods for which Permit plugins have decided. This may lead to decisions about other pods."""
        for framework in self.scheduler.profiles.values():
            while decided := framework.waiting_pods.take_decided():
                for waiting in decided:
                    binding = self._waiting.pop(waiting.pod.key)
                    if waiting.rejected is None:
                        self._permitted(binding)
                    else:
                        self._failed(binding, waiting.rejected)

    def abandon(self, key: str) -> None:
        """Handle the deletion of the pod: reject it if it waits for Permit, otherwise fail its binding."""
        if self.reject(key, "removed"):
            return
        binding = self._under_way.pop(key)
        binding.over = True
        self._failed(binding, error(NOT_FOUND.format(name=binding.pod.name)))

    def reject(self, key: str, reason: str) -> bool:
        """Reject a pod that waits for Permit; return False if it does not wait."""
        binding = self._waiting.get(key)
        waiting = binding.framework.waiting_pods.get(key) if binding is not None else None
        if waiting is None:
            return False
        waiting.reject("", reason)
        self.settle()
        return True

    def _permitted(self, binding: BindingCycle) -> None:
        # From here on, cluster events cannot requeue the pod: it is bound, or its binding fails.
        self.queue.done(binding.pod.key)
        self._under_way[binding.pod.key] = binding
        if self.seconds:
            self.api.loop.at(self.api.loop.clock.now + self.seconds, lambda: self._bind(binding))
        else:
            self._bind(binding)

    def _bind(self, binding: BindingCycle) -> None:
        """Run PreBind, Bind and PostBind."""
        pod, trace = binding.pod, binding.trace
        if binding.over:
            return
        del self._under_way[pod.key]
        node = pod.node
        if self.failures.get(pod.key, 0) > 0:
            self.failures[pod.key] -= 1
            problem: Status | None = error(INJECTED)
            trace.bind = problem
            self.scheduler.forget(binding.framework, binding.state, pod, pod.node)
        else:
            self.scheduler.binding_cycle(binding.framework, binding.state, pod, trace)
            problem = trace.bind if trace.prebind is None else trace.prebind
        if problem is not None:
            assumed = copy.copy(pod)
            assumed.node = node
            self._failed(binding, problem, assumed)
            return
        self.api.lifecycle.finish_binding(pod)
        stored = self.api.pods[pod.key]
        stored.node = trace.node
        self.api.bind(stored)
        self.api.handlers.deliver()

    def _failed(self, binding: BindingCycle, status: Status, assumed: PodInfo | None = None) -> None:
        """Unreserve and forget the pod, wake pods that may use its resources, and put it back into the queue."""
        pod, api = binding.pod, self.api
        if assumed is None:
            assumed = copy.copy(pod)
            self.scheduler.forget(binding.framework, binding.state, pod, pod.node)
        api.lifecycle.forget(pod)
        kind = "permit.rejected" if status.rejected else "bind.failed"
        rejectors = [status.plugin] if status.rejected else []
        seq = api.loop.record(kind, pod=pod.key, node=assumed.node, message=status.message, plugins=rejectors)
        with api.loop.caused(seq):
            if isinstance(self.queue, OldQueue):
                self._back_in(self.queue, binding, status)
                return
            if not status.rejected:
                self.queue.move_all(events.ASSIGNED_POD_DELETE, assumed, None)
            if pod.key in api.pods:
                binding.queued.info = api.pods[pod.key]
                binding.queued.info.node = ""
                self.queue.add_unschedulable(binding.queued, rejectors, cycle=binding.cycle)
                self.queue.nominator.forget(pod)
                api.nominate(api.pods[pod.key], "")
            else:
                self.queue.done(pod.key)
            if status.rejected:
                # The event would only wake the pod itself again.
                others = lambda other: other.key != pod.key  # noqa: E731
                self.queue.move_all(events.ASSIGNED_POD_DELETE, assumed, None, others)

    def _back_in(self, queue: OldQueue, binding: BindingCycle, status: Status) -> None:
        """Put a pod whose binding failed back into the queue. The freed resources wake no other pod."""
        pod = self.api.pods.get(binding.pod.key)
        if pod is None:
            queue.done(binding.pod.key)
            return
        binding.queued.info = pod
        pod.node = ""
        queue.add_unschedulable(binding.queued, ())
        queue.write_condition(pod, "SchedulerError", status.message)
