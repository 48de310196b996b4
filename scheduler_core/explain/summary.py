"""Summarizes an answer in one sentence, and its preemption in another."""

from scheduler_core.cluster.formatting import count, listing, some
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.explain import groups
from scheduler_core.explain.answer import Answer, Preemption
from scheduler_core.explain.nowhere import Nowhere, others_of
from scheduler_core.explain.placed import placed
from scheduler_core.framework.interface import WAIT, Status

NOT_ELIGIBLE = "preemption: not eligible due to "


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
    sentence = f"{nowhere.first_sentence()} {answer.preemption.words}"
    if trace.group and not trace.nominated_node:
        sentence += f" But its group {trace.group} is not scheduled as a whole, so it stays pending."
    return sentence


def preemption_sentence(preemption: Preemption, status: Status | None) -> str:
    """Return the result of PostFilter as a sentence."""
    if preemption.nominated_node:
        words = f"It fits on {preemption.nominated_node} by evicting {count(len(preemption.victims), 'pod')}"
        words += f" ({some(preemption.victims, 3)})" if preemption.victims else ""
        if len(preemption.candidates) > 1:
            words += f", chosen among {count(len(preemption.candidates))}" + (
                f" by {preemption.rule}" if preemption.rule else ""
            )
        return words + "."
    if preemption.refused:
        parts = [f"{count(number)}: {reason}" for reason, number in preemption.refused.items()]
        return f"Evicting pods of lower priority would not help ({'; '.join(parts)})."
    refusal = next((r for r in status.reasons if r.startswith(NOT_ELIGIBLE)), "") if status is not None else ""
    if refusal:
        return f"The pod may not evict others: {refusal.removeprefix(NOT_ELIGIBLE).rstrip('.')}."
    return "Evicting pods cannot help: no node rejects it because of other pods."
