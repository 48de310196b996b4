"""A run, a pod in it, a node in it; starting, cancelling and deleting runs."""

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from kubesched_ui import nodepage, podpage, runpage, runs, startform, why
from kubesched_ui.models import Cycle, Run, Scenario
from kubesched_ui.views.errors import readable
from kubesched_ui.views.scenarios import overview
from scheduler_core.errors import InputError

PODS_SHOWN = 100


def find(run_id: int) -> Run:
    """The run with its scenario; a 404 that says so where there is none."""
    run = Run.objects.select_related("scenario").filter(pk=run_id).first()
    if run is None:
        raise Http404(f"There is no run {run_id}.")
    return run


@require_GET
def run(request: HttpRequest, run_id: int) -> HttpResponse:
    """Progress, charts and the table of pods."""
    found = find(run_id)
    asked = {key: request.GET.get(key, "") for key in ("q", "result", "sort")}
    sort = runpage.sort_of(asked["sort"])
    rows = found.pod_results.matching(asked["q"], asked["result"] or None).order_by(sort, "position")
    page = Paginator(rows.defer("reasons"), PODS_SHOWN).get_page(request.GET.get("page"))
    context = {"run": found, "page": page, "q": asked["q"], "result": asked["result"], "sort": sort}
    context |= {
        "counts": runpage.outcome_counts(found),
        "took": runpage.took(found),
        "warnings": runpage.warnings(found),
    }
    return render(request, "run.html", context | runpage.charts(found))


@require_GET
@readable
def pod(request: HttpRequest, run_id: int, namespace: str, name: str) -> HttpResponse:
    """One pod: the answer, then every extension point of each attempt."""
    context = podpage.context(find(run_id), namespace, name, request.GET)
    if context is None:
        raise Http404(f"Run {run_id} knows no pod {namespace}/{name}.")
    return render(request, "pod.html", context)


@require_GET
@readable
def explanation(request: HttpRequest, run_id: int, namespace: str, name: str) -> HttpResponse:
    """What would let the pod in: a part of its page, fetched by itself because it needs the cluster built again."""
    found = find(run_id)
    rows = Cycle.objects.filter(run=found, namespace=namespace, name=name).order_by("-number")
    row = (
        rows.filter(attempt=int(asked)).first()
        if (asked := request.GET.get("attempt", "")).isdecimal()
        else rows.first()
    )
    if row is None:
        raise Http404(f"Run {run_id} has not tried pod {namespace}/{name}.")
    told = why.in_full(found, row)
    context = {"run": found, "namespace": namespace, "name": name, "told": told}
    return render(request, "why.html", context | {"alone": [b for b in told.blockers if b.alone][:3]})


@require_GET
@readable
def node(request: HttpRequest, run_id: int, name: str) -> HttpResponse:
    """One node: what runs there, how full it is, which pods it refused and why."""
    context = nodepage.context(find(run_id), name, request.GET)
    if context is None:
        raise Http404(f"The cluster of run {run_id} has no node {name}.")
    return render(request, "node.html", context)


@require_POST
def start(request: HttpRequest, scenario_id: int) -> HttpResponse:
    """Starts a run from the form on the scenario's page; on a mistake shows the form again with what is wrong."""
    form = startform.StartForm(request.POST)
    if form.is_valid():
        try:
            with transaction.atomic():
                return redirect("run", runs.create_run(_scenario(scenario_id), form.settings()).pk)
        except InputError as error:
            form.add_error(startform.field_of(error), str(error))
    return overview(request, scenario_id, form, status=400)


def _scenario(scenario_id: int) -> Scenario:
    found = Scenario.objects.filter(pk=scenario_id).first()
    if found is None:
        raise Http404(f"There is no scenario {scenario_id}.")
    return found


@require_POST
def cancel(request: HttpRequest, run_id: int) -> HttpResponse:
    runs.cancel(find(run_id))
    return redirect("run", run_id)


@require_POST
def delete(request: HttpRequest, run_id: int) -> HttpResponse:
    found: Any = find(run_id)
    found.delete()
    messages.info(request, f"Run {run_id} is deleted.")
    return redirect("scenario", found.scenario_id)
