"""Pages of the question loss: one drain or loss, and an outage of a zone, with their pods."""

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from kubesched_ui.experiments import opened_runs
from kubesched_ui.experiments.models import Experiment, ExperimentCell
from kubesched_ui.views.experiments.lookup import find
from kubesched_ui.views.lists import values_of
from scheduler_core.api.duration import span
from scheduler_core.errors import InputError
from scheduler_core.experiments import node_loss, zone_outage

PODS = 100  # rows of a page


@require_GET
def loss(request: HttpRequest, experiment_id: int, number: int, place: int) -> HttpResponse:
    """Show what happens to each pod of a drain or loss."""
    experiment, row = cell_of(experiment_id, number)
    found = loss_of(row, place)
    drain = "budgets" in found
    context = {
        "loss": found,
        "drain": drain,
        "place": place,
        "down": found["counts"].get(node_loss.PENDING, 0) + found["counts"].get(node_loss.PREEMPTED, 0),
        "meanings": [(name, text) for name, text in node_loss.OUTCOMES.items() if name in found["counts"]],
    }
    return _render(request, "experiments/loss_detail.html", experiment, row, found, context)


@require_GET
def outage(request: HttpRequest, experiment_id: int, number: int) -> HttpResponse:
    """Show the course of an outage of a zone, and what happens to each pod."""
    experiment, row = cell_of(experiment_id, number)
    found = (row.result or {}).get("outage")
    if found is None:
        raise Http404(f"Cell {number} has no outage.")
    meanings = [(name, text) for name, text in zone_outage.OUTCOMES.items() if name in found["counts"]]
    context = {
        "outage": found,
        "lasts": span(found["outage"]),
        "detected": span(found["detected"]),
        "meanings": meanings,
    }
    return _render(request, "experiments/outage_detail.html", experiment, row, found, context)


@require_POST
def open_run(request: HttpRequest, experiment_id: int, number: int, place: int) -> HttpResponse:
    """Open a drain or loss as a run: a fork of the run of the scenario."""
    _, row = cell_of(experiment_id, number)
    found = loss_of(row, place)
    try:
        run, complete = opened_runs.open_run(row, place)
    except InputError as error:
        messages.error(request, f"{found['name']} was not opened as a run: {error.problem.rstrip('.')}.")
        return redirect("experiment-loss", experiment_id, number, place)
    if not complete:
        text = f"{run.title} computes the state before the loss. Open the loss again when it is done."
        messages.info(request, text)
    return redirect("run", run.pk)


def cell_of(experiment_id: int, number: int) -> tuple[Experiment, ExperimentCell]:
    """Return an experiment and one of its finished cells. Raises Http404."""
    experiment = find(experiment_id)
    row = experiment.cells.filter(number=number).first()
    if row is None or row.result is None:
        raise Http404(f"Experiment {experiment_id} has no result of a cell {number}.")
    return experiment, row


def loss_of(row: ExperimentCell, place: int) -> dict[str, Any]:
    """Return a loss of a cell. Raises Http404."""
    losses = (row.result or {}).get("losses", ())
    if place >= len(losses):
        raise Http404(f"Cell {row.number} has no loss {place}.")
    found: dict[str, Any] = losses[place]
    return found


def _render(
    request: HttpRequest,
    template: str,
    experiment: Experiment,
    row: ExperimentCell,
    found: dict[str, Any],
    context: dict[str, Any],
) -> HttpResponse:
    values = values_of(request, "q", "outcome")
    rows = [one for one in found["rows"] if not values["outcome"] or one["outcome"] == values["outcome"]]
    for word in values["q"].lower().split():
        rows = [one for one in rows if word in f"{one['pod']} {one['workload']} {one['from']} {one.get('to')}".lower()]
    page = Paginator(rows, PODS).get_page(request.GET.get("page"))
    for one in page.object_list:
        one["reason"] = found["reasons"][one["why"]] if "why" in one else ""
        one["after"] = span(one["at"]) if "at" in one else ""
    outcomes = list(found["counts"].items())
    about = {"experiment": experiment, "scenario": experiment.scenario, "cell": row, "page": page, "outcomes": outcomes}
    return render(request, template, about | context | values)
