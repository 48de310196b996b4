"""Charts as plain dicts, pure functions of data. The page's theme sets the colours of text, grid and background.

Templates draw the bars (`parts/score_bars.html`), and Plotly draws the histograms.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kubesched_ui.presenters.node_names import shortened
from scheduler_core.explain.answer import Points, Ranked

Figure = dict[str, Any]  # Plotly's: data, layout

# Readable in light and dark themes. static/css/cycle.css adds patterns for readers who cannot distinguish the hues.
SERIES = ["#2f8f96", "#d98a29", "#6b7fd7", "#c25b7c", "#7a9a3a", "#9a6bb8", "#4f9fd0", "#b5703a", "#808b93", "#3f9f6d"]
PATTERNS = ("", "/", "x", ".")
MAX_LABEL = 28  # characters of a node's name


def score_bars(best: Sequence[Ranked], chosen: str = "") -> dict[str, Any]:
    """Return stacked bars of weighted scores of the `best` nodes, the best first, with a colour and pattern per plugin.

    The result is {plugins: [(name, look)], left_out: [(name, points)], suffix, rows: [{node, label, chosen, total,
    parts}]}; labels lack `suffix`, the common end of the names. A part is {look, width, title}, its width in percent of
    the highest total. A look is {number, color}; the number selects the pattern. Scores that are equal on all nodes
    and much higher than all others are left out, such as those of NodePreferAvoidPods.
    """
    names, suffix = shortened([row.node for row in best], MAX_LABEL)
    left_out = _dwarfing(best)
    highest = max((row.total for row in best), default=0) - sum(left_out.values()) or 1
    numbers = {cell.plugin: index % len(SERIES) for index, cell in enumerate(best[0].points)} if best else {}
    looks = {plugin: {"number": number, "color": SERIES[number]} for plugin, number in numbers.items()}

    def part(cell: Points) -> dict[str, Any]:
        how = f"raw {cell.raw}, normalized {cell.normalized}, weight {cell.weight}"
        title = f"{cell.plugin}: {cell.weighted} ({how})"
        return {"look": looks[cell.plugin], "width": 100 * cell.weighted / highest, "title": title}

    return {
        "plugins": [(plugin, look) for plugin, look in looks.items() if plugin not in left_out],
        "left_out": list(left_out.items()),
        "suffix": suffix,
        "rows": [
            {
                "node": row.node,
                "label": name,
                "chosen": row.node == chosen,
                "total": row.total,
                "parts": [part(cell) for cell in row.points if cell.weighted > 0 and cell.plugin not in left_out],
            }
            for row, name in zip(best, names, strict=True)
        ],
    }


def _dwarfing(rows: Sequence[Ranked]) -> dict[str, int]:
    """Map plugins that give all nodes the same score, more than ten times the sum of all others, to that score."""
    points: dict[str, list[int]] = {}
    for row in rows:
        for cell in row.points:
            points.setdefault(cell.plugin, []).append(cell.weighted)
    same = {plugin: given[0] for plugin, given in points.items() if len(rows) > 1 and min(given) == max(given)}
    highest = max((row.total for row in rows), default=0)
    return {plugin: given for plugin, given in same.items() if given > 10 * (highest - given)}


# ---- histograms


BINS = 40
STEPS = (1, 2, 5)


def histogram(series: Mapping[str, Sequence[float]], x: str, y: str, unit: str = "", least: float = 1) -> Figure:
    """Return a histogram with a bar of each series per bin, counted here, so that the size of the data is bounded.

    `x`: title of the values, `y`: what is counted. Bins are equal, of a round width of at least `least`.
    """
    highest = max((value for values in series.values() for value in values), default=0)
    width = next(w for w in (least * step * 10**power for power in range(18) for step in STEPS) if highest < w * BINS)
    number = int(highest // width) + 1
    lows = [round(index * width, 6) for index in range(number)]
    data = []
    for index, (name, values) in enumerate(series.items()):
        counted = Counter(min(number - 1, max(0, int(value // width))) for value in values)
        trace = bar_trace(index, name, lows, [counted[i] for i in range(number)], "%{text}: %{y}")
        trace["text"] = [f"{low:g} to {low + width:g}{unit}" if width > 1 else f"{low:g}{unit}" for low in lows]
        data.append(trace | {"textposition": "none"})
    figure = axes_figure(data, x, y)
    figure["layout"] |= {"barmode": "group", "bargap": 0.08}
    figure["layout"]["xaxis"]["ticksuffix"] = unit
    if not any(series.values()):
        figure["layout"]["annotations"] = [{"text": f"No {y} have this value", "showarrow": False}]
    return figure


def bar_trace(number: int, name: str, x: Sequence[Any], y: Sequence[Any], hover: str) -> Figure:
    """Return a trace of bars with the colour and the pattern of series `number`."""
    marker = {"color": SERIES[number], "pattern": {"shape": PATTERNS[number % len(PATTERNS)]}}
    return {"type": "bar", "name": name, "x": x, "y": y, "marker": marker, "hovertemplate": hover}


def points_trace(mode: str, name: str, x: Sequence[Any], y: Sequence[Any], hover: str) -> Figure:
    """Return a trace of points in a mode of Plotly, such as `lines+markers`."""
    return {"type": "scatter", "mode": mode, "name": name, "x": list(x), "y": list(y), "hovertemplate": hover}


def marker(symbol: str, size: int, color: str) -> dict[str, Any]:
    """Return a marker with a border of its colour."""
    return {"symbol": symbol, "size": size, "color": color, "line": {"width": 2, "color": color}}


def axes_figure(data: list[dict[str, Any]], x: str, y: str) -> Figure:
    """Return a figure of these traces, with titles of the axes and, for several traces, a legend."""
    axis: dict[str, Any] = {"fixedrange": True, "automargin": True, "separatethousands": True}
    layout = {
        "margin": {"l": 8, "r": 24, "t": 24, "b": 8},
        "dragmode": False,
        "showlegend": len(data) > 1,
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        "xaxis": axis | {"title": {"text": x, "standoff": 10}},
        "yaxis": axis | {"title": {"text": y, "standoff": 14}, "rangemode": "tozero"},
    }
    return {"data": data, "layout": layout}


# ---- Sankey diagram


MOST = 9  # groups per side; the others are merged
NOWHERE, OTHERS = "no node", "other groups"
WIDTH, HEIGHT, GAP, BAR, LEFT = 640, 320, 6, 10, 150


def picture(flows: Iterable[tuple[str, str, int]]) -> dict[str, Any] | None:
    """Return {width, height, bars, ribbons} for flows (from, to, pods), None without flows. The group "" means no
    node."""
    listed = list(flows)
    if not listed:
        return None
    largest = [
        [name for name, _ in Counter({k: v for k, v in _sums(listed, side).items() if k}).most_common(MOST)]
        for side in (0, 1)
    ]

    def name(side: int, group: str) -> str:
        return NOWHERE if not group else group if group in largest[side] else OTHERS

    merged: Counter[tuple[str, str]] = Counter()
    for a, b, pods in listed:
        merged[name(0, a), name(1, b)] += pods
    named = [(a, b, pods) for (a, b), pods in merged.items()]
    bars = [_bars(named, side) for side in (0, 1)]
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "bars": [*bars[0].values(), *bars[1].values()],
        "ribbons": _ribbons(named, bars),
    }


def _sums(flows: Sequence[tuple[str, str, int]], side: int) -> Counter[str]:
    found: Counter[str] = Counter()
    for a, b, pods in flows:
        found[b if side else a] += pods
    return found


def _order(group: str) -> tuple[int, str]:
    return (2 if group == NOWHERE else 1 if group == OTHERS else 0), group


def _bars(flows: Sequence[tuple[str, str, int]], side: int) -> dict[str, dict[str, Any]]:
    sums = _sums(flows, side)
    total = sum(sums.values())
    available = HEIGHT - GAP * (len(sums) - 1)
    y, found = 0.0, {}
    for group in sorted(sums, key=_order):
        height = available * sums[group] / total
        found[group] = {
            "group": group,
            "pods": sums[group],
            "x": LEFT if side == 0 else WIDTH - LEFT - BAR,
            "y": round(y, 2),
            "height": round(height, 2),
            "middle": round(y + height / 2, 2),
            "label_x": LEFT - 6 if side == 0 else WIDTH - LEFT + 6,
            "anchor": "end" if side == 0 else "start",
            "labelled": height >= 9,
        }
        y += height + GAP
    return found


def _ribbons(flows: Sequence[tuple[str, str, int]], bars: Sequence[dict[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    used: list[Counter[str]] = [Counter(), Counter()]
    colours = {group: SERIES[i % len(SERIES)] for i, group in enumerate(bars[0])}
    found = []
    for a, b, pods in sorted(flows, key=lambda flow: (_order(flow[0]), _order(flow[1]))):
        ends = []
        for side, group in ((0, a), (1, b)):
            bar = bars[side][group]
            height = bar["height"] * pods / bar["pods"]
            top = bar["y"] + bar["height"] * used[side][group] / bar["pods"]
            used[side][group] += pods
            ends.append((top, top + height))
        (top, bottom), (other_top, other_bottom) = ends
        x, right = LEFT + BAR, WIDTH - LEFT - BAR
        middle = (x + right) / 2
        path = (
            f"M{x},{top:.2f}C{middle},{top:.2f} {middle},{other_top:.2f} {right},{other_top:.2f}"
            f"V{other_bottom:.2f}C{middle},{other_bottom:.2f} {middle},{bottom:.2f} {x},{bottom:.2f}Z"
        )
        found.append({"from": a, "to": b, "pods": pods, "path": path, "colour": colours[a]})
    return found
