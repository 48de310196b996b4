"""Charts as plain dicts, pure functions of data. The page's theme sets the colours of text, grid and background.

Templates draw the bars (`parts/score_bars.html`), and Plotly draws the heatmap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kubesched_ui.presenters.cycle_presenter import ScoreCell, ScoreRow

Figure = dict[str, Any]  # Plotly's: data, layout

# Readable in light and dark themes. static/css/cycle.css adds patterns for readers who cannot distinguish the hues.
SERIES = ["#2f8f96", "#d98a29", "#6b7fd7", "#c25b7c", "#7a9a3a", "#9a6bb8", "#4f9fd0", "#b5703a", "#808b93", "#3f9f6d"]
NAMES = {"scheduled": "placed", "unschedulable": "no node", "gated": "gated", "error": "error", "waiting": "waiting"}
HEAT = [[0, "rgba(120,150,155,0.10)"], [0.5, "#58a5a8"], [0.8, "#d9a13b"], [1, "#c4481c"]]


def _layout(**more: Any) -> dict[str, Any]:
    base = {
        "margin": {"l": 8, "r": 12, "t": 8, "b": 36},
        "showlegend": False,
        "hovermode": "closest",
        "dragmode": False,
    }
    return base | more


def _short(name: str, size: int = 28) -> str:
    """Shorten a long name in the middle: similar names often differ at the end."""
    if len(name) <= size:
        return name
    tail = size // 2
    return f"{name[: size - 1 - tail]}…{name[-tail:]}"


def score_bars(rows: Sequence[ScoreRow], top: int = 16) -> dict[str, Any]:
    """Return stacked bars of weighted scores, one per node, the best first, with a colour and pattern per plugin.

    The result is {plugins: [(name, look)], left_out: [(name, points)], rows: [{node, label, chosen, total, parts}]}. A
    part is {look, width, title}, its width in percent of the highest total. A look is {number, color}; the number
    selects the pattern. Scores that are equal on all nodes and much higher than all others are left out, such as those
    of NodePreferAvoidPods.
    """
    best = rows[:top]
    left_out = _dwarfing(best)
    highest = max((row.total for row in best), default=0) - sum(left_out.values()) or 1
    numbers = {cell.plugin: index % len(SERIES) for index, cell in enumerate(best[0].cells)} if best else {}
    looks = {plugin: {"number": number, "color": SERIES[number]} for plugin, number in numbers.items()}

    def part(cell: ScoreCell) -> dict[str, Any]:
        how = f"raw {cell.raw}, normalized {cell.normalized}, weight {cell.weight}"
        title = f"{cell.plugin}: {cell.weighted} ({how})"
        return {"look": looks[cell.plugin], "width": 100 * cell.weighted / highest, "title": title}

    return {
        "plugins": [(plugin, look) for plugin, look in looks.items() if plugin not in left_out],
        "left_out": list(left_out.items()),
        "rows": [
            {
                "node": row.node,
                "label": _short(row.node),
                "chosen": row.chosen,
                "total": row.total,
                "parts": [part(cell) for cell in row.cells if cell.weighted > 0 and cell.plugin not in left_out],
            }
            for row in best
        ],
    }


def _dwarfing(rows: Sequence[ScoreRow], times: int = 10) -> dict[str, int]:
    """Map plugins that give all nodes the same score, more than `times` the sum of all others, to that score."""
    points: dict[str, list[int]] = {}
    for row in rows:
        for cell in row.cells:
            points.setdefault(cell.plugin, []).append(cell.weighted)
    same = {plugin: given[0] for plugin, given in points.items() if len(rows) > 1 and min(given) == max(given)}
    highest = max((row.total for row in rows), default=0)
    return {plugin: given for plugin, given in same.items() if given > times * (highest - given)}


def _mean(shares: Sequence[float]) -> float | None:
    return round(sum(shares) / len(shares), 1) if shares else None


def utilisation(
    names: Sequence[str],
    rows: Sequence[tuple[str, Sequence[float | None]]],
    address: Callable[[str], str],
    most: int = 1000,
) -> Figure:
    """Return a heatmap with a column per node and a row per resource and timepoint.

    `rows`: (label, percent requested per node), top first; None for a node without the resource. If there are more than
    `most` nodes, runs of equal length are merged to their mean.
    """
    step = -(-len(names) // most) if names else 1
    merged = [
        _short(names[i]) + (f" +{min(step, len(names) - i) - 1}" if step > 1 else "")
        for i in range(0, len(names), step)
    ]
    addresses = [address(names[i]) for i in range(0, len(names), step)]
    values = [
        [_mean([share for share in percents[i : i + step] if share is not None]) for i in range(0, len(names), step)]
        for _, percents in rows
    ]
    labels = [f"{label} " for label, _ in rows]
    some_lack = any(share is None for row in values for share in row)
    return {
        "data": [
            {
                "type": "heatmap",
                "x": list(range(len(merged))),
                "y": labels,
                "z": values,
                "zmin": 0,
                "zmax": 100,
                "colorscale": HEAT,
                "xgap": 1 if len(merged) <= 160 else 0,
                "ygap": 2,
                "columns": {"text": merged, "customdata": addresses},  # for every row; the page repeats them
                "hovertemplate": "%{text}<br>%{y}: %{z}%<extra></extra>",
                "colorbar": {"ticksuffix": "%", "thickness": 10, "outlinewidth": 0},
            }
        ],
        "layout": _layout(
            xaxis={
                "showticklabels": False,
                "title": {"text": "nodes, fullest first" + ("; blank: has none" if some_lack else "")},
                "fixedrange": True,
                "showgrid": False,
                "zeroline": False,
                "ticks": "",
            },
            yaxis={"autorange": "reversed", "automargin": True, "fixedrange": True, "showgrid": False},
        ),
    }
