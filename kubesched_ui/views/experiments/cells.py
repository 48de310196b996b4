"""Cells of an experiment: their table, downloads, the page of one, and cells opened as runs."""

import csv
import io
from typing import Any

import msgspec
from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from kubesched_ui.experiments import opened_runs
from kubesched_ui.experiments.models import Experiment, ExperimentCell
from kubesched_ui.live_classes.answer_counts import escape_formula
from kubesched_ui.presenters.metric_values import cell_metric_text, cell_metric_title
from kubesched_ui.views.experiments.lookup import find
from scheduler_core.errors import InputError
from scheduler_core.experiments.cell import Cell

ROWS = 50
COLUMNS = 6  # metrics of the table
FIRST = ("placed", "pending", "nodes_used", "preemptions", "requested_share:cpu:mean", "requested_share:memory:mean")
FIELDS = ("number", "round", "state", "reused", "seconds", "starts", "error")
SORTS = {"cell": "number", "state": "state", "seconds": "seconds"}


def cell_table(experiment: Experiment, query: QueryDict) -> dict[str, Any]:
    """Return the `cell_page`, its rows `cells` as (cell, its labels, texts of its metrics) with the `cell_heads`, the
    `equal_labels` of all cells, and `sort`."""
    sort = query.get("sort", "")[:200]
    page = cell_page(experiment, sort, query.get("cells", ""))
    names = list(dict.fromkeys(name for cell in page.object_list for name in cell.metrics))
    chosen = sorted(names, key=lambda name: (FIRST.index(name) if name in FIRST else len(FIRST), names.index(name)))
    chosen = chosen[:COLUMNS]
    # Labels that are equal on this page, in the first and in the last cell are equal in all cells of most grids.
    rows = experiment.cells.order_by("number").values_list("labels", flat=True)
    ends = [*rows[:1], *rows.reverse()[:1], *(cell.labels for cell in page.object_list)]
    known = dict.fromkeys(name for one in ends for name in one)
    labels = [name for name in known if len({one.get(name) for one in ends}) > 1]
    heads = ["#Computation@cell", *(name.capitalize() for name in labels), "State@state"]
    heads += [f"#{cell_metric_title(name)}@{name}" for name in chosen]
    openable = {cell.pk for cell in page if not opened_runs.why_not(cell)}
    return {
        "cell_page": page,
        "cells": [
            (cell, [cell.labels.get(name, "") for name in labels], [metric_cell(cell, name) for name in chosen])
            for cell in page
        ],
        "cell_heads": ", ".join(head.replace(",", "") for head in heads),
        "equal_labels": {name: value for name, value in ends[0].items() if name not in labels} if ends else {},
        "sort": sort,
        "openable": openable,
        "choosable": len(openable) > 1,
    }


def metric_cell(cell: ExperimentCell, name: str) -> str:
    return cell_metric_text(name, cell.metrics.get(name))


def cell_page(experiment: Experiment, sort: str, number: str) -> Page[Any]:
    """Return a page of the cells, sorted by a field or by a metric; cells without the metric come last."""
    rows = experiment.cells.defer("result").order_by("number")
    name, down = sort.removeprefix("-"), sort.startswith("-")
    if not name or name in SORTS:
        field = SORTS.get(name, "number")
        return Paginator(rows.order_by(f"-{field}" if down else field, "number"), ROWS).get_page(number)
    found = dict(rows.values_list("pk", "metrics"))
    known = [pk for pk in found if name in found[pk]]
    known.sort(key=lambda pk: found[pk][name], reverse=down)
    page: Page[Any] = Paginator([*known, *(pk for pk in found if name not in found[pk])], ROWS).get_page(number)
    cells = rows.in_bulk(list(page.object_list))
    page.object_list = [cells[pk] for pk in page.object_list if pk in cells]
    return page


def find_cell(experiment: Experiment, number: int) -> ExperimentCell:
    """Return the cell. Raises Http404."""
    found = experiment.cells.select_related("run").filter(number=min(number, 2**31 - 1)).first()
    if found is None:
        raise Http404(f"Experiment {experiment.pk} has no computation {number}.")
    found.experiment = experiment
    return found


@require_GET
def cell(request: HttpRequest, experiment_id: int, number: int) -> HttpResponse:
    """Show the settings and the metrics of a cell."""
    experiment = find(experiment_id)
    found = find_cell(experiment, number)
    content = msgspec.convert(found.cell, Cell) if found.cell else None
    context = {
        "experiment": experiment,
        "scenario": experiment.scenario,
        "cell": found,
        "content": content,
        "changes": msgspec.json.format(msgspec.json.encode(content.changes)).decode() if content else "",
        "parameters": msgspec.json.format(msgspec.json.encode(content.parameters)).decode() if content else "",
        "metrics": [(cell_metric_title(name), cell_metric_text(name, value)) for name, value in found.metrics.items()],
        "why_not": opened_runs.why_not(found),
        "losses": losses_of(found),
        "outage": "outage" in (found.result or {}),
        "complete": opened_runs.is_complete(found),
    }
    return render(request, "experiments/cell.html", context)


def losses_of(cell: ExperimentCell) -> list[tuple[int, str]]:
    """Return (place, name) of the losses of a cell with several of them."""
    losses = (cell.result or {}).get("losses") or []
    return [(place, one["name"]) for place, one in enumerate(losses)] if len(losses) > 1 else []


@require_POST
def open_cell(request: HttpRequest, experiment_id: int, number: int) -> HttpResponse:
    """Open a cell as a run, and redirect to it; to the cell's page as long as the run lacks the cell's changes."""
    found = find_cell(find(experiment_id), number)
    try:
        with transaction.atomic():
            run = opened_runs.open_cell(found)
    except InputError as error:
        messages.error(request, f"The computation was not opened as a run. {error}")
        return redirect("experiment-cell", experiment_id, number)
    return (
        redirect("run", run.pk)
        if opened_runs.is_complete(found)
        else redirect("experiment-cell", experiment_id, number)
    )


@require_POST
def compare_cells(request: HttpRequest, experiment_id: int) -> HttpResponse:
    """Open the two selected cells as runs, and redirect to their comparison."""
    experiment = find(experiment_id)
    numbers = sorted({int(text) for text in request.POST.getlist("cell") if text.isdecimal() and len(text) < 10})
    if len(numbers) != 2:
        messages.error(request, f"Select two computations to compare; {len(numbers) or 'none'} selected.")
        return redirect("experiment", experiment_id)
    cells = [find_cell(experiment, number) for number in numbers]
    try:
        with transaction.atomic():
            runs = [opened_runs.open_cell(one) for one in cells]
    except InputError as error:
        messages.error(request, f"The computations were not opened as runs. {error}")
        return redirect("experiment", experiment_id)
    if waiting := [one for one in cells if not opened_runs.is_complete(one)]:
        messages.info(request, waiting_text(waiting))
        return redirect("experiment-cell", experiment_id, waiting[0].number)
    return redirect("compare", *(run.pk for run in runs))


def waiting_text(cells: list[ExperimentCell]) -> str:
    """Return why two cells cannot be compared yet."""
    named = " and ".join(f"computation {one.number}" for one in cells)
    return f"The changes of {named} follow when the run without them has finished. Then compare them again."


@require_GET
def download(request: HttpRequest, experiment_id: int, kind: str) -> HttpResponse:
    """Download the cells with their labels and metrics, as `csv` or `json`."""
    experiment = find(experiment_id)
    if kind not in ("csv", "json"):
        raise Http404("Computations are downloaded as csv or json.")
    rows = list(experiment.cells.listed())
    data = as_csv(rows) if kind == "csv" else msgspec.json.encode([as_dict(row) for row in rows])
    name = f"experiment-{experiment.pk}.{kind}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(
        data, content_type="text/csv; charset=utf-8" if kind == "csv" else "application/json", headers=headers
    )


def as_dict(cell: ExperimentCell) -> dict[str, Any]:
    return {name: getattr(cell, name) for name in FIELDS} | {"labels": cell.labels, "metrics": cell.metrics}


def as_csv(rows: list[ExperimentCell]) -> bytes:
    """Return a line for each cell: its fields, labels and metrics. No value is a formula."""
    labels = list(dict.fromkeys(name for row in rows for name in row.labels))
    metrics = list(dict.fromkeys(name for row in rows for name in row.metrics))
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([escape_formula(name) for name in (*FIELDS, *labels, *metrics)])
    for row in rows:
        texts = [str(getattr(row, name)) for name in FIELDS] + [row.labels.get(name, "") for name in labels]
        writer.writerow([*map(escape_formula, texts), *(row.metrics.get(name, "") for name in metrics)])
    return out.getvalue().encode("utf-8-sig")
