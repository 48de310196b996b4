"""Explains why a pod did not go to one node: refused, never evaluated, or outscored."""

from collections.abc import Sequence

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.formatting import agree, count, listing, some
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.errors import InputError
from scheduler_core.explain import scores
from scheduler_core.explain.answer import NodeAnswer, Objection
from scheduler_core.explain.explain import explainer
from scheduler_core.explain.phrases import phrase
from scheduler_core.simulation import Simulation

FILTER, SCORE = "filter", "score"


def explain_node(
    trace: CycleTrace,
    node: str,
    where: Simulation | Cluster | None = None,
    pod: PodInfo | None = None,
    names: Sequence[str] | None = None,
    by: str = "by name",
) -> NodeAnswer:
    """Return why the pod of a cycle did not go to this node, or why it did.

    `by`: how ties are decided. The other arguments are those of `explain`. Raises InputError if the cycle had no node
    of that name.
    """
    base = explainer(trace, where, pod, names)
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
        sentence = f"{node} was not evaluated: {_search_end(trace, pod)}. {_otherwise(objections)}"
        return NodeAnswer(node, "not_evaluated", sentence, FILTER, "", objections)
    tied = [other for other in scores.ties(trace, base.names) if other != node]
    if not trace.scores or trace.selected_row < 0 or (trace.selected_row == row and not tied):
        return _without_scores(trace, node, row, base.answer().sentence, by)
    duel = scores.duel(scores.ranked(trace, base.names, trace.selected_row), scores.ranked(trace, base.names, row))
    if duel.margin == 0 and tied:
        who, have = "it" if duel.winner == node else duel.winner, "has" if len(tied) == 1 else "have"
        sentence = f"{node} has the most points, but {some(tied)} {have} as many: {who} was chosen {by}."
        return NodeAnswer(node, "chosen" if duel.winner == node else "tied", sentence, SCORE, "", [], duel)
    if duel.margin < 0:
        sentence = f"{node} has {-duel.margin:,} more points, but a change of the fork places the pod on {duel.winner}."
    else:
        totals = (sum(getattr(one, side) for one in duel.differences) for side in ("winner", "other"))
        sentence = "{} fits, but {} has {:,} more points ({:,} to {:,}), {}.".format(
            node, duel.winner, duel.margin, *totals, scores.why_ahead(duel)
        )
    plugin = duel.differences[0].plugin if duel.differences else ""
    return NodeAnswer(node, "outscored", sentence, SCORE, plugin, [], duel)


def _refusal(node: str, objections: Sequence[Objection]) -> str:
    first, others = objections[0], [one.plugin for one in objections[1:] if one.plugin]
    sentence = f"{first.plugin or 'PreFilter'} refuses {node}: {_text(first)}."
    return f"{sentence} {listing(others)} would refuse it too." if others else sentence


def _text(one: Objection) -> str:
    reasons = "; ".join(one.reasons) or one.code
    return f"{reasons}: {one.detail}" if one.detail else reasons


def _search_end(trace: CycleTrace, pod: PodInfo | None) -> str:
    """Return why the search for feasible nodes ended, as a clause."""
    looked, feasible = int(trace.looked_mask().sum()), len(trace.feasible_rows())
    if looked == 1 and trace.batch_hint == trace.node != "":
        return f"only {trace.node} was, the next best node for pods like the previous one (opportunistic batching)"
    if looked == 1 and pod is not None and pod.nominated_node == trace.node != "":
        return f"only {trace.node} was, because the pod is nominated to it and fits"
    total = trace.nodes if trace.subset is None else len(trace.subset)
    ended = f"the search ended after {looked:,} of {count(total)}, with {count(feasible, 'feasible node')}"
    return f"{ended} (percentageOfNodesToScore)"


def _otherwise(objections: Sequence[Objection]) -> str:
    if not objections:
        return "It passes every Filter plugin."
    return f"It would not fit: {objections[0].plugin} refuses it ({_text(objections[0])})."


def _without_scores(trace: CycleTrace, node: str, row: int, whole: str, by: str) -> NodeAnswer:
    if trace.selected_row == row:
        return NodeAnswer(node, "chosen", whole, SCORE if trace.scores else FILTER)
    if trace.selected_row < 0:
        return NodeAnswer(node, "feasible", f"{node} fits. {whole}", FILTER)
    sentence = f"{node} fits too; nothing scores the nodes, and {trace.node} was chosen {by}."
    return NodeAnswer(node, "feasible", sentence, FILTER)
