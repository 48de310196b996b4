"""Moments of the cache, next to the API server and the snapshot."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.html import format_html

from kubesched_ui.event_log.events import Event
from kubesched_ui.lessons.errors import Unknown
from kubesched_ui.lessons.formatting import Seconds, shown
from kubesched_ui.lessons.functions import Facts
from kubesched_ui.lessons.parser import MovingPicture
from kubesched_ui.lessons.picture_moments import Drawn, PictureMoment, name_of, run_in_time, sentence_of

MAX_ROWS = 12  # nodes
Columns = Mapping[str, Mapping[str, str]]  # name -> pod -> node


def cache_moments(facts: Facts, wanted: MovingPicture) -> Drawn:
    """Return which pods the API server, the cache and the snapshot have on each node, whenever that changes."""
    run = run_in_time(facts)
    begin, end = run.state(0).nodes(), run.state(run.recording.end).nodes()
    nodes = list(dict.fromkeys([*begin, *end]))
    if not 0 < len(nodes) <= MAX_ROWS:
        raise Unknown(f"shows each node of the cache, so the run must have 1 to {MAX_ROWS} nodes, got {len(nodes)}")
    stored = {pod: name for name, node in begin.items() for pod in node["pods"]}
    columns: dict[str, dict[str, str]] = {"API server": dict(stored), "Cache": dict(stored), "Snapshot": {}}
    confirmed = set(stored)
    moments: list[PictureMoment] = []
    opening = "At the beginning, the API server and the cache have the same pods. There is no snapshot yet."
    for event in run.events:
        before = {name: dict(column) for name, column in columns.items()}
        text = _cached(facts, event, columns, confirmed)
        if not text or not wanted.holds(event["t"]):
            opening = "Before these seconds." if text else opening
            continue
        if not moments:
            moments.append(
                PictureMoment(opening, shown(Seconds(event["t"])), {}, _table(nodes, before, before, confirmed))
            )
        moments.append(PictureMoment(text, shown(Seconds(event["t"])), {}, _table(nodes, columns, before, confirmed)))
    return moments, {}


def _cached(facts: Facts, event: Event, columns: dict[str, dict[str, str]], confirmed: set[str]) -> str:
    """Apply an event to the columns. Return what it does, or "" if it changes nothing."""
    kind, pod, attempt, data = event["type"], event["pod"], event["attempt"], event["data"]
    server, cache = columns["API server"], columns["Cache"]
    match kind:
        case "cycle.started":
            columns["Snapshot"] = dict(cache)
            text = "Attempt {} of {} begins: the snapshot is updated from the cache."
            return format_html(text, attempt, name_of(pod))
        case "assume":
            cache[pod] = data["node"]
            text = "{} is chosen for {}. The cache assumes the pod there; the API server does not have it yet."
            return format_html(text, name_of(data["node"]), name_of(pod))
        case "cycle.finished" if data["result"] == "unschedulable":
            text = "No node of the snapshot is feasible for {}: {}"
            return format_html(text, name_of(pod), facts.find(pod, attempt).trace.message.partition(". ")[0] + ".")
        case "bind.failed" | "permit.rejected":
            cache.pop(pod, None)
            return format_html("{}. The cache forgets {}.", sentence_of(event), name_of(pod))
        case "pod.bound":
            server[pod] = cache[pod] = data["node"]
            confirmed.add(pod)
            text = "The API server has bound {} to {}. The cache confirms the pod."
            return format_html(text, name_of(pod), name_of(data["node"]))
        case "pod.created" if data["node"]:
            server[pod] = cache[pod] = data["node"]
            confirmed.add(pod)
        case "pod.deleted" if pod in cache:
            del cache[pod]
            server.pop(pod, None)
        case _:
            return ""
    return f"{sentence_of(event)}. The cache follows."


def _table(nodes: Sequence[str], columns: Columns, before: Columns, confirmed: set[str]) -> dict[str, Any]:
    def cell(name: str, node: str) -> dict[str, Any]:
        there = [pod for pod, at in columns[name].items() if at == node]
        was = [pod for pod, at in before[name].items() if at == node]
        pods = [(pod.removeprefix("default/"), pod not in confirmed) for pod in there]
        return {"pods": pods, "changed": there != was}

    return {"columns": list(columns), "rows": [(node, [cell(name, node) for name in columns]) for node in nodes]}
