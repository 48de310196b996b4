"""The lists of scenarios and runs: search, filters, sorting, pages."""

from typing import Any

from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from kubesched_ui.housekeeping import quota
from kubesched_ui.models import Run, Scenario, current_viewer
from kubesched_ui.runs.config_summary import config_summary
from scheduler_core.releases import NEWEST

ROWS = 50
MODES = {"once": False, "time": True}
# Sort key in the URL -> field.
RUN_SORTS = {
    "run": "pk", "name": "name", "state": "state", "scenario": "scenario__name", "release": "release",
    "placed": "placed", "nominated": "nominated", "unschedulable": "unschedulable", "gated": "gated",
    "cycles": "cycles_done", "started": "created_at",
}  # fmt: skip
SCENARIO_SORTS = {
    "name": "name", "origin": "origin", "nodes": "counts__Node", "pods": "counts__Pod", "runs": "run_count",
    "kubernetes": "kubernetes", "added": "created_at",
}  # fmt: skip


def values_of(request: HttpRequest, *names: str) -> dict[str, str]:
    return {name: request.GET.get(name, "").replace("\0", "")[:300] for name in names}


def order(sort: str, sorts: dict[str, str]) -> list[str]:
    """Return the fields to order by; newest first if the sort key is unknown."""
    field = sorts.get(sort.removeprefix("-"))
    return [f"-{field}" if sort.startswith("-") else field, "-pk"] if field else ["-created_at", "-pk"]


@require_GET
def runs(request: HttpRequest) -> HttpResponse:
    """List all runs, with the settings in which they differ from the default."""
    values = values_of(request, "q", "state", "mode", "sort")
    rows = Run.objects.listed().matching(values["q"], values["state"], MODES.get(values["mode"]))
    page = Paginator(rows.order_by(*order(values["sort"], RUN_SORTS)), ROWS).get_page(request.GET.get("page"))
    context: dict[str, Any] = {
        "page": page,
        "states": Run.State.values,
        "modes": [("once", "Single pass"), ("time", "Virtual time")],
        "any": page.object_list or Run.objects.exists(),
        "usage": quota.usage_texts(),
    }
    return render(request, "runs.html", context | values)


def counted() -> Count:
    """Return the number of a scenario's runs that the current user can see."""
    return Count("runs", filter=Q(runs__in=Run.objects.all())) if current_viewer.viewer() else Count("runs")


@require_GET
def scenarios(request: HttpRequest) -> HttpResponse:
    """List all scenarios."""
    values = values_of(request, "q", "origin", "sort")
    rows = (
        Scenario.objects.select_related("owner", "parent")
        .matching(values["q"], values["origin"])
        .annotate(run_count=counted())
    )
    page = Paginator(rows.order_by(*order(values["sort"], SCENARIO_SORTS)), ROWS).get_page(request.GET.get("page"))
    lines = [(scenario, config_summary(scenario.config, NEWEST, "leave_out")) for scenario in page.object_list]
    context: dict[str, Any] = {"page": page, "lines": lines, "origins": Scenario.Origin.values}
    context |= {"any": lines or Scenario.objects.exists(), "usage": quota.usage_texts()}
    return render(request, "scenarios.html", context | values)
