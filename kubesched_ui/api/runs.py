"""Runs: start, list, cancel, delete, fork and export."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal

from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, StreamingHttpResponse
from ninja import Field, ModelSchema, Query, Router, Schema, Status

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

    name: Text = Field("", max_length=MAX_NAME, description="What to call the run.")
    release: Text | None = Field(
        None,
        max_length=MAX_RELEASE,
        examples=["1.34", "1.27"],
        description="null: the cluster's own, where it is known and among those there are, else the newest.",
    )
    feature_gates: dict[Text, Flag] = Field(
        {},
        description="Gates that are not as in the release by default.",
        examples=[{"SchedulerPopFromBackoffQ": False}],
    )
    config: Text | None = Field(
        None,
        description="A KubeSchedulerConfiguration, YAML or JSON text; empty: the release's default one; "
        "null: the one that came with the upload, where there is one that can be used.",
    )
    unknown_plugins: Unknown = Field(
        "error", description="What to do with plugins of the configuration that do not exist here."
    )
    seed: Seed = 0
    tie_break: Literal["seed", "name"] = Field("seed", description="The pick among nodes of equal score.")
    preemption: Flag = True
    percentage: Percentage | None = Field(None, description="percentageOfNodesToScore; 0 is upstream's rule.")
    pods: list[Text] | None = Field(None, description='"namespace/name" in the order of scheduling; null: all pending.')
    unbind: list[Text] = Field([], description="Bound pods to be placed again.")
    template: Text = Field(
        "", description="A Pod, YAML or JSON text, of which `copies` are added; or a Deployment, Job ... and its pods."
    )
    copies: Copies = 0
    in_time: Flag | None = Field(
        None, description="Pods wait, back off and retry on a virtual clock; null: if the scenario has time."
    )
    until: Until | None = Field(None, description="Virtual seconds after which a run in time ends.")
    other_schedulers: Literal["leave", "take"] = Field(
        "leave", description="Pods that wait for a scheduler which is not configured: the default profile takes them."
    )
    low: Flag = Field(False, description="Of lower priority: runs of others that wait go first.")
    absent_claims: Literal["error", "bound"] = Field(
        "error", description="Claims that pods name and the snapshot does not hold are bound, to volumes that fit."
    )


class RunChange(Schema):
    model_config = {"extra": "forbid"}

    name: Annotated[Text, Field(max_length=MAX_NAME)] | None = Field(
        None, description="Empty: it is called by its number."
    )
    pinned: Flag | None = Field(None, description="Whether it stays, however old it is.")
    low: Flag | None = Field(None, description="Of lower priority, while it waits.")


class RunStarted(Schema):
    id: int
    url: str
    ws_url: str
    notes: list[str] = Field(description="What is to be said of the settings: a configuration that was left out.")


class RunOut(ModelSchema):
    url: str
    ws_url: str
    eta_s: float | None = Field(description="Seconds until done at the present pace.")
    stalled: bool = Field(description="Waits for a worker; it is taken up again as soon as there is one.")
    differs: list[str] = Field(description="What sets it apart from a run with default settings.")
    notes: list[str] = Field(description="What was said of the settings when it was made.")
    feature_gates: dict[str, bool] = Field(description="Those that are not as in the release by default.")

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
            *("changes", "stages", "origin", "remaining", "imported", "owner"),
        ]


class ImportedOut(Schema):
    version: str = Field(description="Of the KubeSched that recorded it.")
    state: str = Field(description="How the recorded run had ended.")
    cycles: int = Field(description="So many cycles it had.")
    differs: int | None = Field(
        None, description="The first cycle that was decided otherwise; 0: none; null: not compared yet."
    )


class WaitsOut(Schema):
    behind: int = Field(description="So many runs are under way or wait before it.")
    seconds: float = Field(description="Until it begins, if these go as they were estimated.")


class RunDetail(RunOut):
    waits: WaitsOut | None = Field(description="Of a queued run: where it stands.")
    pods: list[str] | None
    unbind: list[str]
    template: str
    changes: list[dict[str, Any]] = Field(description="What it, as a fork, changes before cycle `fork_at`.")
    settings: RunIn = Field(description="To be posted again, for another run with these settings.")
    imported: ImportedOut | None = Field(description="Of a run that was made again from a run file.")
    node_names: list[str] | None = Field(description="Nodes in the order of the snapshot.")
    warnings: list[str] = Field(description="Remarks on its settings, its cluster, its configuration.")
    deleted_at: datetime | None = Field(description="When it is deleted unless it is pinned; null: not by itself.")
    left: dict[str, int] = Field(description="Schedulers that are not configured -> pods left to them.")

    @staticmethod
    def resolve_deleted_at(run: Run) -> datetime | None:
        return retention.ends(run)

    @staticmethod
    def resolve_waits(run: Run) -> queue.Place | None:
        return queue.place(run)

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
    seconds: float = Field(description="That the run is likely to take, as runs went here lately.")
    lane: Literal["short", "long"] = Field(description="Where it would wait: short runs have workers of their own.")
    pods: int = Field(description="To be placed.")
    nodes: int
    told: str = Field(description="The same as a sentence, and what it would wait behind.")

    @staticmethod
    def resolve_told(expected: estimate.Estimate) -> str:
        return queue.told(expected)


PODS = Query(None, ge=0, le=MAX_ID, description="To be placed; by default all that wait.")
RELEASE = Query("", max_length=MAX_RELEASE, description="By default as a run would have.")
IN_TIME = Query(None, description="By default as a run would be.")


@router.get("/scenarios/{int:scenario_id}/estimate", response={200: EstimateOut, **REFUSALS}, url_name="estimate")
def estimate_run(
    request: HttpRequest,
    scenario_id: int,
    pods: int | None = PODS,
    release: Text = RELEASE,
    in_time: bool | None = IN_TIME,
) -> estimate.Estimate:
    """Estimate the duration of a run before it is started."""
    scenario = find(Scenario, scenario_id)
    own = services.defaults(scenario, in_time)
    wanted = get_release(release or own["release"]).name
    return estimate.before(scenario, wanted, bool(own.get("in_time")), pods)


class ForkSettings(Schema):
    """Settings of a fork. Missing values are those of the original run."""

    model_config = {"extra": "forbid"}

    release: Text | None = Field(None, max_length=MAX_RELEASE)
    feature_gates: dict[Text, Flag] | None = Field(None, description="With `release` or without: these and no others.")
    config: Text | None = Field(None, description="A KubeSchedulerConfiguration; empty: the release's default one.")
    seed: Seed | None = None
    tie_break: Literal["seed", "name"] | None = None
    preemption: Flag | None = None
    percentage: Percentage | None = Field(None, description="null, if given: the configuration's.")
    until: Until | None = None


class ForkIn(Schema):
    model_config = {"extra": "forbid"}

    at: Cycle | None = Field(None, description="Before this cycle; one more than there are is the end.")
    t: Seconds | None = Field(None, description="Of a run in time, instead: after all until that second.")
    changes: list[dict[str, Any]] = Field([], description="Each with one key; see docs/debugger.md.")
    settings: ForkSettings = Field(
        default_factory=lambda: ForkSettings.model_validate({}), description="From there on."
    )
    name: Text = Field("", max_length=MAX_NAME)


@router.post("/runs/{int:run_id}/fork", response={202: RunStarted, **REFUSALS})
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
def list_runs(request: HttpRequest, limit: int = LIMIT, offset: int = OFFSET) -> QuerySet[Run]:
    """List runs, newest first, in pages."""
    return Run.objects.defer("node_names")[offset : offset + limit]


@router.get("/runs/{int:run_id}", response={200: RunDetail, **REFUSALS}, url_name="run")
def run(request: HttpRequest, run_id: int) -> Run:
    return find(Run, run_id)


@router.patch("/runs/{int:run_id}", response={200: RunDetail, **REFUSALS})
def change_run(request: HttpRequest, run_id: int, change: RunChange) -> Run:
    """Change the run's name or priority, or pin or unpin it. Its settings and its recording do not change."""
    run = find(Run, run_id)
    if change.name is not None:
        run.name = change.name.strip()
    if change.pinned is not None:
        run.pinned = change.pinned
    if change.low is not None:
        run.low = change.low
    run.save(update_fields=["name", "pinned", "low"])
    return run


@router.delete("/runs/{int:run_id}", response={204: None, **REFUSALS})
def delete_run(request: HttpRequest, run_id: int) -> Status[None]:
    """Delete a run with its recording. A worker that executes it stops."""
    find(Run, run_id).delete()
    return Status(204, None)


@router.post("/runs/{int:run_id}/cancel", response={200: RunDetail, **REFUSALS})
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
def export_run(
    request: HttpRequest, run_id: int, format: Literal["jsonl", "run", "simulator", "parquet"] = "jsonl"
) -> StreamingHttpResponse:
    """Export a run: all cycles as JSON Lines; a run file, which recreates the run when it is uploaded; the pods with
    the result annotations of kube-scheduler-simulator as a v1 List; or a zip of Parquet tables (cycles, verdicts,
    scores, moves) with the run file.
    """
    run = find(Run, run_id)
    parts, kind, suffix = EXPORTS[format]
    response = StreamingHttpResponse(parts(run), content_type=kind)
    response["Content-Disposition"] = f'attachment; filename="run-{run.pk}.{suffix}"'
    return response


EXPORTS = {
    "run": (run_export.run_file, "application/json", "run.json"),
    "jsonl": (run_export.jsonl, "application/x-ndjson", "jsonl"),
    "simulator": (run_export.simulator, "application/json", "json"),
    "parquet": (run_export.parquet, "application/zip", "parquet.zip"),
}
