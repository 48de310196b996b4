"""The events at one instant of a run in virtual time, in order, each with its cause."""

from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np

from kubesched_ui.event_log.event_text import event_parts
from kubesched_ui.event_log.events import Event
from kubesched_ui.event_log.log import read_blocks
from kubesched_ui.event_log.queue_sizes import LANE
from kubesched_ui.models import EventBlock, Run
from kubesched_ui.models.fields import unpack
from kubesched_ui.presenters.queue_timeline import Recording, recording_of

SAME = 1e-9  # seconds; closer times count as equal
DEEPEST = 6

# A cycle is represented by its result; other events are listed individually.
LISTED = {
    "scenario.step", "node.changed", "object.changed", "nodes.listed", "warning", "extender.failed", "cycle.finished",
    "queue.moved", "pod.created", "pod.updated", "pod.nominated", "pod.bound", "pod.evicted", "pod.deleted",
    "pod.skipped", "permit.waiting", "permit.rejected", "bind.failed", "eviction.timed", "eviction.cancelled",
}  # fmt: skip


def at(run: Run, t: float, after: int, limit: int) -> dict[str, Any]:
    """Return the latest time up to `t` that has events, in the format of the API (api.time.Moment).

    `after`: omit events up to this seq. `limit`: maximum number of events.
    """
    found = recording_of(run)
    place = max(0, int(np.searchsorted(found.moments, t + SAME, side="right")) - 1)
    moment = float(found.moments[place])
    events = list(listed_events(run, found, moment, after, limit + 1))
    more, events = len(events) > limit, events[:limit]
    return {
        "t": moment,
        "before": float(found.moments[place - 1]) if place else None,
        "after": float(found.moments[place + 1]) if place + 1 < len(found.moments) else None,
        "events": lines(run, events),
        "next": events[-1]["seq"] if more else None,
    }


def listed_events(run: Run, found: Recording, moment: float, after: int, limit: int) -> Iterator[Event]:
    """Yield the listed events of that time in order, at most `limit`."""
    count = 0
    for event in _from(run, max(after, first_seq(run, found, moment) - 1)):
        if event["t"] > moment + SAME or count == limit:
            return
        if event["type"] in LISTED and event["t"] >= moment - SAME:
            yield event
            count += 1


def first_seq(run: Run, found: Recording, moment: float) -> int:
    """Return the first event of that time. Only some events are indexed by moves and marks; others may precede them."""
    place = int(np.searchsorted(found.columns.t[found.begun :], moment - SAME, side="left")) + found.begun
    known = [int(found.columns.seq[place])] if place < len(found.columns.t) else []
    known += [mark.seq for mark in found.marks if mark.t >= moment - SAME][:1]
    first = min(known, default=run.last_seq + 1)
    rows = EventBlock.objects.filter(run=run, first_seq__lte=first).order_by("-first_seq")
    for data in rows.values_list("data", flat=True).iterator(chunk_size=20):
        own = [e["seq"] for e in msgspec.json.decode(unpack(data)) if e["t"] >= moment - SAME]
        if not own:
            break
        first = min(first, own[0])
    return first


def _from(run: Run, since: int) -> Iterator[Event]:
    while texts := list(read_blocks(run.pk, since, limit=20)):
        for _, text in texts:
            yield from msgspec.json.decode(text)
        since = texts[-1][0]


def lines(run: Run, events: list[Event]) -> list[dict[str, Any]]:
    """Return the events as lines. An event caused by a listed one is indented below it."""
    depths: dict[int, int] = {}
    for event in events:
        cause = event["data"].get("cause", 0)
        depths[event["seq"]] = min(depths[cause] + 1, DEEPEST) if cause in depths else 0
    causes = causes_of(run, {event["data"].get("cause", 0) for event in events} - depths.keys())
    return [line(event, depths[event["seq"]], causes) for event in events]


def line(event: Event, depth: int, causes: dict[int, Event]) -> dict[str, Any]:
    """Return an event as `{seq, type, depth, parts, label, lane, cause: {seq, t, parts}}`.

    `label` is upstream's name of the event that moved a pod.
    """
    data = event["data"]
    cause = causes.get(data.get("cause", 0)) if not depth else None
    return {
        "seq": event["seq"],
        "type": event["type"],
        "depth": depth,
        "parts": event_parts(event),
        "label": data.get("event", ""),
        "lane": data["to"] if event["type"] == "queue.moved" and data["to"] in LANE else "",
        "cause": {"seq": cause["seq"], "t": cause["t"], "parts": event_parts(cause)} if cause is not None else None,
    }


def causes_of(run: Run, seqs: set[int]) -> dict[int, Event]:
    """Return the events with these numbers."""
    found: dict[int, Event] = {}
    for seq in sorted(seqs - {0}):
        if seq not in found:
            for _, text in read_blocks(run.pk, seq - 1, limit=1):
                found |= {e["seq"]: e for e in msgspec.json.decode(text) if e["seq"] in seqs}
    return found
