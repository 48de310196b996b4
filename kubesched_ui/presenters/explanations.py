"""Explanations of recorded cycles without restoring the cluster."""

from __future__ import annotations

from scheduler_core.cluster.formatting import listing
from scheduler_core.config.policy_plugins import successor
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.debugger.headroom import FIT, TOLD, UNNAMED, Room
from scheduler_core.explain import Answer, explain, summary
from scheduler_core.explain.shortfalls import lacking


def answer(trace: CycleTrace, nodes: list[str], room: Room | None) -> Answer:
    """Return the explanation from the trace without restoring the cluster.

    It includes the node that lacks least, and the taints.
    """
    told = explain(trace, names=nodes)
    unclear = [group for group in told.groups if group.plugin in TOLD]
    if unclear and room is not None:
        for group in unclear:
            if successor(group.plugin) == FIT and lacking(group.reasons):
                group.closest = room.closest(group.nodes)
            elif group.reasons == [UNNAMED] and (taints := room.taints(group.nodes)):
                group.words = f"refuse it by {'taint' if len(taints) == 1 else 'taints'} {listing(taints)}"
        told.sentence = summary.answer(trace, told)
    return told
