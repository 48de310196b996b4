"""Plotly figures as plain dicts, pure functions of data. Colours of text, grid and paper come from the page's theme."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kubesched_ui.cycleview import ScoreRow

Figure = dict[str, Any]

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


def score_bars(rows: Sequence[ScoreRow], top: int = 16) -> Figure:
    """Stacked bars, one a node (the best on top), one colour a plugin: weighted scores, longest first."""
    best = list(rows[:top])[::-1]
    labels = [_short(row.node) + (" ★" if row.chosen else "") for row in best]
    places = list(range(len(best)))  # by place, not by label: labels of two nodes may be the same
    plugins = [cell.plugin for cell in best[0].cells] if best else []
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "name": plugin,
            "y": places,
            "text": [row.node for row in best],
            "textposition": "none",
            "x": [row.cells[index].weighted for row in best],
            "customdata": [
                [row.cells[index].raw, row.cells[index].normalized, row.cells[index].weight] for row in best
            ],
            "hovertemplate": "%{text}<br>%{fullData.name}: %{x}<br>raw %{customdata[0]}, normalised %{customdata[1]}, "
            "weight %{customdata[2]}<extra></extra>",
            "marker": {"color": SERIES[index % len(SERIES)]},
        }
        for index, plugin in enumerate(plugins)
    ]
    return {
        "data": data,
        "layout": _layout(
            barmode="stack",
            showlegend=True,
            legend={"orientation": "h", "y": -0.12, "yanchor": "top", "font": {"size": 11}},
            xaxis={"fixedrange": True},
            yaxis={
                "tickmode": "array",
                "tickvals": places,
                "ticktext": labels,
                "zeroline": False,
                "automargin": True,
                "fixedrange": True,
                "tickfont": {"family": "monospace", "size": 11},
            },
        ),
    }


def timeline(pods: Sequence[Mapping[str, Any]], address: Callable[[Mapping[str, Any]], str], bins: int = 400) -> Figure:
    """The pods of a run in the order in which they were taken: their score, coloured by outcome.

    `pods`: {position, namespace, name, result, score, message}. Beyond 3,000 pods, one bar for each of `bins` stretches
    of the run stands for its pods, by outcome: a picture that stays quick at any size.
    """
    if len(pods) > 3000:
        return _timeline_binned(pods, bins)
    highest = max((pod["score"] or 0 for pod in pods), default=0) or 1
    data = []
    for name, color, height, some in _outcomes(pods):
        data.append(
            {
                "type": "bar",
                "name": name,
                "x": [pod["position"] + 1 for pod in some],
                "y": [max(pod["score"] or 0, height * highest) if height > 0 else height * highest for pod in some],
                "width": 0.86,
                "marker": {"color": color},
                "customdata": [address(pod) for pod in some],
                "text": [
                    f"{pod['namespace']}/{pod['name']}" + (f", score {pod['score']}" if pod["score"] else "")
                    for pod in some
                ],
                "textposition": "none",
                "hovertemplate": "%{text}<br>" + name + "<extra></extra>",
            }
        )
    return {
        "data": data,
        "layout": _layout(
            barmode="overlay",
            bargap=0.12,
            showlegend=True,
            legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"},
            margin={"l": 8, "r": 12, "t": 30, "b": 40},
            xaxis={
                "title": {"text": "pods in the order they were taken"},
                "fixedrange": True,
                "range": [0.4, max(len(pods), 24) + 0.6],
                "zeroline": False,
                "showgrid": False,
                "tickformat": "d",
            },
            yaxis={"title": {"text": "score of the node"}, "automargin": True, "fixedrange": True},
        ),
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


def _timeline_binned(pods: Sequence[Mapping[str, Any]], bins: int) -> Figure:
    size = -(-len(pods) // bins)
    starts = list(range(0, len(pods), size))
    counted = {result: [0] * len(starts) for result in RESULTS}
    for index, pod in enumerate(pods):
        counted[pod["result"]][index // size] += 1
    data = [
        {
            "type": "bar",
            "name": NAMES[result],
            "x": [start + 1 for start in starts],
            "y": numbers,
            "marker": {"color": RESULTS[result]},
            "hovertemplate": f"from pod %{{x}}: %{{y}} of {size} {NAMES[result]}<extra></extra>",
        }
        for result, numbers in counted.items()
        if any(numbers)
    ]
    return {
        "data": data,
        "layout": _layout(
            barmode="stack",
            bargap=0,
            showlegend=True,
            legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"},
            margin={"l": 8, "r": 12, "t": 30, "b": 40},
            xaxis={"title": {"text": f"pods in the order they were taken, {size} a bar"}, "fixedrange": True},
            yaxis={"title": {"text": "pods"}, "automargin": True, "fixedrange": True},
        ),
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
                "text": [merged] * len(labels),
                "customdata": [addresses] * len(labels),
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
