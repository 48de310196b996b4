"""Data of the animation that shows objects moving from the API server to the scheduler's cache and queue.

The stages are those of client-go (k8s.io/client-go/tools/cache: reflector.go, the_real_fifo.go, shared_informer.go);
pkg/scheduler/eventhandlers.go decides which handler receives an object. The recording of a run in virtual time
adds the objects, the times of their changes, and the effects on the queue.
"""

from typing import Any, NamedTuple

from kubesched_ui.lessons.formatting import Seconds, shown
from kubesched_ui.lessons.functions import Facts
from scheduler_core.search.queue_times import PARTS

STAGES = ["API server", "Reflector", "RealFIFO", "Indexer", "Handler", "Cache or queue"]
MOST = 40  # maximum number of objects
POPPED = "popped"


class Walk(NamedTuple):
    """The path of one object. `steps`: a sentence for each of STAGES. `wakes`: whether it made a pod ready for an
    attempt."""

    t: str
    what: str
    steps: list[str]
    wakes: bool


class Change(NamedTuple):
    """A change from the API server. `verb`: as in a watch event, "" for the initial list."""

    verb: str
    kind: str
    key: str
    node: str = ""
    before: str = ""


def walks(facts: Facts) -> list[Walk]:
    """Return the changes before the attempt in focus; if that is the pod's last attempt, all changes of the run."""
    run, cycle = facts.run, facts.focused
    last = cycle.number == max(one.number for one in run.cycles if one.pod == cycle.pod)
    begun = [e["seq"] for e in run.events if e["type"] == "cycle.started" and e["pod"] == cycle.pod]
    mine = sum(one.pod == cycle.pod and one.number < cycle.number for one in run.cycles)
    end = float("inf") if last else begun[mine]
    found = [_listed(change) for change in _opening(facts)]
    for event in run.events:
        if event["seq"] < end and (change := _change(event)) is not None:
            effects = [e for e in run.events if e["data"].get("cause") == event["seq"] and e["seq"] < end]
            found.append(_watched(change, event["t"], effects))
    return found[:MOST]


def _opening(facts: Facts) -> list[Change]:
    state = facts.run.state(0)
    nodes = state.nodes()
    found = [Change("", "Node", name) for name in nodes]
    found += [Change("", "Pod", pod, name) for name, node in nodes.items() for pod in node["pods"]]
    return found + [Change("", "Pod", pod) for pod in state.pending()]


def _change(event: dict[str, Any]) -> Change | None:
    data, pod = event["data"], event["pod"]
    match event["type"]:
        case "pod.created":
            return Change("ADDED", "Pod", pod, data["node"])
        case "pod.updated":
            return Change("MODIFIED", "Pod", pod, data.get("node") or "")
        case "pod.bound":
            return Change("MODIFIED", "Pod", pod, data["node"], before="none")
        case "pod.deleted":
            return Change("DELETED", "Pod", pod, data["node"])
        case "node.changed":
            verb = {"created": "ADDED", "deleted": "DELETED"}.get(data["change"], "MODIFIED")
            return Change(verb, "Node", data["name"])
    return None


def _named(change: Change) -> str:
    return f"{change.kind} {change.key.removeprefix('default/')}"


def _listed(change: Change) -> Walk:
    what, store = _named(change), change.key
    handler, place = _place(change)
    steps = [
        f"The list of {change.kind.lower()}s contains {what}.",
        f"The reflector for {change.kind.lower()}s lists them and receives {what}.",
        f"A delta Replaced of {store} is appended to the queue.",
        f"The indexer stores it with the key {store}.",
        handler,
        place,
    ]
    return Walk("the list", what, steps, wakes=False)


def _watched(change: Change, t: float, effects: list[dict[str, Any]]) -> Walk:
    what, store = _named(change), change.key
    delta = {"ADDED": "Added", "MODIFIED": "Updated", "DELETED": "Deleted"}[change.verb]
    kept = {
        "ADDED": f"The indexer stores it with the key {store}.",
        "MODIFIED": f"The indexer replaces the object with the key {store}.",
        "DELETED": f"The indexer deletes the object with the key {store}.",
    }[change.verb]
    handler, place = _place(change)
    moved = [event for event in effects if event["type"] == "queue.moved" and event["data"]["to"] != POPPED]
    moves = [_moved(event) for event in moved]
    if change.kind == "Node" or change.verb == "DELETED":
        moves = moves or ["The queue also receives the event, but moves no pods."]
    steps = [
        f"The API server sends {change.verb} {what} to all watchers.",
        f"The reflector for {change.kind.lower()}s receives it from its watch.",
        f"A delta {delta} of {store} is appended to the queue.",
        kept,
        handler,
        " ".join([place, *moves]),
    ]
    wakes = any(event["data"]["to"] in ("active", "backoff") for event in moved)
    return Walk(shown(Seconds(t)), what, steps, wakes)


def _moved(event: dict[str, Any]) -> str:
    pod, data = event["pod"].removeprefix("default/"), event["data"]
    return f"{pod} moves to {PARTS.get(data['to'], data['to'])} ({data['event']})."


def _place(change: Change) -> tuple[str, str]:
    """Return sentences that name the handler of a change and its effect."""
    what = _named(change)
    does = {"DELETED": "deletes", "MODIFIED": "updates"}.get(change.verb, "adds")
    if change.kind == "Node":
        return "The handler for nodes receives it.", f"The cache {does} it."
    if change.before:
        return (
            "It now has a node. The handler for pods without a node deletes it, the one for pods with a node adds it.",
            f"The queue deletes {what}, and the cache confirms the assumed pod on {change.node}.",
        )
    if change.node:
        preposition = {"DELETED": "from", "MODIFIED": "on"}.get(change.verb, "to")
        return (
            f"It has a node, {change.node}. The handler for pods with a node receives it.",
            f"The cache {does} it {preposition} {change.node}.",
        )
    return "It has no node. The handler for pods without a node receives it.", f"The queue {does} it."
