"""Timeline of a pod in virtual time: its moves, its attempts, and where it spent its time."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from kubesched_ui.event_log.event_text import event_sentence
from kubesched_ui.event_log.events import Event
from kubesched_ui.event_log.log import read_pod
from kubesched_ui.models import Run
from kubesched_ui.presenters import attempts as attempted
from kubesched_ui.presenters.events_at import causes_of
from scheduler_core.api.duration import span
from scheduler_core.queue.scheduling_queue import leftover_seconds
from scheduler_core.releases import Release, get_release

MAX_EVENTS = 20_000  # maximum number of events read per pod
QUEUE = ("active", "backoff", "unschedulable", "gated")

# Events of a pod outside of the queue -> the `lane` that the pod enters; "" for none.
HAPPENED = {
    **{"permit.waiting": "waiting", "pod.bound": "bound", "pod.deleted": "gone", "pod.skipped": "gone"},
    **dict.fromkeys(("permit.rejected", "bind.failed", "pod.nominated", "pod.evicted"), ""),
}


def history(run: Run, namespace: str, name: str) -> dict[str, Any]:
    """Return one pod's timeline: {moves, happened, attempts, preempted, preempted_by, critical_path, note}.

    `moves`: [{t, from, to, event, seq, cause_seq, cause: {type, pod, node, text} or null}]. `happened`: events outside
    of the queue, [{t, seq, type, lane, text}]. `attempts`: [{t, number, result, came_to, node, message, seq, plugins}],
    `came_to` as in `Attempt.result`. `preempted`: [{t, pod, node, seq}]; `preempted_by`: {t, pod, node, seq, cause_seq}
    or null. `critical_path`: [{from_t, to_t, where, waiting_for}].
    """
    pod = f"{namespace}/{name}"
    events = list(events_of(run, pod))
    causes = causes_of(run, {e["data"].get("cause", 0) for e in events if e["type"] == "queue.moved"})
    return {
        "moves": [move_of(e, causes) for e in events if e["type"] == "queue.moved"],
        "happened": [
            {"t": e["t"], "seq": e["seq"], "type": e["type"], "lane": HAPPENED[e["type"]], "text": event_sentence(e)}
            for e in events
            if e["type"] in HAPPENED
        ],
        "attempts": [found for group in attempted.grouped(events) if (found := attempt_of(group))],
        "preempted": [
            {"t": e["t"], "pod": victim, "node": e["data"]["nominated_node"], "seq": e["seq"]}
            for e in events
            if e["type"] == "postfilter"
            for victim in e["data"]["victims"]
        ],
        "preempted_by": next(
            (preemption_of(e) for e in events if e["type"] == "pod.evicted" and e["data"]["by"]), None
        ),
        "critical_path": critical_path(run, events),
        "note": "" if len(events) < MAX_EVENTS else f"Only the first {MAX_EVENTS:,} events are read.",
    }


def events_of(run: Run, pod: str) -> Iterator[Event]:
    """Yield the pod's own events in order."""
    count = 0
    for text in read_pod(run.pk, pod):
        for event in msgspec.json.decode(text):
            yield event
            count += 1
            if count >= MAX_EVENTS:
                return


def with_cycles(events: Iterable[Event]) -> Iterator[tuple[Event, list[Event]]]:
    """Yield each event with those of its cycle so far, itself included."""
    group: list[Event] = []
    for event in events:
        if event["type"] == "cycle.started":
            group = []
        group.append(event)
        yield event, group


def attempt_of(group: list[Event]) -> dict[str, Any] | None:
    """Return an attempt from its events; None if its cycle has not finished."""
    finished = next((event for event in group if event["type"] == "cycle.finished"), None)
    if finished is None:
        return None
    data = finished["data"]
    return {
        "t": finished["t"],
        "seq": finished["seq"],
        "number": finished["attempt"],
        "came_to": attempted.attempt_of(group).result,
        **{key: data[key] for key in ("result", "node", "nominated_node", "message")},
        "plugins": rejectors(group),
    }


def rejectors(group: list[Event]) -> list[str]:
    """Return the plugins that rejected the pod in a failed cycle, without duplicates."""
    found: dict[str, None] = {}
    for event in group:
        if event["type"] in ("preenqueue", "prefilter", "filter", "reserve", "permit"):
            statuses = (event["data"].get("status"), *event["data"].get("refusals", []))
            found |= {status["plugin"]: None for status in statuses if status and status["plugin"]}
    return list(found)


def move_of(event: Event, causes: dict[int, Event]) -> dict[str, Any]:
    data = event["data"]
    cause = causes.get(data["cause"])
    shown_cause = None
    if cause is not None:
        node = cause["data"].get("node", "") or (
            cause["data"].get("name", "") if cause["type"] == "node.changed" else ""
        )
        shown_cause = {"type": cause["type"], "pod": cause["pod"], "node": node, "text": event_sentence(cause)}
    return {
        "t": event["t"],
        "seq": event["seq"],
        **{key: data[key] for key in ("from", "to", "event")},
        "cause_seq": data["cause"],
        "cause": shown_cause,
    }


def preemption_of(event: Event) -> dict[str, Any]:
    data = event["data"]
    return {
        "t": event["t"], "pod": data["by"], "node": data["node"], "seq": event["seq"], "cause_seq": data["cause"],
    }  # fmt: skip


# ------------------------------------------------------------------------------------------------ critical path


def critical_path(run: Run, events: list[Event]) -> list[dict[str, Any]]:
    """Return where the pod was and what it waited for, from its creation until it is bound, deleted, or the run ends.

    If a pod is created again under its name, or scheduled again, further parts are added.
    """
    path: list[dict[str, Any]] = []
    since, where, what = 0.0, "", ""
    last: list[Event] = []
    release = get_release(run.release)

    def leave(t: float) -> None:
        if where and t > since:
            path.append({"from_t": since, "to_t": t, "where": where, "waiting_for": what})

    for event, group in with_cycles(events):
        if event["type"] == "cycle.finished":
            last = list(group)
        entered = step(event, last, release)
        if entered is not None:
            leave(event["t"])
            since, (where, what) = event["t"], entered
    leave(run.clock)
    return path


def step(event: Event, last: list[Event], release: Release) -> tuple[str, str] | None:
    """Return (where the pod is from then on, what it waits for); ("", "") if it waits for nothing; None for no change.

    `last`: the events of its last cycle.
    """
    data = event["data"]
    match event["type"]:
        case "queue.moved" if data["to"] in QUEUE:
            return data["to"], waiting_for(data["to"], last, release)
        case "cycle.finished" if data["result"] == "scheduled":
            return "waiting", f"its binding to {data['node']}"
        case "permit.waiting":
            return "waiting", f"Permit by {', '.join(data['plugins'])}, with a reservation on {data['node']}"
        case "pod.bound" | "pod.deleted" | "pod.skipped":
            return "", ""
    return None


def waiting_for(part: str, last: list[Event], release: Release) -> str:
    """Return what a pod in a part of the queue waits for."""
    attempt = last[-1]["attempt"] if last else 0
    if part == "active":
        return "its turn"
    if part == "backoff":
        return f"the end of its backoff after attempt {attempt}"
    if part == "gated":
        return "its scheduling gates to be removed"
    plugins = ", ".join(rejectors(last)) if last else ""
    nominated = last[-1]["data"]["nominated_node"] if last else ""
    if nominated:
        return f"its victims on {nominated} to leave"
    if plugins and not release.every_event_requeues:
        return f"an event that could make {plugins} accept it"
    return f"an event, or {span(leftover_seconds(release))} to pass"
