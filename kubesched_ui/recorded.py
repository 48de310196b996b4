"""Cycles as they were recorded, read back for the pages."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from kubesched_ui.fields import unpack
from kubesched_ui.models import Cycle, EventBlock, Run


@lru_cache(maxsize=16)
def trace_of(cycle_id: int) -> Any:
    """The decoded trace of a stored cycle; a cycle never changes."""
    from scheduler_core.trace import CycleTrace

    return CycleTrace.decode(bytes(Cycle.objects.values_list("trace", flat=True).get(pk=cycle_id)))


def golden(cycle: Cycle, nodes: list[str]) -> dict[str, Any]:
    """The cycle with the golden format's keys."""
    found: dict[str, Any] = trace_of(cycle.pk).golden(nodes)
    return found


def events_by_point(run: Run, pod: str, attempt: int) -> dict[str, list[dict[str, Any]]]:
    """The recorded events of a pod's attempt, by type."""
    import msgspec

    found: dict[str, list[dict[str, Any]]] = {}
    rows = EventBlock.objects.filter(run=run, pod=pod).order_by("first_seq")
    for data in rows.values_list("data", flat=True):
        for event in msgspec.json.decode(unpack(data)):
            if event["attempt"] == attempt:
                found.setdefault(event["type"], []).append(event)
    return found


def on_node(cycle: Cycle, nodes: list[str], node: str) -> dict[str, Any]:
    """What a cycle decided about one node: {kind: chosen|fits|refused|unseen|none, plugin, reasons, total, cycle}."""
    seen = golden(cycle, nodes)
    found: dict[str, Any] = {"cycle": cycle, "kind": "none", "plugin": "", "reasons": [], "total": None}
    if status := (seen.get("filter") or {}).get(node):
        return found | {"kind": "refused", "plugin": status.get("plugin") or "PreFilter", "reasons": status["reasons"]}
    if node in (seen.get("feasible") or ()):
        kind = "chosen" if seen.get("selected") == node else "fits"
        return found | {"kind": kind, "total": (seen.get("total") or {}).get(node)}
    if rejected := seen.get("preenqueue") or seen.get("prefilter"):
        return found | {"plugin": rejected["plugin"], "reasons": rejected.get("reasons") or []}
    return found | {"kind": "unseen"}
