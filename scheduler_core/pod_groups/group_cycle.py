"""Schedules a pod group: tries each member while the earlier members are assumed on their nodes.

Steps: try_group -> place_members (once, or for each topology domain) -> preempt; then bind, or record why not. Source:
pkg/scheduler/schedule_one_podgroup.go.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from scheduler_core.api.workloads import PodGroup
from scheduler_core.cluster.change_log import LoggedChange
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.schedule_one import NO_NODES, Scheduler
from scheduler_core.cycle.trace import Rows
from scheduler_core.framework.interface import ERROR, SUCCESS, UNSCHEDULABLE, WAIT, CycleState, Status
from scheduler_core.framework.runtime import Framework
from scheduler_core.plugins.gang_scheduling import GangScheduling
from scheduler_core.pod_groups.assumed import Assumed
from scheduler_core.pod_groups.placements import Placement, placements, running, scores_of
from scheduler_core.pod_groups.preemption import preempt
from scheduler_core.pod_groups.trace import WAIT_REASON, GroupTrace, MemberTrace, TriedPlacement
from scheduler_core.preemption.victims import clears_nominations

FAILED = "pod group is unschedulable"
OTHER_FAILED = "failed to schedule other pod from a pod group"
WAITS = "pod group is waiting for preemption to complete"
NOT_FOUND = 'podgroup.scheduling.k8s.io "{name}" not found'
SCHEDULERS = 'all pods in a single pod group should have the same .spec.schedulerName set, got: "{}" and "{}"'
NO_PLACEMENTS, GENERATOR = "no feasible placements found", "TopologyPlacementGenerator"
_UNSCHEDULABLE = Status(UNSCHEDULABLE, (FAILED,))


@dataclass(slots=True)
class Tried:
    """A member with the state of its cycle."""

    pod: PodInfo
    state: CycleState
    member: MemberTrace


@dataclass(slots=True)
class Placed:
    """Result of trying all members; none of them is assumed any more. `changes`: changes from removing the assumed
    members."""

    members: list[Tried] = field(default_factory=list)
    status: Status = _UNSCHEDULABLE
    waits: bool = False
    placement: Placement | None = None
    changes: list[LoggedChange] = field(default_factory=list)

    def trace(self) -> TriedPlacement:
        """Return the recorded form, for one of several placements."""
        assert self.placement is not None
        there = [one.member for one in self.members if one.member.node]
        nodes = 0 if self.placement.rows is None else len(self.placement.rows)
        return TriedPlacement(self.placement.name, nodes, len(there), sum(m.preempts for m in there), self.status)


class GroupScheduler:
    """Schedules the members of `group`, in virtual time also after their PodGroup was deleted (`exists`: False).

    `attempts`: pod -> the number of its attempt, 1 for others. `outranked`: the pods whose nominations are cleared
    because a member with a higher priority is nominated for their node.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        framework: Framework,
        group: PodGroup,
        attempts: Mapping[str, int] | None = None,
        exists: bool = True,
    ) -> None:
        self.scheduler, self.framework, self.group = scheduler, framework, group
        self.cluster = scheduler.cluster
        self.outranked: list[PodInfo] = []
        self._attempts = attempts or {}
        self._missing = "" if exists else NOT_FOUND.format(name=group.name)

    def schedule_group(self, pods: Sequence[PodInfo], trace: GroupTrace, evict: Callable[[str], None]) -> list[Tried]:
        """Try the members in order, evict the victims, and bind the members or record why they cannot be bound. Bound
        members have the result `scheduled`."""
        members = self.try_group(pods, trace)
        for victim in trace.victims:
            evict(victim)
        for pod in self.outranked:
            pod.nominated_node = ""
        if trace.status.code == SUCCESS:
            self._bind(members)
        for one in members:
            self.record(one, trace)
        return members

    def try_group(self, pods: Sequence[PodInfo], trace: GroupTrace) -> list[Tried]:
        """Try the members in order. Afterwards none of them is assumed, and no victim is evicted yet."""
        self.cluster.nodes.refresh()
        release, cycles = self.cluster.release, self.scheduler.cycles
        self.scheduler.attempts += self.scheduler.batches
        trace.running = len(running(self.cluster, self.group))
        placed = self._place(pods, self.scheduler.preemption, trace)
        trace.status, trace.waits_for_preemption = placed.status, placed.waits
        trace.placement = placed.placement.name if placed.placement is not None else ""
        if release.group_preemption and self.scheduler.preemption and placed.status.code == UNSCHEDULABLE:
            trace.preempted_as_whole = True
            if self._missing:
                trace.status = Status(ERROR, (f"failed to get pod group object: {self._missing}",))
            else:
                self._preempt(pods, trace)
        trace.left = {victim: self.cluster.pods[victim].node for victim in trace.victims}
        status = placed.status if release.placement_feasible else trace.status
        placed.members += [self._not_tried(pod, status.message) for pod in pods[len(placed.members) :]]
        trace.members = [one.member for one in placed.members]
        for number, one in enumerate(placed.members, cycles + 1):
            one.member.trace.number, one.member.trace.group = number, trace.name
        if trace.preempted_as_whole and trace.victims:
            placed.members[-1].member.trace.victims = list(trace.victims)  # recorded once, for the whole group
        self.scheduler.cycles = cycles + len(placed.members)
        trace.next_start_index = self.scheduler.next_start_index
        return placed.members

    # ---- placement

    def _place(self, pods: Sequence[PodInfo], preempt: bool, trace: GroupTrace) -> Placed:
        schedulers = list(dict.fromkeys(pod.pod.spec.scheduler_name for pod in pods))
        if len(schedulers) > 1:
            return Placed(status=Status(ERROR, (SCHEDULERS.format(*schedulers),)))
        if not self.cluster.release.group_placements:
            placed = self.place_members(pods, None, preempt, trace.victims)
            trace.changes += placed.changes
            return placed
        if self._missing:
            return Placed(status=Status(ERROR, (self._missing,)))
        found = placements(self.cluster, self.group)
        if not found:
            return Placed(
                [self._not_tried(pod, NO_PLACEMENTS) for pod in pods],
                Status(UNSCHEDULABLE, (NO_PLACEMENTS,), GENERATOR),
            )
        tried = []
        for placement in found:
            # no pod is evicted for one of several placements
            unbound = placement.rows is None
            placed = self.place_members(pods, placement.rows, preempt and unbound, trace.victims)
            placed.placement = placement
            if placed.status.code == ERROR:
                trace.changes += placed.changes
                return placed
            tried.append(placed)
        trace.placements = [placed.trace() for placed in tried if placed.members and self.group.spec.topology_key]
        good = [placed for placed in tried if placed.status.code == SUCCESS or placed.waits]
        chosen = tried[0] if not good else good[0] if len(good) == 1 else self._best(good, trace)
        if not good:
            first = chosen.status.reasons[0]
            text = f"0/{len(tried)} placements are available, first placement status: {first}"
            chosen.status = Status(UNSCHEDULABLE, (text,))
        for placed in (*(one for one in tried if one is not chosen), chosen):
            trace.changes += [change for one in placed.members for change in one.member.changes if placed is not chosen]
            trace.changes += placed.changes
        return chosen

    def _not_tried(self, pod: PodInfo, message: str) -> Tried:
        """Return the cycle of a member for which no node is evaluated, with the message of its group's cycle."""
        trace = self.scheduler.begin(pod, self._attempts.get(pod.key, 1))
        trace.message, trace.looked = message, np.zeros(trace.nodes, np.bool_)
        return Tried(pod, CycleState(), MemberTrace(trace, fit_error=message))

    def _best(self, good: list[Placed], trace: GroupTrace) -> Placed:
        assignments = [[(one.pod, one.member.node) for one in placed.members if one.member.node] for placed in good]
        where = [placed.placement for placed in good if placed.placement is not None]
        scores = scores_of(self.cluster, self.framework, self.group, where, assignments)
        for placement, score in zip(where, scores, strict=True):
            next(one for one in trace.placements if one.name == placement.name).score = score
        return good[scores.index(max(scores))]

    def place_members(
        self, pods: Sequence[PodInfo], rows: Rows | None, preempt: bool, victims: list[str] | None = None
    ) -> Placed:
        """Try each member in turn on the nodes of `rows` (None: all). Afterwards, no member is assumed."""
        placed, assumed = Placed(), Assumed(self.cluster)
        allowed, journal, feasible = False, self.cluster.journal, self.cluster.release.placement_feasible
        for pod in pods:
            assumed.regard(pod)
            one = self._try(pod, rows, preempt, victims, assumed)
            one.member.changes = journal.take()
            placed.members.append(one)
            if one.member.trace.result == "error":
                placed.status = Status(ERROR, (f"{OTHER_FAILED}: {one.member.fit_error}",))
                break
            if feasible:
                placed.status = self._feasible(len(pods) - len(placed.members))
                if placed.status.code in (ERROR, UNSCHEDULABLE):
                    break
            allowed = allowed or bool(one.member.node and one.member.permit is None)
        for one in reversed(placed.members):
            if one.member.node:
                self.framework.run_unreserve(one.state, one.pod, one.member.node)
                assumed.remove(one.pod)
        placed.changes = journal.take()
        if feasible:
            if placed.status.code == WAIT:
                placed.status = Status(UNSCHEDULABLE, placed.status.reasons)
            elif placed.status.code == SUCCESS and not any(one.member.fits for one in placed.members):
                placed.status = _UNSCHEDULABLE
            return placed
        if placed.status.code == ERROR:
            return placed
        if allowed and any(one.member.preempts for one in placed.members):
            placed.waits, placed.status = True, Status(UNSCHEDULABLE, (FAILED, WAITS))
        elif allowed:
            placed.status = Status(SUCCESS)
        return placed

    def _feasible(self, remaining: int) -> Status:
        """Run PlacementFeasible: whether the group can be scheduled when `remaining` members have not been tried."""
        if self._missing:
            text = f"failed to get podGroup {self.group.key} to compute gang feasibility: {self._missing}"
            text = f"failed to evaluate placement feasibility: running PlacementFeasible plugin: {text}"
            return Status(ERROR, (text,))
        for plugin in self.framework.permit:
            if isinstance(plugin, GangScheduling):
                return plugin.placement_feasible(self.group, remaining) or Status(SUCCESS)
        return Status(SUCCESS)

    def _try(
        self, pod: PodInfo, rows: Rows | None, preempt: bool, victims: list[str] | None, assumed: Assumed
    ) -> Tried:
        """Run a member's cycle up to Permit. Assume the member if it has a node or is nominated."""
        scheduler, framework, attempt = self.scheduler, self.framework, self._attempts.get(pod.key, 1)
        framework.picker.begin(pod.key, attempt)
        trace, state = scheduler.begin(pod, attempt), CycleState()
        trace.placement = rows
        if not len(self.cluster.nodes):
            trace.result, trace.message = "unschedulable", NO_NODES
            return Tried(pod, state, MemberTrace(trace, fit_error=NO_NODES))
        scheduler.find_nodes_that_fit(framework, state, pod, trace)
        member = MemberTrace(trace)
        if not trace.error and (trace.feasible is None or len(trace.feasible)):
            scheduler.prioritize(framework, state, pod, trace)
        if trace.error:
            trace.result, member.fit_error = "error", trace.error
            return Tried(pod, state, member)
        if trace.feasible is None or len(trace.feasible):
            scheduler.select_host(framework, state, trace)
            member.node = trace.node
        else:
            was, scheduler.preemption = scheduler.preemption, preempt
            scheduler.post_filter(framework, state, pod, trace)
            scheduler.preemption = was
            if trace.nominated_node:
                member.node, member.preempts = trace.nominated_node, True
                if victims is not None:  # they still count in this cycle, which uses one snapshot
                    victims += [victim for victim in trace.victims if victim not in victims]
                if clears_nominations(self.cluster.release, [self.cluster.pods[key] for key in trace.victims]):
                    self._take_over(pod, trace.nominated_node)
        member.fit_error = trace.message
        if member.node:
            assumed.add(pod, member.node)
            self.cluster.nominator.forget(pod)
            status = framework.run_reserve(state, pod, member.node)
            if status is None and not self.cluster.release.placement_feasible:
                member.permit = self._permit(state, pod, member.node)
            elif status is not None:
                trace.reserve, trace.message = status, status.message
            refusal = status or member.permit
            if refusal is not None and refusal.code != WAIT:
                framework.run_unreserve(state, pod, member.node)
                assumed.remove(pod)
                member.node, member.permit, member.preempts = "", None, False
                if status is None:
                    trace.permit = refusal
                    scheduler.record_rejection(refusal, trace)
                    member.fit_error = trace.message
        return Tried(pod, state, member)

    def _take_over(self, pod: PodInfo, node: str) -> None:
        """Clear the nominations of pods with lower priority on this node."""
        for other in self.cluster.nominator.on(node):
            if other.priority < pod.priority:
                self.cluster.nominator.forget(other)
                self.outranked.append(other)

    def _permit(self, state: CycleState, pod: PodInfo, node: str) -> Status | None:
        for plugin in self.framework.permit:
            status, _ = plugin.permit(state, pod, node)
            if status is not None:
                waits = (*status.reasons, WAIT_REASON)
                return Status(WAIT, waits, plugin.name) if status.code == WAIT else status.by(plugin.name)
        return None

    # ---- preemption

    def _preempt(self, pods: Sequence[PodInfo], trace: GroupTrace) -> None:
        """Preempt for the whole group, in the whole cluster."""
        if self.group.spec.topology_key:
            text = "workload aware preemption is not supported for pod groups with scheduling constraints"
            trace.status = Status(UNSCHEDULABLE, (*trace.status.reasons, text))
            return
        victims, nodes, refusal = preempt(self.cluster, self.group, pods, lambda: self._fits_now(pods))
        if refusal:
            trace.status = Status(UNSCHEDULABLE, (*trace.status.reasons, refusal))
            return
        trace.waits_for_preemption = True
        trace.victims += [victim.key for victim in victims]
        if self.cluster.release.group_preemption_nominates:
            trace.nominations = nodes

    def _fits_now(self, pods: Sequence[PodInfo]) -> tuple[Status, dict[str, str]]:
        """Return the status of placing the members and the nodes of those that fit, without recording anything."""
        journal = self.cluster.journal
        before = journal.take()
        self.scheduler.collects_rejectors = False
        placed = self.place_members(pods, None, preempt=False)
        self.scheduler.collects_rejectors = True
        journal.take()
        journal.put(before)
        return placed.status, {one.pod.key: one.member.node for one in placed.members if one.member.node}

    # ---- results of the members

    def _bind(self, members: list[Tried]) -> None:
        for one in members:
            if not one.member.fits:
                continue
            trace, node = one.member.trace, one.member.node
            self.cluster.add_pod(one.pod, node)
            self.cluster.nominator.forget(one.pod)
            trace.reserve = self.framework.run_reserve(one.state, one.pod, node)
            trace.result = "scheduled"
            self.scheduler.binding_cycle(self.framework, one.state, one.pod, trace)

    def record(self, one: Tried, group: GroupTrace) -> None:
        """Set the message and nomination of a member that stays pending."""
        member, trace = one.member, one.member.trace
        if trace.result == "scheduled":
            return
        if group.status.code == ERROR:
            member.message = trace.error if trace.result == "error" else group.status.message
            trace.result, trace.error, trace.message = "error", member.message, member.message
            trace.nominated_node = ""
            return
        trace.result, trace.permit = "unschedulable", member.permit
        member.message, member.rejected_by = trace.message, trace.unschedulable_plugins
        nominated = trace.nominated_node
        if member.node and not group.waits_for_preemption:
            # this member fits, possibly after preemption, but the group does not
            why = member.permit.reasons if member.permit else ()
            if self.cluster.release.placement_feasible:
                why = (group.status.message,)
            member.message = ", ".join((FAILED, *why))
            member.rejected_by = []
            nominated = ""
        elif member.fits:
            member.message, member.rejected_by, nominated = group.status.message, [], member.node
        elif group.waits_for_preemption:
            nominated = group.nominations.get(one.pod.key, nominated)
        member.nominated = trace.nominated_node = nominated
        trace.message = member.message
