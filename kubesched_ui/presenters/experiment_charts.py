"""Charts of experiments: variants as points, their nodes as lines, counts as bars. Figures are those of charts.py."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kubesched_ui.presenters.charts import SERIES, Figure, axes_figure, bar_trace, marker, points_trace
from kubesched_ui.presenters.node_names import shortened

MAX_LINES = 6
MAX_LABELLED = 24  # points; of more, only the Pareto front is labelled
MAX_LABEL = 28  # characters
MAX_BAR_LABEL = 18  # below a bar, where labels are upright in a narrow plot
MAX_POINT_LABEL = 20  # so that it fits into a narrow plot
MAX_HOVER = 120  # characters of a name
FEW_BARS = 8  # fewer are as narrow as so many
FEW_UNITS = 8  # an axis of counts up to so many has a tick for each
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "star")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


class ChartPoint(NamedTuple):
    """A point. `spread`: standard deviations of x and y, 0 for none."""

    label: str
    x: float
    y: float
    spread: tuple[float, float] = (0.0, 0.0)


def scatter(points: Sequence[ChartPoint], front: Sequence[int], x: str, y: str) -> Figure:
    """Return the points with error bars. Those of the Pareto front (positions in `front`) are filled diamonds with a
    dashed line through them, the others open circles. Points with equal coordinates are one with all their labels.
    `x`, `y`: titles, as the HTML that Plotly reads."""
    groups: list[tuple[str, list[int]]] = [
        ("Pareto front", sorted(front, key=lambda i: (points[i].x, points[i].y))),
        ("Others", [index for index in range(len(points)) if index not in set(front)]),
    ]
    data = []
    for number, (name, members) in enumerate(groups):
        merged: dict[tuple[float, float], list[ChartPoint]] = {}
        for index in members:
            merged.setdefault((points[index].x, points[index].y), []).append(points[index])
        labelled = number == 0 or len(points) <= MAX_LABELLED
        mode = ("lines+" if number == 0 else "") + "markers" + ("+text" if labelled else "")
        hover = "%{hovertext}<br>x: %{x:,.5~r}<br>y: %{y:,.5~r}<extra></extra>"
        alike = list(merged.values())
        trace = points_trace(mode, name, [of[0].x for of in alike], [of[0].y for of in alike], hover) | {
            "text": [_label(of, 2, MAX_POINT_LABEL) for of in alike],
            "hovertext": [_label(of, 12, MAX_HOVER) for of in alike],
            "textposition": [_side(of[0].x, points, "bottom" if number else "top") for of in alike],
            "cliponaxis": False,
            "line": {"dash": "dash", "width": 1},
            "marker": marker("circle-open" if number else "diamond", 11, SERIES[number]),
        }
        for error, i in (("error_x", 0), ("error_y", 1)):
            spreads = [max(one.spread[i] for one in of) for of in alike]
            trace[error] = {"type": "data", "array": spreads, "visible": any(spreads), "thickness": 1}
        data.append(trace)
    figure = axes_figure([trace for trace in data if trace["x"]], x, y)
    figure["layout"]["yaxis"]["rangemode"] = "normal"  # points that differ little are apart
    for axis, values in (("xaxis", [point.x for point in points]), ("yaxis", [point.y for point in points])):
        if all(value == round(value) for value in values):
            figure["layout"][axis] |= counts_axis(max(values, default=0) - min(values, default=0))
    return figure


def _side(x: float, points: Sequence[ChartPoint], above: str) -> str:
    """Return where a label is, `above` or below its point: it does not extend beyond the plot."""
    lowest, highest = min(one.x - one.spread[0] for one in points), max(one.x + one.spread[0] for one in points)
    share = (x - lowest) / (highest - lowest) if highest > lowest else 0.5
    return f"{above} {'right' if share < 0.3 else 'left' if share > 0.7 else 'center'}"


def _label(points: Sequence[ChartPoint], most: int, size: int) -> str:
    names = [point.label for point in points]
    return escape(_listed(names, most if len(", ".join(names[:most])) <= most * size // 2 else most // 2, size))


def _listed(names: Sequence[str], most: int, size: int) -> str:
    """Return the first names, each of at most `size` characters, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(one if len(one) <= size else f"{one[: size - 1]}…" for one in names[:most]) + more


def names_axis(names: Sequence[str], size: int) -> dict[str, Any]:
    """Return an axis of escaped names. Long ones are shortened to `size` characters at the axis, where they are equal
    or in their middle."""
    short, _ = shortened(names, size)
    return {
        "type": "category",
        "labelalias": {
            escape(name): escape(text if len(text) <= size else f"{text[: size // 2]}…{text[1 - size // 2 :]}")
            for name, text in zip(names, short, strict=True)
            if name != text or len(name) > size
        },
    }


def bar_gap(bars: int) -> float:
    """Return the part of the width that is empty, so that few bars are not wide."""
    return round(1 - 0.85 * min(1, bars / FEW_BARS), 3)


def counts_axis(size: float) -> dict[str, Any]:
    """Return an axis of `size` whole numbers: without ticks between them."""
    return {"dtick": 1} if size <= FEW_UNITS else {}


def escape(text: str) -> str:
    """Return text that Plotly, which reads some HTML elements in labels, shows as it is."""
    return text.replace("&", "&amp;").replace("<", "&lt;")


def node_fullness(series: Mapping[str, Sequence[float]], resource: str) -> Figure:
    """Return the number of nodes by their requested share of a resource, a line per series, of at most MAX_LINES.
    Values: nodes in equal intervals from 0 to 100%. Lines differ in colour, dash and marker; equal series are one."""
    data = []
    equal: dict[tuple[float, ...], list[str]] = {}
    for name, bins in [*series.items()][:MAX_LINES]:
        equal.setdefault(tuple(bins), []).append(name)
    for number, (bins, names) in enumerate(equal.items()):
        width = 100 / len(bins)
        middles = [round((index + 0.5) * width, 3) for index in range(len(bins))]
        trace = _line(number, escape(_listed(names, 3, MAX_LABEL)), middles, bins, "%{text}: %{y:.4~g}")
        trace["text"] = [f"{index * width:g} to {(index + 1) * width:g}%" for index in range(len(bins))]
        data.append(trace)
    figure = axes_figure(data, escape(f"{resource} requested"), "nodes")
    figure["layout"]["xaxis"] |= {"ticksuffix": "%", "range": [0, 100]}
    return figure


def _line(number: int, name: str, x: Sequence[float], y: Sequence[float], hover: str) -> Figure:
    """Return a line with markers, with the colour, dash and symbol of series `number`."""
    looks = {"color": SERIES[number], "dash": DASHES[number], "width": 2}, {"symbol": SYMBOLS[number], "size": 7}
    return points_trace("lines+markers", name, x, y, hover) | {"line": looks[0], "marker": looks[1]}


def strips(rows: Sequence[tuple[str, Sequence[float], float]], x: str, from_zero: bool) -> Figure:
    """Return the values of each row as open circles next to its label, and its result as a filled diamond. Rows: label,
    values, result. `from_zero`: whether the axis of values begins there."""
    labels = [escape(label) for label, _, _ in rows]
    each = [(value, label) for label, (_, values, _) in zip(labels, rows, strict=True) for value in values]
    results, hover = [result for _, _, result in rows], "%{y}: %{x}"
    data = [
        points_trace("markers", "each order", [x for x, _ in each], [y for _, y in each], hover)
        | {"marker": marker("circle-open", 9, SERIES[1]), "cliponaxis": False},
        points_trace("markers+text", "reached by 90%", results, labels, hover)
        | {"text": [f"{result:,.4g}" for result in results], "textposition": "top center", "cliponaxis": False}
        | {"marker": {"symbol": "diamond", "size": 12, "color": SERIES[0]}},
    ]
    figure = axes_figure(data, x, "")
    # The first row is at the top.
    figure["layout"]["yaxis"] |= names_axis([label for label, _, _ in rows], MAX_LABEL) | {
        "range": [len(rows) - 0.5, -0.5]
    }
    figure["layout"]["xaxis"]["rangemode"] = "tozero" if from_zero else "normal"
    return figure


def stacked_bars(names: Sequence[str], series: Mapping[str, Sequence[int]], x: str, y: str) -> Figure:
    """Return a bar of counts per name, stacked of the series, which differ in colour and pattern."""
    labels = [escape(one) for one in names]
    data = [
        bar_trace(number, name, labels, list(values), "%{x}: %{y:,}")
        for number, (name, values) in enumerate(series.items())
        if any(values)
    ]
    figure = axes_figure(data, x, y)
    figure["layout"] |= {"barmode": "stack", "bargap": bar_gap(len(names)), "showlegend": True}
    figure["layout"]["xaxis"] |= names_axis(names, MAX_BAR_LABEL)
    figure["layout"]["yaxis"] |= counts_axis(max(map(sum, zip(*series.values(), strict=True)), default=0))
    return figure


def history(values: Sequence[float | None], best: Sequence[float | None], title: str) -> Figure:
    """Return the value of each trial, and a line through the best value so far."""
    trials = list(range(len(values)))
    data = [
        points_trace("markers", "Trial", trials, values, "trial %{x}: %{y:.4~g}<extra></extra>")
        | {"marker": marker("circle-open", 8, SERIES[0])},
        points_trace("lines", "Best so far", trials, best, "best so far: %{y:.4~g}<extra></extra>")
        | {"line": {"shape": "hv", "color": SERIES[1], "dash": "dash", "width": 2}},
    ]
    figure = axes_figure(data, "trial", title)
    figure["layout"]["xaxis"] |= counts_axis(len(trials))
    figure["layout"]["yaxis"] |= {"rangemode": "normal"}
    return figure


def course(columns: Mapping[str, Sequence[float]], unit: str) -> Figure:
    """Return lines over time that change in steps. `columns`: `t`, and the values of each line at these times. Lines
    differ in colour, dash and marker."""
    lines = {name: values for name, values in columns.items() if name != "t"}
    data = []
    for number, (name, values) in enumerate(lines.items()):
        trace = _line(number, name, columns["t"], values, "%{x:,} s: %{y:,}")
        trace["line"]["shape"] = "hv"
        data.append(trace | {"mode": "lines+markers" if len(values) <= MAX_LABELLED else "lines"})
    figure = axes_figure(data, unit, "nodes, pods")
    figure["layout"]["yaxis"] |= counts_axis(max((max(of, default=0) for of in lines.values()), default=0))
    return figure
