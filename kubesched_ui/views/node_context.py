"""Context of the list of nodes and of the node page: pods, resource use, and in a run the verdicts on each pod."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.urls import reverse

from kubesched_ui.event_log.cycle_batches import trace_of
from kubesched_ui.models import ClusterObject, Cycle, Run
from kubesched_ui.presenters import cycle_rows, queue_timeline
from kubesched_ui.queries import node_summaries, node_zones, nodes
from kubesched_ui.queries.nodes import NodeAtTimepoint, ResourceUse
from kubesched_ui.queries.recording_cache import NotRecorded, recording_of
from kubesched_ui.queries.shortfalls import reasons_on
from kubesched_ui.scenarios import cluster_overview, stored_cluster
from kubesched_ui.scenarios.cluster_overview import ClusterView, NodeLine, PodLine
from scheduler_core.api.duration import clock
from scheduler_core.errors import InputError
from scheduler_core.plugins import REGISTRY
from scheduler_core.plugins.contrib.node_resource_topology_match import NodeResourceTopologyMatch

NODES_SHOWN = 50
CYCLES_SHOWN = 50
EVENTS_SHOWN = 500
PODS_OFFERED = 100  # to show in the zones of a node


class PodOnNode(NamedTuple):
    """A pod on the node. `href`: its page, "" for none. `change`: in a run, what happened to it."""

    pod: PodLine
    href: str
    change: str = ""


def context(run: Run, name: str, query: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the context of node.html, or None if the cluster has no such node. Raises InvalidTimepoint,
    InputError."""
    versions = {0: run.node_names or []} | dict(run.node_lists.values_list("version", "names"))
    then = about_then(run, name, query) or about_now(run, name, any(name in names for names in versions.values()))
    if then is None:
        return None
    cycles = Cycle.objects.filter(run=run).order_by("number")
    page = Paginator(cycles, CYCLES_SHOWN).get_page(query.get("page"))
    rows = {version: names.index(name) for version, names in versions.items() if name in names}
    known = then.get("then")
    summary, later = "", False
    if known is not None and known.there:
        later = node_summaries.loads_later(run.scenario, query)
        summary = "" if later else node_summaries.of_run(run, name, known.moment)
    verdicts = []
    for cycle in page.object_list:
        if (row := rows.get(cycle.nodes_version)) is not None:
            trace = trace_of(cycle)
            found = cycle_rows.on_node(trace, row)
            verdicts.append({"cycle": cycle, "address": decided_at(cycle, found, name), **found})
            if known is not None and verdicts[-1]["kind"] == "refused":
                verdicts[-1]["reasons"] = reasons_on(run, cycle, trace, row)
    if known is not None:
        then |= zones_in_run(run, known, verdicts, query.get("pod", ""))
    return then | {
        "run": run,
        "scenario": run.scenario,
        "stored": ClusterObject.objects.filter(scenario=run.scenario_id, kind="Node", name=name).only("pk").first(),
        "beginning": next((f"{unit} {query[unit]}" for unit in ("cycle", "t", "seq") if query.get(unit)), "start"),
        "summary": summary,
        "later": later,
        "page": page,
        "verdicts": verdicts,
        "rejecting": Counter(v["plugin"] for v in verdicts if v["kind"] == "refused").most_common(),
    }


def zones_in_run(run: Run, then: NodeAtTimepoint, verdicts: Sequence[dict[str, Any]], key: str) -> dict[str, Any]:
    """Return the NUMA zones of the node with a pod: the requested one, or the one that they refused last."""
    cycles = [one["cycle"] for one in verdicts]
    refused = [one["cycle"] for one in verdicts if one["plugin"] == NodeResourceTopologyMatch.name]
    pods = list(dict.fromkeys(f"{one.namespace}/{one.name}" for one in cycles))
    key = key or next((f"{one.namespace}/{one.name}" for one in reversed(refused)), "")
    try:
        found = node_zones.of_run(run, then.line.name, then.moment, key, then.now.keys() - then.first.keys())
    except (InputError, NotRecorded):
        return {}
    return {"zones": found, "zones_pod": key, "zones_pods": pods}


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
    happened = story(run, then) if run.in_time else []
    pods = sorted((then.first | then.now).items(), key=lambda entry: (entry[0] in then.first, entry[0]))
    return {
        "node": then.line,
        "then": then,
        "at": clock(then.t),
        "fullness": then.fullness,
        "pools": then.pools,
        "here": [entry(run, pod, key in then.first, key in then.now) for key, pod in pods],
        "happened": happened[:EVENTS_SHOWN],
        "more": max(0, len(happened) - EVENTS_SHOWN),
    }


def entry(run: Run, pod: PodLine, was: bool, stays: bool) -> PodOnNode:
    """Return a pod on the node. `was`, `stays`: whether it is there at the beginning and at the timepoint."""
    change = "gone" if not stays else "already running" if was else "placed by this run"
    return PodOnNode(pod, "" if was else reverse("pod", args=[run.pk, pod.namespace, pod.name]), change)


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
    """Return the node of a run without a recording, as in its scenario. `listed`: some cycle had such a node."""
    view = stored_cluster.cluster_of_scenario(run.scenario)
    if listed and name not in view.nodes:
        view = ClusterView({name: NodeLine(name, {})}, {})
    return of_view(view, name, lambda pod: "")


def of_view(view: ClusterView, name: str, page: Callable[[PodLine], str]) -> dict[str, Any] | None:
    """Return a node of a scenario or of a live cluster; None if it does not exist. `page`: the address of a pod."""
    node = view.nodes.get(name)
    if node is None:
        return None
    uses = node.uses(list(node.resources()))
    return {
        "node": node,
        "fullness": [ResourceUse(use) for use in uses if use],
        "here": [PodOnNode(pod, page(pod)) for pod in sorted(node.pods, key=lambda pod: pod.key)],
    }


def listed(view: ClusterView, query: Mapping[str, str], page: str | None) -> dict[str, Any]:
    """Return a page of the list of nodes of a scenario or of a live cluster."""
    resources = cluster_overview.columns(view)
    shown = Paginator(cluster_overview.find_nodes(view, **query), NODES_SHOWN).get_page(page)
    rows = [(node, node.uses(resources), node.others(resources)) for node in shown.object_list]
    return {**query, "tab": "nodes", "page": shown, "resources": resources, "rows": rows}
