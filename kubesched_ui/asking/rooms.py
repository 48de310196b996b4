"""The numbers behind `Insufficient cpu`: what a cycle's pod asked for, and what nodes had when it began."""

from __future__ import annotations

from kubesched_ui.asking.recordings import NotRecorded, recording_of
from kubesched_ui.models import Cycle, Run
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.debugger.node_history import NodeHistory
from scheduler_core.debugger.room import FIT, Room, told_of


def room_of(run: Run, row: Cycle, trace: CycleTrace) -> Room | None:
    """The nodes before a cycle; None if none of them lacks anything, or if that was not recorded. Raises InputError."""
    promised = [
        node
        for number, status in trace.nominated.items()
        if status and status.plugin == FIT
        for node in row.nodes[number : number + 1]
    ]
    verdict = trace.verdicts.get(FIT)
    if not promised and (verdict is None or verdict.codes is None):
        return None
    try:
        recording = recording_of(run)
    except NotRecorded:
        return None
    return Room(recording, recording.before_cycle(row.number), f"{row.namespace}/{row.name}", promised)


def reasons_on(run: Run, history: NodeHistory, row: Cycle, trace: CycleTrace, at: int) -> list[str]:
    """Why a node, the one of row `at` in the cycle, refused the pod, with its numbers. Raises NotRecorded."""
    status = trace.status_at(at)
    if status is None or status.plugin != FIT:
        return list(status.reasons) if status else []
    recording = recording_of(run)
    moment, pod = recording.before_cycle(row.number), f"{row.namespace}/{row.name}"
    return told_of(recording, history, moment, pod, status.reasons, nominated=trace.nominated.get(at) is not None)
