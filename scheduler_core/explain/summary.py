"""Summarizes an answer in one sentence."""

from scheduler_core.cluster.formatting import count, listing, some
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.explain import groups
from scheduler_core.explain.answer import Answer
from scheduler_core.explain.nowhere import Nowhere, others_of
from scheduler_core.explain.scores import ahead
from scheduler_core.framework.interface import WAIT, Status
from scheduler_core.plugins import PLUGINS

TIES_NAMED = 2
# Words with which a complement of the words for a node begins; `of` after it would belong to it.
COMPLEMENTED = frozenset(("one", "of", "for"))


def answer_sentence(trace: CycleTrace, answer: Answer, nowhere: Nowhere) -> str:
    """Return the sentence for an answer whose other fields are set."""
    if trace.preenqueue is not None:
        return nowhere.sentence()
    if trace.error and not trace.nodes:
        return "There are no nodes."
    if trace.error:
        return f"The cycle ended in an error: {trace.error}."
    for point, status in (("reserve", trace.reserve), ("permit", trace.permit), ("prebind", trace.prebind)):
        if status is not None and status.code != WAIT:
            waited = f" after it waited for {listing(list(trace.permit_waits))}" if trace.permit_waits else ""
            why = _refusal(status, point, nowhere)
            return f"{trace.node} was chosen, but {status.plugin} refused at {point}{waited}: {why}."
    if of_group := groups.of_member(trace):
        return of_group
    if trace.result == "waiting":
        waits = listing([f"{plugin} (at most {seconds:g} s)" for plugin, seconds in trace.permit_waits.items()])
        return f"{trace.node} was chosen; the pod waits for the permit of {waits}."
    if trace.bind is not None:
        return f"{trace.node} was chosen, but binding failed: {reason_text(trace.bind)}."
    if trace.result != "scheduled":
        return _nowhere(trace, answer, nowhere)
    waited = f" It waited in Permit for {listing(list(trace.permit_waits))} first." if trace.permit_waits else ""
    why = _why_placed(trace, answer, others_of(nowhere.classes) if answer.feasible < 2 else "")
    return f"Placed on {trace.node}, {why}.{waited}"


def _refusal(status: Status, point: str, nowhere: Nowhere) -> str:
    """Return why a plugin refused the pod at Reserve, Permit or PreBind. Those of Permit name the group."""
    cls = PLUGINS.get(status.plugin)
    if point != "permit" or nowhere.context is None or cls is None:
        return reason_text(status)
    obstacle = cls.pod_obstacle(nowhere.context, status)
    return obstacle.phrase.rstrip(".") if obstacle.objects else reason_text(status)


def reason_text(status: Status) -> str:
    return "; ".join(status.reasons) or status.code


def _nowhere(trace: CycleTrace, answer: Answer, nowhere: Nowhere) -> str:
    if answer.preemption is None or not answer.preemption.nominated_node:
        return nowhere.sentence()
    sentence = f"{nowhere.sentence(others=False)} {answer.preemption.words}"
    if trace.group and not trace.nominated_node:
        sentence += f" But its group {trace.group} is not scheduled as a whole, so it stays pending."
    return sentence


def _why_placed(trace: CycleTrace, answer: Answer, others: str) -> str:
    """Return why a pod was placed. `others`: why the other nodes do not fit, if only one fits."""
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
