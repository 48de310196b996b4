"""Experiments: questions about scenarios that many cells answer. See docs/experiments.md."""

from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest
from ninja import Field, ModelSchema, Router, Schema, Status

from kubesched_ui.accounts.permissions import OWN, USERS, VISITORS, permission
from kubesched_ui.api.common import LIMIT, OFFSET, REFUSALS, find
from kubesched_ui.experiments import services
from kubesched_ui.experiments.models import Experiment, ExperimentCell

router = Router(tags=["experiments"])


class ExperimentOut(ModelSchema):
    scenario_id: int = Field(description="The first scenario of the document.")
    url: str
    stalled: bool
    eta_s: float | None = Field(description="Estimated seconds until the planned cells are computed; null: unknown.")
    round: int = Field(description="Number of planned rounds.")

    class Meta:
        model = Experiment
        fields = [
            *("id", "name", "question", "state", "error", "seconds", "created_at", "started_at", "finished_at"),
            *("cells_total", "cells_done", "cells_failed", "cells_reused"),
        ]


class ExperimentDetail(ExperimentOut):
    sentence: str = Field(description="The answer in one sentence; empty: not yet.")
    document: str = Field(description="The Experiment document, as it was sent.")


class CellOut(ModelSchema):
    labels: dict[str, str] = Field(description="What distinguishes the cell.")
    metrics: dict[str, float] = Field(description="Name -> number, of a done cell.")

    class Meta:
        model = ExperimentCell
        fields = ["number", "round", "state", "error", "seconds", "starts", "reused", "address"]


class CellDetail(CellOut):
    cell: dict[str, Any] = Field(description="The settings of the computation.")
    result: dict[str, Any] | None


class CellsOut(Schema):
    total: int
    cells: list[CellOut]


DOCUMENT = {"schema": {"type": "string", "description": "An Experiment document."}}
BODY = {"required": True, "content": {"application/yaml": DOCUMENT, "application/json": {"schema": {"type": "object"}}}}


@router.post("/experiments", response={202: ExperimentDetail, **REFUSALS}, openapi_extra={"requestBody": BODY})
@permission(write=USERS, action="start experiment")
def start_experiment(request: HttpRequest) -> Status[Experiment]:
    """Start an experiment from its document, YAML or JSON, as the request body.

    Its scenarios are stored ones, by `id`. Cells that were computed before are not computed again.
    """
    with transaction.atomic():
        return Status(202, services.create_experiment(request.body))


@router.get("/experiments", response={200: list[ExperimentOut], **REFUSALS})
@permission(read=VISITORS)
def experiments(request: HttpRequest, limit: int = LIMIT, offset: int = OFFSET) -> QuerySet[Experiment]:
    """List experiments, newest first, in pages."""
    return Experiment.objects.listed()[offset : offset + limit]


@router.get("/scenarios/{int:scenario_id}/experiments", response={200: list[ExperimentOut], **REFUSALS})
def experiments_of_scenario(
    request: HttpRequest, scenario_id: int, limit: int = LIMIT, offset: int = OFFSET
) -> QuerySet[Experiment]:
    """List the experiments whose first scenario this is, newest first, in pages."""
    return Experiment.objects.listed().filter(scenario=scenario_id)[offset : offset + limit]


@router.get("/experiments/{int:experiment_id}", response={200: ExperimentDetail, **REFUSALS}, url_name="experiment")
def experiment(request: HttpRequest, experiment_id: int) -> Experiment:
    return find(Experiment, experiment_id)


@router.get("/experiments/{int:experiment_id}/answer", response={200: dict[str, Any], 409: Any, **REFUSALS})
def answer(request: HttpRequest, experiment_id: int) -> Any:
    """Return the answer: `answer` is its sentence, the other keys are those of the question. 409: not yet."""
    found = find(Experiment, experiment_id)
    if found.answer is None:
        return Status(409, {"error": f"Experiment {found.pk} is {found.state} and has no answer."})
    return found.answer


@router.get("/experiments/{int:experiment_id}/cells", response={200: CellsOut, **REFUSALS})
def cells(request: HttpRequest, experiment_id: int, limit: int = LIMIT, offset: int = OFFSET) -> dict[str, Any]:
    """List the cells in the order of the plan, in pages, with labels and metrics."""
    rows = find(Experiment, experiment_id).cells.listed()
    return {"total": rows.count(), "cells": list(rows[offset : offset + limit])}


@router.get("/experiments/{int:experiment_id}/cells/{int:number}", response={200: CellDetail, **REFUSALS})
def cell(request: HttpRequest, experiment_id: int, number: int) -> ExperimentCell:
    """Return a cell with its settings and its whole result."""
    found = find(Experiment, experiment_id).cells.filter(number=min(number, 2**31)).first()
    if found is None:
        raise Http404(f"Experiment {experiment_id} has no cell {number}.")
    return found


@router.post("/experiments/{int:experiment_id}/cancel", response={200: ExperimentDetail, **REFUSALS})
@permission(write=OWN, action="cancel")
def cancel_experiment(request: HttpRequest, experiment_id: int) -> Experiment:
    """Cancel the experiment. Results of finished cells are kept."""
    found = find(Experiment, experiment_id)
    services.cancel(found)
    return found


@router.delete("/experiments/{int:experiment_id}", response={204: None, **REFUSALS})
@permission(write=OWN, action="delete")
def delete_experiment(request: HttpRequest, experiment_id: int) -> Status[None]:
    """Delete the experiment with its cells."""
    find(Experiment, experiment_id).delete()
    return Status(204, None)
