"""Cycles as they were recorded, read back for the pages."""

from __future__ import annotations

from typing import Any

import msgspec

from kubesched_ui.fields import unpack
from kubesched_ui.models import Cycle, EventBlock, Run
from scheduler_core.framework.interface import Status
from scheduler_core.trace import CycleTrace


def trace_of(cycle: Cycle) -> CycleTrace:
    """The decoded trace of a stored cycle."""
    return CycleTrace.decode(bytes(cycle.trace))


def cycle_dict(trace: CycleTrace, nodes: list[str]) -> dict[str, Any]:
    """The cycle with the golden format's keys, and with what the pages show beyond them.

    `filter_order`: Filter plugins in the order asked. `permit`, `prebind`, `bind`: statuses that rejected. `rule`: what
    decided among preemption candidates. `nominated`: nodes judged with nominated pods counted in.
    """
    more: dict[str, Any] = {
        "filter_order": list(trace.verdicts),
        "durations": trace.durations,
        "nominated": [nodes[row] for row in trace.nominated],
        "rule": trace.postfilter.rule if trace.postfilter else "",
        "permit_waits": trace.permit_waits,
    }
    for point in ("permit", "prebind", "bind"):
        status: Status | None = getattr(trace, point)
        if status is not None:
            more[point] = {"plugin": status.plugin, "code": status.code, "reasons": list(status.reasons)}
    return more | trace.golden(nodes)


def on_node(trace: CycleTrace, row: int) -> dict[str, Any]:
    """What a cycle decided about the node of `row`: {kind: chosen|fits|refused|unseen|none, plugin, reasons, total}."""
    found: dict[str, Any] = {"kind": "none", "plugin": "", "reasons": [], "total": None}
    if rejected := trace.preenqueue or trace.prefilter:
        return found | {"plugin": rejected.plugin, "reasons": rejected.reasons}
    if status := trace.status_at(row):
        return found | {"kind": "refused", "plugin": status.plugin or "PreFilter", "reasons": status.reasons}
    place = (trace.feasible_rows() == row).nonzero()[0]
    if not len(place):
        return found | {"kind": "unseen"}
    total = int(trace.total()[place[0]]) if trace.scores else None
    return found | {"kind": "chosen" if trace.selected_row == row and trace.node else "fits", "total": total}


def events_by_point(run: Run, pod: str, attempt: int) -> dict[str, list[dict[str, Any]]]:
    """The recorded events of a pod's attempt, by type."""
    found: dict[str, list[dict[str, Any]]] = {}
    rows = EventBlock.objects.filter(run=run, pod=pod).order_by("first_seq")
    for data in rows.values_list("data", flat=True):
        for event in msgspec.json.decode(unpack(data)):
            if event["attempt"] == attempt:
                found.setdefault(event["type"], []).append(event)
    return found
