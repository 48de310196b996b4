"""Pages of live clusters: the list, a cluster now, its nodes and pods, its history, and the checked decisions."""

from typing import Any

import msgspec
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from kubesched_ui.clusters import connections, node_summaries, queries
from kubesched_ui.clusters import fork as forks
from kubesched_ui.clusters.models import Cluster, Decision
from kubesched_ui.scenarios.cluster_columns import EMPTY, view_of
from kubesched_ui.scenarios.cluster_overview import ClusterView
from kubesched_ui.views import cluster_context, cluster_history, cluster_map, cluster_report, errors, node_context
from kubesched_ui.views.lists import values_of
from scheduler_core.errors import InputError

ROWS = 50


def find(cluster_id: int) -> Cluster:
    """Return the cluster. Raises Http404."""
    found = queries.find(cluster_id)
    if found is None:
        raise Http404(f"There is no live cluster {cluster_id}.")
    return found


def listed(rows: Any, request: HttpRequest) -> Any:
    """Return the requested page of a list."""
    return Paginator(rows, ROWS).get_page(request.GET.get("page"))


@require_GET
def clusters(request: HttpRequest) -> HttpResponse:
    """List the clusters that the operator named, and the contexts of the machine's kubeconfig. None is contacted until
    a user opens it."""
    context = {"lines": cluster_context.lines(queries.clusters()), "contexts": connections.offered()}
    return render(request, "clusters.html", context)


@require_POST
def connect(request: HttpRequest) -> HttpResponse:
    """Make an offered context of the kubeconfig a cluster. Redirect to it."""
    try:
        made = connections.choose(request.POST.get("context", ""))
    except InputError as error:
        return errors.page(request, 400, f"{error}.")
    return redirect("cluster", made.pk)


@require_GET
def cluster(request: HttpRequest, cluster_id: int) -> HttpResponse:
    """Show a cluster now: the map, the pending pods with their answers, the watches, release and configuration."""
    found, values = find(cluster_id), values_of(request, "q", "category", "cause")
    context = cluster_context.now(found) | cluster_context.pending(found, values)
    page = listed(queries.pending_pods(found, values["q"], values["category"], values["cause"]), request)
    form = cluster_context.ChooseForm(found, initial={"release": found.chosen_release, "config": found.chosen_config})
    return render(request, "cluster.html", context | values | {"page": page, "form": form})


@require_GET
def picture(request: HttpRequest, cluster_id: int) -> HttpResponse:
    """Return the map now as JSON, or only what changed since the last answer."""
    found = find(cluster_id)
    block, *others = (to_version(request.GET.get(key, "")) for key in ("block", "changes", "pods", "nodes"))
    any_known = block is not None or any(one is not None for one in others)
    known = cluster_map.Known(block, *(one or 0 for one in others)) if any_known else None
    return encoded(cluster_map.picture_now(found, known))


@require_GET
def picture_then(request: HttpRequest, cluster_id: int) -> HttpResponse:
    """Return the map `at` a resourceVersion as JSON."""
    try:
        return encoded(cluster_history.picture(find(cluster_id), to_version(request.GET.get("at", "")) or 0))
    except InputError as error:
        return JsonResponse({"error": f"{error}."}, status=400)


def view_now(cluster: Cluster) -> ClusterView:
    """Return the nodes and pods now; none if nothing is stored yet."""
    return view_of(queries.columns_now(cluster) or EMPTY)


def encoded(answer: Any) -> HttpResponse:
    """Return a large answer as JSON."""
    return HttpResponse(msgspec.json.encode(answer), "application/json", headers={"Cache-Control": "no-store"})


def to_version(text: str) -> int | None:
    """Return a resourceVersion: a whole number of at most 18 digits; None for other texts."""
    return int(text) if text.isdecimal() and len(text) <= 18 else None


@require_GET
def nodes(request: HttpRequest, cluster_id: int) -> HttpResponse:
    """List the nodes with requested and allocatable resources, taints, labels and zones."""
    found, values = find(cluster_id), values_of(request, "q", "sort", "zone")
    rows = node_context.listed(view_now(found), values, request.GET.get("page"))
    head = cluster_context.head(found, "nodes")
    return render(request, "nodes.html", head | rows | {"base": "cluster_base.html", "none": head["follower"].sentence})


@require_GET
def node(request: HttpRequest, cluster_id: int, name: str) -> HttpResponse:
    """Show a node now: its resource use, taints and labels, and the pods on it."""
    found = find(cluster_id)
    context = node_context.of_view(
        view_now(found), name, lambda pod: reverse("cluster-pod", args=[found.pk, pod.namespace, pod.name])
    )
    if context is None:
        raise Http404(f"The cluster {found.name} has no node {name} now.")
    head, key = cluster_context.head(found, "nodes"), request.GET.get("pod", "")
    if zones := node_summaries.zones_of_node(found, name, key):
        pods = zones[1][: node_context.PODS_OFFERED]
        context |= {"zones": zones[0], "zones_pod": key, "zones_pods": pods}
    return render(request, "cluster_node.html", head | context | {"summary": node_summaries.of_cluster(found, name)})


@require_GET
def pod(request: HttpRequest, cluster_id: int, namespace: str, name: str) -> HttpResponse:
    """Show a pod now: the whole answer if it is pending, and its history; or a workload that lacks pods. The page of a
    pod that is not known has the status 404, and opens the pod's page once it is."""
    found, key = find(cluster_id), f"{namespace}/{name}"
    context = cluster_context.pod(found, key)
    if context is None:
        unknown = cluster_context.head(found, "now") | {"key": key, "unknown": True}
        return render(request, "cluster_pod.html", unknown, status=404)
    if cluster_context.held_by_quota(context["details"]):
        context["picture"] = node_summaries.quotas_with(found, key)
    if (context["details"].get("answer") or {}).get("result") == "unschedulable":
        context["new_node"] = node_summaries.new_node_for(found, key)
    return render(request, "cluster_pod.html", context)


@require_GET
def history(request: HttpRequest, cluster_id: int) -> HttpResponse:
    """Show the cluster `at` a resourceVersion of its stored history."""
    context = cluster_history.context(find(cluster_id), to_version(request.GET.get("at", "")))
    return render(request, "cluster_history.html", context)


@require_POST
def fork(request: HttpRequest, cluster_id: int) -> HttpResponse:
    """Create a scenario of the cluster at the form's `at`, or now. Redirect to it."""
    found = find(cluster_id)
    at = to_version(request.POST.get("at", ""))
    try:
        made = forks.fork(found, at)
    except InputError as error:
        return errors.page(request, 400, f"{error}.")
    return redirect("scenario", made.pk)


@require_GET
def decisions(request: HttpRequest, cluster_id: int) -> HttpResponse:
    """List the checked decisions of the real scheduler."""
    found, values = find(cluster_id), values_of(request, "q", "outcome", "message")
    page = listed(queries.decisions(found, values["q"], values["outcome"], values["message"]), request)
    context = cluster_context.head(found, "decisions") | cluster_report.decision_filters(found)
    return render(request, "cluster_decisions.html", context | values | {"page": page})


def decision_of(cluster_id: int, decision_id: int) -> Decision:
    """Return a checked decision of a cluster. Raises Http404."""
    row = queries.decisions(find(cluster_id)).filter(pk=decision_id).first()
    if row is None:
        raise Http404(f"Cluster {cluster_id} has no checked decision {decision_id}.")
    return row


@require_POST
def open_decision(request: HttpRequest, cluster_id: int, decision_id: int) -> HttpResponse:
    """Open a decision as a cycle: create a scenario of the state before it and a run of its pod, once."""
    row = decision_of(cluster_id, decision_id)
    try:
        run = forks.open_decision(row)
    except InputError as error:
        return errors.page(request, 400, f"{error}.")
    namespace, _, name = row.pod.partition("/")
    if run is None:
        return redirect("cluster-pod", cluster_id, namespace, name)
    return redirect("pod", run.pk, namespace, name)


@require_POST
def save_decision(request: HttpRequest, cluster_id: int, decision_id: int) -> HttpResponse:
    """Save the state before a decision as a scenario. Redirect to it."""
    try:
        made = forks.save_decision(decision_of(cluster_id, decision_id))
    except InputError as error:
        return errors.page(request, 400, f"{error}.")
    return redirect("scenario", made.pk)


@require_GET
def report(request: HttpRequest, cluster_id: int) -> HttpResponse:
    """Show how many decisions of the real scheduler are explained, by outcome, and which configuration it has."""
    found = find(cluster_id)
    return render(request, "cluster_report.html", cluster_context.head(found, "report") | cluster_report.context(found))


@require_GET
def report_chart(request: HttpRequest, cluster_id: int, key: str) -> JsonResponse:
    """Return a chart of the report card as JSON."""
    figure = cluster_report.chart(find(cluster_id), key)
    if figure is None:
        raise Http404(f"The report card has no chart {key}.")
    return JsonResponse(figure)


@require_POST
def choose(request: HttpRequest, cluster_id: int) -> HttpResponse:
    """Choose another release and configuration for the answers, or return to those that were found."""
    found = find(cluster_id)
    form = cluster_context.ChooseForm(found, request.POST)
    if not form.is_valid():
        context = cluster_context.now(found) | cluster_context.pending(found, {})
        context |= {"page": listed(queries.pending_pods(found), request), "form": form}
        return render(request, "cluster.html", context, status=400)
    found.chosen_release, found.chosen_config = form.cleaned_data["release"], form.cleaned_data["config"]
    found.save(update_fields=["chosen_release", "chosen_config"])
    messages.info(request, "The answers are computed again with these settings.")
    for warning in form.warnings[:5]:
        messages.warning(request, warning)
    return redirect("cluster", cluster_id)
