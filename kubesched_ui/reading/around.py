"""What happened around a pod of a run in time: to the nodes it was on, and by the scenario."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kubesched_ui.models import Run
from kubesched_ui.reading import lanes
from kubesched_ui.reading.moment import causes_of
from kubesched_ui.recording.events import Event
from kubesched_ui.recording.marks import TRACK

MOST = 200  # events that are looked up
DEEPEST = 6  # from a cause to its own
OF_NODES = {*TRACK["nodes"], *TRACK["scenario"]}
BEGINS = {"pod.bound", "pod.created", "permit.waiting"}
ENDS = {"pod.deleted", "permit.rejected", "bind.failed"}


class Stay(NamedTuple):
    """On a node from one event to another, both included."""

    node: str
    first: int
    last: int


def events_around(run: Run, events: list[Event], start: str) -> list[Event]:
    """The events that are not the pod's own and concern it, in order: changes of its nodes while it was there, and the
    steps of the scenario that led to something that befell it. `start`: the node it was on at first, or ""."""
    found = changes_of_nodes(run, stays(events, start, run.last_seq)) | roots(run, events)
    own = {event["seq"] for event in events}
    return [found[seq] for seq in sorted(found) if seq not in own]


def stays(events: Iterable[Event], start: str, end: int) -> Iterator[Stay]:
    """Where the pod was, held by Permit or bound."""
    node, since = start, 0
    for event in events:
        its = event["data"].get("node", "")
        if event["type"] in BEGINS and its:
            node, since = (node, since) if node == its else (its, event["seq"])
        elif event["type"] in ENDS and node:
            yield Stay(node, since, event["seq"])
            node = ""
    if node:
        yield Stay(node, since, end)


def changes_of_nodes(run: Run, there: Iterable[Stay]) -> dict[int, Event]:
    """What befell the nodes meanwhile: number -> event."""
    parts = list(there)
    marks = (mark for mark in lanes.recording_of(run).marks if mark.kind in OF_NODES and mark.node)
    seqs = [m.seq for m in marks if any(p.node == m.node and p.first <= m.seq <= p.last for p in parts)]
    return causes_of(run, set(seqs[:MOST]))


def roots(run: Run, events: list[Event]) -> dict[int, Event]:
    """The steps of the scenario at the root of what befell the pod: number -> event."""
    seqs = {event["data"].get("cause", 0) for event in events} - {0}
    known = {event["seq"]: event for event in events}
    found: dict[int, Event] = {}
    for _ in range(DEEPEST):
        known |= causes_of(run, set(sorted(seqs - known.keys())[:MOST]))
        causes = [known[seq] for seq in seqs if seq in known]
        found |= {cause["seq"]: cause for cause in causes if cause["type"] == "scenario.step"}
        seqs = {cause["data"].get("cause", 0) for cause in causes} - {0}
    return found
