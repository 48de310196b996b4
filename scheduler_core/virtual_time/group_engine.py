"""Cycles of pod groups in virtual time: when a member is popped, all members in the queue are popped and tried.

Source: pkg/scheduler/schedule_one.go (ScheduleOne), pkg/scheduler/schedule_one_podgroup.go, v1.36.
"""

from typing import Any

from scheduler_core.api.objects import Metadata
from scheduler_core.api.workloads import PodGroup
from scheduler_core.cluster.change_log import NOMINATED
from scheduler_core.framework.interface import SUCCESS, Status
from scheduler_core.pod_groups.group_cycle import GroupScheduler, Tried
from scheduler_core.pod_groups.trace import GroupTrace, condition_of
from scheduler_core.queue import QueuedPod
from scheduler_core.queue.group_queue import GroupQueue, QueuedGroup
from scheduler_core.simulation import Simulation
from scheduler_core.virtual_time.engine import Engine


class GroupEngine(Engine):
    """An engine that tries the pods of a group together. The arguments are those of Engine."""

    def __init__(self, simulation: Simulation, **options: Any) -> None:
        super().__init__(simulation, **options)
        self._scheduled: dict[str, str] = {}  # group -> the uid of its PodGroup, once the group was scheduled

    def attempt(self, queued: QueuedPod) -> None:
        if queued.info.group and self.cluster.release.pod_groups:
            self._attempt_group(queued)
        else:
            super().attempt(queued)

    def _attempt_group(self, popped: QueuedPod) -> None:
        """Try the group of a popped pod: bind its members, or requeue them and evict the victims."""
        key = popped.info.group
        members = {one.key: one for one in self._members(popped) if not self.skip(one)}
        if not members:
            return
        self.list_nodes()
        self.begin_changes()
        self.cluster.journal.take()  # from here on the changes of the trial, which are recorded with its cycles
        namespace, _, name = key.partition("/")
        known = self.cluster.scheduling_groups.get(key)
        group = known or PodGroup(metadata=Metadata(name, namespace))
        framework = self.scheduler.framework_of(popped.info)
        attempts = {one.key: one.attempts for one in members.values()}
        scheduling = GroupScheduler(self.scheduler, framework, group, attempts, exists=known is not None)
        trace = GroupTrace(key, popped.key, group.spec, held=self._held(key))
        tried = scheduling.try_group([one.info for one in members.values()], trace)
        trace.changes += self.cluster.journal.take()
        seqs = self._finish(scheduling, trace, tried, members)
        if known is not None:
            trace.condition = self._condition(known, trace)
        whole = self.note_group(trace)
        for victim in trace.victims:
            by = next(one.pod.key for one in tried if victim in one.member.trace.victims)
            with self.caused(whole if trace.preempted_as_whole else seqs[by]):
                self.evict(victim, by)
        for pod in scheduling.outranked:
            self.api.nominate(pod, "")
        if isinstance(self.queue, GroupQueue):
            self.queue.add_attempted_group(popped)
        self.binder.settle()
        self.api.handlers.deliver()

    def _members(self, popped: QueuedPod) -> list[QueuedPod]:
        """Return the members in the order in which they are tried. Until 1.36 only one is popped; the others that
        PreEnqueue does not gate are popped as well."""
        if isinstance(popped, QueuedGroup):
            return list(popped.members)
        others = [self.queue.pop_specific(key) for key in self._pending(popped.info.group) if key != popped.key]
        members = [popped, *(one for one in others if one is not None)]
        return sorted(members, key=lambda one: (-one.info.priority, one.activation))

    def _pending(self, group: str) -> list[str]:
        """Return the members that are neither assumed nor bound. Upstream has them in no particular order."""
        pods, placed = self.api.pods, self.cluster.pods
        return sorted(pod.key for pod in pods.values() if pod.group == group and pod.key not in placed)

    def _held(self, group: str) -> dict[str, Status]:
        """Return the members that PreEnqueue gates, with its status."""
        held = (self.queue.get(key) for key in self._pending(group))
        statuses = {
            one.key: self.scheduler.framework_of(one.info).run_pre_enqueue(one.info)
            for one in held
            if one is not None and one.gated
        }
        return {key: status for key, status in statuses.items() if status is not None}

    def _finish(
        self, scheduling: GroupScheduler, trace: GroupTrace, tried: list[Tried], members: dict[str, QueuedPod]
    ) -> dict[str, int]:
        """Record the members' cycles. Then begin their bindings, or requeue them. Return the number of each record."""
        seqs = {}
        success = trace.status.code == SUCCESS
        for one in tried:
            changes = one.member.changes
            if success:
                # The members are assumed again, this time to be bound.
                changes = [change for change in changes if change.kind == NOMINATED]
            elif one is tried[-1]:
                changes = changes + trace.changes
            self.begin_changes()
            self.cluster.journal.put(changes)
            if success and one.member.fits:
                self.scheduler.assume_and_reserve(scheduling.framework, one.state, one.pod, one.member.trace)
            else:
                scheduling.record(one, trace)
            seqs[one.pod.key] = self.note_attempt(one.member.trace)
            if success:
                self._continue(scheduling, one, members[one.pod.key], seqs[one.pod.key])
        for one in () if success else tried:
            self._continue(scheduling, one, members[one.pod.key], seqs[one.pod.key])
        return seqs

    def _continue(self, scheduling: GroupScheduler, one: Tried, queued: QueuedPod, seq: int) -> None:
        member, trace = one.member, one.member.trace
        with self.caused(seq):
            if trace.result in ("scheduled", "waiting"):
                self.begin_binding(queued, scheduling.framework, one.state, trace)
                return
            refused = trace.reserve is not None or trace.permit is not None
            decided = trace.postfilter is not None and trace.postfilter.decides
            changes = bool(member.node or member.nominated) or refused or decided or trace.result == "error"
            plugins = member.rejected_by or (trace.unschedulable_plugins if refused else [])
            self.requeue(queued, plugins, trace.nominated_node if changes else None)
            self.api.nominate(queued.info, self.cluster.nominator.node_of(queued.info))

    def _condition(self, group: PodGroup, trace: GroupTrace) -> dict[str, str]:
        """Return the condition PodGroupScheduled, which stays true once the group was scheduled."""
        if trace.status.code == SUCCESS:
            self._scheduled[group.key] = group.metadata.uid
        if self._scheduled.get(group.key) == group.metadata.uid:
            return condition_of(Status(SUCCESS))
        return condition_of(trace.status)
