"""Queue sizes over virtual time, and all moves between parts of the queue within a period.

They are computed from columns of the run's moves (event_log/queue_sizes.py). A page gets an overview of the run with as
many steps as it can draw, and exact data for periods of limited size.
"""

from bisect import bisect_right
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kubesched_ui.event_log.queue_sizes import LANE, LANES, NOWHERE, Columns, decode
from kubesched_ui.event_log.timeline_markers import TRACK, TimelineMark
from kubesched_ui.models import Marks, Moves, Run

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MAX_MOVES = 400_000  # per answer
STRETCH = 16_384  # moves per period, plus further ones at its last time
NEWEST = 24  # pods shown per part of the queue
TEXTS = 3  # marks of a bin whose texts are included
SHOWN = LANES[:-1]  # the size of `gone` is not needed


class Recording(NamedTuple):
    """Moves and marks of a run.

    `begun`: number of moves for pods bound when the run began. `moments`: distinct times of moves and marks in order;
    the first is 0. `until`: current end of the run, in seconds.
    """

    columns: Columns
    begun: int
    marks: list[TimelineMark]
    moments: Floats
    until: float


def recording_of(run: Run) -> Recording:
    """Return the stored moves and marks of the run. Callers must not modify the result."""
    return _kept(run.pk, run.created_at, run.last_seq, run.clock)


@lru_cache(maxsize=4)
def _kept(run_id: int, created_at: datetime, last_seq: int, reached: float) -> Recording:
    # created_at is part of the key because a database may reuse the number of a deleted run
    columns = decode(Moves.objects.filter(run=run_id).order_by("first_seq").values_list("data", flat=True).iterator())
    batches = Marks.objects.filter(run=run_id).order_by("first_seq").values_list("data", flat=True)
    marks = [TimelineMark(*mark) for batch in batches.iterator() for mark in batch]
    moments = np.unique(np.concatenate([[0.0], columns.t, np.array([mark.t for mark in marks], np.float64)]))
    begun = int(np.searchsorted(columns.seq, 1, side="right"))
    return Recording(columns, begun, marks, moments, max(reached, float(moments[-1])))


def state(columns: Columns, done: int) -> tuple[npt.NDArray[np.uint8], Ints]:
    """Return (part of the queue or state, latest move) of each pod after the first `done` moves.

    The values are NOWHERE and -1 before a pod's first move.
    """
    latest = np.full(len(columns.names), -1, np.int64)
    latest[columns.pod[:done]] = np.arange(done)  # for equal indexes, the last assignment counts
    lane = np.where(latest < 0, NOWHERE, columns.lane[latest] if done else NOWHERE).astype(np.uint8)
    return lane, latest


def moves(run: Run, start: float) -> dict[str, Any]:
    """Return moves from second `start` on, in the format of the API (api.time.Lanes)."""
    found = recording_of(run)
    columns = found.columns
    first = int(np.searchsorted(columns.t, start, side="left"))
    last = min(len(columns.t), first + MAX_MOVES)
    note = ""
    if last < len(columns.t):
        note = f"Only {MAX_MOVES:,} moves are here, up to {columns.t[last - 1]:,.3f} s. Continue with `from`."
    each = (column[first:last].tolist() for column in (columns.t, columns.pod, columns.lane, columns.seq))
    return {
        "until": run.until,
        "clock": run.clock,
        "pods": columns.names,
        "moves": list(zip(*each, strict=True)),
        "lanes": LANES,
        "note": note,
    }


def waited(run: Run) -> dict[str, float | None]:
    """Return for each pod of the run the seconds from its first move until it was bound; None for a pod that is not
    bound. Pods that were bound when the run began are left out."""
    columns = recording_of(run).columns
    first = np.full(len(columns.names), np.inf)
    np.minimum.at(first, columns.pod, columns.t)
    bound = columns.lane == LANE["bound"]
    last = np.full(len(columns.names), np.inf)
    np.minimum.at(last, columns.pod[bound], columns.t[bound])
    begun = set(columns.pod[: recording_of(run).begun].tolist())
    rows = zip(columns.names, first.tolist(), last.tolist(), strict=True)
    return {
        name: None if end == np.inf else round(end - start, 3)
        for pod, (name, start, end) in enumerate(rows)
        if pod not in begun
    }


# ---- overview


def overview(run: Run, bins: int, start: float = 0.0, end: float | None = None) -> dict[str, Any]:
    """Return the largest queue sizes in each of `bins` equal parts of the time from `start` to `end`, and the marks.

    The keys are those of the API (api.time.Overview).
    """
    found = recording_of(run)
    end = found.until if end is None else min(end, found.until)
    start = min(start, end)
    edges = np.linspace(start, end, bins + 1)
    return {
        "until": run.until,
        "clock": found.until,
        "from": start,
        "to": end,
        "lanes": SHOWN,
        "pods": len(found.columns.names),
        "moves": len(found.columns.t) - found.begun,
        "sizes": [sizes(found.columns, LANE[name], edges).tolist() for name in SHOWN],
        "track": [{"row": row, "marks": marks} for row, marks in track(found.marks, edges).items()],
    }


def sizes(columns: Columns, lane: int, edges: Floats) -> Ints:
    """Return the largest size between each edge and the next; the last interval includes the last edge."""
    size = np.cumsum((columns.lane == lane).astype(np.int64) - (columns.left == lane))
    first = np.searchsorted(columns.t, edges[:-1], side="left")
    end = int(np.searchsorted(columns.t, edges[-1], side="right"))
    before = np.concatenate([[0], size])[first]
    within = np.maximum.reduceat(np.append(size[:end], 0), np.minimum(first, end))
    return np.where(np.append(first[1:], end) > first, np.maximum(before, within), before)


def track(marks: list[TimelineMark], edges: Floats) -> dict[str, list[dict[str, Any]]]:
    """Return track row -> its marks; marks of one kind between two edges are merged.

    A mark: {kind, t: of the first, to: of the last, count, texts: of the first few}.
    """
    limits = edges.tolist()
    groups: dict[str, dict[tuple[int, str], dict[str, Any]]] = {row: {} for row in TRACK}
    row_of = {kind: groups[row] for row, kinds in TRACK.items() for kind in kinds}
    for mark in marks:
        if limits[0] <= mark.t <= limits[-1]:
            key = (bisect_right(limits, mark.t, hi=len(limits) - 1), mark.kind)
            new = {"kind": mark.kind, "t": mark.t, "to": mark.t, "count": 0, "texts": []}
            group = row_of[mark.kind].setdefault(key, new)
            group["count"] += 1
            group["to"] = mark.t
            if len(group["texts"]) < TEXTS:
                group["texts"].append(mark.text)
    return {row: list(found.values()) for row, found in groups.items()}


# ---- one period


def stretch(run: Run, t: float) -> dict[str, Any]:
    """Return every move of a period of the run around `t`, and the state when it began.

    Of the pods that do not move in the period, only those that can be shown are named. The keys are those of the API
    (api.time.Stretch).
    """
    found = recording_of(run)
    columns, moments = found.columns, found.moments
    limits = borders(found)
    times = [0.0, *columns.t[limits[1:-1]].tolist(), found.until]
    part = min(max(0, bisect_right(times, t) - 1), len(times) - 2)
    first, last = limits[part : part + 2]
    lane, latest = state(columns, first)
    stays = np.ones(len(columns.names), np.bool_)
    stays[columns.pod[first:last]] = False
    still = (np.flatnonzero((lane == code) & stays) for code in range(len(LANES)))
    shown = [pods[np.argsort(latest[pods])[-NEWEST:]] for pods in still]
    known, local = np.unique(np.concatenate([columns.pod[first:last], *shown]).astype(np.int64), return_inverse=True)
    there = ((index := np.flatnonzero(lane[known] == code), latest[known[index]]) for code in range(len(LANES)))
    inside = slice(*np.searchsorted(moments, times[part : part + 2], side="left"))
    return {
        "from": times[part],
        "to": times[part + 1],
        "lanes": LANES,
        "pods": [columns.names[index] for index in known.tolist()],
        "counts": np.bincount(lane[lane != NOWHERE], minlength=len(LANES)).tolist(),
        "there": [index[np.argsort(order)].tolist() for index, order in there],
        "moves": {
            "t": columns.t[first:last].tolist(),
            "pod": local[: last - first].tolist(),
            "lane": columns.lane[first:last].tolist(),
            "seq": columns.seq[first:last].tolist(),
        },
        "moments": [*moments[inside].tolist(), *([found.until] if part == len(times) - 2 else [])],
        "last_seq": run.last_seq,
    }


def borders(found: Recording) -> list[int]:
    """Return the beginnings of periods as indexes of moves, then the number of moves.

    Each beginning except the first is the first move at its time.
    """
    t = found.columns.t
    cuts = np.searchsorted(t, t[found.begun + STRETCH :: STRETCH], side="left")
    return [found.begun, *np.unique(cuts[cuts > found.begun]).tolist(), len(t)]
