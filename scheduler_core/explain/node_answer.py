"""Explains why a pod did not go to one node: refused, never evaluated, or outscored."""

from collections.abc import Sequence

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.formatting import agree, count, listing
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.errors import InputError
from scheduler_core.explain import scores
from scheduler_core.explain.answer import NodeAnswer, Objection
from scheduler_core.explain.explain import explainer
from scheduler_core.explain.phrases import phrase
from scheduler_core.explain.placed import is_nominated, searched
from scheduler_core.explain.scores import ScoreRules, ahead
from scheduler_core.simulation import Simulation

FILTER, SCORE = "filter", "score"


def explain_node(
    trace: CycleTrace,
    node: str,
    where: Simulation | Cluster | None = None,
    pod: PodInfo | None = None,
    names: Sequence[str] | None = None,
    rules: ScoreRules | None = None,
) -> NodeAnswer:
    """Return why the pod of a cycle did not go to this node, or why it did.

    The arguments are those of `explain`. Raises InputError if the cycle had no node of that name.
    """
    base = explainer(trace, where, pod, names, rules=rules)
    if node not in base.names:
        raise InputError(f"Node {node[:253]}", "", "does not exist at that timepoint")
    row = list(base.names).index(node)
    for point, status in (("preenqueue", trace.preenqueue), ("prefilter", trace.prefilter)):
        if status is not None:
            return NodeAnswer(node, "pod", base.answer().sentence, point, status.plugin)
    if trace.error and not trace.node:
        return NodeAnswer(node, "pod", base.answer().sentence, FILTER)
    objections = base.objections(row)
    if not trace.in_subset(row) and (not objections or not objections[0].plugin):
        reasons = base.subset_status().reasons
        return NodeAnswer(node, "excluded", f"{node} {agree(1, phrase(reasons))}.", "prefilter", "", objections)
    if (trace.has_looked(row) or not trace.in_subset(row)) and (status := trace.status_at(row)) is not None:
        objections.sort(key=lambda one: one.plugin != status.plugin)
        return NodeAnswer(node, "refused", _refusal(node, objections), FILTER, objections[0].plugin, objections)
    if not trace.has_looked(row):
        sentence = f"{node} was not evaluated: {_search_end(trace)}. {_otherwise(objections)}"
        return NodeAnswer(node, "not_evaluated", sentence, FILTER, "", objections)
    if not trace.scores or trace.selected_row in (-1, row):
        return _without_scores(trace, node, row, base.answer().sentence)
    duel = scores.duel(scores.ranked(trace, base.names, trace.selected_row), scores.ranked(trace, base.names, row))
    if duel.margin == 0:
        picked = f"{duel.winner} was chosen {base.rules.by}".rstrip()
        return NodeAnswer(
            node, "tied", f"{node} fits and has the same total as {duel.winner}: {picked}.", SCORE, "", [], duel
        )
    plugin = duel.differences[0].plugin
    if duel.margin < 0:
        sentence = f"{node} has {-duel.margin:,} more points, but a change of the fork places the pod on {duel.winner}."
    else:
        first = next(one.plugin for one in duel.differences if one.difference > 0)
        sentence = f"{node} fits, but it is not {base.rules.of(first)}: {duel.winner} is {ahead(duel)}."
    return NodeAnswer(node, "outscored", sentence, SCORE, plugin, [], duel)


def _refusal(node: str, objections: Sequence[Objection]) -> str:
    first, others = objections[0], [one.plugin for one in objections[1:] if one.plugin]
    sentence = f"{first.plugin or 'PreFilter'} refuses {node}: {_text(first)}."
    return f"{sentence} {listing(others)} would refuse it too." if others else sentence


def _text(one: Objection) -> str:
    reasons = "; ".join(one.reasons) or one.code
    return f"{reasons}: {one.detail}" if one.detail else reasons


def _search_end(trace: CycleTrace) -> str:
    """Return why the search for feasible nodes ended, as a clause."""
    looked, feasible = int(trace.looked_mask().sum()), len(trace.feasible_rows())
    if looked == 1 and trace.batch_hint == trace.node != "":
        return f"only {trace.node} was, the next best node for pods like the previous one (opportunistic batching)"
    if is_nominated(trace):
        return f"only {trace.node} was, because the pod is nominated to it and fits"
    ended = f"the search ended after {looked:,} of {count(searched(trace))}, with {count(feasible, 'feasible node')}"
    return f"{ended} (percentageOfNodesToScore)"


def _otherwise(objections: Sequence[Objection]) -> str:
    if not objections:
        return "It passes every Filter plugin."
    return f"It would not fit: {objections[0].plugin} refuses it ({_text(objections[0])})."


def _without_scores(trace: CycleTrace, node: str, row: int, whole: str) -> NodeAnswer:
    if trace.selected_row == row:
        return NodeAnswer(node, "chosen", whole, SCORE if trace.scores else FILTER)
    if trace.selected_row < 0:
        return NodeAnswer(node, "feasible", f"{node} fits. {whole}", FILTER)
    return NodeAnswer(node, "feasible", f"{node} fits too. {whole}", FILTER)
