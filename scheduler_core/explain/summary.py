"""Summarizes an answer in one sentence."""

from scheduler_core.cluster.formatting import listing
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.explain import groups
from scheduler_core.explain.answer import Answer
from scheduler_core.explain.nowhere import Nowhere, others_of
from scheduler_core.explain.placed import placed
from scheduler_core.framework.interface import WAIT, Status


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
            return f"{trace.node} was chosen, but {status.plugin} refused at {point}{waited}: {reason_text(status)}."
    if of_group := groups.of_member(trace):
        return of_group
    if trace.result == "waiting":
        waits = listing([f"{plugin} (at most {seconds:g} s)" for plugin, seconds in trace.permit_waits.items()])
        return f"{trace.node} was chosen; the pod waits for the permit of {waits}."
    if trace.bind is not None:
        return f"{trace.node} was chosen, but binding failed: {reason_text(trace.bind)}."
    if trace.result != "scheduled":
        return _nowhere(trace, answer, nowhere)
    return placed(trace, answer, others_of(nowhere.classes) if answer.feasible < 2 else "")


def reason_text(status: Status) -> str:
    return "; ".join(status.reasons) or status.code


def _nowhere(trace: CycleTrace, answer: Answer, nowhere: Nowhere) -> str:
    if answer.preemption is None or not answer.preemption.nominated_node:
        return nowhere.sentence()
    sentence = f"{nowhere.sentence(others=False)} {answer.preemption.words}"
    if trace.group and not trace.nominated_node:
        sentence += f" But its group {trace.group} is not scheduled as a whole, so it stays pending."
    return sentence
