"""The final result of each attempt of a pod, and the pod's current state, from its events.

A cycle that finds a node ends with the pod assumed there. Permit may hold it; binding takes time and may fail. In
virtual time these are separate events, and only they give the result of the attempt. All functions are pure.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scheduler_core.api.duration import clock, span
from scheduler_core.cluster.formatting import listing

Event = dict[str, Any]

# Results of an attempt in addition to those of a cycle.
BINDING, UNRESERVED, REFUSED, UNBOUND = "binding", "unreserved", "refused", "unbound"
FAILS = {"reserve": UNRESERVED, "permit": REFUSED, "prebind": UNBOUND, "bind": UNBOUND}


@dataclass
class Attempt:
    """An attempt.

    `result`: a cycle's result (`scheduled` only for a bound pod), `binding` (in progress), `unreserved` (rejected by
    Reserve), `refused` (by Permit) or `unbound` (binding failed). `points`: extension point -> (state, text) of what
    followed the cycle. `sentence`: a description of that, "" for nothing. `held`: whether Permit held the pod.
    `nominated`: the node nominated by preemption. `facts`: point -> [(label, text)].
    """

    result: str = ""
    points: dict[str, tuple[str, str]] = field(default_factory=dict)
    sentence: str = ""
    held: bool = False
    nominated: str = ""
    facts: dict[str, list[tuple[str, str]]] = field(default_factory=dict)


@dataclass(frozen=True)
class PodState:
    """The state of a pod: `badge` as in templates/parts/result.html, and `sentence` for the headline."""

    badge: str
    sentence: str
    node: str = ""


def grouped(events: Iterable[Event]) -> list[list[Event]]:
    """Group the pod's events by attempt, in the order of its cycles, each with what follows until the next attempt."""
    groups: list[list[Event]] = []
    current: list[Event] = []
    for event in events:
        if event["type"] == "cycle.started":
            groups.append(current := [])
        elif event["type"] == "pod.created":
            current = []  # another pod of the same name
        current.append(event)
    return groups


def attempt_of(events: Sequence[Event]) -> Attempt:
    """Return the result of an attempt from its events."""
    found: dict[str, Event] = {}
    for event in events:
        found.setdefault(event["type"], event)
    if "cycle.finished" not in found:
        return Attempt()
    finished = found["cycle.finished"]
    made = Attempt(finished["data"]["result"], nominated=finished["data"]["nominated_node"])
    if made.result not in ("scheduled", "waiting"):
        made.result = next((came for point, came in FAILS.items() if failed(found.get(point))), made.result)
        return made
    since, node = finished["t"], finished["data"]["node"]
    end = next((found[name] for name in ("pod.bound", "permit.rejected", "bind.failed") if name in found), None)
    held = _held(found, end, made)
    t, message = (end["t"], end["data"].get("message", "")) if end else (since, "")
    after = f" after {span(t - since)}" if t > since else ""
    match end["type"] if end else "":
        case "pod.bound":
            made.result = "scheduled"
            made.points |= {"prebind": ("pass", ""), "bind": ("pass", node), "postbind": ("pass", "")}
            then = f"bound there at {clock(t)}"
            made.sentence = f"{held}, then it was {then}." if held else f"It was {then}." if after else ""
        case "permit.rejected":
            made.result = REFUSED
            made.points |= {"reserve": ("skip", "given back"), "permit": ("reject", "refused" + after)}
            made.facts.setdefault("permit", []).append(("refused", f"at {clock(t)}: {message}"))
            made.sentence = f"{held or 'Permit held it'}, then it was rejected: {message}."
        case "bind.failed":
            made.result = UNBOUND
            made.points |= {"reserve": ("skip", "given back"), "prebind": ("pass", ""), "bind": ("reject", "failed")}
            made.points["postbind"] = ("none", "")
            made.facts.setdefault("bind", []).append(("failed", f"at {clock(t)}: {message}"))
            made.sentence = f"{held}, then its" if held else "Its"
            made.sentence += f" binding failed{after}: {message}."
        case _ if made.result == "waiting":
            made.points["permit"] = ("wait", "waits")
        case _ if "postbind" not in found:
            made.result = BINDING
            made.points |= {"prebind": ("wait", "in progress"), "bind": ("wait", node), "postbind": ("none", "")}
            made.sentence = "The pod was still binding."
    return made


def failed(event: Event | None) -> bool:
    """Return whether the event of an extension point has a status that ends the attempt."""
    status = event["data"].get("status") if event else None
    return status is not None and status["code"] not in ("Success", "Skip", "Wait")


def _held(found: dict[str, Event], end: Event | None, made: Attempt) -> str:
    """Note that Permit held the pod and for how long. Return a text about it, "" if Permit did not."""
    waiting = found.get("permit.waiting")
    if waiting is None:
        return ""
    made.held = True
    plugins = list(waiting["data"]["plugins"])
    facts = [("held by", f"{name} for at most {span(most)}") for name, most in waiting["data"]["plugins"].items()]
    made.facts["permit"] = facts
    if end is None:
        return ""
    held = span(end["t"] - waiting["t"])
    if end["type"] != "permit.rejected":
        made.points["permit"] = ("pass", f"after {held}")
        facts.append(("allowed", f"at {clock(end['t'])}, after {held}"))
    return f"{listing(plugins) or 'Permit'} held it in Permit for {held}"


def pod_state(events: Iterable[Event], until: float, over: bool) -> PodState | None:
    """Return the state of a pod at second `until` of a run in virtual time; None if the pod has no events."""
    place: PodState | None = None
    evicted = ""
    for event in events:
        data, t = event["data"], clock(event["t"])
        on = f" on {data['node']}" if data.get("node") else ""
        match event["type"]:
            case "pod.created":
                evicted = ""
                place = PodState("active", "")
                if on:
                    place = PodState("scheduled", f"on {data['node']} since {t}", data["node"])
            case "pod.bound":
                place = PodState("scheduled", f"bound{on} since {t}", data["node"])
            case "permit.waiting":
                who = listing(list(data["plugins"]))
                place = PodState("waiting", f"held in Permit by {who} since {t}, with a reservation{on}", data["node"])
            case "cycle.finished" if data["result"] == "scheduled":
                place = PodState(BINDING, f"being bound to {data['node']} since {t}", data["node"])
            case "queue.moved" if data["to"] in QUEUED:
                place = PodState(data["to"], f"{QUEUED[data['to']]} since {t}")
            case "pod.evicted":
                whom = f" for {data['by']}" if data["by"] else ""
                evicted = f"evicted from {data['node']} at {t} ({data['reason']}{whom})"
                place = PodState("evicted", f"{evicted}, still terminating", data["node"])
            case "pod.deleted":
                how = f"gone since {t} ({data['reason']})"
                place = PodState("gone", f"{evicted}, {how}" if evicted else how)
    if place is None or not place.sentence:
        return place
    when = f"At the end of the run ({clock(until)})" if over else f"So far ({clock(until)})"
    return PodState(place.badge, f"{when}: {place.sentence}.", place.node)


QUEUED = {
    "active": "in activeQ",
    "backoff": "in backoffQ",
    "unschedulable": "in unschedulablePods, waiting for an event that could make it schedulable,",
    "gated": "blocked by scheduling gates",
}


def chosen_index(rows: Sequence[Any], query: Mapping[str, str]) -> int:
    """Return the index of the attempt that a URL names by its cycle or attempt number, else of the last one.

    `rows`: cycles of one pod, in order.
    """
    for key, number in (("cycle", lambda row: row.number), ("attempt", lambda row: row.attempt)):
        found = [index for index, row in enumerate(rows) if str(number(row)) == query.get(key)]
        if found:
            return found[-1]
    return len(rows) - 1
