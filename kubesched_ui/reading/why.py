"""Explanations of recorded cycles: the sentence at once, what would have to change when it is asked for."""

from __future__ import annotations

from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.debugger.room import FIT, Room
from scheduler_core.explain import Answer, explain, sentences


def answer(trace: CycleTrace, nodes: list[str], room: Room | None) -> Answer:
    """What the trace tells, and the node that lacks least: without building the cluster again."""
    told = explain(trace, names=nodes)
    lacking = [group for group in told.groups if group.plugin == FIT]
    if lacking and room is not None:
        for group in lacking:
            group.closest = room.closest(group.nodes)
        told.sentence = sentences.answer(trace, told)
    return told
