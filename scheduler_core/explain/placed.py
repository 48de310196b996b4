"""Explains in one sentence why a pod was placed on its node."""

from scheduler_core.cluster.formatting import count, listing
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.explain.answer import Answer
from scheduler_core.explain.scores import why_ahead


def placed(trace: CycleTrace, answer: Answer, others: str) -> str:
    """Return the sentence for a pod that was placed. `others`: why the other nodes do not fit, if only one fits."""
    waited = f" It waited in Permit for {listing(list(trace.permit_waits))} first." if trace.permit_waits else ""
    if trace.batch_hint and trace.batch_hint == trace.node:
        sentence = f"Placed on {trace.node}, the next best for pods like the previous one, whose node cannot take it."
    else:
        sentence = _what_decided(answer, others)
    return sentence + waited


def _what_decided(answer: Answer, others: str) -> str:
    if not answer.top:
        if answer.feasible > 1:
            return f"Placed on {answer.node}, the first of {count(answer.feasible)} that fit; nothing scores them."
        only = "the only node" if answer.nodes == 1 else "the only one that fits"
        return f"Placed on {answer.node}, {only}" + (f": {others}." if others else ".")
    top = answer.top[0].total
    if answer.duel is None:
        return f"Placed on {answer.node} with {top:,}."
    if answer.duel.margin:
        why = why_ahead(answer.duel)
        return f"Placed on {answer.node} with {top:,}, {answer.duel.margin:,} ahead of {answer.duel.other}, {why}."
    return f"Placed on {answer.node} with {top:,}, picked among {count(len(answer.ties))} with the same total."
