"""Serializes a group's cycle as plain values, for storage next to its members' cycles and for the API."""

from dataclasses import asdict
from typing import Any

from scheduler_core.framework.interface import SUCCESS, Status
from scheduler_core.pod_groups.trace import GroupTrace, MemberTrace

SCHEDULED, WAITING, UNSCHEDULABLE = "scheduled", "waiting", "unschedulable"


def group_to_dict(trace: GroupTrace) -> dict[str, Any]:
    """Return the group's cycle without the members' traces. docs/debugger.md (Pod groups) documents the keys."""
    spec = trace.spec
    gang = spec.scheduling_policy.gang
    members = [_member(member) for member in trace.members]
    return {
        "name": trace.name,
        "popped": trace.pod,
        "policy": "gang" if gang is not None else "basic",
        "min_count": gang.min_count if gang is not None else 0,
        "priority": spec.priority,
        "topology_key": spec.topology_key,
        "disruption_mode": spec.disruption_mode,
        "result": result_of(trace),
        "bound": sum(member["result"] == SCHEDULED for member in members),
        "running": trace.running,
        "members": members,
        "held": {pod: status_of(status) for pod, status in trace.held.items()},
        "status": status_of(trace.status),
        "condition": trace.condition,
        "preempted_as_whole": trace.preempted_as_whole,
        "victims": [{"pod": pod, "node": trace.left.get(pod, "")} for pod in trace.victims],
        "placement": trace.placement,
        "placements": [asdict(placement) | {"status": status_of(placement.status)} for placement in trace.placements],
        "next_start_index": trace.next_start_index,
    }


def result_of(trace: GroupTrace) -> str:
    """Return `scheduled`, `waiting` (for victims to terminate) or `unschedulable`."""
    if trace.status.code == SUCCESS:
        return SCHEDULED
    return WAITING if trace.waits_for_preemption else UNSCHEDULABLE


def _member(member: MemberTrace) -> dict[str, Any]:
    trace = member.trace
    return {
        "pod": trace.pod,
        "cycle": trace.number,
        "result": trace.result if trace.pends_with_group else SCHEDULED,
        "node": member.node,
        "fits": member.fits,
        "preempts": member.preempts,
        "said": member.fit_error,
        "permit": status_of(member.permit or Status(SUCCESS)) if member.node else None,
        "message": member.message,
        "rejected_by": member.rejected_by,
        "nominated_node": member.nominated,
        "victims": trace.victims if member.preempts else [],
    }


def status_of(status: Status) -> dict[str, Any]:
    return {"plugin": status.plugin, "code": status.code, "reasons": list(status.reasons)}
