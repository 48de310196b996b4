"""Slides that present a cycle step by step: their order and content. All functions are pure.

The content of a slide depends only on the slides up to it, so that later results are never sent early.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from kubesched_ui.presenters.capacity_bars import BarRow
from kubesched_ui.presenters.cycle_presenter import Matrix, NodeGroup, Preemption, ScoreRow

ROWS = 8  # scores per slide
# Points of a pod's page and of explanation trees -> the slide that shows most of them.
POINTS = {
    "prescore": "fits",
    **dict.fromkeys(("raw", "normalized", "weighted"), "score"),
    **dict.fromkeys(("postfilter", "preemption"), "candidates"),
    **dict.fromkeys(("reserve", "permit", "prebind", "bind", "postbind"), "result"),
}
WITHOUT_NODES = ("pod", "preenqueue", "prefilter", "score", "total")  # points whose slides have no map of the cluster
GUESSES = {
    "fits": "Which nodes are feasible?",
    "candidates": "Which pods would be evicted?",
    "total": "Which node wins?",
}
PREFILTER = "PreFilter"


class Slide(NamedTuple):
    """A slide.

    `point`: pod, nodes, guess, preenqueue, prefilter, filter, fits, candidates, victims, score, total or result.
    `plugin`: for filter and score; for guess, the question. `figure`: the result in short.
    """

    point: str
    plugin: str = ""
    label: str = ""
    figure: str = ""


class Score(NamedTuple):
    """A node's line on a plugin's slide. `before` and `width` are in percent of the maximum total."""

    node: str
    raw: int
    normalized: int
    weight: int
    weighted: int
    so_far: int
    before: float
    width: float


def of_cycle(
    cycle: Mapping[str, Any], verdicts: Matrix, preemption: Preemption | None, guesses: bool = False, nodes: bool = True
) -> list[Slide]:
    """Return the slides of a cycle in order.

    `guesses`: include questions before results. `nodes`: whether the cluster before the cycle is known.
    """
    found = [Slide("pod", label="The pod")]
    if nodes:
        found.append(Slide("nodes", label="The cluster before the cycle"))
    for point, label in (("preenqueue", "PreEnqueue"), ("prefilter", PREFILTER)):
        if rejected := cycle.get(point):
            found.append(Slide(point, label=label, figure=str(rejected.get("plugin") or "")))
    refused = verdicts.looked_at and not cycle.get("preenqueue") and not cycle.get("prefilter")
    if refused:
        found += [Slide("guess", "fits", "A guess")] * guesses + _filters(verdicts)
        found.append(Slide("fits", label="Feasible nodes", figure=f"{verdicts.feasible} of {verdicts.looked_at}"))
    if preemption is not None:
        found += [Slide("guess", "candidates", "A guess")] * guesses
        found.append(Slide("candidates", label="Preemption", figure=f"{len(preemption.candidates)} to choose from"))
        if preemption.nominated:
            found.append(Slide("victims", label="Victims", figure=preemption.nominated))
    if cycle.get("total"):
        found += [Slide("guess", "total", "A guess")] * guesses
        found += [Slide("score", name, name, f"weight {score['weight']}") for name, score in cycle["score"].items()]
        found.append(Slide("total", label="Total scores", figure=f"best {max(cycle['total'].values()):,}"))
    return [*found, Slide("result", label="The decision", figure=str(cycle.get("selected") or ""))]


def _filters(verdicts: Matrix) -> list[Slide]:
    """Return a slide for each plugin that was the first to reject a node, in execution order; PreFilter comes first."""
    out: dict[str, int] = {}
    for group in verdicts.groups:
        if group.state == "refused":
            out[group.plugin or PREFILTER] = out.get(group.plugin or PREFILTER, 0) + len(group.nodes)
    order = {name: place for place, name in enumerate([PREFILTER, *verdicts.plugins])}
    named = sorted(out, key=lambda name: order.get(name, len(order)))
    return [Slide("filter", name, name, f"{out[name]} out") for name in named]


def at(slides: Sequence[Slide], point: str, plugin: str) -> int:
    """Return the index of the slide for a URL's point, which may be one of a pod's page; else the first."""
    wanted = POINTS.get(point, point)
    if wanted in ("filter", "score") and not plugin:
        wanted = {"filter": "fits", "score": "total"}[wanted]
    places = [i for i, one in enumerate(slides) if one.point == wanted and (one.plugin == plugin or not one.plugin)]
    if not places and wanted in ("filter", "score"):  # a plugin that passed all nodes
        places = [i for i, one in enumerate(slides) if one.point == {"filter": "fits", "score": "total"}[wanted]]
    return places[0] if places else 0


def out_by(verdicts: Matrix, plugin: str) -> list[NodeGroup]:
    """Return the groups of nodes that a plugin was the first to reject."""
    return [group for group in verdicts.groups if group.state == "refused" and (group.plugin or PREFILTER) == plugin]


def passed(slides: Sequence[Slide], here: int, verdicts: Matrix) -> list[str]:
    """Return the Filter plugins since the previous filter slide that passed all remaining nodes."""
    before = [one.plugin for one in slides[:here] if one.point == "filter" and one.plugin in verdicts.plugins]
    start = verdicts.plugins.index(before[-1]) + 1 if before else 0
    mine = slides[here].plugin
    end = verdicts.plugins.index(mine) if mine in verdicts.plugins else len(verdicts.plugins)
    return verdicts.plugins[start:end] if mine != PREFILTER else []


def marks(slides: Sequence[Slide], here: int, verdicts: Matrix, cycle: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Return node -> (mark, text) up to the current slide."""
    gone = [one.plugin for one in slides[:here] if one.point == "filter"]
    slide, found = slides[here], {}
    points = [one.point for one in slides[: here + 1]]
    for group in verdicts.groups:
        plugin = group.plugin or PREFILTER
        words = dict(zip(group.nodes, group.each, strict=False))
        for node in group.nodes:
            if group.state == "refused" and slide.point == "filter" and plugin == slide.plugin:
                found[node] = ("refused", words.get(node, group.heading))
            elif group.state == "refused" and plugin in gone:
                found[node] = ("out", plugin)
            elif group.state == "unseen" and "fits" in points:
                found[node] = ("unseen", "not evaluated")
            elif group.state == "feasible" and "fits" in points:
                found[node] = ("fits", "fits" if slide.point == "fits" else "")
    if slide.point == "result" and (total := cycle.get("total")):
        found |= {node: ("fits", f"{total[node]:,}") for node in total}
    if slide.point == "result" and (chosen := cycle.get("selected")):
        found[chosen] = ("chosen", f"chosen, {total[chosen]:,}" if (total := cycle.get("total")) else "chosen")
    return found


def candidates(preemption: Preemption, slide: str) -> dict[str, tuple[str, str]]:
    """Return node -> (mark, text) for preemption candidates; on the victims slide, mark only the chosen one."""
    found = {node: ("out", reason) for _, reason, nodes in preemption.rejected for node in nodes}
    for one in preemption.candidates:
        many = len(one.victims)
        evicted = f"{many} pod{'' if many == 1 else 's'} would be evicted"
        if slide == "victims":
            found[one.node] = ("made", "preemption frees resources here") if one.chosen else ("out", evicted)
        else:
            found[one.node] = ("made", evicted)
    return found


def coloured(
    shelf: BarRow,
    slides: Sequence[Slide],
    here: int,
    verdicts: Matrix,
    cycle: Mapping[str, Any],
    preemption: Preemption | None,
) -> BarRow:
    """Return the nodes with the marks of the slides up to this one."""
    if preemption is None or slides[here].point not in ("candidates", "victims"):
        return shelf.marked(marks(slides, here, verdicts, cycle))
    gone = {victim.pod for one in preemption.candidates if one.chosen for victim in one.victims}
    shelf = shelf.marked(candidates(preemption, slides[here].point))
    return shelf.leaving(gone) if slides[here].point == "victims" else shelf


def scores(rows: Sequence[ScoreRow], plugin: str, best: int = 100) -> list[Score]:
    """Return the nodes with the plugin's highest scores, and the sum of the plugins before it.

    They are not ordered by total. `best`: the maximum score of a plugin.
    """
    if not rows:
        return []
    at = next(place for place, cell in enumerate(rows[0].cells) if cell.plugin == plugin)
    most = best * sum(cell.weight for cell in rows[0].cells) or 1
    found = []
    for row in rows:
        cell, before = row.cells[at], sum(one.weighted for one in row.cells[:at])
        width = [100 * number / most for number in (before, cell.weighted)]
        numbers = (cell.raw, cell.normalized, cell.weight, cell.weighted, before + cell.weighted)
        found.append(Score(row.node, *numbers, *width))
    return sorted(found, key=lambda one: (-one.weighted, one.node))[:ROWS]


def undecided(rows: Sequence[ScoreRow]) -> list[ScoreRow]:
    """Return the nodes by total, without a choice between equal ones."""
    return [replace(row, chosen=False, best=False) for row in sorted(rows, key=lambda row: (-row.total, row.node))]
