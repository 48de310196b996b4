"""Texts of events: a recorded event of a run in virtual time as a sentence with pods and nodes."""

from collections.abc import Mapping
from typing import Any

from kubesched_ui.event_log.events import Event

Part = str | dict[str, str]
"""Plain text, {"pod": "ns/name"} or {"node": name}; a page can turn the latter into links."""


def event_sentence(event: Event) -> str:
    """Return an event as plain text."""
    return "".join(part if isinstance(part, str) else next(iter(part.values())) for part in event_parts(event))


def event_parts(event: Event) -> list[Part]:
    """Return an event as non-empty parts of text."""
    return [part for part in _parts(event) if part]


def _parts(event: Event) -> list[Part]:
    data = event["data"]
    pod: Part = {"pod": event["pod"]}
    on: list[Part] = [" on ", {"node": data["node"]}] if data.get("node") else []
    match event["type"]:
        case "pod.created":
            return [pod, " was created", *on, f" by {data['owner']}" if data.get("owner") else ""]
        case "pod.updated":
            return [pod, _changed(data) or " was updated"]
        case "pod.nominated":
            return [pod, " was nominated", *on] if on else [pod, " is no longer nominated"]
        case "pod.bound":
            return [pod, " was bound", *on]
        case "pod.evicted":
            whom: list[Part] = [", for ", {"pod": data["by"]}] if data["by"] else []
            reason = f" ({data.get('reason', 'preempted')}"
            return [pod, " was evicted from ", {"node": data["node"]}, reason, *whom, ")"]
        case "pod.deleted":
            place: Part = {"node": data["node"]} if data["node"] else "the queue"
            return [pod, " left ", place, f" ({data['reason']})"]
        case "pod.skipped":
            return [pod, f" is being deleted and was skipped ({data['message']})"]
        case "permit.waiting":
            return [pod, " waits", *on, f" for {', '.join(data['plugins'])}"]
        case "permit.rejected":
            return [pod, " was rejected in Permit", *on, f": {data['message']}"]
        case "bind.failed":
            return ["the binding of ", pod, *on, f" failed: {data['message']}"]
        case "eviction.timed":
            return [pod, " will be evicted from ", {"node": data["node"]}, f" at {data['at']:,.10g} s"]
        case "eviction.cancelled":
            return ["the eviction of ", pod, " from ", {"node": data["node"]}, " was cancelled"]
        case "queue.moved":
            came = f"{data['from']} → " if data["from"] not in ("", "popped") else "→ "
            return [pod, f" {came}{data['to']}"]
        case "cycle.finished":
            return [f"attempt {event['attempt']} of ", pod, ": ", *_outcome(data)]
        case "node.changed":
            node: Part = {"node": data["name"]}
            return ["node ", node, _changed(data) or f" was {data['change']}"]
        case "object.changed":
            return [f"{data['object']} was {data['change']}"]
        case "nodes.listed":
            return [f"the cluster now has {data['nodes']:,} nodes"]
        case "scenario.step":
            of = f"step {data['step']} of the scenario" if data["step"] else "changed by the fork"
            return [f"{of}: {data['operation']} ", *_object(event)]
        case "warning" | "extender.failed":
            return [data["message"]]
    return [event["type"], *([" ", pod] if event["pod"] else [])]


def _changed(data: Mapping[str, Any]) -> str:
    """Return the changes of an update; "" if they were not recorded."""
    changes = ", ".join(change["text"] for change in data.get("what", ()))
    return f": {changes}" if changes else ""


def _object(event: Event) -> list[Part]:
    data = event["data"]
    taint = f", {data['taint']}" if "taint" in data else ""
    if "node" in data:
        return ["Node ", {"node": data["node"]}, taint]
    return ["Pod ", {"pod": event["pod"]}] if event["pod"] else [data["object"]]


def _outcome(data: Mapping[str, Any]) -> list[Part]:
    if data["result"] in ("scheduled", "waiting") and data["node"]:
        place: Part = {"node": data["node"]}
        return ["placed on " if data["result"] == "scheduled" else "waits in Permit for ", place]
    outcome = f"{data['result']}: {data['message']}" if data["message"] else data["result"]
    promised: Part = {"node": data["nominated_node"]}
    return [outcome, " Nominated to ", promised] if data["nominated_node"] else [outcome]
