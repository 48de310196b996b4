"""Stored cycles, decoded for the pages."""

from typing import Any

import msgspec

from kubesched_ui.event_log.log import read_blocks
from kubesched_ui.models import Run
from scheduler_core.cycle.trace import CycleTrace


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
    # A fork has its own warnings and its parent's.
    return [*warnings, *(note for note in run.notes if note not in warnings)]


def left_of(run: Run) -> dict[str, int]:
    """Return scheduler name -> number of pods that the run left to that other scheduler."""
    return started(run).get("left") or {}
