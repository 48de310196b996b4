"""A scheduling cycle as events, in the order of the framework. Pure functions; docs/websocket.md describes the format.

Events are compact: a result for thousands of nodes appears once per reason with ranges of rows, and scores are included
only for the best nodes. The trace, which the API serves, has the rest.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from kubesched_ui.event_log.best_nodes import FindBestNodes, best_nodes
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.framework.interface import Status
from scheduler_core.search.cycle_steps import ranges, status_data

Event = dict[str, Any]
Rows = npt.NDArray[np.intp]

MAX_RANGES = 64
CYCLE = ("reserve", "permit")
BINDING = (*CYCLE, "prebind", "bind")


def event(type_: str, t: float, pod: str = "", attempt: int = 0, data: dict[str, Any] | None = None) -> Event:
    """Return an event without a number. `t`: seconds on the run's virtual clock."""
    return {"t": t, "type": type_, "pod": pod, "attempt": attempt, "data": data or {}}


def cycle_events(
    trace: CycleTrace,
    nodes: Sequence[str],
    outcome: Mapping[str, Any] | None = None,
    evicted: Mapping[str, str] | None = None,
    find_best: FindBestNodes = best_nodes,
) -> list[Event]:
    """Return all events of a cycle; `nodes` are the run's nodes in row order.

    `evicted`: pods evicted for it, with their nodes; None for those in its trace.

    `outcome`: in virtual time, the result of the cycle (`attempt` in docs/virtual-time.md). What follows the cycle,
    evictions and the binding, has separate records there and is not included.
    """
    found: list[Event] = []
    t = round(trace.time, 6)

    def say(type_: str, pod: str = trace.pod, **data: Any) -> None:
        found.append(event(type_, t, pod, trace.attempt, data))

    say("cycle.started")
    say("preenqueue", status=status_data(trace.preenqueue))
    if trace.preenqueue is None:
        say("prefilter", status=status_data(trace.prefilter), skipped=trace.skipped_filter)
        if trace.prefilter is None and not (trace.error and not trace.verdicts):
            say("filter", **filtering(trace))
        if trace.postfilter is not None:
            say("postfilter", **preempting(trace))
        if outcome is None:
            gone = dict.fromkeys(trace.victims, trace.nominated_node) if evicted is None else evicted
            for victim, left in gone.items():
                say("pod.evicted", victim, by=trace.pod, node=left)
        given_back = trace.pends_with_group
        if trace.node:
            placing(trace, nodes, say, BINDING if outcome is None and not given_back else CYCLE, find_best)
            if given_back and trace.reserve is None:
                say("unreserve", node=trace.node)
    result = trace.result if outcome is None else outcome["result"]
    node = trace.node if result in ("scheduled", "waiting") else ""
    message = trace.message or trace.error if outcome is None else outcome.get("message", "")
    say("cycle.finished", result=result, node=node, nominated_node=trace.nominated_node, message=message)
    return found


def placing(trace: CycleTrace, nodes: Sequence[str], say: Any, points: Sequence[str], find_best: FindBestNodes) -> None:
    """Add the events from PreScore on that the cycle reached. `points`: the points of BINDING to include."""
    node = trace.node
    best = find_best(trace, nodes, trace.selected_row if trace.selected_row >= 0 else nodes.index(node))
    if best is not None:
        say("prescore", skipped=trace.skipped_score)
        say("score", feasible=best.feasible, weights=best.weights, top=best.top)
        say("select", node=node, score=best.score, ties=best.ties, runner_up=best.runner_up, margin=best.margin)
    else:
        say("select", node=node, score=None, ties=1, runner_up="", margin=None)
    say("assume", node=node)
    for point in points:
        rejection: Status | None = getattr(trace, point)
        say(point, node=node, status=status_data(rejection))
        if point == "permit" and trace.result == "waiting":
            return
        if rejection is not None and (rejection.rejected or rejection.code == "Error"):
            say("unreserve", node=node)
            return
    if points == BINDING:
        say("postbind", node=node)


def group_event(group: Mapping[str, Any], t: float) -> Event:
    """Return the result of a group's cycle, which follows those of its members. `group`: the result of the core's
    `group_to_dict`."""
    members = group["members"]
    return event(
        "group.finished",
        t,
        data={
            "group": group["name"],
            "result": group["result"],
            "members": len(members),
            "fit": sum(member["fits"] for member in members),
            "bound": group["bound"],
            "message": "; ".join(group["status"]["reasons"]),
            "victims": [victim["pod"] for victim in group["victims"]],
            "cycles": [members[0]["cycle"], members[-1]["cycle"]] if members else [],
        },
    )


def filtering(trace: CycleTrace) -> dict[str, Any]:
    """Return the decisive rejections with their nodes, most nodes first."""
    global _refusals_last
    statuses, looked, last = trace.decisive_statuses(), trace.nodes, _refusals_last
    feasible = trace.nodes if trace.feasible is None else len(trace.feasible)
    whole = trace.subset is None and trace.looked is None
    if whole and statuses is last[0]:
        return {"looked": looked, "feasible": feasible, "refusals": last[1]}
    grouped: dict[Status, list[Rows]] = {}
    for rejection, rows in statuses:
        grouped.setdefault(rejection, []).append(rows)
    refusals = [(rejection, np.sort(np.concatenate(parts))) for rejection, parts in grouped.items()]
    if trace.subset is not None:
        outside = np.ones(trace.nodes, np.bool_)
        outside[trace.subset] = False
        looked = len(trace.subset)
        if trace.subset_status is not None and outside.any():
            refusals.append((trace.subset_status, np.flatnonzero(outside)))
    if trace.looked is not None:
        looked = int(np.count_nonzero(trace.looked))
    refusals.sort(key=lambda refusal: -len(refusal[1]))
    details = [
        {**(status_data(rejection) or {}), "count": len(rows), "nodes": ranges(rows, MAX_RANGES)}
        for rejection, rows in refusals
    ]
    if whole:
        _refusals_last = statuses, details
    return {"looked": looked, "feasible": feasible, "refusals": details}


# The statuses of the last cycle that evaluated every node, and their details: failed cycles of equal pods share them.
_refusals_last: tuple[Any, list[dict[str, Any]]] = (None, [])


def preempting(trace: CycleTrace) -> dict[str, Any]:
    """Return the result of PostFilter."""
    found = trace.postfilter
    assert found is not None
    return {
        "status": status_data(found.status),
        "nominated_node": found.nominated_node,
        "victims": trace.victims,
        "candidates": len(found.candidates),
    }
