"""The row of a pod in a run's table of pods, from the events of its last cycle."""

from __future__ import annotations

from typing import Any

import msgspec

from kubesched_ui.event_log.events import Event
from kubesched_ui.event_log.rows import ResultRow

MAX_REASONS = 20
NONE: dict[str, Any] = {}


def pod_result(events: list[Event], position: int, recorded_message: str, duration: float) -> ResultRow:
    """Return the result. `position`: the pod's index in the run's order; `duration`: seconds that the cycle took."""
    said: dict[str, dict[str, Any]] = {e["type"]: e["data"] for e in events}
    finished, select = said["cycle.finished"], said.get("select", NONE)
    namespace, _, name = events[0]["pod"].partition("/")
    return ResultRow(
        namespace=namespace,
        name=name,
        position=position,
        result=finished["result"],
        node=finished["node"],
        nominated_node=finished["nominated_node"],
        score=select.get("score"),
        runner_up=select.get("runner_up", ""),
        margin=select.get("margin"),
        feasible=said.get("filter", NONE).get("feasible", 0),
        attempts=events[0]["attempt"],
        message=finished["message"],
        reasons=msgspec.json.encode(reasons(said)[:MAX_REASONS]).decode(),
        recorded_message=recorded_message,
        duration=round(duration, 6),
    )


def reasons(said: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return [{plugin, reason, nodes}]: why nodes, or the pod as a whole (nodes 0), were rejected."""
    whole = [status for point in ("preenqueue", "prefilter") if (status := said.get(point, NONE).get("status"))]
    told = [(status, 0) for status in whole]
    told += [(refusal, refusal["count"]) for refusal in said.get("filter", NONE).get("refusals", [])]
    return [{"plugin": s["plugin"], "reason": reason, "nodes": count} for s, count in told for reason in s["reasons"]]
