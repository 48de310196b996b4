"""Charts of the question buy: prices against the bound, and the bought nodes by type."""

from collections.abc import Mapping, Sequence
from typing import Any

from kubesched_ui.presenters.charts import SERIES, Figure, axes_figure, bar_trace, points_trace
from kubesched_ui.presenters.experiment_charts import MAX_BAR_LABEL, bar_gap, counts_axis, escape, names_axis
from scheduler_core.experiments.buy import price_text

MAX_TYPES = 20
RESOURCES = 3  # whose fullness is drawn


def prices(row: Mapping[str, Any], currency: str, per: str = "") -> Figure:
    """Return the prices of a purchase as points on one axis. Below the proved bound no price is possible."""
    points = [
        ("Bound of resources", row["resource_bound"]),
        ("Proved bound", row["bound"]),
        ("This set", row["price"]),
        ("Scheduler alone", row["own"]["price"] if not row["own"]["pending"] else None),
        ("First fit", row["first_fit"]),
    ]
    known = [(name, float(price)) for name, price in points if price is not None]
    values = [price for _, price in known]
    margin = max((max(values) - min(values)) * 0.25, max(values) * 0.01, 0.01)
    low, high = max(0.0, min(values) - margin), max(values) + margin
    names = [name for name, _ in reversed(known)]
    colors = [SERIES[1] if "ound" in name else SERIES[0] for name in names]
    symbols = ["line-ns" if "ound" in name else "diamond" if name == "This set" else "circle" for name in names]
    trace = points_trace("markers+text", "", values[::-1], names, "%{y}: %{text}<extra></extra>") | {
        "text": [price_text(price, currency) for price in reversed(values)],
        "textposition": "middle right",
        "cliponaxis": False,
        "marker": {"size": 13, "symbol": symbols, "color": colors, "line": {"width": 3, "color": colors}},
    }
    figure = axes_figure([trace], f"price per {escape(per)}" if per else "price", "")
    figure["layout"]["xaxis"] |= {"range": [low, high + margin], "tickprefix": escape(currency)}
    figure["layout"]["yaxis"] |= {"type": "category", "rangemode": "normal"}
    figure["layout"]["shapes"] = [
        {
            **{"type": "rect", "xref": "x", "yref": "paper", "y0": 0, "y1": 1, "x0": low, "x1": row["bound"]},
            **{"fillcolor": SERIES[1], "opacity": 0.15, "line": {"width": 0}, "layer": "below"},
        }
    ]
    return figure


def counts(types: Sequence[Mapping[str, Any]]) -> Figure:
    """Return the number of nodes of each type: of the set, and as the scheduler alone needs them."""
    shown = [one for one in types if one["count"] or one["own_count"]][:MAX_TYPES]
    labels = [escape(one["name"]) for one in shown]
    series = [("This set", "count"), ("Scheduler alone", "own_count")]
    data = []
    for number, (name, key) in enumerate(series):
        values = [one[key] for one in shown]
        trace = bar_trace(number, name, labels, values, f"{name}: %{{y:,}} nodes<extra>%{{x}}</extra>")
        trace |= {"text": [f"{value:,}" for value in values], "cliponaxis": False}
        data.append(trace | {"textposition": "outside"})  # inside, hatched bars of a dark page hide it
    figure = axes_figure(data, "", "nodes")
    figure["layout"] |= {"barmode": "group", "bargap": bar_gap(2 * len(shown))}
    figure["layout"]["xaxis"] |= names_axis([one["name"] for one in shown], MAX_BAR_LABEL)
    figure["layout"]["yaxis"] |= counts_axis(max((max(trace["y"], default=0) for trace in data), default=0))
    return figure


def fullness(types: Sequence[Mapping[str, Any]]) -> Figure:
    """Return the mean requested share of each type's nodes, a bar per resource; a mark is the least full node."""
    shown = [one for one in types if one["count"]][:MAX_TYPES]
    used = [name for one in shown for name, share in one["fullness"].items() if share["mean"]]
    resources = list(dict.fromkeys(used))[:RESOURCES]
    data: list[dict[str, Any]] = []
    for number, resource in enumerate(resources):
        of = [one["fullness"].get(resource) for one in shown]
        mean = [None if one is None else round(100 * one["mean"], 1) for one in of]
        least = [0.0 if one is None else round(100 * (one["mean"] - one["min"]), 1) for one in of]
        name, labels = escape(resource), [escape(one["name"]) for one in shown]
        trace = bar_trace(number, name, labels, mean, f"{name}: %{{y}}% on the mean<extra>%{{x}}</extra>")
        errors = {"type": "data", "symmetric": False, "array": [0.0] * len(of), "arrayminus": least}
        data.append(trace | {"error_y": errors})
    figure = axes_figure(data, "", "requested")
    figure["layout"] |= {"barmode": "group", "bargap": bar_gap(len(data) * len(shown)), "showlegend": True}
    figure["layout"]["xaxis"] |= names_axis([one["name"] for one in shown], MAX_BAR_LABEL)
    figure["layout"]["yaxis"] |= {"ticksuffix": "%", "range": [0, 105]}
    return figure
