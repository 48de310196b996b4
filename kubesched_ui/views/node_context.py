"""Context of the node page: pods, resource use, and verdicts on each pod."""

from collections import Counter
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.urls import reverse

from kubesched_ui.event_log.cycle_batches import trace_of
from kubesched_ui.models import ClusterObject, Cycle, Run
from kubesched_ui.presenters import cycle_rows, occupancy, queue_timeline
from kubesched_ui.queries import nodes
from kubesched_ui.queries.nodes import NodeAtTimepoint, ResourceUse
from kubesched_ui.queries.recording_cache import NotRecorded, recording_of
from kubesched_ui.queries.shortfalls import reasons_on
from kubesched_ui.scenarios import cluster_overview
from kubesched_ui.scenarios.cluster_overview import NodeLine, Use
from scheduler_core.api.duration import clock
from scheduler_core.plugins import REGISTRY

CYCLES_SHOWN = 50
EVENTS_SHOWN = 500


def context(run: Run, name: str, query: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the context of node.html, or None if the cluster has no such node. Raises WrongMoment, InputError."""
    versions = {0: run.node_names or []} | dict(run.node_lists.values_list("version", "names"))
    then = about_then(run, name, query) or about_now(run, name, any(name in names for names in versions.values()))
    if then is None:
        return None
    cycles = Cycle.objects.filter(run=run).order_by("number")
    page = Paginator(cycles, CYCLES_SHOWN).get_page(query.get("page"))
    rows = {version: names.index(name) for version, names in versions.items() if name in names}
    known = then.get("then")
    verdicts = []
    for cycle in page.object_list:
        if (row := rows.get(cycle.nodes_version)) is not None:
            trace = trace_of(cycle)
            found = cycle_rows.on_node(trace, row)
            verdicts.append({"cycle": cycle, "address": decided_at(cycle, found, name), **found})
            if known is not None and verdicts[-1]["kind"] == "refused":
                verdicts[-1]["reasons"] = reasons_on(run, known.history, cycle, trace, row)
    return then | {
        "run": run,
        "stored": ClusterObject.objects.filter(scenario=run.scenario_id, kind="Node", name=name).only("pk").first(),
        "beginning": next((f"{unit} {query[unit]}" for unit in ("cycle", "t", "seq") if query.get(unit)), "start"),
        "page": page,
        "verdicts": verdicts,
        "rejecting": Counter(v["plugin"] for v in verdicts if v["kind"] == "refused").most_common(),
    }


def decided_at(cycle: Cycle, found: Mapping[str, Any], node: str) -> str:
    """Return the address of what decided about the node: how a plugin's verdict is computed, else why not this node."""
    pod = [cycle.run_id, cycle.namespace, cycle.name]
    if not found["plugin"]:
        return f"{reverse('why', args=pod)}?{urlencode({'cycle': cycle.number, 'node': node})}"
    query = {"cycle": cycle.number, "point": found["point"]}
    if found["plugin"] in REGISTRY:
        query |= {"plugin": found["plugin"], "node": node}
    return f"{reverse('pod', args=pod)}?{urlencode(query)}"


def about_then(run: Run, name: str, query: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the node at the requested timepoint, else at the end; None if it was not recorded."""
    try:
        then = nodes.node_at(run, name, query)
    except NotRecorded:
        return None
    if then is None:
        return None
    first, now = {pod.key: pod for pod in then.first}, {pod.key: pod for pod in then.now}
    requests = {pod.key: pod.requests for pod in (*then.first, *then.now)}
    before, after = dict.fromkeys(first, name), dict.fromkeys(now, name)
    happened = story(run, then) if run.in_time else []
    return {
        "node": then.line,
        "then": then,
        "at": clock(then.t),
        "fullness": then.fullness,
        "pools": then.pools,
        "here": [entry(key, before, after, requests, name) for key in on_node(before, after, name)],
        "happened": happened[:EVENTS_SHOWN],
        "more": max(0, len(happened) - EVENTS_SHOWN),
    }


def story(run: Run, then: NodeAtTimepoint) -> list[dict[str, Any]]:
    """Return the events of a node in virtual time, in order: {seq, t, at, kind, text, pod}."""
    recording = recording_of(run)
    history: list[dict[str, Any]] = [
        {"seq": mark.seq, "t": mark.t, "kind": mark.kind, "text": mark.text, "pod": ""}
        for mark in queue_timeline.recording_of(run).marks
        if mark.node == then.line.name
    ]
    for at, pod, came in then.history.arrivals:
        if at:
            kind, text = ("came", "came") if came else ("left", "left")
            history.append({"seq": at, "t": recording.time_of(at), "kind": kind, "text": text, "pod": pod})
    history.sort(key=lambda line: line["seq"])
    return [line | {"at": clock(line["t"]), "now": line["t"] == then.t} for line in history]


def about_now(run: Run, name: str, listed: bool) -> dict[str, Any] | None:
    """Return the node of a run that has no recording yet. `listed`: some cycle had a node of that name."""
    view = cluster_overview.cluster_of_scenario(run.scenario)
    node = view.nodes.get(name) or (NodeLine(name, {}, {}, [], cordoned=False, ready=True) if listed else None)
    if node is None:
        return None
    requests = occupancy.requests_of(run, view)
    before, after = occupancy.occupants(run, view)
    return {
        "node": node,
        "fullness": []
        if run.in_time  # the requests of pods created later are not stored
        else uses(
            node,
            [requests.get(key, {}) for key, place in before.items() if place == name],
            [requests.get(key, {}) for key, place in after.items() if place == name],
        ),
        "here": [entry(key, before, after, requests, name) for key in on_node(before, after, name)],
    }


def on_node(before: dict[str, str], after: dict[str, str], name: str) -> list[str]:
    """Return the pods that were or are on the node: those placed by the run first, then by name."""
    keys = {key for places in (before, after) for key, place in places.items() if place == name}
    return sorted(keys, key=lambda key: (before.get(key) == name, key))


def entry(
    key: str, before: dict[str, str], after: dict[str, str], requests: Mapping[str, Any], name: str
) -> dict[str, Any]:
    """Return a pod on the node with its requests, and whether it was there, came or left."""
    came, went = before.get(key) != name, after.get(key) != name
    change = "gone" if went else "placed by this run" if came else "was there"
    namespace, _, pod = key.partition("/")
    asks = cluster_overview.requests_text(requests.get(key, {}))
    return {"namespace": namespace, "name": pod, "change": change, "asks": asks, "came": came}


def uses(node: NodeLine, before: list[dict[str, int]], after: list[dict[str, int]]) -> list[ResourceUse]:
    """Return each resource of the node before and after the run."""
    first, last = Counter[str](), Counter[str]()
    for total, pods in ((first, before), (last, after)):
        for requests in pods:
            total.update(requests)
    names = ["cpu", "memory", "pods", *(r for r in node.allocatable if "/" in r or first[r] or last[r])]
    return [
        ResourceUse(Use(r, first[r], node.allocatable.get(r, 0)), Use(r, last[r], node.allocatable.get(r, 0)))
        for r in dict.fromkeys(names)
    ]
