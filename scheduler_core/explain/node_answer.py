"""Explains why a pod did not go to one node: refused, never evaluated, or outscored."""

from collections.abc import Sequence

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.formatting import count, listing
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.errors import InputError
from scheduler_core.explain import scores
from scheduler_core.explain.answer import NodeAnswer, Objection
from scheduler_core.explain.explain import Explainer
from scheduler_core.explain.ladder import of_one_node
from scheduler_core.explain.nowhere import DETAILED
from scheduler_core.explain.scores import ScoreRules, ahead
from scheduler_core.explain.summary import is_nominated, searched
from scheduler_core.framework import causes
from scheduler_core.framework.causes import Obstacle
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
    base = Explainer(trace, where, pod, names, rules=rules)
    if node not in base.names:
        raise InputError(f"Node {node[:253]}", "", "does not exist at that timepoint")
    row = list(base.names).index(node)
    if status := trace.preenqueue or trace.prefilter:
        point = "preenqueue" if trace.preenqueue else "prefilter"
        return NodeAnswer(node, "pod", base.answer().sentence, point, status.plugin)
    if trace.error and not trace.node:
        return NodeAnswer(node, "pod", base.answer().sentence, FILTER)
    objections = base.objections(row)
    obstacles = next((one.obstacles for one in base.nowhere.classes if node in one.names), ())
    for one in objections:
        one.words = listing([_words(obstacle, one) for obstacle in obstacles if obstacle.plugin == one.plugin])
    if not trace.in_subset(row) and (not objections or not objections[0].plugin):
        return NodeAnswer(node, "excluded", _refusal(node, obstacles, objections), "prefilter", "", objections)
    if (trace.has_looked(row) or not trace.in_subset(row)) and (status := trace.status_at(row)) is not None:
        objections.sort(key=lambda one: one.plugin != status.plugin)
        sentence = _refusal(node, obstacles, objections)
        return NodeAnswer(node, "refused", sentence, FILTER, objections[0].plugin, objections)
    if not trace.has_looked(row):
        rest = _refusal(node, obstacles, objections) if objections else "It passes every Filter plugin."
        sentence = f"{node} was not evaluated: {_search_end(trace)}. {rest}"
        return NodeAnswer(node, "not_evaluated", sentence, FILTER, "", objections)
    if not trace.scores or trace.selected_row in (-1, row):
        whole = base.answer().sentence
        if trace.selected_row == row:
            return NodeAnswer(node, "chosen", whole, SCORE if trace.scores else FILTER)
        fits = "fits" if trace.selected_row < 0 else "fits too"
        return NodeAnswer(node, "feasible", f"{node} {fits}. {whole}", FILTER)
    duel = scores.duel(scores.ranked(trace, base.names, trace.selected_row), scores.ranked(trace, base.names, row))
    if duel.margin == 0:
        picked = f"{duel.winner} was chosen {base.rules.by}".rstrip()
        sentence = f"{node} fits and has the same total as {duel.winner}: {picked}."
        return NodeAnswer(node, "tied", sentence, SCORE, "", [], duel)
    plugin = duel.differences[0].plugin
    if duel.margin < 0:
        sentence = f"{node} has {-duel.margin:,} more points, but a change of the fork places the pod on {duel.winner}."
    else:
        first = next(one.plugin for one in duel.differences if one.difference > 0)
        sentence = f"{node} fits, but it is not {base.rules.best_of(first)}: {duel.winner} is {ahead(duel)}."
    return NodeAnswer(node, "outscored", sentence, SCORE, plugin, [], duel)


def _words(obstacle: Obstacle, found: Objection) -> str:
    """Return what the node lacks, a verb first: `is cordoned`, `is short by 1.2 cpu (requests 8, 6.8 of 16 free)`."""
    if found.shortfalls and obstacle.kind == causes.INSUFFICIENT_RESOURCE:
        return f"is {found.detail.replace('; short by', ' and by')}"
    words = of_one_node(obstacle.phrase)
    return f"{words} ({found.detail})" if found.detail and obstacle.kind in DETAILED else words


def _refusal(node: str, obstacles: Sequence[Obstacle], objections: Sequence[Objection]) -> str:
    """Return the changes with which the node could take the pod, or why no change is enough."""
    never = [one for one in obstacles if one.effort == causes.NEVER]
    words = {one.plugin: one.words for one in objections}
    parts = dict.fromkeys(words.get(one.plugin) or of_one_node(one.phrase) for one in never or obstacles)
    return refusal(node, None if never else len(obstacles), "; it ".join(parts))


def refusal(node: str, changes: int | None, what: str) -> str:
    """Return that a node could take the pod after so many changes, None for never. `what`: what it lacks."""
    if changes is None:
        return f"{node} cannot take the pod: it {what}."
    number = "one change" if changes == 1 else count(changes, "change")
    return f"{node} could take the pod after {number}: it {what}."


def _search_end(trace: CycleTrace) -> str:
    """Return why the search for feasible nodes ended, as a clause."""
    looked, feasible = int(trace.looked_mask().sum()), len(trace.feasible_rows())
    if looked == 1 and trace.batch_hint == trace.node != "":
        return f"only {trace.node} was, the next best node for pods like the previous one (opportunistic batching)"
    if is_nominated(trace):
        return f"only {trace.node} was, because the pod is nominated to it and fits"
    ended = f"the search ended after {looked:,} of {count(searched(trace))}, with {count(feasible, 'feasible node')}"
    return f"{ended} (percentageOfNodesToScore)"
