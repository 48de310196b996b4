"""Explains in one sentence why a pod was placed on its node."""

from scheduler_core.cluster.formatting import count, listing, some
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.explain.answer import Answer
from scheduler_core.explain.scores import ahead

TIES_NAMED = 2
# Words with which a complement of the words for a node begins; `of` after it would belong to it.
COMPLEMENTED = frozenset(("one", "of", "for"))


def placed(trace: CycleTrace, answer: Answer, others: str) -> str:
    """Return the sentence for a pod that was placed. `others`: why the other nodes do not fit, if only one fits."""
    waited = f" It waited in Permit for {listing(list(trace.permit_waits))} first." if trace.permit_waits else ""
    return f"Placed on {trace.node}, {_why(trace, answer, others)}.{waited}"


def _why(trace: CycleTrace, answer: Answer, others: str) -> str:
    if trace.batch_hint and trace.batch_hint == trace.node:
        return "the next best for pods like the previous one, whose node cannot take it"
    if is_nominated(trace):
        return "to which it was nominated: it fits there, so no other node was looked at"
    if trace.selected_row not in trace.feasible_rows():
        return "where a change of the fork places it, although it does not fit"
    if answer.top and answer.top[0].node != answer.node:
        return f"where a change of the fork places it; {answer.top[0].node} has a higher total"
    if answer.feasible < 2:
        only = "the only node" if answer.nodes == 1 else "the only one that fits"
        return f"{only}: {others}" if others else only
    among = searched(trace)
    looked = f" ({answer.looked:,} of {among:,} were looked at)" if answer.looked < among else ""
    fit = f"{count(answer.feasible)} that fit{looked}"
    decision, equal = answer.decision, [node for node in answer.ties if node != answer.node]
    if decision is None:
        return f"the first of {fit}; nothing scores them"
    by = f"decided {decision.by}" if decision.by else "one of which was picked"
    if len(answer.ties) == answer.feasible:
        return f"one of {fit}, all with the same total, {by}"
    best = f"{decision.best} {'among' if COMPLEMENTED & set(decision.best.split()) else 'of'} {fit}"
    if equal:
        return f"{best}, equal with {some(equal, TIES_NAMED)}, {by}"
    return f"{best}, {ahead(answer.duel)}" if answer.duel is not None else best


def is_nominated(trace: CycleTrace) -> bool:
    """Whether only the node to which the pod was nominated was looked at.

    A search among all nodes does not end after one, and a node that batching proposes is recorded.
    """
    if trace.looked is None or not trace.node or trace.batch_hint == trace.node:
        return False
    return int(trace.looked.sum()) == 1 < searched(trace)


def searched(trace: CycleTrace) -> int:
    """Return the number of nodes among which the search for feasible ones goes."""
    return trace.there if trace.subset is None else len(trace.subset)
