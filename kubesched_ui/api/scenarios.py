"""Scenarios: upload, list, export and delete."""

from datetime import datetime
from typing import Annotated, Any

import msgspec
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from ninja import Field, ModelSchema, Query, Router, Schema, Status

from kubesched_ui.accounts.permissions import OWN, USERS, VISITORS, permission
from kubesched_ui.api.answers import LadderOut
from kubesched_ui.api.common import LIMIT, OFFSET, REFUSALS, Described, Flag, Text, encoded, find, sent_as
from kubesched_ui.exports import run_export
from kubesched_ui.housekeeping import retention
from kubesched_ui.models import MAX_NAME, Scenario
from kubesched_ui.queries.node_summaries import ladder_of_pod
from kubesched_ui.queries.stations import of_snapshot
from kubesched_ui.runs import import_run
from kubesched_ui.runs.default_run import default_run
from kubesched_ui.scenarios import uploads
from kubesched_ui.scenarios.cluster_columns import columns_of
from kubesched_ui.scenarios.stored_cluster import cluster_of_scenario
from scheduler_core.errors import InputError
from scheduler_core.explain.answer import Answer, PendingWorkload, Stop

router = Router(tags=["scenarios"])


class ScenarioOut(ModelSchema):
    url: str = ""

    class Meta:
        model = Scenario
        fields = ["id", "name", "description", "origin", "parent", "kubernetes", "config", "counts", "created_at"]
        fields += ["pinned", "stored_bytes"]

    @staticmethod
    def resolve_parent_id(scenario: Scenario) -> int | None:
        return scenario.parent_id if scenario.shows_parent else None

    @staticmethod
    def resolve_url(scenario: Scenario) -> str:
        return f"/api/scenarios/{scenario.pk}"


class ScenarioDetail(ScenarioOut):
    warnings: list[Any] = Field(
        description="Warnings: {code, message, ...}. The first ones are those that a run of this cluster has."
    )
    runs: list[int] = Field(description="The scenario's runs, newest first.")
    deleted_at: datetime | None = Field(
        description="Time of its deletion unless it is pinned; null: it is not deleted automatically."
    )

    @staticmethod
    def resolve_deleted_at(scenario: Scenario) -> datetime | None:
        return retention.deletion_time(scenario)

    @staticmethod
    def resolve_runs(scenario: Scenario) -> list[int]:
        return list(scenario.runs.values_list("pk", flat=True))


class ScenarioChange(Schema):
    model_config = {"extra": "forbid", "str_strip_whitespace": True}

    name: Annotated[Text, Field(min_length=1, max_length=MAX_NAME)] | None = None
    description: Annotated[Text, Field(max_length=20_000)] | None = None
    pinned: Annotated[Flag | None, Field(description="Whether it is exempt from automatic deletion.")] = None


@router.get("/scenarios", response={200: list[ScenarioOut], **REFUSALS})
@permission(read=VISITORS)
def scenarios(request: HttpRequest, limit: int = LIMIT, offset: int = OFFSET) -> QuerySet[Scenario]:
    """List scenarios, newest first, in pages."""
    return Scenario.objects.defer("warnings", "time")[offset : offset + limit]


FILE = {"type": "string", "format": "binary"}
FORM = {"type": "object", "properties": {"file": {"type": "array", "items": FILE}}, "required": ["file"]}
UPLOAD = {"multipart/form-data": {"schema": FORM}, "application/octet-stream": {"schema": FILE}}


@router.post(
    "/scenarios",
    response={201: ScenarioDetail, **REFUSALS},
    openapi_extra={"requestBody": {"required": True, "content": UPLOAD}},
)
@permission(write=USERS, action="upload")
def upload_scenario(
    request: HttpRequest,
    name: Annotated[Text, Field(max_length=200)] = "",
    run: bool = Query(False, description="Start the default run, which schedules all pending pods."),
) -> Status[Scenario]:
    """Create a scenario from uploaded files: multipart form data with one or more `file`, or the file as the request
    body.

    Objects may be JSON or YAML, in gz, zip or tar.gz; kubectl output, cluster-info dumps and exports of
    kube-scheduler-simulator are accepted as well. An exported run (`format=run` or `format=parquet`) is recreated,
    and its number is in `runs`. With `run`, so is that of the default run, which has the release and configuration of
    the cluster, unless no pod is pending.
    """
    made = uploads.upload_from_request(request, name, origin=Scenario.Origin.API)
    if import_run.create_imported_run(made) is None and run:
        try:
            with transaction.atomic():
                default_run(made.scenario)
        except InputError:
            made.scenario.delete()
            raise
    return Status(201, made.scenario)


@router.get("/scenarios/{int:scenario_id}", response={200: ScenarioDetail, **REFUSALS}, url_name="scenario")
def scenario(request: HttpRequest, scenario_id: int) -> Scenario:
    return find(Scenario, scenario_id)


@router.get("/scenarios/{int:scenario_id}/map", response={200: dict[str, Any], **REFUSALS})
@permission(cost="large")
def scenario_map(request: HttpRequest, scenario_id: int) -> HttpResponse:
    """Return the cluster in the format of the map of a run, before anything is placed."""
    return encoded(columns_of(cluster_of_scenario(find(Scenario, scenario_id))))


@router.get("/scenarios/{int:scenario_id}/pods/{namespace}/{name}/ladder", response={200: LadderOut, **REFUSALS})
@permission(cost="large")
def scenario_pod_ladder(request: HttpRequest, scenario_id: int, namespace: str, name: str) -> HttpResponse:
    """Return all nodes by the number of changes that a pending pod needs to run there, fewest first, before any run.

    `ladder` is empty if no pod with this name is pending.
    """
    key = f"{namespace}/{name}"
    answer = ladder_of_pod(find(Scenario, scenario_id), key) or Answer(key, "", "")
    return encoded({"pod": key, "sentence": answer.sentence, "ladder": msgspec.to_builtins(answer.ladder)})


class WaitOut(Schema):
    """Where a pod waits that no configured scheduler decides about, or pods that were never created."""

    pod: str | None = Field(description="namespace/name; null: pods of the workload that do not exist.")
    workload: Described[PendingWorkload] | None = None
    node: str | None = None
    result: str
    station: str
    sentence: str
    says: list[str] = []
    stations: list[Described[Stop]]


@router.get("/scenarios/{int:scenario_id}/waits", response={200: list[WaitOut], **REFUSALS})
@permission(cost="always")
def scenario_waits(request: HttpRequest, scenario_id: int) -> HttpResponse:
    """List the pods that wait, but for no scheduler that the scenario configures, and the workloads whose pods were
    never created. Of the other pods, the answers of a run have the stations.
    """
    return encoded([msgspec.to_builtins(one) for one in of_snapshot(find(Scenario, scenario_id))])


@router.patch("/scenarios/{int:scenario_id}", response={200: ScenarioDetail, **REFUSALS})
@permission(write=OWN, action="change")
def change_scenario(request: HttpRequest, scenario_id: int, change: ScenarioChange) -> Scenario:
    """Change the scenario's name or description, or pin or unpin it.

    Its objects cannot be changed: edited objects create a new scenario.
    """
    scenario = find(Scenario, scenario_id)
    for field, text in change.model_dump(exclude_none=True).items():
        setattr(scenario, field, text)
    scenario.save(update_fields=["name", "description", "pinned"])
    return scenario


@router.delete("/scenarios/{int:scenario_id}", response={204: None, **REFUSALS})
@permission(write=OWN, action="delete")
def delete_scenario(request: HttpRequest, scenario_id: int) -> Status[None]:
    """Delete a scenario with all of its runs."""
    find(Scenario, scenario_id).delete()
    return Status(204, None)


@router.get(
    "/scenarios/{int:scenario_id}/export", response={200: None, **REFUSALS}, openapi_extra=sent_as("application/json")
)
@permission(cost="stream")
def export_scenario(request: HttpRequest, scenario_id: int) -> HttpResponse:
    """Export the scenario's objects as a v1 List, which can be uploaded again."""
    return HttpResponse(run_export.scenario(find(Scenario, scenario_id)), content_type="application/json")
