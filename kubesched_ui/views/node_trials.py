"""A pending pod on a node, in a cluster that no run schedules: of a scenario, or a live one. The maps show it."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from kubesched_ui.clusters import node_summaries as of_live_cluster
from kubesched_ui.queries import node_summaries as of_scenario
from kubesched_ui.views import clusters, scenarios
from scheduler_core.errors import InputError
from scheduler_core.explain.answer import NodeAnswer


@require_GET
def scenario(request: HttpRequest, scenario_id: int, namespace: str, name: str) -> HttpResponse:
    """Show what would have to change for a pod of a scenario to run on the `node`, or why that node would win."""
    found = scenarios.find(scenario_id)
    return _shown(request, {"scenario": found, "of": found}, of_scenario.node_answer, f"{namespace}/{name}")


@require_GET
def cluster(request: HttpRequest, cluster_id: int, namespace: str, name: str) -> HttpResponse:
    """Show what would have to change for a pod of a live cluster to run on the `node`, or why that node would win."""
    found = clusters.find(cluster_id)
    context = {"cluster": found, "of": found, "follows": True}
    return _shown(request, context, of_live_cluster.node_answer, f"{namespace}/{name}")


def _shown(request: HttpRequest, context: dict[str, Any], ask: Callable[..., NodeAnswer], key: str) -> HttpResponse:
    context |= {"pod_key": key, "wanted": request.GET.get("node", "")}
    try:
        context["answer"] = ask(context["of"], key, context["wanted"])
    except InputError as problem:
        context["problem"] = str(problem).rstrip(".")
    return render(request, "node_trial.html", context, status=400 if "problem" in context else 200)
