"""Explanations of recorded cycles without restoring the cluster."""

from __future__ import annotations

from scheduler_core.cluster.formatting import listing
from scheduler_core.config.policy_plugins import successor
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.debugger.headroom import FIT, UNNAMED, WITH_DETAILS, Headroom
from scheduler_core.explain import Answer, explain, summary
from scheduler_core.explain.shortfalls import lacking


def answer(trace: CycleTrace, nodes: list[str], headroom: Headroom | None) -> Answer:
    """Return the explanation from the trace without restoring the cluster.

    It includes the node that lacks least, and the taints.
    """
    told = explain(trace, names=nodes)
    unclear = [group for group in told.groups if group.plugin in WITH_DETAILS]
    if unclear and headroom is not None:
        for group in unclear:
            if successor(group.plugin) == FIT and lacking(group.reasons):
                group.closest = headroom.closest(group.nodes)
            elif group.reasons == [UNNAMED] and (taints := headroom.taints(group.nodes)):
                group.words = f"refuse it by {'taint' if len(taints) == 1 else 'taints'} {listing(taints)}"
        told.sentence = summary.answer(trace, told)
    return told
