"""Moments of the scores of a cycle, plugin by plugin."""

from collections.abc import Sequence
from typing import Any

from django.utils.html import format_html

from kubesched_ui.lessons.errors import Unknown
from kubesched_ui.lessons.functions import Facts
from kubesched_ui.lessons.picture_moments import Drawn, PictureMoment, name_of, names_of
from kubesched_ui.presenters.charts import score_bars
from scheduler_core.cluster.formatting import count
from scheduler_core.explain.answer import Ranked
from scheduler_core.explain.scores import ranking

MAX_SCORED = 8  # nodes


def score_moments(facts: Facts, whole: bool) -> Drawn:
    """Return the points that each plugin adds, and the totals. Raises Unknown without `whole`, because they are the
    result."""
    cycle = facts.focused
    trace = cycle.trace
    best = ranking(trace, cycle.nodes, MAX_SCORED)
    if not best:
        raise Unknown("no node was scored in this cycle")
    if not whole:
        raise Unknown("shows the totals of the cycle in focus, about which a later step asks")
    plugins = [cell.plugin for cell in best[0].points]
    nodes = count(len(trace.feasible_rows()), "feasible node")
    zero = [plugin for number, plugin in enumerate(plugins) if not any(row.points[number].weighted for row in best)]
    text = f"{count(len(plugins), 'plugin')} score {nodes}."
    text += f" {', '.join(zero)}: 0 points for every node." if zero else ""
    moments = [PictureMoment(text, body=_bars(best, 0))]
    for number, plugin in enumerate(plugins, 1):
        cells = [(row.node, row.points[number - 1]) for row in best]
        if len({cell.weighted for _, cell in cells}) == 1:
            if cells[0][1].weighted == 0:
                continue
            sentence = format_html("{} gives every node {} points, so the order stays.", plugin, cells[0][1].weighted)
        else:
            top, cell = max(cells, key=lambda one: one[1].weighted)
            sentence = format_html("{} gives {} the most points, {}.", plugin, name_of(top), cell.weighted)
        moments.append(PictureMoment(sentence, body=_bars(best, number) | {"plugin": plugin, "cells": cells}))
    tied = [row.node for row in best if row.total == best[0].total]
    if len(tied) > 1:
        text = "{} have the highest total, {}. One of them is chosen: {}."
        sentence = format_html(text, names_of(tied), best[0].total, name_of(trace.node))
    else:
        sentence = format_html("{} has the highest total, {}, and is chosen.", name_of(trace.node), best[0].total)
    return [*moments, PictureMoment(sentence, body=_bars(best, len(plugins), trace.node))], {}


def _bars(best: Sequence[Ranked], number: int, chosen: str = "") -> dict[str, Any]:
    """Return the stacked bars of the first `number` plugins, on the scale of the totals."""
    chart = score_bars(best, chosen)
    given = {cell.plugin for cell in best[0].points[:number]}
    left_out = dict(chart["left_out"])
    for row, ranked in zip(chart["rows"], best, strict=True):
        cells = [cell for cell in ranked.points[:number] if cell.plugin not in left_out]
        row["total"] = sum(cell.weighted for cell in ranked.points[:number])
        row["parts"] = row["parts"][: sum(cell.weighted > 0 for cell in cells)]
    points = {cell.plugin: cell.weighted for row in best for cell in row.points if cell.weighted}
    chart["plugins"] = [one for one in chart["plugins"] if one[0] in given and one[0] in points]
    chart["left_out"] = [one for one in chart["left_out"] if one[0] in given]
    return {"score_chart": chart}
