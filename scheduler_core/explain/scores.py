"""The best nodes, and why the winner is ahead of the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from scheduler_core.api.profile import Profile
from scheduler_core.cluster.formatting import count
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.explain.answer import Decision, Duel, Points, Ranked, ScoreDifference
from scheduler_core.framework.interface import Plugin, ScorePlugin

NAMED = 3  # plugins in a sentence


def best_places(trace: CycleTrace, names: Sequence[str], most: int | None = None, undecided: bool = False) -> list[int]:
    """Return the places of the best feasible nodes by total among `trace.feasible_rows()`; empty without scores.

    Of nodes with equal totals, the chosen one comes first (unless `undecided`), then they are ordered by name.
    `most`: how many, None for all.
    """
    if not trace.scores:
        return []
    rows, total = trace.feasible_rows(), trace.total()
    chosen = -1 if undecided else trace.selected_row
    order: list[int] = np.lexsort((rows != chosen, -total))[:most].tolist()
    return sorted(order, key=lambda i: (-int(total[i]), int(rows[i]) != chosen, names[int(rows[i])]))


def ranking(trace: CycleTrace, names: Sequence[str], most: int | None, undecided: bool = False) -> list[Ranked]:
    """Return the scores of `best_places`."""
    return [ranked_at(trace, names, i) for i in best_places(trace, names, most, undecided)]


def ranked(trace: CycleTrace, names: Sequence[str], row: int) -> Ranked:
    """Return the scores of the scored node in `row`."""
    return ranked_at(trace, names, int(np.flatnonzero(trace.feasible_rows() == row)[0]))


def ranked_at(trace: CycleTrace, names: Sequence[str], i: int) -> Ranked:
    """Return the scores of the feasible node at place `i`."""
    points = [
        Points(plugin, s.weight, int(s.raw[i]), int(s.normalized[i]), int(s.normalized[i]) * s.weight)
        for plugin, s in trace.scores.items()
    ]
    return Ranked(names[int(trace.feasible_rows()[i])], int(trace.total()[i]), points)


def ties(trace: CycleTrace, names: Sequence[str]) -> list[str]:
    """Return the nodes with the highest total if there are several."""
    if not trace.scores:
        return []
    rows, total = trace.feasible_rows(), trace.total()
    best = np.flatnonzero(total == total.max())
    return sorted(names[row] for row in rows[best].tolist()) if len(best) > 1 else []


def duel(winner: Ranked, other: Ranked) -> Duel:
    """Compare two scored nodes plugin by plugin, the largest difference first."""
    differences = [
        ScoreDifference(ours.plugin, ours.weighted, theirs.weighted, ours.weighted - theirs.weighted)
        for ours, theirs in zip(winner.points, other.points, strict=True)
    ]
    differences.sort(key=lambda d: -abs(d.difference))
    return Duel(winner.node, other.node, winner.total - other.total, differences)


def ahead(match: Duel) -> str:
    """Return the margin and what it consists of: `6 ahead of n2 (NodeResourcesFit 8, TaintToleration -2)`."""
    differing = [d for d in match.differences if d.difference]
    parts = [f"{d.plugin} {d.difference:,}" for d in differing[:NAMED]]
    if rest := differing[NAMED:]:
        parts.append(f"{count(len(rest), 'other')} {sum(d.difference for d in rest):,}")
    return f"{match.margin:,} ahead of {match.other} ({', '.join(parts)})"


class ScoreRules(NamedTuple):
    """How a profile chooses among feasible nodes. `best`: Score plugin -> its words for the best node. `by`: how ties
    are decided, "" if that is not known."""

    best: Mapping[str, str] = {}
    by: str = ""

    @staticmethod
    def of_profile(profile: Profile, registry: Mapping[str, type[Plugin]], by: str) -> ScoreRules:
        """Return the rules of a profile whose plugins are in the registry."""
        best = {}
        for name, _ in profile.plugins["score"]:
            plugin = registry[profile.kinds.get(name, name)]
            if issubclass(plugin, ScorePlugin):
                best[name] = plugin.describe_best(profile.args.get(name))
        return ScoreRules(best, by)

    def best_of(self, plugin: str) -> str:
        """Return the words for the node with the plugin's highest score."""
        return self.best.get(plugin) or f"the best for {plugin}"


def decision(trace: CycleTrace, rules: ScoreRules) -> Decision | None:
    """Return what singled out the chosen node; None if there are no scores or no node was chosen.

    One plugin whose highest score only the chosen node has; otherwise two plugins, or one plugin among the nodes with
    another plugin's highest score; otherwise the total. Nodes with the same total count as one.
    """
    found = np.flatnonzero(trace.feasible_rows() == trace.selected_row)
    if not trace.scores or not len(found):
        return None
    chosen, total = int(found[0]), trace.total()
    others = total < total[chosen]  # the nodes to single it out from
    if (total > total[chosen]).any() or not others.any():
        return Decision(by=rules.by)
    columns = {plugin: score.normalized * score.weight for plugin, score in trace.scores.items()}
    runner_up = int(np.where(others, total, np.iinfo(np.int64).min).argmax())
    order = sorted(columns, key=lambda plugin: int(columns[plugin][runner_up] - columns[plugin][chosen]))
    highest = {plugin: columns[plugin] == columns[plugin].max() for plugin in order}
    having = [plugin for plugin in order if highest[plugin][chosen] and not highest[plugin].all()]
    for plugin in having:
        if not (highest[plugin] & others).any():
            return Decision(rules.best_of(plugin), [plugin], rules.by)
    for first, second in combinations(having, 2):
        if not (highest[first] & highest[second] & others).any():
            return Decision(f"{rules.best_of(first)} and {rules.best_of(second)}", [first, second], rules.by)
    for first in having:
        among = highest[first]
        for plugin in order:
            most = columns[plugin][among].max()
            if columns[plugin][chosen] == most and not (among & others & (columns[plugin] == most)).any():
                best = f"{rules.best_of(plugin)} of the {int(among.sum()):,} that {first} scores highest"
                return Decision(best, [first, plugin], rules.by)
    return Decision("the one with the highest total", [], rules.by)


def against(trace: CycleTrace, names: Sequence[str], other: str = "") -> Duel | None:
    """Compare the chosen or best node with another scored one, by default with the runner-up. Return None for fewer
    than two scored nodes."""
    places = best_places(trace, names)
    if len(places) < 2:
        return None
    rows = trace.feasible_rows()
    first = next((i for i in places if int(rows[i]) == trace.selected_row), places[0])
    rest = [i for i in places if i != first]
    second = next((i for i in rest if names[int(rows[i])] == other), rest[0])
    return duel(ranked_at(trace, names, first), ranked_at(trace, names, second))
