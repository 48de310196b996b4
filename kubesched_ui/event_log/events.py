"""A scheduling cycle as events, in the order of the framework. Pure functions; the format is docs/websocket.md.

Compact: what is said of thousands of nodes is said once per reason with ranges of rows, scores only of the best nodes.
The rest is in the trace, which the API serves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.framework.interface import Int64, Status

Event = dict[str, Any]
Rows = npt.NDArray[np.intp]

TOP = 10
MAX_RANGES = 64
CYCLE = ("reserve", "permit")
BINDING = (*CYCLE, "prebind", "bind")


def event(type_: str, t: float, pod: str = "", attempt: int = 0, data: dict[str, Any] | None = None) -> Event:
    """An event that has no number yet. `t`: seconds on the run's virtual clock."""
    return {"t": t, "type": type_, "pod": pod, "attempt": attempt, "data": data or {}}


def cycle_events(
    trace: CycleTrace,
    nodes: Sequence[str],
    outcome: Mapping[str, Any] | None = None,
    evicted: Mapping[str, str] | None = None,
) -> list[Event]:
    """All events of a cycle; `nodes` are the run's nodes in row order.

    `evicted`: the pods evicted for it, and their nodes; None for those that its trace names.

    `outcome`: of a run in time, what the cycle came to (`attempt` in docs/virtual-time.md). What follows the cycle,
    evictions and the binding, has records of its own there and is left out here.
    """
    found: list[Event] = []
    t = round(trace.time, 6)

    def say(type_: str, pod: str = trace.pod, **data: Any) -> None:
        found.append(event(type_, t, pod, trace.attempt, data))

    say("cycle.started")
    say("preenqueue", status=status(trace.preenqueue))
    if trace.preenqueue is None:
        say("prefilter", status=status(trace.prefilter), skipped=trace.skipped_filter)
        if trace.prefilter is None and not (trace.error and not trace.verdicts):
            say("filter", **filtering(trace))
        if trace.postfilter is not None:
            say("postfilter", **preempting(trace))
        if outcome is None:
            gone = dict.fromkeys(trace.victims, trace.nominated_node) if evicted is None else evicted
            for victim, left in gone.items():
                say("pod.evicted", victim, by=trace.pod, node=left)
        given_back = bool(trace.group) and trace.result != "scheduled"  # its group was not scheduled
        if trace.node:
            placing(trace, nodes, say, BINDING if outcome is None and not given_back else CYCLE)
            if given_back and trace.reserve is None:
                say("unreserve", node=trace.node)
    result = trace.result if outcome is None else outcome["result"]
    node = trace.node if result in ("scheduled", "waiting") else ""
    said = trace.message or trace.error if outcome is None else outcome.get("message", "")
    say("cycle.finished", result=result, node=node, nominated_node=trace.nominated_node, message=said)
    return found


def placing(trace: CycleTrace, nodes: Sequence[str], say: Any, points: Sequence[str]) -> None:
    """From PreScore on, as far as it went. `points`: of BINDING, those that belong to what is told."""
    node = trace.node
    rows = trace.feasible_rows()
    row = trace.selected_row if trace.selected_row >= 0 else nodes.index(node)
    if trace.scores and (trace.feasible is None or row in rows):  # else it was placed there whatever is scored
        total = trace.total()
        chosen = row if trace.feasible is None else int(np.searchsorted(rows, row))
        best = ranking(total, chosen)
        say("prescore", skipped=trace.skipped_score)
        say("score", **scoring(trace, nodes, rows, total, best))
        say("select", node=node, **selecting(nodes, rows, total, best))
    else:
        say("select", node=node, score=None, ties=1, runner_up="", margin=None)
    say("assume", node=node)
    for point in points:
        said: Status | None = getattr(trace, point)
        say(point, node=node, status=status(said))
        if point == "permit" and trace.result == "waiting":
            return
        if said is not None and (said.rejected or said.code == "Error"):
            say("unreserve", node=node)
            return
    if points == BINDING:
        say("postbind", node=node)


def group_event(told: Mapping[str, Any], t: float) -> Event:
    """What a group's cycle came to, after those of its members. `told`: as the core's groups.told has it."""
    members = told["members"]
    return event(
        "group.finished",
        t,
        data={
            "group": told["name"],
            "result": told["result"],
            "members": len(members),
            "fit": sum(member["fits"] for member in members),
            "bound": told["bound"],
            "message": "; ".join(told["status"]["reasons"]),
            "victims": [victim["pod"] for victim in told["victims"]],
            "cycles": [members[0]["cycle"], members[-1]["cycle"]] if members else [],
        },
    )


def filtering(trace: CycleTrace) -> dict[str, Any]:
    """The decisive refusals, each with its nodes, most nodes first."""
    grouped: dict[Status, list[Rows]] = {}
    for said, rows in trace.decisive_statuses():
        grouped.setdefault(said, []).append(rows)
    refusals = [(said, np.sort(np.concatenate(parts))) for said, parts in grouped.items()]
    looked = trace.nodes
    if trace.subset is not None:
        outside = np.ones(trace.nodes, np.bool_)
        outside[trace.subset] = False
        looked = len(trace.subset)
        if trace.subset_status is not None and outside.any():
            refusals.append((trace.subset_status, np.flatnonzero(outside)))
    if trace.looked is not None:
        looked = int(np.count_nonzero(trace.looked))
    refusals.sort(key=lambda refusal: -len(refusal[1]))
    feasible = trace.nodes if trace.feasible is None else len(trace.feasible)
    told = [{**(status(said) or {}), "count": len(rows), "nodes": ranges(rows)} for said, rows in refusals]
    return {"looked": looked, "feasible": feasible, "refusals": told}


def preempting(trace: CycleTrace) -> dict[str, Any]:
    """What PostFilter came to."""
    found = trace.postfilter
    assert found is not None
    return {
        "status": status(found.status),
        "nominated_node": found.nominated_node,
        "victims": trace.victims,
        "candidates": len(found.candidates),
    }


def scoring(trace: CycleTrace, nodes: Sequence[str], rows: Rows, total: Int64, best: Rows) -> dict[str, Any]:
    """Weights, and the best nodes with every plugin's raw and normalised score."""
    columns = {plugin: (s.raw[best].tolist(), s.normalized[best].tolist()) for plugin, s in trace.scores.items()}
    top = [
        {
            "node": nodes[row],
            "row": row,
            "total": value,
            "scores": {plugin: (raw[i], normalized[i]) for plugin, (raw, normalized) in columns.items()},
        }
        for i, (row, value) in enumerate(zip(rows[best].tolist(), total[best].tolist(), strict=True))
    ]
    return {"feasible": len(rows), "weights": {plugin: s.weight for plugin, s in trace.scores.items()}, "top": top}


def selecting(nodes: Sequence[str], rows: Rows, total: Int64, best: Rows) -> dict[str, Any]:
    """How far ahead of the next best node the pick was."""
    score, second = total[best[:2]].tolist()
    ties = int(np.count_nonzero(total == score))
    return {"score": score, "ties": ties, "runner_up": nodes[int(rows[best[1]])], "margin": score - second}


def ranking(total: Int64, chosen: int) -> Rows:
    """Positions of the TOP highest totals: the chosen one, then highest first, among equals in the nodes' order."""
    count = len(total)
    key = total * count - np.arange(count)  # no two are equal
    key[chosen] = np.iinfo(np.int64).max
    best = np.argpartition(key, count - TOP)[count - TOP :] if count > TOP else np.arange(count)
    return best[np.argsort(-key[best])]


def ranges(rows: Rows) -> list[list[int]]:
    """Ascending rows as [first, last] pairs, at most the first MAX_RANGES of them."""
    breaks = np.flatnonzero(np.diff(rows) != 1)[:MAX_RANGES]
    starts = np.concatenate((rows[:1], rows[breaks + 1]))[:MAX_RANGES]
    ends = np.concatenate((rows[breaks], rows[-1:]))[:MAX_RANGES]
    pairs: list[list[int]] = np.column_stack((starts, ends)).tolist()
    return pairs


def status(said: Status | None) -> dict[str, Any] | None:
    """A status as events carry it."""
    return None if said is None else {"plugin": said.plugin, "code": said.code, "reasons": list(said.reasons)}
