"""Marks: what the track of events over the time of a run shows, a mark each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kubesched_ui.event_log.event_text import sentence
from kubesched_ui.event_log.events import Event

# The rows of the track from top to bottom, and the kinds of marks in each.
TRACK = {
    "scenario": ("step",),
    "nodes": ("created", "deleted", "cordon", "taint", "allocatable", "condition", "label", "changed"),
    "evictions": ("preempted", "tainted", "drained", "evicted"),
    "nominations": ("nominated", "withdrawn"),
    "warnings": ("warning",),
}
KINDS = tuple(kind for kinds in TRACK.values() for kind in kinds)
REASONS = {"NoExecute taint": "tainted", "drain": "drained"}


class Mark(NamedTuple):
    """`kind`: of KINDS. `pod`, `node`: whom it is about, "" for nobody. `text`: what happened, a sentence."""

    t: float
    kind: str
    pod: str
    node: str
    seq: int
    text: str


def kind_of(event: Event) -> str:
    """The kind of mark an event makes; "" for none."""
    data: Mapping[str, Any] = event["data"]
    match event["type"]:
        case "scenario.step":
            return "step"
        case "node.changed" if data["change"] != "updated":
            return str(data["change"])
        case "node.changed":
            of = data["what"][0]["of"] if data.get("what") else ""
            return of if of in TRACK["nodes"] else "changed"
        case "pod.evicted":
            return "preempted" if data.get("by") else REASONS.get(data.get("reason", ""), "evicted")
        case "pod.nominated":
            return "nominated" if data["node"] else "withdrawn"
        case "warning" | "extender.failed":
            return "warning"
    return ""


def mark_of(event: Event, seq: int) -> Mark | None:
    """The mark of an event with that number; None if it makes none."""
    kind = kind_of(event)
    if not kind:
        return None
    node = event["data"].get("node") or event["data"].get("name") or ""
    return Mark(event["t"], kind, event["pod"], node, seq, sentence(event))
