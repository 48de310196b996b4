"""What the page of a run shows beside its progress: charts and the table of pods."""

from __future__ import annotations

from collections import Counter
from typing import Any
from urllib.parse import quote

import msgspec
from django.db.models import Q
from django.urls import reverse

from kubesched_ui import clusterview, figures, history
from kubesched_ui.clusterview import ClusterView, PodLine
from kubesched_ui.eventlog import read_blocks
from kubesched_ui.models import Cycle, PodResult, Run

SORTS = ("position", "name", "result", "node", "score", "margin", "feasible", "attempts", "duration")
RESOURCES = ("cpu", "memory", "pods")


def sort_of(wanted: str | None) -> str:
    """`wanted` if the table can be sorted by it."""
    return wanted if wanted and wanted.removeprefix("-") in SORTS else "position"


def outcome_counts(run: Run) -> list[dict[str, Any]]:
    """The pods of a run by their latest outcome, as the filter above the table offers them."""
    counted = Counter(PodResult.objects.filter(run=run).values_list("result", flat=True))
    dots = {"scheduled": "ok", "unschedulable": "bad", "gated": "warn", "error": "odd", "waiting": ""}
    return [{"result": r, "label": figures.NAMES[r], "dot": dots[r], "count": counted[r]} for r in figures.NAMES]


def timeline(run: Run) -> figures.Figure:
    """The chart of pods in the order in which they were taken."""
    fields = ("position", "namespace", "name", "result", "score")
    pods = list(PodResult.objects.filter(run=run).order_by("position").values(*fields))
    base = reverse("run", args=[run.pk])
    return figures.timeline(pods, lambda pod: f"{base}pods/{quote(pod['namespace'])}/{quote(pod['name'])}/")


def reasons(run: Run) -> list[tuple[str, str, int]]:
    """(plugin, reason, pods) of pods that found no node, each pod counted once a reason, most pods first."""
    counted: Counter[tuple[str, str]] = Counter()
    rows = PodResult.objects.filter(run=run, result=PodResult.Result.UNSCHEDULABLE)
    for found in rows.values_list("reasons", flat=True).iterator(chunk_size=2000):
        counted.update({(entry["plugin"], entry["reason"]) for entry in found})
    ordered = sorted(counted.items(), key=lambda item: (-item[1], item[0]))  # equals keep their place while it streams
    return [(plugin, reason, pods) for (plugin, reason), pods in ordered]


def evicted(run: Run, before: int | None) -> set[str]:
    """Pods that preemption removed, in cycles before the one numbered `before` where that is given."""
    preemptors = PodResult.objects.filter(run=run).filter(Q(attempts__gt=1) | ~Q(nominated_node=""))
    gone: set[str] = set()
    for row in preemptors.only("namespace", "name"):
        cycles = Cycle.objects.filter(run=run, namespace=row.namespace, name=row.name)
        counted = set((cycles.filter(number__lt=before) if before else cycles).values_list("attempt", flat=True))
        for _, text in read_blocks(run.pk, 0, f"{row.namespace}/{row.name}"):
            events = msgspec.json.decode(text)
            for event in events:
                if event["type"] == "postfilter" and event["attempt"] in counted:
                    gone.update(event["data"]["victims"])
    return gone


def occupants(run: Run, view: ClusterView, before: int | None = None) -> tuple[dict[str, str], dict[str, str]]:
    """pod -> node at the start of the run, and as far as it has come (or when cycle number `before` began).

    Pods to be placed again start on no node.
    """
    again = set(run.unbind) | set(run.pods or [])
    start = {key: pod.node for key, pod in view.pods.items() if pod.state == "bound" and key not in again}
    if run.in_time:
        return start, history.occupants(run, start)
    gone = evicted(run, before)
    now = {key: node for key, node in start.items() if key not in gone}
    placed = PodResult.objects.filter(run=run, result=PodResult.Result.SCHEDULED).values_list(
        "namespace", "name", "node"
    )
    nodes = {f"{namespace}/{name}": node for namespace, name, node in placed}
    cycles = Cycle.objects.filter(run=run, result="scheduled")
    for namespace, name in (cycles.filter(number__lt=before) if before else cycles).values_list("namespace", "name"):
        key = f"{namespace}/{name}"
        if key in nodes and key not in gone:
            now[key] = nodes[key]
    return start, now


def requests_of(run: Run, view: ClusterView) -> dict[str, dict[str, int]]:
    """What each pod of the run asks for, copies of its template included."""
    found = {key: pod.requests for key, pod in view.pods.items()}
    if run.template:
        from kubesched_ui import runs

        copies = clusterview.cluster_view(runs.copies_of(runs.pod_template(run.template), run.copies))
        found |= {key: pod.requests for key, pod in copies.pods.items()}
    return found


def usage(view: ClusterView, places: dict[str, str], requests: dict[str, dict[str, int]]) -> dict[str, Counter[str]]:
    """node -> what the pods on it request."""
    used: dict[str, Counter[str]] = {name: Counter() for name in view.nodes}
    for pod, node in places.items():
        if node in used:
            used[node].update(requests.get(pod, {"pods": 1}))
    return used


def utilisation(run: Run) -> figures.Figure | None:
    """The heatmap of nodes before and after the run; None for a cluster without nodes.

    None in time, too: what pods that came later request is not kept.
    """
    if run.in_time:
        return None
    view = clusterview.of_scenario(run.scenario)
    if not view.nodes:
        return None
    requests = requests_of(run, view)
    before, after = (usage(view, places, requests) for places in occupants(run, view))

    def percents(used: dict[str, Counter[str]], names: list[str], resource: str) -> list[float]:
        return [clusterview.percent(used[n][resource], view.nodes[n].allocatable.get(resource, 0)) for n in names]

    order = sorted(view.nodes)
    fullest = dict(zip(order, zip(*(percents(after, order, r) for r in ("cpu", "memory")), strict=True), strict=True))
    names = sorted(order, key=lambda name: -max(fullest[name]))
    moments = (("before", before), ("after", after))
    rows = [(f"{r} {when}", percents(used, names, r)) for r in RESOURCES for when, used in moments]
    base = reverse("run", args=[run.pk])
    return figures.utilisation(names, rows, lambda name: f"{base}nodes/{quote(name)}/")


def pods_on(view: ClusterView, places: dict[str, str], node: str) -> list[tuple[str, PodLine | None]]:
    """The pods on a node by name, each with what the scenario knows of it (nothing for copies of a template)."""
    return [(key, view.pods.get(key)) for key in sorted(places) if places[key] == node]


def charts(run: Run) -> dict[str, Any]:
    """The figures of the run page, and the reasons once more as a table."""
    counted = reasons(run)
    return {
        "timeline": timeline(run),
        "reasons": counted,
        "heat": utilisation(run),
    }


def warnings(run: Run) -> list[str]:
    """What the run remarked on its configuration when it started."""
    for _, text in read_blocks(run.pk, 0, limit=1):
        return msgspec.json.decode(text)[0]["data"].get("warnings") or []
    return []


def took(run: Run) -> float | None:
    """Seconds from start to end; None before the end."""
    return (run.finished_at - run.started_at).total_seconds() if run.started_at and run.finished_at else None
