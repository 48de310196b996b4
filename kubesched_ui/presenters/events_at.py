"""What happened at one moment of a run in time, in order, each with what led to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np

from kubesched_ui.event_log.event_text import parts
from kubesched_ui.event_log.events import Event
from kubesched_ui.event_log.log import read_blocks
from kubesched_ui.event_log.queue_sizes import LANE
from kubesched_ui.fields import unpack
from kubesched_ui.models import EventBlock, Run
from kubesched_ui.presenters.queue_timeline import Recording, recording_of

SAME = 1e-9  # seconds; moments that are closer are one
DEEPEST = 6

# What is told of a cycle is what it came to; what else happens is told as it is.
TOLD = {
    "scenario.step", "node.changed", "object.changed", "nodes.listed", "warning", "extender.failed", "cycle.finished",
    "queue.moved", "pod.created", "pod.updated", "pod.nominated", "pod.bound", "pod.evicted", "pod.deleted",
    "pod.skipped", "permit.waiting", "permit.rejected", "bind.failed", "eviction.timed", "eviction.cancelled",
}  # fmt: skip


def at(run: Run, t: float, after: int, limit: int) -> dict[str, Any]:
    """The last moment until `t` at which something happened, with the keys that the API documents (api.time.Moment).

    `after`: leaves out events up to this seq. `limit`: tells at most so many.
    """
    found = recording_of(run)
    place = max(0, int(np.searchsorted(found.moments, t + SAME, side="right")) - 1)
    moment = float(found.moments[place])
    events = [event for event in happened(run, found, moment, after, limit + 1) if event["type"] in TOLD]
    more, events = len(events) > limit, events[:limit]
    return {
        "t": moment,
        "before": float(found.moments[place - 1]) if place else None,
        "after": float(found.moments[place + 1]) if place + 1 < len(found.moments) else None,
        "told": lines(run, events),
        "next": events[-1]["seq"] if more else None,
    }


def happened(run: Run, found: Recording, moment: float, after: int, limit: int) -> Iterator[Event]:
    """The events of the moment that are told, in order, at most `limit`."""
    count = 0
    for event in _from(run, max(after, first_seq(run, found, moment) - 1)):
        if event["t"] > moment + SAME or count == limit:
            return
        if event["type"] in TOLD and event["t"] >= moment - SAME:
            yield event
            count += 1


def first_seq(run: Run, found: Recording, moment: float) -> int:
    """The first event of the moment: some are known by their moves and marks, before which there may be others."""
    place = int(np.searchsorted(found.columns.t[found.begun :], moment - SAME, side="left")) + found.begun
    known = [int(found.columns.seq[place])] if place < len(found.columns.t) else []
    known += [mark.seq for mark in found.marks if mark.t >= moment - SAME][:1]
    first = min(known, default=run.last_seq + 1)
    rows = (
        EventBlock.objects.filter(run=run, first_seq__lte=first).order_by("-first_seq").values_list("data", flat=True)
    )
    for data in rows.iterator(chunk_size=20):
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
    """The events as they are told; what was caused by one that stands above stands below it, further in."""
    depths: dict[int, int] = {}
    for event in events:
        cause = event["data"].get("cause", 0)
        depths[event["seq"]] = min(depths[cause] + 1, DEEPEST) if cause in depths else 0
    causes = causes_of(run, {event["data"].get("cause", 0) for event in events} - depths.keys())
    return [line(event, depths[event["seq"]], causes) for event in events]


def line(event: Event, depth: int, causes: dict[int, Event]) -> dict[str, Any]:
    """{seq, type, depth, said, label: upstream's name of the event that moved a pod, lane, cause: {seq, t, said}}."""
    data = event["data"]
    cause = causes.get(data.get("cause", 0)) if not depth else None
    return {
        "seq": event["seq"],
        "type": event["type"],
        "depth": depth,
        "said": parts(event),
        "label": data.get("event", ""),
        "lane": data["to"] if event["type"] == "queue.moved" and data["to"] in LANE else "",
        "cause": {"seq": cause["seq"], "t": cause["t"], "said": parts(cause)} if cause is not None else None,
    }


def causes_of(run: Run, seqs: set[int]) -> dict[int, Event]:
    """The events with these numbers."""
    found: dict[int, Event] = {}
    for seq in sorted(seqs - {0}):
        if seq not in found:
            for _, text in read_blocks(run.pk, seq - 1, limit=1):
                found |= {e["seq"]: e for e in msgspec.json.decode(text) if e["seq"] in seqs}
    return found
