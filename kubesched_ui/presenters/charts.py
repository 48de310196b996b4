"""Charts as plain dicts, pure functions of data. The page's theme sets the colours of text, grid and background.

Templates draw the bars (`parts/score_bars.html`), and Plotly draws the heatmap.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kubesched_ui.presenters.cycle_presenter import ScoreCell, ScoreRow

Figure = dict[str, Any]  # Plotly's: data, layout

# Readable in light and dark themes. static/css/cycle.css adds patterns for readers who cannot distinguish the hues.
SERIES = ["#2f8f96", "#d98a29", "#6b7fd7", "#c25b7c", "#7a9a3a", "#9a6bb8", "#4f9fd0", "#b5703a", "#808b93", "#3f9f6d"]
NAMES = {"scheduled": "placed", "unschedulable": "no node", "gated": "gated", "error": "error", "waiting": "in Permit"}
HEAT = [[0, "rgba(120,150,155,0.10)"], [0.5, "#58a5a8"], [0.8, "#d9a13b"], [1, "#c4481c"]]


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
        "layout": {
            "margin": {"l": 8, "r": 12, "t": 8, "b": 36},
            "showlegend": False,
            "hovermode": "closest",
            "dragmode": False,
            "xaxis": {
                "showticklabels": False,
                "title": {"text": "nodes, fullest first" + ("; blank: the node has none" if some_lack else "")},
                "fixedrange": True,
                "showgrid": False,
                "zeroline": False,
                "ticks": "",
            },
            "yaxis": {"autorange": "reversed", "automargin": True, "fixedrange": True, "showgrid": False},
        },
    }


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
    room = HEIGHT - GAP * (len(sums) - 1)
    y, found = 0.0, {}
    for group in sorted(sums, key=_order):
        height = room * sums[group] / total
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
