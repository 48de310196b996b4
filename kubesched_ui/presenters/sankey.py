"""Sankey diagram of the pods that moved between groups of nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from kubesched_ui.presenters.charts import SERIES

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
