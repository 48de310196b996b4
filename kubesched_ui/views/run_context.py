"""Context of the run page: pending reasons, heatmap and pod table."""

from collections import Counter
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import msgspec
from django.core.paginator import Paginator
from django.db.models import Count
from django.urls import reverse

from kubesched_ui.housekeeping import retention
from kubesched_ui.models import PodResult, Run
from kubesched_ui.presenters import charts, cycle_rows, occupancy
from kubesched_ui.queries import recording_cache, remedies
from kubesched_ui.queries.recording_cache import NotRecorded
from kubesched_ui.runs import fork_create, queue, scoring
from kubesched_ui.runs.services import own_release
from kubesched_ui.scenarios import cluster_overview
from kubesched_ui.scenarios.cluster_overview import ClusterView, PodLine
from kubesched_ui.views import pod_group_context
from scheduler_core.api import duration
from scheduler_core.debugger import actions
from scheduler_core.releases import get_release, tested_version
from scheduler_core.snapshot.defaults import FILLED

SORTS = ("position", "name", "result", "node", "score", "margin", "feasible", "attempts", "duration")
PODS_SHOWN = 100  # pods per page of the table
CHANGES_SHOWN = 50  # of a fork


def context(run: Run, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the context of run.html."""
    sort = sort_of(query.get("sort"))
    values = {key: query.get(key, "") for key in ("q", "result")}
    rows = run.pod_results.matching(values["q"], values["result"] or None).order_by(sort, "position")
    counts = outcome_counts(run)
    page: dict[str, Any] = {
        "run": run,
        "page": Paginator(rows.defer("reasons"), PODS_SHOWN).get_page(query.get("page")),
        "sort": sort,
        "counts": counts,
        "outcomes": [(one["result"], f"{one['label']} ({one['count']:,})") for one in counts],
        "scheduler": scheduler_of(run),
        "progress": progress(run),
        "reasons": reasons(run),
        "old": is_old(run),
        "waits": waits(run),
        # defaults that were filled in are no warnings
        "warnings": [(text, "" if text.startswith(FILLED) else "warn") for text in cycle_rows.warnings_of(run)],
        "left": cycle_rows.left_of(run),
        "kept": recording_cache.has_recording(run),
        "ends": retention.deletion_time(run),
        "fork_changes": indented(run.changes),
        "fork_titles": [actions.title_of([change]) for change in run.changes[:CHANGES_SHOWN]],
        "scoring": scoring.offered(run.release),
        "other_stages": [(stage, indented(stage["changes"])) for stage in fork_create.other_stages(run)],
    }
    return page | values | pod_group_context.listed(run, query.get("groups"))


def indented(changes: Any) -> str:
    """Return indented JSON."""
    return msgspec.json.format(msgspec.json.encode(changes)).decode()


def sort_of(wanted: str | None) -> str:
    """Return `wanted` if the table can be sorted by it, else the default."""
    return wanted if wanted and wanted.removeprefix("-") in SORTS else "position"


def scheduler_of(run: Run) -> str:
    """Describe the scheduler of a run: its release, the patch release that it was tested against, and the cluster's
    own version if known, as in `scheduler 1.34 (as 1.34.1), the version of the cluster`.
    """
    held, theirs = tested_version(run.release_number), run.scenario.kubernetes
    told = f"scheduler {run.release.replace(',', ', ')}" + (f" (as {held})" if held else "")
    if own_release(run.scenario) == run.release_number:
        return f"{told}, the version of the cluster"
    return f"{told}; the cluster runs {theirs}" if theirs else told


def outcome_counts(run: Run) -> list[dict[str, Any]]:
    """Return the number of pods per outcome, for the filter above the table."""
    found = PodResult.objects.filter(run=run).order_by().values_list("result").annotate(Count("pk"))
    counted = Counter(dict(found))
    dots = {"scheduled": "ok", "unschedulable": "bad", "gated": "held", "error": "odd", "waiting": ""}
    return [{"result": r, "label": charts.NAMES[r], "dot": dots[r], "count": counted[r]} for r in charts.NAMES]


def progress(run: Run) -> dict[str, Any]:
    """Return the data of the progress bar: `done` of `most`, in virtual time `clock` of `until`; and `left`, the
    remaining or total duration.
    """
    seconds = run.eta_s if run.active else took(run)
    left = "" if seconds is None else f"about {duration.span(round(seconds))}" if run.active else duration.span(seconds)
    if not run.in_time:
        return {"done": run.cycles_done, "most": run.cycles_total or 1, "left": left}
    until = run.until or 0.0
    reached = duration.clock(run.clock)
    return {
        "done": run.clock,
        "most": until or 1,
        "clock": f"at {reached}" if run.active or run.clock < until else reached,
        "until": duration.clock(until) if run.active or run.clock < until else "",
        "left": left,
    }


def waits(run: Run) -> str:
    """Return what a queued run waits for: `Waits behind 2 runs, about 40 s.`"""
    at = queue.queue_position(run)
    if at is None or not at.behind:
        return ""
    told = queue.wait_text(at)
    return f"{told[0].upper()}{told[1:]}{' (lower priority)' if run.low else ''}."


def is_old(run: Run) -> bool:
    """Whether the release uses predicates and priorities, not plugins."""
    return get_release(run.release).predicates


def reasons(run: Run) -> list[tuple[str, str, int]]:
    """Return (plugin, reason, pods) for pods without a feasible node, most pods first. A pod counts once per reason."""
    counted: Counter[tuple[str, str]] = Counter()
    rows = PodResult.objects.filter(run=run, result=PodResult.Result.UNSCHEDULABLE)
    for found in rows.values_list("reasons", flat=True).iterator(chunk_size=2000):
        counted.update({(entry["plugin"], entry["reason"]) for entry in found})
    ordered = sorted(counted.items(), key=lambda item: (-item[1], item[0]))  # a stable order while results stream in
    return [(plugin, reason, pods) for (plugin, reason), pods in ordered]


def utilisation(run: Run) -> charts.Figure | None:
    """Return the heatmap of nodes before and after the run, or None for a cluster without nodes.

    Returns None in virtual time as well, because the map shows the use at every timepoint.
    """
    if run.in_time:
        return None
    view = cluster_overview.cluster_of_scenario(run.scenario)
    if not view.nodes:
        return None
    requests = occupancy.requests_of(run, view)
    before, after = (occupancy.usage(view, places, requests) for places in occupancy.occupants(run, view))

    def percents(used: dict[str, Counter[str]], names: list[str], resource: str) -> list[float | None]:
        """Return the percentage for each node, None for a node without the resource."""
        offers = [view.nodes[name].allocatable.get(resource, 0) for name in names]
        asked = [used[name][resource] for name in names]
        return [cluster_overview.percent(a, o) if a or o else None for a, o in zip(asked, offers, strict=True)]

    order, resources = sorted(view.nodes), cluster_overview.columns(view)
    fullest = dict.fromkeys(order, 0.0)
    for resource in (r for r in resources if r != "pods"):
        for name, share in zip(order, percents(after, order, resource), strict=True):
            fullest[name] = max(fullest[name], share or 0.0)
    names = sorted(order, key=lambda name: -fullest[name])
    moments = (("before", before), ("after", after))
    rows = [(f"{r} {when}", percents(used, names, r)) for r in resources for when, used in moments]
    base = reverse("run", args=[run.pk])
    return charts.utilisation(names, rows, lambda name: f"{base}nodes/{quote(name)}/")


def pods_on(view: ClusterView, places: dict[str, str], node: str) -> list[tuple[str, PodLine | None]]:
    """Return the pods on a node by name, each with its data in the scenario (None for copies of a template)."""
    return [(key, view.pods.get(key)) for key in sorted(places) if places[key] == node]


def together(run: Run) -> dict[str, Any]:
    """Return the bottlenecks of all pending pods. Raises NotRecorded, InputError."""
    if run.active:
        raise NotRecorded("The run has not finished. Try again when it has finished.")
    told = remedies.together_of(run)
    failed = run.cycles.filter(result=PodResult.Result.UNSCHEDULABLE).order_by("number").first()

    def address(pod: str) -> str:
        return reverse("pod", args=[run.pk, *pod.split("/", 1)])

    return {
        "told": told,
        "at": failed.number if failed else 1,
        "remedies": [(one, msgspec.json.encode(one.changes).decode()) for one in told.remedies],
        "bottlenecks": [(one, address(one.example)) for one in told.bottlenecks],
        "lack": cluster_overview.requests_text(told.lack),
    }


def took(run: Run) -> float | None:
    """Return the duration in seconds, or None before the end."""
    return (run.finished_at - run.started_at).total_seconds() if run.started_at and run.finished_at else None
