"""Marks of important events on a run's timeline."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from kubesched_ui.event_log.event_text import event_sentence
from kubesched_ui.event_log.events import Event

# Rows of the timeline from top to bottom, and the kinds of marks in each.
TRACK = {
    "scenario": ("step",),
    "nodes": ("created", "deleted", "cordon", "taint", "allocatable", "condition", "label", "changed"),
    "evictions": ("preempted", "tainted", "drained", "evicted"),
    "nominations": ("nominated", "withdrawn"),
    "warnings": ("warning",),
}
KINDS = tuple(kind for kinds in TRACK.values() for kind in kinds)
REASONS = {"NoExecute taint": "tainted", "drain": "drained"}


class TimelineMark(NamedTuple):
    """A mark. `kind`: one of KINDS. `pod`, `node`: its subject, "" for none. `text`: a sentence about the event."""

    t: float
    kind: str
    pod: str
    node: str
    seq: int
    text: str


def kind_of(event: Event) -> str:
    """Return the kind of mark for an event; "" for none."""
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


def mark_of(event: Event, seq: int) -> TimelineMark | None:
    """Return the mark of an event with this number; None if it has none."""
    kind = kind_of(event)
    if not kind:
        return None
    node = event["data"].get("node") or event["data"].get("name") or ""
    return TimelineMark(event["t"], kind, event["pod"], node, seq, event_sentence(event))
