"""Pages of a scenario: overview, nodes, pods, objects, object editor."""

from collections import Counter
from itertools import islice
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from kubesched_ui.housekeeping import retention
from kubesched_ui.ingest import IngestError, preflight
from kubesched_ui.ingest.yaml_writer import to_yaml
from kubesched_ui.models import ClusterObject, Run, Scenario, is_number
from kubesched_ui.presenters import run_answer
from kubesched_ui.queries import node_summaries, node_zones, stations
from kubesched_ui.runs import default_run, estimate, queue, suggested_comparisons
from kubesched_ui.runs.forms import StartForm
from kubesched_ui.runs.services import default_release
from kubesched_ui.scenarios import cluster_overview, edits, stored_cluster
from kubesched_ui.upgrades.presenters import choices, expected_per_release
from kubesched_ui.views import node_context
from kubesched_ui.views.experiments.registry import PAGES
from kubesched_ui.views.form_fields import name_in, named, pinned
from scheduler_core.cluster.formatting import count, listing
from scheduler_core.errors import InputError
from scheduler_core.releases import get_release
from scheduler_core.releases.remarks import cluster_remarks
from scheduler_core.stations.resource_quotas import picture_of
from scheduler_core.stations.snapshots import MissingAnswer

ROWS = 50
WAITING_PODS = 100  # that are named of a workload


def find(scenario_id: int) -> Scenario:
    """Return the scenario. Raises Http404."""
    return named(Scenario.objects.select_related("parent"), scenario_id)


def overview(request: HttpRequest, scenario_id: int, form: StartForm | None = None, status: int = 200) -> HttpResponse:
    """Show counts, warnings, zones, pending pods, and the form that starts a run."""
    scenario = find(scenario_id)
    view = stored_cluster.cluster_of_scenario(scenario)
    context = cluster_context(scenario, view)
    context |= with_form(scenario, form or empty_form(scenario, view, request.GET.get("like", "")))
    return render(request, "scenario.html", context | remarks(scenario), status=status)


def cluster_context(scenario: Scenario, view: cluster_overview.ClusterView) -> dict[str, Any]:
    """Return the cluster, also as a `sentence`; its runs, and of the newest complete one (`decided`) the `decision`."""
    states = cluster_overview.state_counts(view)
    parts = [f"{one['count']:,} {one['state']}" for one in states if one["count"]]
    pending = view.pods_where(lambda pod: pod.state in ("pending", "gated"))
    decided = scenario.runs.filter(state=Run.State.DONE).defer("node_names").first()
    return {
        "scenario": scenario,
        "tab": "overview",
        "sentence": f"{count(len(view.nodes))}, {count(len(view.pods), 'pod')}{': ' * bool(parts)}{listing(parts)}.",
        "decided": decided,
        "decision": decided and run_answer.answer_of(decided).sentence,
        "works": default_run.has_work(scenario),
        "states": states,
        "zones": view.zones,
        "pending": list(islice(pending, 20)),
        "bound": list(islice(view.pods_where(lambda pod: pod.reschedulable), settings.BOUND_PODS_SHOWN)),
        "totals": cluster_overview.totals(view),
        "runs": scenario.runs.listed()[:10],
        "pairs": suggested_comparisons.offered(scenario),
        "releases": choices(scenario),
        "per_release": expected_per_release(scenario),
        "upgrades": scenario.upgrades.defer("steps")[:5],
        "questions": PAGES.values(),
    }


def with_form(scenario: Scenario, form: StartForm) -> dict[str, Any]:
    """Return the form, and the expected duration of a run with its settings ("" if they are invalid)."""
    return {"form": form, "expected": expected(scenario, form)}


def expected(scenario: Scenario, form: StartForm) -> str:
    """Return the expected duration as a sentence."""
    which, copies = form["which"].value(), str(form["copies"].value() or "1")
    placed = {"unbind": len(form.ticked), "template": int(copies) if copies.isdecimal() and len(copies) < 9 else 1}
    pods = placed.get(str(which))
    try:
        release = get_release(str(form["release"].value())).name
    except InputError:
        return ""
    return queue.estimate_text(estimate.before(scenario, release, form["mode"].value() == "time", pods), scenario)


def remarks(scenario: Scenario) -> dict[str, Any]:
    """Return when the scenario `ends`, the warnings `about_cluster` with their counts, and those about its
    files. `timed`: the number of the newest complete run in virtual time, which has their seconds.
    """
    about_cluster = preflight.snapshot_warnings(scenario.warnings)
    counted = {remark["code"]: remark["counts"] for remark in about_cluster}
    return {
        "ends": retention.deletion_time(scenario),
        "about_cluster": about_cluster,
        "others": counted.get("other-schedulers", {}),
        "absent": counted.get("absent-claims", {}).get("claims", 0),
        "makes_pods": "workloads" in counted,
        "about_release": cluster_remarks(scenario.kubernetes, default_release(scenario)),
        "about_files": preflight.about_files(scenario.warnings),
        "timed": scenario.runs.filter(in_time=True, state=Run.State.DONE).values_list("pk", flat=True).first(),
    }


def empty_form(scenario: Scenario, view: cluster_overview.ClusterView, like: str) -> StartForm:
    """Return the initial form: with defaults for the scenario, or with the settings of the run numbered `like`."""
    defaults = StartForm.defaults(scenario, view)
    run = Run.objects.filter(pk=int(like)).first() if is_number(like) else None
    if run is None:
        return StartForm(initial=defaults)
    again = StartForm.like(run)
    if run.scenario_id != scenario.pk and again["which"] == "unbind":
        again |= {
            "which": defaults["which"],
            "pod": defaults.get("pod", []),
            "unbind": "",
        }  # those pods belong to another cluster
    return StartForm(initial=defaults | again)


@require_GET
def scenario(request: HttpRequest, scenario_id: int) -> HttpResponse:
    return overview(request, scenario_id)


@require_GET
def nodes(request: HttpRequest, scenario_id: int) -> HttpResponse:
    """List the nodes with requested and allocatable resources, taints, labels and zones."""
    query = {key: request.GET.get(key, "") for key in ("q", "sort", "zone")}
    scenario = find(scenario_id)
    rows = node_context.listed(stored_cluster.cluster_of_scenario(scenario), query, request.GET.get("page"))
    none = "This scenario has no nodes. Upload a snapshot that contains nodes."
    return render(request, "nodes.html", rows | {"scenario": scenario, "base": "scenario_base.html", "none": none})


@require_GET
def node(request: HttpRequest, scenario_id: int, name: str) -> HttpResponse:
    """Show a node: its resource use, taints and labels, and the pods on it."""
    scenario = find(scenario_id)
    view, pod = stored_cluster.cluster_of_scenario(scenario), request.GET.get("pod", "").replace("\0", "")
    context = node_context.of_view(
        view,
        name,
        lambda pod: reverse("object-named", args=[scenario_id, "Pod", pod.namespace, pod.name]),
    )
    if context is None:
        raise Http404(f"Scenario {scenario_id} has no node {name}.")
    stored = scenario.cluster_objects.filter(kind="Node", name=name).only("pk").first()
    later = node_summaries.loads_later(scenario, request.GET)
    context |= {"later": later, "summary": "" if later else node_summaries.of_scenario(scenario, name)}
    if zones := node_zones.of_scenario(scenario, name, pod):
        pending = [one.key for one in view.pods.values() if not one.node]
        context |= {"zones": zones, "zones_pod": pod, "zones_pods": pending[: node_context.PODS_OFFERED]}
    return render(request, "node.html", context | {"scenario": scenario, "stored": stored})


@require_GET
def quotas(request: HttpRequest, scenario_id: int) -> HttpResponse:
    """Render the quotas of namespaces before any run."""
    context: dict[str, Any] = {"scenario": find(scenario_id)}
    try:
        context["picture"] = node_summaries.quotas(context["scenario"])
    except InputError as problem:
        context["problem"] = str(problem)
    return render(request, "quotas.html", context)


@require_GET
def waits(request: HttpRequest, scenario_id: int) -> HttpResponse:
    """List the pods that wait, but for no configured scheduler, by workload, and the workloads whose pods were never
    created, with the ResourceQuotas that refuse them."""
    context: dict[str, Any] = {"scenario": find(scenario_id)}
    try:
        page = Paginator(stations.groups_of_snapshot(context["scenario"]), ROWS).get_page(request.GET.get("page"))
        pictures = [picture_of(wait.quotas) if isinstance(wait, MissingAnswer) else None for wait in page]
        context |= {"page": page, "waits": list(zip(page, pictures, strict=True)), "most": WAITING_PODS}
    except InputError as problem:
        context["problem"] = str(problem)
    return render(request, "scenario_waits.html", context)


@require_GET
def pods(request: HttpRequest, scenario_id: int) -> HttpResponse:
    """List the pods by state, each with the message recorded in the cluster."""
    scenario = find(scenario_id)
    view = stored_cluster.cluster_of_scenario(scenario)
    query = {key: request.GET.get(key, "") for key in ("q", "sort", "state")}
    page = Paginator(cluster_overview.find_pods(view, **query), ROWS).get_page(request.GET.get("page"))
    context = {"scenario": scenario, "tab": "pods", "page": page}
    context["states"] = [(one["state"], one["count"]) for one in cluster_overview.state_counts(view)]
    return render(request, "pods.html", context | query)


@require_GET
def objects(request: HttpRequest, scenario_id: int) -> HttpResponse:
    """List all objects by kind and name."""
    scenario, q, kind = find(scenario_id), request.GET.get("q", "").replace("\0", ""), request.GET.get("kind", "")
    rows = scenario.cluster_objects.order_by("kind", "namespace", "name").defer("data")
    if kind:
        rows = rows.filter(kind=kind)
    if q:
        rows = rows.filter(name__icontains=q) | rows.filter(namespace__icontains=q)
    page = Paginator(rows, 100).get_page(request.GET.get("page"))
    kinds = sorted(Counter(scenario.counts).items())
    context = {"scenario": scenario, "tab": "objects", "page": page, "q": q, "kind": kind, "kinds": kinds}
    return render(request, "objects.html", context)


@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, scenario_id: int, object_id: int) -> HttpResponse:
    """Edit one object as YAML. Saving creates a new version of the scenario; the old one and its runs do not change."""
    scenario = find(scenario_id)
    obj = ClusterObject.objects.filter(scenario=scenario, pk=object_id).first()
    if obj is None:
        raise Http404("The scenario has no such object.")
    context = {"scenario": scenario, "tab": "objects", "object": obj, "text": to_yaml(obj.data)}
    if request.method == "GET":
        return render(request, "object.html", context)
    text = request.POST.get("text", "")
    try:
        version = edits.create_version(scenario, obj, None if "remove" in request.POST else text)
    except (IngestError, InputError) as error:
        return render(request, "object.html", context | {"text": text, "error": str(error)}, status=400)
    messages.info(request, f"This is a new version of “{scenario.name}”, with {obj} changed.")
    return redirect("scenario", version.pk)


@require_GET
def object_named(request: HttpRequest, scenario_id: int, kind: str, name: str, namespace: str = "") -> HttpResponse:
    """Redirect from an object's name to its page."""
    wanted = {"kind": kind, "namespace": namespace, "name": name}
    obj = ClusterObject.objects.filter(scenario=find(scenario_id), **wanted).only("pk").first()
    if obj is None:
        raise Http404(f"Scenario {scenario_id} has no {kind} {namespace}/{name}.")
    return redirect("object", scenario_id, obj.pk)


@require_POST
def rename(request: HttpRequest, scenario_id: int) -> HttpResponse:
    """Rename the scenario."""
    found = find(scenario_id)
    if name := name_in(request):
        found.name = name
        found.save(update_fields=["name"])
    else:
        messages.error(request, "Name cannot be empty. The old name was kept.")
    return redirect("scenario", scenario_id)


@require_POST
def pin(request: HttpRequest, scenario_id: int) -> HttpResponse:
    """Pin or unpin the scenario. Pinned scenarios are not deleted by retention."""
    pinned(find(scenario_id), request)
    return redirect("scenario", scenario_id)


@require_POST
def delete(request: HttpRequest, scenario_id: int) -> HttpResponse:
    scenario = find(scenario_id)
    scenario.delete()
    messages.info(request, f"“{scenario.name}” and its runs were deleted.")
    return redirect("scenarios")
