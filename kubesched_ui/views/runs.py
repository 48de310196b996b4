"""Pages of a run, its pods and nodes, and the actions on runs."""

from typing import Any

import msgspec
from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from kubesched_ui.event_log.cycle_batches import trace_of
from kubesched_ui.exports import parquet
from kubesched_ui.models import Cycle, Run
from kubesched_ui.presenters import run_answer
from kubesched_ui.presenters.sentence_links import CycleLinks
from kubesched_ui.queries import distributions, groups, pod_fixes, provenance, remedies
from kubesched_ui.queries.nodes import InvalidTimepoint
from kubesched_ui.queries.recording_cache import NotRecorded
from kubesched_ui.runs import forms, services
from kubesched_ui.views import errors, node_context, object_context, pod_context, pod_group_context, run_context
from kubesched_ui.views.errors import readable
from kubesched_ui.views.form_fields import name_in, named, pinned, to_number
from kubesched_ui.views.scenarios import find as find_scenario
from kubesched_ui.views.scenarios import overview
from scheduler_core.errors import InputError
from scheduler_core.search.claims import Claims
from scheduler_core.search.preemption_dry_run import PreemptionDryRuns


def find(run_id: int) -> Run:
    """Return the run with its scenario. Raises Http404."""
    return named(Run.objects.select_related("scenario", "parent"), run_id)


@require_GET
def run(request: HttpRequest, run_id: int) -> HttpResponse:
    """Show a run: progress, map, pending reasons, pod table. `against`: redirect to the comparison with that run."""
    found = find(run_id)
    if request.GET.get("against", "").isdecimal():
        return redirect(comparison_address(request, run_id))
    return render(request, "run.html", run_context.context(found, request.GET))


def comparison_address(request: HttpRequest, run_id: int) -> str:
    """Return the address of the comparison with the run in `against`, at the same timepoint."""
    query = request.GET.copy()
    address = reverse("compare", args=[run_id, int(query.pop("against")[-1][:18])])
    return f"{address}?{query.urlencode()}" if query else address


@require_GET
def chart(request: HttpRequest, run_id: int, key: str) -> HttpResponse:
    """Return a chart of the run as JSON; the run page loads it when it becomes visible."""
    try:
        figure = distributions.chart(find(run_id), key)
    except NotRecorded as error:
        raise Http404(str(error)) from None
    if figure is None:
        raise Http404(f"Run {run_id} has no chart {key}.")
    return JsonResponse(figure)


@require_GET
@readable
def together(request: HttpRequest, run_id: int) -> HttpResponse:
    """Render the answers about pending pods with their fixes.

    The run page loads them separately, because that restores the cluster and simulates every fix.
    """
    found = find(run_id)
    try:
        context = run_context.together(found)
    except NotRecorded as problem:
        context = {"problem": str(problem), "answer": run_answer.answer_of(found)}
    return render(request, "pending_pods.html", {"run": found} | context)


@require_GET
@readable
def pod(request: HttpRequest, run_id: int, namespace: str, name: str) -> HttpResponse:
    """Show one pod: the answer, then every extension point of each attempt."""
    context = pod_context.context(find(run_id), namespace, name, request.GET)
    if context is None:
        raise Http404(f"Run {run_id} has no pod {namespace}/{name}.")
    return render(request, "pod.html", context)


@require_GET
def cycle(request: HttpRequest, run_id: int, number: int) -> HttpResponse:
    """Redirect to the page of the cycle's pod, at that cycle. Other query parameters are kept."""
    row = find(run_id).cycles.filter(number=number).defer("trace").first()
    if row is None:
        raise Http404(f"Run {run_id} has no cycle {number:,}.")
    query = request.GET.copy()
    query["cycle"] = str(number)
    return redirect(f"{reverse('pod', args=[run_id, row.namespace, row.name])}?{query.urlencode()}")


@require_GET
@readable
def explanation(request: HttpRequest, run_id: int, namespace: str, name: str) -> HttpResponse:
    """Render the suggested fixes of a pod.

    The pod page loads them separately, because the cluster is replayed and every fix is simulated.
    """
    found = find(run_id)
    attempt, cycle = (to_number(request.GET.get(key, "")) for key in ("attempt", "cycle"))
    row = provenance.cycle_of(found, namespace, name, attempt, cycle)
    wanted = request.GET.get("node", "")[:253].strip()
    context: dict[str, Any] = {"run": found, "namespace": namespace, "name": name, "row": row, "wanted": wanted}
    context["pod_key"] = f"{namespace}/{name}"
    context["placing"] = msgspec.json.encode([{"place": {"pod": context["pod_key"], "node": wanted}}]).decode()
    try:
        if wanted:
            context["answer"] = answer = remedies.explained_node(found, row, wanted)
            context["links"] = CycleLinks(found, row).of_node(answer)
        context |= remedied(found, row, wanted)
    except (InputError, NotRecorded) as problem:
        context["problem"] = str(problem)
    return render(request, "why.html", context)


@require_GET
@readable
def quotas(request: HttpRequest, run_id: int) -> HttpResponse:
    """Render the quotas of namespaces after the run, or before a cycle with its pod. Other pages load them separately,
    because the cluster is replayed."""
    found, cycle = find(run_id), to_number(request.GET.get("cycle", ""))
    context: dict[str, Any] = {"run": found, "cycle": cycle, "pod": request.GET.get("pod", "")[:512]}
    try:
        context["picture"] = remedies.quotas(found, cycle, context["pod"])
    except (InputError, NotRecorded) as problem:
        context["problem"] = str(problem)
    return render(request, "quotas.html", context)


def remedied(run: Run, row: Cycle, node: str) -> dict[str, Any]:
    """Return the fixes that place the pod, on a node if one is given. Raises InputError, NotRecorded."""
    nominated = trace_of(row).nominated_node
    if node:
        found = msgspec.to_builtins(remedies.winning_of(run, row, node).fixes)
        fixes = pod_fixes.shown(run, row, found, row.number)
        return {"fixes": fixes, "nominated": nominated if nominated == node else ""}
    if row.result not in ("unschedulable", "gated"):
        return {}
    note, fixes = groups.note_of(run, row), pod_fixes.fixes_of(run, row)
    why_none = "" if fixes or note else pod_fixes.why_none(run, row)
    return {"pending": True, "note": note, "nominated": nominated, "fixes": fixes, "why_none": why_none}


@require_GET
def trials(request: HttpRequest, run_id: int, namespace: str, name: str) -> HttpResponse:
    """Render the preemption dry run on one node. The pod page loads it on demand; it is computed again each time."""
    return again(request, run_id, namespace, name, "preemption.html", PreemptionDryRuns)


@require_GET
def claims(request: HttpRequest, run_id: int, namespace: str, name: str) -> HttpResponse:
    """Render the devices that a pod's resource claims find.

    The pod page loads it on demand; it is computed again each time.
    """
    return again(request, run_id, namespace, name, "claims.html", Claims)


def again(
    request: HttpRequest, run_id: int, namespace: str, name: str, template: str, what: type[PreemptionDryRuns | Claims]
) -> HttpResponse:
    """Render a section of the pod page: what is computed again of the requested cycle, node and page."""
    found = find(run_id)
    cycle, page = (to_number(request.GET.get(key, "")) for key in ("cycle", "page"))
    row = provenance.cycle_of(found, namespace, name, None, cycle)
    context: dict[str, Any] = {"run": found, "namespace": namespace, "name": name, "row": row}
    try:
        wanted = request.GET.get("node", "")[:253].strip()
        context |= provenance.repeated(what, found, row, wanted, page if page is not None else 1)
    except (InputError, NotRecorded) as problem:
        context["problem"] = str(problem)
    return render(request, template, context)


@require_GET
@readable
def group(request: HttpRequest, run_id: int, namespace: str, name: str) -> HttpResponse:
    """Show a pod group with the outcomes of its members."""
    context = pod_group_context.context(find(run_id), namespace, name, request.GET)
    if context is None:
        raise Http404(f"Run {run_id} has no cycle of a pod group {namespace}/{name}.")
    return render(request, "group.html", context)


@require_GET
@readable
def node(request: HttpRequest, run_id: int, name: str) -> HttpResponse:
    """Show one node: its pods, its resource use, and the pods that it rejected."""
    try:
        context = node_context.context(find(run_id), name, request.GET)
    except InvalidTimepoint as error:
        return errors.page(request, 400, f"{error}.")
    if context is None:
        raise Http404(f"The cluster of run {run_id} has no node {name}.")
    return render(request, "node.html", context)


@require_GET
def object_then(request: HttpRequest, run_id: int) -> HttpResponse:
    """Show an object at a timepoint of the run, with the line of a field marked."""
    try:
        context = object_context.context(find(run_id), request.GET)
    except InputError as error:
        return errors.page(request, 400, f"{error}.")
    except NotRecorded as error:
        raise Http404(str(error)) from None
    if context is None:
        raise Http404(f"Run {run_id} has no such object at this timepoint.")
    return render(request, "run_object.html", context)


@require_GET
def export(request: HttpRequest, run_id: int) -> HttpResponse:
    """Show the export page with example queries."""
    return render(request, "export.html", {"run": find(run_id), "tables": parquet.TABLES, "queries": parquet.QUERIES})


@require_http_methods(["GET", "HEAD", "POST"])
def start(request: HttpRequest, scenario_id: int) -> HttpResponse:
    """Start a run from the form on the scenario page. If the form is invalid, show it again with its errors.

    GET shows the empty form, because a failed POST leaves the browser at this address.
    """
    if request.method != "POST":
        return overview(request, scenario_id)
    form = forms.StartForm(request.POST)
    if form.is_valid():
        try:
            with transaction.atomic():
                name, low = form.cleaned_data["name"], form.cleaned_data["low"]
                made = services.create_run(find_scenario(scenario_id), form.settings(), name=name, low=low)
                return redirect("run", made.pk)
        except InputError as error:
            form.refuse(error)
    return overview(request, scenario_id, form, status=400)


@require_POST
def cancel(request: HttpRequest, run_id: int) -> HttpResponse:
    services.cancel(find(run_id))
    return redirect("run", run_id)


@require_POST
def rename(request: HttpRequest, run_id: int) -> HttpResponse:
    """Rename the run. An empty name removes the name."""
    found = find(run_id)
    found.name = name_in(request)
    found.save(update_fields=["name"])
    return redirect("run", run_id)


@require_POST
def pin(request: HttpRequest, run_id: int) -> HttpResponse:
    """Pin or unpin the run. Pinned runs are not deleted by retention."""
    pinned(find(run_id), request)
    return redirect("run", run_id)


@require_POST
def let_others_first(request: HttpRequest, run_id: int) -> HttpResponse:
    """Lower or reset the priority of a queued run according to the form's `low`."""
    found = find(run_id)
    found.low = request.POST.get("low") == "1"
    found.save(update_fields=["low"])
    return redirect("run", run_id)


@require_POST
def delete(request: HttpRequest, run_id: int) -> HttpResponse:
    found: Any = find(run_id)
    found.delete()
    messages.info(request, f"Run {run_id} was deleted.")
    return redirect("scenario", found.scenario_id)
