"""Trace of a group's cycle: the members' cycles and the result of the group."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from scheduler_core.api.workloads import PodGroupSpec
from scheduler_core.cluster.change_log import LoggedChange
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.framework.interface import ERROR, SUCCESS, UNSCHEDULABLE, Status

WAIT_REASON = "one or more plugins asked to wait and no plugin rejected pod"
_OF_A_CYCLE = (
    *("skipped_filter", "filter", "filter_all", "feasible", "skipped_score", "score", "total", "best", "selected"),
    *("prefilter", "unschedulable_plugins", "postfilter"),
)


@dataclass(slots=True)
class MemberTrace:
    """A member's cycle.

    `node`: where it was assumed or is nominated. `permit`: status of Permit on that node. `preempts`: it fits only
    after its victims are evicted. `fit_error`: why no node is feasible. `message`, `rejected_by`: for a pending member,
    with regard to the group. `nominated`: the nominated node in its status afterwards. `changes`: changes from trying
    it.
    """

    trace: CycleTrace
    node: str = ""
    permit: Status | None = None
    preempts: bool = False
    fit_error: str = ""
    message: str = ""
    rejected_by: list[str] = field(default_factory=list)
    nominated: str = ""
    changes: list[LoggedChange] = field(default_factory=list)

    @property
    def fits(self) -> bool:
        return bool(self.node) and not self.preempts

    @property
    def status(self) -> Status:
        return Status(SUCCESS) if self.fits else Status(UNSCHEDULABLE, (self.fit_error,))

    def golden(self, names: Sequence[str]) -> dict[str, Any]:
        cycle = self.trace.golden(names)
        fields = {"pod": self.trace.pod} | {key: cycle[key] for key in _OF_A_CYCLE if key in cycle}
        fields["status"] = _golden(self.status)
        if self.node:
            fields["node"] = self.node
            permit = self.permit or Status(SUCCESS)
            fields["permit"] = _golden(permit.by(""))
        if self.preempts:
            fields["requires_preemption"] = True
        if self.trace.result != "scheduled":
            fields |= {"reason": "Unschedulable", "message": self.message, "rejected_by": self.rejected_by}
            fields["nominated_node"] = self.nominated
        return fields


@dataclass(slots=True)
class TriedPlacement:
    """A topology domain in which the group was tried.

    `placed`: number of members that found a node there. `preempts`: how many of them fit only after preemption.
    `status`: the result. `score`: for comparison with other feasible placements; None if it is the only one.
    """

    name: str
    nodes: int
    placed: int
    preempts: int
    status: Status
    score: int | None = None


@dataclass(slots=True)
class GroupTrace:
    """One cycle of a pod group.

    `held`: members that PreEnqueue rejects. `victims`: pods evicted in the cycle, whatever its result; `left`: the
    nodes that they were on. `nominations`: the nodes of the members for which the group preempts. `placement`: the
    topology domain chosen or reported, "" for the whole cluster; `placements`: those tried. `running`: number of
    members that were on nodes before. `changes`: changes of the cycle, after those of the members. `next_start_index`:
    the node at which the next cycle starts.
    """

    name: str
    pod: str = ""
    spec: PodGroupSpec = field(default_factory=PodGroupSpec)
    held: dict[str, Status] = field(default_factory=dict)
    members: list[MemberTrace] = field(default_factory=list)
    status: Status = field(default_factory=lambda: Status(SUCCESS))
    waits_for_preemption: bool = False
    preempted_as_whole: bool = False
    victims: list[str] = field(default_factory=list)
    left: dict[str, str] = field(default_factory=dict)
    nominations: dict[str, str] = field(default_factory=dict)
    placement: str = ""
    placements: list[TriedPlacement] = field(default_factory=list)
    running: int = 0
    next_start_index: int = 0
    changes: list[LoggedChange] = field(default_factory=list)
    condition: dict[str, str] = field(default_factory=dict)

    def golden(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the cycle with the keys of the conformance cases."""
        group: dict[str, Any] = {
            "name": self.name,
            "order": [member.trace.pod for member in self.members],
            "members": [member.golden(names) for member in self.members],
            "status": _golden(self.status),
            "condition": self.condition,
            "bound": {m.trace.pod: m.trace.node for m in self.members if m.trace.result == "scheduled"},
            "victims": sorted(self.victims),
        }
        if self.held:
            group["held"] = {pod: _golden(status) for pod, status in self.held.items()}
        if self.waits_for_preemption:
            group["waiting_on_preemption"] = True
        if self.preempted_as_whole:
            group["workload_preemption"] = True
        return {"pod": self.pod, "group": group, "filter": {}, "feasible": []}


def _golden(status: Status) -> dict[str, Any]:
    fields: dict[str, Any] = {"code": status.code}
    if status.plugin:
        fields["plugin"] = status.plugin
    if status.reasons:
        fields["reasons"] = list(status.reasons)
    return fields


def condition_of(status: Status) -> dict[str, str]:
    """Return the condition PodGroupScheduled for the status."""
    if status.code == SUCCESS:
        return {"status": "True", "reason": "Scheduled"}
    reason = "SchedulerError" if status.code == ERROR else "Unschedulable"
    return {"status": "False", "reason": reason, "message": status.message}
