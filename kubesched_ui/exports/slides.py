"""Slides that present a cycle step by step: their order and content. All functions are pure.

The content of a slide depends only on the slides up to it, so that later results are never sent early.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from kubesched_ui.presenters.capacity_bars import BarRow
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.explain.answer import Preemption
from scheduler_core.explain.matrix import Matrix, MatrixGroup
from scheduler_core.explain.points import rejection_at
from scheduler_core.explain.preemption import rejected_nodes

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
    trace: CycleTrace, verdicts: Matrix, preemption: Preemption | None, guesses: bool = False, nodes: bool = True
) -> list[Slide]:
    """Return the slides of a cycle in order.

    `guesses`: include questions before results. `nodes`: whether the cluster before the cycle is known.
    """
    found = [Slide("pod", label="The pod")]
    if nodes:
        found.append(Slide("nodes", label="The cluster before the cycle"))
    for point, label in (("preenqueue", "PreEnqueue"), ("prefilter", PREFILTER)):
        if (rejected := rejection_at(trace, point)) is not None:
            found.append(Slide(point, label=label, figure=rejected.plugin))
    if verdicts.looked_at and trace.preenqueue is None and trace.prefilter is None:
        found += [Slide("guess", "fits", "A guess")] * guesses + _filters(verdicts)
        found.append(Slide("fits", label="Feasible nodes", figure=f"{verdicts.feasible} of {verdicts.looked_at}"))
    if preemption is not None:
        found += [Slide("guess", "candidates", "A guess")] * guesses
        found.append(Slide("candidates", label="Preemption", figure=f"{len(preemption.candidates)} to choose from"))
        if preemption.nominated_node:
            found.append(Slide("victims", label="Victims", figure=preemption.nominated_node))
    if trace.scores:
        found += [Slide("guess", "total", "A guess")] * guesses
        found += [Slide("score", name, name, f"weight {score.weight}") for name, score in trace.scores.items()]
        found.append(Slide("total", label="Total scores", figure=f"best {int(trace.total().max()):,}"))
    return [*found, Slide("result", label="The decision", figure=trace.node)]


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


def steps_until(steps: Sequence[Mapping[str, str]], slides: Sequence[Slide], here: int) -> int:
    """Return how many steps of the cycle (scheduler_core/search/cycle_steps.py) the slides show, up to this one."""
    shown = 0
    for slide, following in zip(slides[: here + 1], [*slides[1:], None], strict=False):
        ends = [number for number, step in enumerate(steps, 1) if slide.point == "result" or _has_step(slide, step)]
        if slide.point == "filter" and following is not None and following.point == "fits":
            # The nodes that nominated pods fill are counted for the plugin that rejects them.
            ends += [number for number, step in enumerate(steps, 1) if step["point"] == "filter" and not step["plugin"]]
        shown = max([shown, *ends])
    return shown


def _has_step(slide: Slide, step: Mapping[str, str]) -> bool:
    """Return whether a slide shows the result of a step."""
    point, plugin = step["point"], step["plugin"]
    match slide.point:
        case "filter" if slide.plugin == PREFILTER:
            return point == "prefilter" and not plugin
        case "filter" | "score":
            return (point, plugin) == (slide.point, slide.plugin)
        case "fits":
            return point == "filter"
        case "candidates":
            return point == "postfilter" and bool(step["node"])
        case "victims":
            return point == "postfilter"
        case "total":
            return point == "score"
    return point == slide.point


def out_by(verdicts: Matrix, plugin: str) -> list[MatrixGroup]:
    """Return the groups of nodes that a plugin was the first to reject."""
    return [group for group in verdicts.groups if group.state == "refused" and (group.plugin or PREFILTER) == plugin]


def passed(slides: Sequence[Slide], here: int, verdicts: Matrix) -> list[str]:
    """Return the Filter plugins since the previous filter slide that passed all remaining nodes."""
    before = [one.plugin for one in slides[:here] if one.point == "filter" and one.plugin in verdicts.plugins]
    start = verdicts.plugins.index(before[-1]) + 1 if before else 0
    mine = slides[here].plugin
    end = verdicts.plugins.index(mine) if mine in verdicts.plugins else len(verdicts.plugins)
    return verdicts.plugins[start:end] if mine != PREFILTER else []


def marks(
    slides: Sequence[Slide], here: int, verdicts: Matrix, trace: CycleTrace, names: Sequence[str]
) -> dict[str, tuple[str, str]]:
    """Return node -> (mark, text) up to the current slide. `names`: all nodes in the order of the trace's rows."""
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
    if slide.point == "result":
        rows = trace.feasible_rows().tolist() if trace.scores else []
        total = {names[row]: number for row, number in zip(rows, trace.total().tolist(), strict=False)}
        found |= {node: ("fits", f"{number:,}") for node, number in total.items()}
        if trace.node:
            found[trace.node] = ("chosen", f"chosen, {total[trace.node]:,}" if trace.node in total else "chosen")
    return found


def candidates(
    preemption: Preemption, trace: CycleTrace, names: Sequence[str], slide: str
) -> dict[str, tuple[str, str]]:
    """Return node -> (mark, text) for preemption candidates; on the victims slide, mark only the chosen one."""
    found = {node: ("out", reason) for _, reason, nodes in rejected_nodes(trace, names) for node in nodes}
    for one in preemption.candidates:
        many = len(one.victims)
        evicted = f"{many} pod{'' if many == 1 else 's'} would be evicted"
        if slide == "victims":
            found[one.node] = ("out", evicted)
            if one.node == preemption.nominated_node:
                found[one.node] = ("made", "preemption frees resources here")
        else:
            found[one.node] = ("made", evicted)
    return found


def coloured(
    shelf: BarRow,
    slides: Sequence[Slide],
    here: int,
    verdicts: Matrix,
    trace: CycleTrace,
    names: Sequence[str],
    preemption: Preemption | None,
) -> BarRow:
    """Return the nodes with the marks of the slides up to this one."""
    if preemption is None or slides[here].point not in ("candidates", "victims"):
        return shelf.marked(marks(slides, here, verdicts, trace, names))
    shelf = shelf.marked(candidates(preemption, trace, names, slides[here].point))
    return shelf.leaving(set(preemption.victims)) if slides[here].point == "victims" else shelf


def scores(trace: CycleTrace, names: Sequence[str], plugin: str, best: int = 100) -> list[Score]:
    """Return the nodes with the plugin's highest scores, and the sum of the plugins before it.

    They are not ordered by total. `best`: the maximum score of a plugin.
    """
    score, before = trace.scores[plugin], np.zeros(len(trace.feasible_rows()), np.int64)
    for name, other in trace.scores.items():
        if name == plugin:
            break
        before += other.normalized * other.weight
    most = best * sum(other.weight for other in trace.scores.values()) or 1
    nodes, weighted = [names[row] for row in trace.feasible_rows().tolist()], score.normalized * score.weight
    places = sorted(range(len(nodes)), key=lambda i: (-int(weighted[i]), nodes[i]))[:ROWS]
    found = []
    for i in places:
        raw, normalized, points, so_far = (int(column[i]) for column in (score.raw, score.normalized, weighted, before))
        widths = 100 * so_far / most, 100 * points / most
        found.append(Score(nodes[i], raw, normalized, score.weight, points, so_far + points, *widths))
    return found
