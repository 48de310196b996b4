"""Stored cycles, decoded for the pages."""

from typing import Any

import msgspec

from kubesched_ui.event_log.log import read_blocks
from kubesched_ui.models import Run
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.framework.interface import Status


def cycle_dict(trace: CycleTrace, nodes: list[str]) -> dict[str, Any]:
    """Return the cycle with the keys of the golden format and additional ones for the pages.

    `filter_order`: Filter plugins in execution order. `permit`, `prebind`, `bind`: statuses that rejected. `rule`: the
    rule that decided between preemption candidates. `nominated`: nodes evaluated with nominated pods counted.
    `promised`: the node nominated for the pod. `group`: the pod group of the cycle; `outside`: nodes outside its
    topology domain.
    """
    more: dict[str, Any] = {
        "filter_order": list(trace.verdicts),
        "durations": trace.durations,
        "nominated": [nodes[row] for row in trace.nominated],
        "rule": trace.postfilter.rule if trace.postfilter else "",
        "permit_waits": trace.permit_waits,
        "group": trace.group,
        "promised": trace.nominated_node,
        "outside": [],
    }
    if trace.placement is not None:
        inside = set(trace.placement.tolist())
        more["outside"] = [name for row, name in enumerate(nodes) if row not in inside]
    for point in ("permit", "prebind", "bind"):
        status: Status | None = getattr(trace, point)
        if status is not None:
            more[point] = {"plugin": status.plugin, "code": status.code, "reasons": list(status.reasons)}
    return more | trace.golden(nodes)


def on_node(trace: CycleTrace, row: int) -> dict[str, Any]:
    """Return a cycle's result for the node of `row`: {kind: chosen|fits|refused|unseen|none, point, plugin, reasons,
    total}. `point`: where the pod or the node was rejected."""
    found: dict[str, Any] = {"kind": "none", "point": "filter", "plugin": "", "reasons": [], "total": None}
    if rejected := trace.preenqueue or trace.prefilter:
        point = "preenqueue" if trace.preenqueue else "prefilter"
        return found | {"point": point, "plugin": rejected.plugin, "reasons": rejected.reasons}
    if status := trace.status_at(row):
        return found | {"kind": "refused", "plugin": status.plugin or "PreFilter", "reasons": status.reasons}
    place = (trace.feasible_rows() == row).nonzero()[0]
    if not len(place):
        return found | {"kind": "unseen"}
    total = int(trace.total()[place[0]]) if trace.scores else None
    return found | {"kind": "chosen" if trace.selected_row == row and trace.node else "fits", "total": total}


def tie_rule(run: Run) -> str:
    """Return how ties of a run are decided, as text."""
    return "by name" if run.tie_break == Run.TieBreak.NAME else "by the run's seed"


def started(run: Run) -> dict[str, Any]:
    """Return the data of `run.started`, or what is known before that event."""
    for _, text in read_blocks(run.pk, 0, limit=1):
        return msgspec.json.decode(text)[0]["data"]
    return {"warnings": run.notes}


def warnings_of(run: Run) -> list[str]:
    """Return the run's warnings on its settings, cluster and configuration when it started."""
    warnings = started(run).get("warnings") or []
    return [
        *warnings,
        *(note for note in run.notes if note not in warnings),
    ]  # a fork has its own warnings and its parent's


def left_of(run: Run) -> dict[str, int]:
    """Return scheduler name -> number of pods that the run left to that other scheduler."""
    return started(run).get("left") or {}
