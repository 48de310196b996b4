"""Runs: start, list, cancel, delete, fork and export."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal

from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, StreamingHttpResponse
from ninja import Field, ModelSchema, Query, Router, Schema, Status

from kubesched_ui.accounts.permissions import OWN, START, VISITORS, permission
from kubesched_ui.api.common import LIMIT, MAX_ID, NUMBER, OFFSET, REFUSALS, Flag, Text, find, sent_as
from kubesched_ui.exports import run_export
from kubesched_ui.housekeeping import retention
from kubesched_ui.models import MAX_NAME, MAX_RELEASE, Run, Scenario
from kubesched_ui.presenters import cycle_rows
from kubesched_ui.runs import estimate, fork_create, queue, services
from scheduler_core.config import Unknown
from scheduler_core.releases import get_release, with_gates

router = Router(tags=["runs"])

Seed = Annotated[int, Field(ge=-services.MAX_SEED, le=services.MAX_SEED), NUMBER]
Percentage = Annotated[int, Field(ge=0, le=100), NUMBER]
Copies = Annotated[int, Field(ge=0), NUMBER]
Until = Annotated[float, Field(gt=0), NUMBER]
Cycle = Annotated[int, Field(ge=1, le=MAX_ID), NUMBER]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False), NUMBER]


class RunIn(Schema):
    """Settings of a run. Missing values have the default shown; for a run in virtual time, the scenario's settings."""

    model_config = {"extra": "forbid"}

    name: Text = Field("", max_length=MAX_NAME, description="Name of the run.")
    release: Text | None = Field(
        None,
        max_length=MAX_RELEASE,
        examples=["1.34", "1.27"],
        description="null: the cluster's own release if it is known and supported, else the newest.",
    )
    feature_gates: dict[Text, Flag] = Field(
        {},
        description="Feature gates that differ from the release's defaults.",
        examples=[{"SchedulerPopFromBackoffQ": False}],
    )
    config: Text | None = Field(
        None,
        description="A KubeSchedulerConfiguration as YAML or JSON; empty: the release's default; null: the one in the "
        "upload if it is usable.",
    )
    unknown_plugins: Unknown = Field("error", description="Treatment of unknown plugins in the configuration.")
    seed: Seed = 0
    tie_break: Literal["seed", "name"] = Field("seed", description="How to choose among nodes with equal scores.")
    preemption: Flag = True
    percentage: Percentage | None = Field(
        None, description="percentageOfNodesToScore; 0 for upstream's adaptive percentage."
    )
    pods: list[Text] | None = Field(
        None,
        description='Only these pods ("namespace/name"), in this order; null: all pending pods, in queue order. '
        "A bound pod in the list is removed from its node first.",
    )
    unbind: list[Text] = Field(
        [],
        description="Further bound pods to remove from their nodes and schedule again: in queue order, or after the "
        "pods that `pods` names; those in `pods` have no effect. "
        "Pods that no scheduler placed, such as static pods, stay.",
    )
    template: Text = Field(
        "", description="A Pod as YAML or JSON, of which `copies` are added; or a workload, whose pods are added."
    )
    copies: Copies = 0
    in_time: Flag | None = Field(
        None,
        description="Whether pods wait, back off and retry on a virtual clock; null: if the scenario has a timeline.",
    )
    until: Until | None = Field(None, description="End of a run in virtual time, in virtual seconds.")
    other_schedulers: Literal["leave", "take"] = Field(
        "leave", description="Pods of schedulers that are not configured. take: the default profile schedules them."
    )
    low: Flag = Field(False, description="Low priority: other queued runs start first.")
    absent_claims: Literal["error", "bound"] = Field(
        "error", description="Claims that are not in the snapshot. bound: they count as bound to suitable volumes."
    )


class RunChange(Schema):
    model_config = {"extra": "forbid"}

    name: Annotated[Text, Field(max_length=MAX_NAME)] | None = Field(
        None, description="Empty: the run is called by its ID."
    )
    pinned: Flag | None = Field(None, description="Whether it is exempt from automatic deletion.")
    low: Flag | None = Field(None, description="Low priority while the run waits.")


class RunStarted(Schema):
    id: int
    url: str
    ws_url: str
    notes: list[str] = Field(description="Warnings about the settings, such as a configuration that is not used.")


class RunOut(ModelSchema):
    url: str
    ws_url: str
    eta_s: float | None = Field(description="Estimated remaining seconds.")
    stalled: bool = Field(description="Whether the run has lost its worker and waits for another one.")
    differs: list[str] = Field(description="Differences from the default settings.")
    notes: list[str] = Field(description="Warnings about the settings.")
    feature_gates: dict[str, bool] = Field(description="Feature gates that differ from the release's defaults.")

    @staticmethod
    def resolve_parent_id(run: Run) -> int | None:
        return run.parent_id if run.shows_parent else None

    @staticmethod
    def resolve_release(run: Run) -> str:
        return run.release_number

    class Meta:
        model = Run
        exclude = [
            *("node_names", "worker", "starts", "pods", "unbind", "template", "summary"),
            *("changes", "stages", "origin", "remaining", "imported", "owner", "fixes"),
        ]


class ImportedOut(Schema):
    version: str = Field(description="Version of KubeSched that recorded it.")
    state: str = Field(description="Final state of the recorded run.")
    cycles: int = Field(description="Number of its cycles.")
    differs: int | None = Field(
        None, description="The first cycle with another decision; 0: none; null: not compared yet."
    )


class WaitsOut(Schema):
    behind: int = Field(description="Number of active or waiting runs before it.")
    seconds: float = Field(description="Estimated seconds until it starts.")
    limit: int = Field(description="Long runs of a user at once, if the run waits for this limit; otherwise 0.")


class RunDetail(RunOut):
    waits: WaitsOut | None = Field(description="Position of a queued run.")
    pods: list[str] | None
    unbind: list[str]
    template: str
    changes: list[dict[str, Any]] = Field(description="For a fork: its changes before cycle `fork_at`.")
    settings: RunIn = Field(description="Post these to start another run with the same settings.")
    imported: ImportedOut | None = Field(description="For a run that was recreated from a run file.")
    node_names: list[str] | None = Field(description="Nodes in snapshot order.")
    warnings: list[str] = Field(description="Warnings about its settings, cluster and configuration.")
    deleted_at: datetime | None = Field(
        description="Time of its deletion unless it is pinned; null: it is not deleted automatically."
    )
    left: dict[str, int] = Field(description="Scheduler that is not configured -> number of its pods.")

    @staticmethod
    def resolve_deleted_at(run: Run) -> datetime | None:
        return retention.deletion_time(run)

    @staticmethod
    def resolve_waits(run: Run) -> queue.QueuePosition | None:
        return queue.queue_position(run)

    @staticmethod
    def resolve_warnings(run: Run) -> list[str]:
        return cycle_rows.warnings_of(run)

    @staticmethod
    def resolve_left(run: Run) -> dict[str, int]:
        return cycle_rows.left_of(run)

    @staticmethod
    def resolve_imported(run: Run) -> dict[str, Any] | None:
        return run.imported or None

    @staticmethod
    def resolve_settings(run: Run) -> dict[str, Any]:
        named = {"release": run.release_number, "feature_gates": run.feature_gates}
        return asdict(services.settings_of(run)) | named | {"low": run.low}


@router.post("/scenarios/{int:scenario_id}/runs", response={202: RunStarted, **REFUSALS})
@permission(write=START, action="start")
def start_run(request: HttpRequest, scenario_id: int, wanted: RunIn) -> Status[Run]:
    """Check the settings, queue a run and return at once."""
    scenario = find(Scenario, scenario_id)
    given = wanted.model_dump(exclude_unset=True)
    if wanted.release is None:
        given.pop("release", None)
    values = wanted.model_dump() | services.defaults(scenario, given.pop("in_time", None)) | given
    values["in_time"] = bool(values["in_time"])
    values["release"] = with_gates(get_release(values["release"]), values.pop("feature_gates")).name
    name, low = values.pop("name").strip(), values.pop("low")
    with transaction.atomic():
        return Status(202, services.create_run(scenario, services.RunSettings(**values), name=name, low=low))


class EstimateOut(Schema):
    seconds: float = Field(description="Estimated duration, based on recent runs.")
    lane: Literal["short", "long"] = Field(description="Its queue: short runs have separate workers.")
    pods: int = Field(description="Number of pods to schedule.")
    nodes: int
    sentence: str = Field(description="The estimate and the queue position.")
    told: str = Field(description="Former name of `sentence`", deprecated=True)


PODS = Query(None, ge=0, le=MAX_ID, description="Number of pods to schedule. Default: all pending pods.")
RELEASE = Query("", max_length=MAX_RELEASE, description="Default: the release that a run would have.")
IN_TIME = Query(None, description="Default: the mode that a run would have.")


@router.get("/scenarios/{int:scenario_id}/estimate", response={200: EstimateOut, **REFUSALS}, url_name="estimate")
def estimate_run(
    request: HttpRequest,
    scenario_id: int,
    pods: int | None = PODS,
    release: Text = RELEASE,
    in_time: bool | None = IN_TIME,
) -> EstimateOut:
    """Estimate the duration of a run before it is started."""
    scenario = find(Scenario, scenario_id)
    own = services.defaults(scenario, in_time)
    wanted = get_release(release or own["release"]).name
    found = estimate.before(scenario, wanted, bool(own.get("in_time")), pods)
    text = queue.estimate_text(found, scenario)
    return EstimateOut.model_validate({**found._asdict(), "lane": found.lane, "sentence": text, "told": text})


class ForkSettings(Schema):
    """Settings of a fork. Missing values are those of the original run."""

    model_config = {"extra": "forbid"}

    release: Text | None = Field(None, max_length=MAX_RELEASE)
    feature_gates: dict[Text, Flag] | None = Field(None, description="Replaces all feature gates.")
    config: Text | None = Field(None, description="A KubeSchedulerConfiguration; empty: the release's default.")
    seed: Seed | None = None
    tie_break: Literal["seed", "name"] | None = None
    preemption: Flag | None = None
    percentage: Percentage | None = Field(None, description="null: the value of the configuration.")
    until: Until | None = None


class ForkIn(Schema):
    model_config = {"extra": "forbid"}

    at: Cycle | None = Field(None, description="Fork before this cycle; last cycle + 1 is the end.")
    t: Seconds | None = Field(
        None, description="In virtual time, instead of `at`: fork after all events up to this second."
    )
    changes: list[dict[str, Any]] = Field([], description="Each has one key; see docs/debugger.md.")
    settings: ForkSettings = Field(
        default_factory=lambda: ForkSettings.model_validate({}), description="Settings from the fork on."
    )
    name: Text = Field("", max_length=MAX_NAME, description="Default: the name of the run and the change.")


@router.post("/runs/{int:run_id}/fork", response={202: RunStarted, **REFUSALS})
@permission(write=START, action="fork")
def fork_run(request: HttpRequest, run_id: int, wanted: ForkIn) -> Status[Run]:
    """Create a run that repeats this one up to a timepoint and continues with changes and other settings.

    The recording up to the timepoint is copied and not computed again.
    """
    given = wanted.settings.model_dump(exclude_unset=True)
    settings = {name: value for name, value in given.items() if value is not None or name == "percentage"}
    with transaction.atomic():
        parent = find(Run, run_id)
        if "feature_gates" in settings:
            release = get_release(get_release(settings.get("release", parent.release)).number)
            settings["release"] = with_gates(release, settings.pop("feature_gates")).name
        return Status(
            202, fork_create.create_fork(parent, wanted.at, wanted.t, wanted.changes, settings, wanted.name.strip())
        )


@router.get("/runs", response={200: list[RunOut], **REFUSALS})
@permission(read=VISITORS)
def list_runs(request: HttpRequest, limit: int = LIMIT, offset: int = OFFSET) -> QuerySet[Run]:
    """List runs, newest first, in pages."""
    return Run.objects.defer("node_names", "remaining")[offset : offset + limit]


@router.get("/runs/{int:run_id}", response={200: RunDetail, **REFUSALS}, url_name="run")
def run(request: HttpRequest, run_id: int) -> Run:
    return find(Run, run_id)


@router.patch("/runs/{int:run_id}", response={200: RunDetail, **REFUSALS})
@permission(write=OWN, action="change")
def change_run(request: HttpRequest, run_id: int, change: RunChange) -> Run:
    """Change the run's name or priority, or pin or unpin it. Its settings and its recording do not change."""
    run = find(Run, run_id)
    for field, value in change.model_dump(exclude_none=True).items():
        setattr(run, field, value.strip() if field == "name" else value)
    run.save(update_fields=["name", "pinned", "low"])
    return run


@router.delete("/runs/{int:run_id}", response={204: None, **REFUSALS})
@permission(write=OWN, action="delete")
def delete_run(request: HttpRequest, run_id: int) -> Status[None]:
    """Delete a run with its recording. A worker that executes it stops."""
    find(Run, run_id).delete()
    return Status(204, None)


@router.post("/runs/{int:run_id}/cancel", response={200: RunDetail, **REFUSALS})
@permission(write=OWN, action="cancel")
def cancel_run(request: HttpRequest, run_id: int) -> Run:
    """Cancel a run. A run that is already over does not change."""
    run = find(Run, run_id)
    services.cancel(run)
    return run


@router.get(
    "/runs/{int:run_id}/export",
    response={200: None, **REFUSALS},
    openapi_extra=sent_as("application/x-ndjson", "application/json", "application/zip"),
)
@permission(cost="stream")
def export_run(
    request: HttpRequest, run_id: int, format: Literal["jsonl", "run", "simulator", "parquet"] = "jsonl"
) -> StreamingHttpResponse:
    """Export a run: all cycles as JSON Lines; a run file, which recreates the run when it is uploaded; the pods with
    the result annotations of kube-scheduler-simulator as a v1 List; or a zip of Parquet tables (cycles, verdicts,
    scores, moves) with the run file.
    """
    run = find(Run, run_id)
    parts, kind, suffix = run_export.FORMATS[format]
    response = StreamingHttpResponse(run_export.in_thread(run, parts(run)), content_type=kind)
    response["Content-Disposition"] = f'attachment; filename="run-{run.pk}.{suffix}"'
    return response
