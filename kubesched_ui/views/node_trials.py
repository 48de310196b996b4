"""A pending pod on a node, in a cluster that no run schedules: of a scenario, or a live one. The maps show it."""

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
    found, node = scenarios.find(scenario_id), request.GET.get("node", "")
    context = {"scenario": found, "of": found}
    try:
        answer = of_scenario.node_answer(found, f"{namespace}/{name}", node)
    except InputError as problem:
        return _shown(request, context | {"problem": str(problem).rstrip(".")}, namespace, name, node)
    return _shown(request, context | {"answer": answer}, namespace, name, node)


@require_GET
def cluster(request: HttpRequest, cluster_id: int, namespace: str, name: str) -> HttpResponse:
    """Show what would have to change for a pod of a live cluster to run on the `node`, or why that node would win."""
    found, node = clusters.find(cluster_id), request.GET.get("node", "")
    context: dict[str, Any] = {"cluster": found, "of": found, "follows": True}
    try:
        answer: NodeAnswer | None = of_live_cluster.node_answer(found, f"{namespace}/{name}", node)
    except InputError as problem:
        return _shown(request, context | {"problem": str(problem).rstrip(".")}, namespace, name, node)
    return _shown(request, context | {"answer": answer}, namespace, name, node)


def _shown(request: HttpRequest, context: dict[str, Any], namespace: str, name: str, node: str) -> HttpResponse:
    context |= {"pod_key": f"{namespace}/{name}", "wanted": node}
    return render(request, "node_trial.html", context, status=400 if "problem" in context else 200)
