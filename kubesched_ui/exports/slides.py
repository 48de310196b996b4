"""A cycle one thing at a time, for a room: which slides it has, in order, and what each is about. Pure functions.

What a slide shows follows from the slides up to it alone, never from later ones: so nothing that comes is sent before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from kubesched_ui.presenters.capacity_bars import Shelf
from kubesched_ui.presenters.cycle_presenter import Group, Matrix, Preemption, ScoreRow

ROWS = 8  # of scores on a slide
# Points of a pod's page (and of trees of numbers) -> the slide that shows most of it.
POINTS = {
    "prescore": "fits",
    "raw": "score",
    "normalized": "score",
    "weighted": "score",
    "postfilter": "candidates",
    "preemption": "candidates",
    **dict.fromkeys(("reserve", "permit", "prebind", "bind", "postbind"), "result"),
}
WITHOUT_NODES = ("pod", "preenqueue", "prefilter", "score", "total")  # points whose slides draw no cluster
GUESSES = {
    "fits": "Which nodes are feasible?",
    "candidates": "Which pods would be evicted?",
    "total": "Which node wins?",
}
PREFILTER = "PreFilter"


class Slide(NamedTuple):
    """`point`: pod, nodes, guess, preenqueue, prefilter, filter, fits, candidates, victims, score, total or result.
    `plugin`: of filter and score; of guess what is asked. `figure`: what came of it, in short."""

    point: str
    plugin: str = ""
    label: str = ""
    figure: str = ""


class Score(NamedTuple):
    """A node's line on the slide of a plugin; `before` and `width` in percent of all there is to get."""

    node: str
    raw: int
    normalized: int
    weight: int
    weighted: int
    so_far: int
    before: float
    width: float


def of_cycle(
    cycle: Mapping[str, Any],
    verdicts: Matrix,
    preemption: Preemption | None,
    guesses: bool = False,
    nodes: bool = True,
) -> list[Slide]:
    """The slides of a cycle in order. `guesses`: with questions before what is decided. `nodes`: whether the cluster
    before it is known."""
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
        found += [Slide("score", name, name, f"weight {told['weight']}") for name, told in cycle["score"].items()]
        found.append(Slide("total", label="The sums", figure=f"best {max(cycle['total'].values()):,}"))
    return [*found, Slide("result", label="The decision", figure=str(cycle.get("selected") or ""))]


def _filters(verdicts: Matrix) -> list[Slide]:
    """A slide for each plugin that decided against a node, in the order asked; first what PreFilter left out."""
    out: dict[str, int] = {}
    for group in verdicts.groups:
        if group.state == "refused":
            out[group.plugin or PREFILTER] = out.get(group.plugin or PREFILTER, 0) + len(group.nodes)
    order = {name: place for place, name in enumerate([PREFILTER, *verdicts.plugins])}
    named = sorted(out, key=lambda name: order.get(name, len(order)))
    return [Slide("filter", name, name, f"{out[name]} out") for name in named]


def at(slides: Sequence[Slide], point: str, plugin: str) -> int:
    """Index of the slide that an address asks for, by its own point or that of a pod's page; else the first."""
    wanted = POINTS.get(point, point)
    if wanted in ("filter", "score") and not plugin:
        wanted = {"filter": "fits", "score": "total"}[wanted]
    places = [i for i, one in enumerate(slides) if one.point == wanted and (one.plugin == plugin or not one.plugin)]
    if not places and wanted in ("filter", "score"):  # a plugin that let everything pass
        places = [i for i, one in enumerate(slides) if one.point == {"filter": "fits", "score": "total"}[wanted]]
    return places[0] if places else 0


def out_by(verdicts: Matrix, plugin: str) -> list[Group]:
    """The groups of nodes that a plugin decided against."""
    return [group for group in verdicts.groups if group.state == "refused" and (group.plugin or PREFILTER) == plugin]


def passed(slides: Sequence[Slide], here: int, verdicts: Matrix) -> list[str]:
    """The Filter plugins that were asked since the filter slide before and let all pass that was left."""
    before = [one.plugin for one in slides[:here] if one.point == "filter" and one.plugin in verdicts.plugins]
    start = verdicts.plugins.index(before[-1]) + 1 if before else 0
    mine = slides[here].plugin
    end = verdicts.plugins.index(mine) if mine in verdicts.plugins else len(verdicts.plugins)
    return verdicts.plugins[start:end] if mine != PREFILTER else []


def marks(slides: Sequence[Slide], here: int, verdicts: Matrix, cycle: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Node -> (mark, words) as far as the slides have come."""
    gone = [one.plugin for one in slides[:here] if one.point == "filter"]
    slide, found = slides[here], {}
    asked = [one.point for one in slides[: here + 1]]
    for group in verdicts.groups:
        plugin = group.plugin or PREFILTER
        words = dict(zip(group.nodes, group.each, strict=False))
        for node in group.nodes:
            if group.state == "refused" and slide.point == "filter" and plugin == slide.plugin:
                found[node] = ("refused", words.get(node, group.heading))
            elif group.state == "refused" and plugin in gone:
                found[node] = ("out", plugin)
            elif group.state == "unseen" and "fits" in asked:
                found[node] = ("unseen", "not looked at")
            elif group.state == "feasible" and "fits" in asked:
                found[node] = ("fits", "fits" if slide.point == "fits" else "")
    if slide.point == "result" and (total := cycle.get("total")):
        found |= {node: ("fits", f"{total[node]:,}") for node in total}
    if slide.point == "result" and (chosen := cycle.get("selected")):
        found[chosen] = ("chosen", f"chosen, {total[chosen]:,}" if (total := cycle.get("total")) else "chosen")
    return found


def candidates(preemption: Preemption, slide: str) -> dict[str, tuple[str, str]]:
    """Node -> (mark, words): where evicting pods would make room; on the slide of the victims, where it is made."""
    found = {node: ("out", reason) for _, reason, nodes in preemption.rejected for node in nodes}
    for one in preemption.candidates:
        many = len(one.victims)
        said = f"{many} pod{'' if many == 1 else 's'} would be evicted"
        if slide == "victims":
            found[one.node] = ("made", "preemption frees resources here") if one.chosen else ("out", said)
        else:
            found[one.node] = ("made", said)
    return found


def coloured(
    shelf: Shelf,
    slides: Sequence[Slide],
    here: int,
    verdicts: Matrix,
    cycle: Mapping[str, Any],
    preemption: Preemption | None,
) -> Shelf:
    """The nodes with what the slides up to this one say of them."""
    if preemption is None or slides[here].point not in ("candidates", "victims"):
        return shelf.marked(marks(slides, here, verdicts, cycle))
    gone = {victim.pod for one in preemption.candidates if one.chosen for victim in one.victims}
    shelf = shelf.marked(candidates(preemption, slides[here].point))
    return shelf.leaving(gone) if slides[here].point == "victims" else shelf


def scores(rows: Sequence[ScoreRow], plugin: str, best: int = 100) -> list[Score]:
    """The nodes that a plugin gives most, with what those before it gave; not in the order of their sums. `best`: the
    highest score that a plugin gives."""
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
    """The nodes by their sums, without which one is chosen among equals."""
    return [replace(row, chosen=False, best=False) for row in sorted(rows, key=lambda row: (-row.total, row.node))]
