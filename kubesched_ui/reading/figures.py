"""Figures as plain dicts, pure functions of data. Colours of text, grid and paper come from the page's theme.

Bars are drawn by the page itself (`parts/score_bars.html`, `static/js/bars.js`), the heatmap by Plotly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kubesched_ui.reading.cycleview import ScoreCell, ScoreRow

Figure = dict[str, Any]  # Plotly's: data, layout
Bars = dict[str, Any]  # static/js/bars.js: series (name, color, x, y, text, address), stacked, width, range, x, y

# Readable on light and dark paper and to most colour-blind people; told apart by hover and table as well.
SERIES = ["#2f8f96", "#d98a29", "#6b7fd7", "#c25b7c", "#7a9a3a", "#9a6bb8", "#4f9fd0", "#b5703a", "#808b93", "#3f9f6d"]
RESULTS = {
    "scheduled": "#2f9163",
    "unschedulable": "#cc5a2c",
    "gated": "#b98a1c",
    "error": "#8a5fc2",
    "waiting": "#4f7fd0",
}
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
    """The name, its middle left out where it is too long: names of a kind differ at their end."""
    if len(name) <= size:
        return name
    tail = size // 2
    return f"{name[: size - 1 - tail]}…{name[-tail:]}"


def score_bars(rows: Sequence[ScoreRow], top: int = 16) -> dict[str, Any]:
    """Stacked bars, one a node, the best on top, one colour a plugin: weighted scores.

    {plugins: [(name, colour)], rows: [{node, label, chosen, total, parts}]}; a part is {colour, width, title}, its
    width in percent of the highest total.
    """
    best = rows[:top]
    highest = max((row.total for row in best), default=0) or 1
    colors = {cell.plugin: SERIES[index % len(SERIES)] for index, cell in enumerate(best[0].cells)} if best else {}

    def part(cell: ScoreCell) -> dict[str, Any]:
        how = f"raw {cell.raw}, normalised {cell.normalized}, weight {cell.weight}"
        title = f"{cell.plugin}: {cell.weighted} ({how})"
        return {"color": colors[cell.plugin], "width": 100 * cell.weighted / highest, "title": title}

    return {
        "plugins": list(colors.items()),
        "rows": [
            {
                "node": row.node,
                "label": _short(row.node),
                "chosen": row.chosen,
                "total": row.total,
                "parts": [part(cell) for cell in row.cells if cell.weighted > 0],
            }
            for row in best
        ],
    }


def timeline(pods: Sequence[Mapping[str, Any]], address: Callable[[Mapping[str, Any]], str], bins: int = 400) -> Bars:
    """The pods of a run in the order in which they were taken: their score, coloured by outcome.

    `pods`: {position, namespace, name, result, score, message}. Beyond 3,000 pods, one bar for each of `bins` stretches
    of the run stands for its pods, by outcome: a picture that stays quick at any size.
    """
    if len(pods) > 3000:
        return _timeline_binned(pods, bins)
    highest = max((pod["score"] or 0 for pod in pods), default=0) or 1
    series = [
        {
            "name": name,
            "color": color,
            "x": [pod["position"] + 1 for pod in some],
            "y": [max(pod["score"] or 0, height * highest) if height > 0 else height * highest for pod in some],
            "text": [f"{_label(pod)}: {name}" for pod in some],
            "address": [address(pod) for pod in some],
        }
        for name, color, height, some in _outcomes(pods)
    ]
    return {
        "series": series,
        "stacked": False,
        "width": 0.86,
        "range": [0.4, max(len(pods), 24) + 0.6],
        "x": "pods in the order they were taken",
        "y": "score of the node",
    }


def _label(pod: Mapping[str, Any]) -> str:
    name = f"{pod['namespace']}/{pod['name']}"
    return name if pod["score"] is None else f"{name}, score {pod['score']:,}"


def _outcomes(pods: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, float, list[Mapping[str, Any]]]]:
    """(name, colour, least height as a share of the highest score, pods) of each kind of outcome that occurs."""
    scored = [pod for pod in pods if pod["result"] == "scheduled" and pod["score"] is not None]
    only = [pod for pod in pods if pod["result"] == "scheduled" and pod["score"] is None]
    kinds = [
        (NAMES["scheduled"], RESULTS["scheduled"], 0.01, scored),
        ("placed on the only node that fits", "#8cc4a6", 0.12, only),
    ]
    for result in ("unschedulable", "gated", "error"):
        kinds.append((NAMES[result], RESULTS[result], -0.12, [pod for pod in pods if pod["result"] == result]))
    return [kind for kind in kinds if kind[3]]


def _timeline_binned(pods: Sequence[Mapping[str, Any]], bins: int) -> Bars:
    size = -(-len(pods) // bins)
    starts = list(range(0, len(pods), size))
    counted = {result: [0] * len(starts) for result in RESULTS}
    for index, pod in enumerate(pods):
        counted[pod["result"]][index // size] += 1
    series = [
        {
            "name": NAMES[result],
            "color": RESULTS[result],
            "x": [start + (size + 1) / 2 for start in starts],
            "y": numbers,
            "text": [
                f"from pod {start + 1:,}: {number} of {size} {NAMES[result]}"
                for start, number in zip(starts, numbers, strict=True)
            ],
        }
        for result, numbers in counted.items()
        if any(numbers)
    ]
    return {
        "series": series,
        "stacked": True,
        "width": size,
        "range": [0.5, len(starts) * size + 0.5],
        "x": f"pods in the order they were taken, {size} a bar",
        "y": "pods",
    }


def utilisation(
    names: Sequence[str], rows: Sequence[tuple[str, Sequence[float]]], address: Callable[[str], str], most: int = 1000
) -> Figure:
    """A heatmap: a column a node, a row a resource and moment. `rows`: (label, percent requested per node), top first.

    Nodes beyond `most` are merged in runs of equal length by their mean.
    """
    step = -(-len(names) // most) if names else 1
    merged = [
        _short(names[i]) + (f" +{min(step, len(names) - i) - 1}" if step > 1 else "")
        for i in range(0, len(names), step)
    ]
    addresses = [address(names[i]) for i in range(0, len(names), step)]
    values = [
        [round(sum(part) / len(part), 1) for part in (percents[i : i + step] for i in range(0, len(names), step))]
        for _, percents in rows
    ]
    labels = [f"{label} " for label, _ in rows]
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
                "columns": {"text": merged, "customdata": addresses},  # of every row; the page repeats them
                "hovertemplate": "%{text}<br>%{y}: %{z}%<extra></extra>",
                "colorbar": {"ticksuffix": "%", "thickness": 10, "outlinewidth": 0},
            }
        ],
        "layout": _layout(
            xaxis={
                "showticklabels": False,
                "title": {"text": "nodes, fullest first"},
                "fixedrange": True,
                "showgrid": False,
                "zeroline": False,
                "ticks": "",
            },
            yaxis={"autorange": "reversed", "automargin": True, "fixedrange": True, "showgrid": False},
        ),
    }
