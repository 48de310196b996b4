"""The HTTP API: scenarios, runs, what was recorded. Its documentation is served at /api/docs.

Every refusal is JSON, {"error": a sentence}, with a 4xx status.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

import msgspec
from django.core.exceptions import BadRequest, RequestDataTooBig, SuspiciousOperation
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.multipartparser import MultiPartParserError
from django.shortcuts import get_object_or_404
from ninja import Field, ModelSchema, NinjaAPI, Query, Schema, Status
from ninja.errors import HttpError, ValidationError
from pydantic import StringConstraints

from kubesched_ui import export, history, runs, uploads
from kubesched_ui.eventlog import join, read_blocks
from kubesched_ui.ingest import IngestError
from kubesched_ui.models import Cycle, PodResult, Run, Scenario
from scheduler_core.errors import InputError
from scheduler_core.trace import CycleTrace

Text = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$")]  # PostgreSQL stores no NUL
MAX_ID = 2**63 - 1
SCANNED = 10_000  # blocks that one answer looks through for events of a type

api = NinjaAPI(
    title="KubeSched",
    version="1",
    description="Upload a cluster, run a scheduler on it, read every decision. Events also stream over the websocket "
    "at `/ws/runs/{id}` (see docs/websocket.md).",
    urls_namespace="api",
)


# ------------------------------------------------------------------------------------------------ refusals


def refusal(request: HttpRequest, problem: str, status: int, **more: Any) -> HttpResponse:
    """{"error": problem}."""
    return api.create_response(request, {"error": problem, **more}, status=status)


@api.exception_handler(InputError)
@api.exception_handler(IngestError)
def bad_input(request: HttpRequest, error: Exception) -> HttpResponse:
    return refusal(request, str(error), 400)


@api.exception_handler(ValidationError)
def invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    """Names the field and what is wrong with it."""
    problems = [f"{'.'.join(map(str, e['loc'][1:])) or e['loc'][0]}: {e['msg']}" for e in error.errors[:10]]
    return refusal(request, "; ".join(problems), 422, fields=problems)


@api.exception_handler(HttpError)
def http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    return refusal(request, str(error), error.status_code)


@api.exception_handler(Http404)
def not_found(request: HttpRequest, error: Http404) -> HttpResponse:
    return refusal(request, str(error) or "There is nothing at this address.", 404)


@api.exception_handler(RequestDataTooBig)
def too_big(request: HttpRequest, error: RequestDataTooBig) -> HttpResponse:
    return refusal(request, "The request body is too large.", 413)


@api.exception_handler(BadRequest)
@api.exception_handler(MultiPartParserError)
@api.exception_handler(SuspiciousOperation)
def bad_request(request: HttpRequest, error: Exception) -> HttpResponse:
    return refusal(request, str(error) or "The request cannot be read.", 400)


# ------------------------------------------------------------------------------------------------ what is sent


class Refusal(Schema):
    error: str = Field(description="What is wrong, a sentence naming file, object and field.")


class ScenarioOut(ModelSchema):
    url: str = ""

    class Meta:
        model = Scenario
        fields = ["id", "name", "description", "origin", "parent", "kubernetes", "config", "counts", "created_at"]

    @staticmethod
    def resolve_url(scenario: Scenario) -> str:
        return f"/api/scenarios/{scenario.pk}"


class ScenarioDetail(ScenarioOut):
    warnings: list[Any] = Field(description="Remarks on the upload.")
    runs: list[int] = Field(description="The scenario's runs, newest first.")

    @staticmethod
    def resolve_runs(scenario: Scenario) -> list[int]:
        return list(scenario.runs.values_list("pk", flat=True))


class RunIn(Schema):
    """Settings of a run. What is left out has the default shown; of a run in time, what the scenario says of it."""

    model_config = {"extra": "forbid"}

    release: Text = Field("1.34", max_length=40, examples=["1.34", "1.27"])
    config: Text | None = Field(None, description="A KubeSchedulerConfiguration, YAML or JSON text.")
    seed: int = Field(0, ge=-runs.MAX_SEED, le=runs.MAX_SEED)
    tie_break: Literal["seed", "name"] = Field("seed", description="The pick among nodes of equal score.")
    preemption: bool = True
    percentage: int | None = Field(None, ge=0, le=100, description="percentageOfNodesToScore; 0 is upstream's rule.")
    pods: list[Text] | None = Field(None, description='"namespace/name" in the order of scheduling; null: all pending.')
    unbind: list[Text] = Field([], description="Bound pods to be placed again.")
    template: Text = Field("", description="A Pod, YAML or JSON text, of which `copies` are added.")
    copies: int = Field(0, ge=0)
    in_time: bool | None = Field(
        None, description="Pods wait, back off and retry on a virtual clock; null: if the scenario has time."
    )
    until: float | None = Field(None, gt=0, description="Virtual seconds after which a run in time ends.")


class RunStarted(Schema):
    id: int
    url: str
    ws_url: str


class RunOut(ModelSchema):
    url: str
    ws_url: str
    eta_s: float | None = Field(description="Seconds until done at the present pace.")
    stalled: bool = Field(description="Waits for a worker; it is taken up again as soon as there is one.")

    class Meta:
        model = Run
        exclude = ["node_names", "worker", "starts", "pods", "unbind", "template"]


class RunDetail(RunOut):
    pods: list[str] | None
    unbind: list[str]
    template: str
    node_names: list[str] | None = Field(description="Nodes in the order of the snapshot.")


class PodOut(ModelSchema):
    url: str = ""

    class Meta:
        model = PodResult
        exclude = ["id", "run"]

    @staticmethod
    def resolve_url(pod: PodResult) -> str:
        return f"/api/runs/{pod.run_id}/pods/{pod.namespace}/{pod.name}"


class PodPage(Schema):
    total: int
    page: int
    pods: list[PodOut]


class PodQuery(Schema):
    result: Literal["scheduled", "unschedulable", "gated", "error"] | None = None
    node: Text | None = None
    namespace: Text | None = None
    q: Text = Field("", description="Part of namespace/name, node or message.")
    sort: Literal[
        "position", "namespace", "name", "result", "node", "score", "margin", "attempts", "duration", "feasible",
        "-position", "-namespace", "-name", "-result", "-node", "-score", "-margin", "-attempts", "-duration",
        "-feasible",
    ] = "position"  # fmt: skip
    page: int = Field(1, ge=1, le=1_000_000)
    page_size: int = Field(100, ge=1, le=1000)


class PodDetail(Schema):
    result: PodOut
    cycles: list[dict[str, Any]] = Field(description="One per attempt, with the keys of docs/formats.md.")


class Events(Schema):
    """Documented here; the answer is put together from stored text."""

    events: list[dict[str, Any]]
    last_seq: int = Field(description="The `since` that continues.")
    active: bool = Field(description="Whether there may be more to come.")


class Lanes(Schema):
    """Documented here; the answer is encoded at once."""

    until: float | None = Field(description="When the run ends, in virtual seconds.")
    clock: float = Field(description="The virtual second that it has reached.")
    pods: list[str]
    moves: list[tuple[float, int, int, int]] = Field(description="(t, index of the pod, code of the lane, seq)")
    lanes: list[str] = Field(description="A lane's code is its index.")
    note: str = Field(description="What was left out, empty for nothing.")


class History(Schema):
    moves: list[dict[str, Any]] = Field(description="{t, from, to, event, seq, cause_seq, cause}")
    happened: list[dict[str, Any]] = Field(description="{t, seq, type, lane, text}: outside of the queue")
    attempts: list[dict[str, Any]] = Field(description="{t, number, result, node, message, seq, plugins}")
    preempted: list[dict[str, Any]] = Field(description="Its victims: {t, pod, node, seq}")
    preempted_by: dict[str, Any] | None = Field(description="{t, pod, node, seq, cause_seq}")
    critical_path: list[dict[str, Any]] = Field(description="{from_t, to_t, where, waiting_for}")
    note: str = Field(description="What was left out, empty for nothing.")


REFUSALS = {400: Refusal, 404: Refusal, 413: Refusal, 422: Refusal}

# ------------------------------------------------------------------------------------------------ scenarios


@api.get("/scenarios", response=list[ScenarioOut], tags=["scenarios"])
def scenarios(request: HttpRequest) -> QuerySet[Scenario]:
    """All scenarios, newest first."""
    return Scenario.objects.all()


FILE = {"type": "string", "format": "binary"}
FORM = {"type": "object", "properties": {"file": {"type": "array", "items": FILE}}, "required": ["file"]}
UPLOAD = {"multipart/form-data": {"schema": FORM}, "application/octet-stream": {"schema": FILE}}


@api.post(
    "/scenarios",
    response={201: ScenarioDetail, **REFUSALS},
    tags=["scenarios"],
    openapi_extra={"requestBody": {"required": True, "content": UPLOAD}},
)
def upload_scenario(request: HttpRequest, name: Annotated[Text, Field(max_length=200)] = "") -> Status[Scenario]:
    """Makes a scenario of uploaded files: multipart form data with one or more `file`, or the file as the body.

    Objects as JSON or YAML, gz, zip, tar.gz; kubectl output, cluster-info dumps, kube-scheduler-simulator exports.
    """
    return Status(201, uploads.scenario_from_request(request, name, origin=Scenario.Origin.API))


@api.get(
    "/scenarios/{int:scenario_id}", response={200: ScenarioDetail, **REFUSALS}, tags=["scenarios"], url_name="scenario"
)
def scenario(request: HttpRequest, scenario_id: int) -> Scenario:
    return find(Scenario, scenario_id)


@api.delete("/scenarios/{int:scenario_id}", response={204: None, **REFUSALS}, tags=["scenarios"])
def delete_scenario(request: HttpRequest, scenario_id: int) -> Status[None]:
    """Deletes a scenario with all of its runs."""
    find(Scenario, scenario_id).delete()
    return Status(204, None)


@api.get("/scenarios/{int:scenario_id}/export", tags=["scenarios"])
def export_scenario(request: HttpRequest, scenario_id: int) -> HttpResponse:
    """The scenario's objects as a v1 List; it can be uploaded again."""
    return HttpResponse(export.scenario(find(Scenario, scenario_id)), content_type="application/json")


# ------------------------------------------------------------------------------------------------ runs


@api.post("/scenarios/{int:scenario_id}/runs", response={202: RunStarted, **REFUSALS}, tags=["runs"])
def start_run(request: HttpRequest, scenario_id: int, wanted: RunIn) -> Status[Run]:
    """Checks the settings, queues a run and answers at once."""
    scenario = find(Scenario, scenario_id)
    given = wanted.model_dump(exclude_unset=True)
    values = wanted.model_dump() | runs.defaults(scenario, given.pop("in_time", None)) | given
    values |= {"config": values["config"] or "", "in_time": bool(values["in_time"])}
    with transaction.atomic():
        return Status(202, runs.create_run(scenario, runs.RunSettings(**values)))


@api.get("/runs", response=list[RunOut], tags=["runs"])
def list_runs(request: HttpRequest, limit: int = Query(100, ge=1, le=1000)) -> QuerySet[Run]:
    """The newest runs."""
    return Run.objects.defer("node_names")[:limit]


@api.get("/runs/{int:run_id}", response={200: RunDetail, **REFUSALS}, tags=["runs"], url_name="run")
def run(request: HttpRequest, run_id: int) -> Run:
    return find(Run, run_id)


@api.delete("/runs/{int:run_id}", response={204: None, **REFUSALS}, tags=["runs"])
def delete_run(request: HttpRequest, run_id: int) -> Status[None]:
    """Deletes a run with everything recorded of it; a worker that is at it stops."""
    find(Run, run_id).delete()
    return Status(204, None)


@api.post("/runs/{int:run_id}/cancel", response={200: RunDetail, **REFUSALS}, tags=["runs"])
def cancel_run(request: HttpRequest, run_id: int) -> Run:
    """Asks for the run to stop; one that is over stays as it is."""
    run = find(Run, run_id)
    runs.cancel(run)
    return run


TYPES = Query([], description="Only events of this type; may be repeated.")


@api.get("/runs/{int:run_id}/events", response={200: Events, **REFUSALS}, tags=["runs"])
def events(
    request: HttpRequest,
    run_id: int,
    since: int = Query(0, ge=0, le=MAX_ID),
    limit: int = Query(1000, ge=1, le=10_000),
    pod: Text = "",
    type: list[Text] = TYPES,
) -> HttpResponse:
    """The events after `since`, at most `limit`; with `pod` (namespace/name) that pod's and the run's own.

    With `type` an answer may hold fewer, even none, though there are more: go on with `last_seq` until it stays.
    """
    active = find(Run, run_id).active
    texts, count = [], 0
    for last, text in read_blocks(run_id, since, pod, SCANNED if type else limit, type):
        block = msgspec.json.decode(text, type=list[msgspec.Raw])
        if count + len(block) > limit:
            block = block[: limit - count]
            last = msgspec.json.decode(block[-1])["seq"] if block else since
        texts.append(msgspec.json.encode(block))
        count, since = count + len(block), last
        if count >= limit:
            break
    body = b'{"events":%s,"last_seq":%d,"active":%s}' % (join(texts), since, b"true" if active else b"false")
    return HttpResponse(body, content_type="application/json")


@api.get("/runs/{int:run_id}/pods", response={200: PodPage, **REFUSALS}, tags=["runs"])
def pods(request: HttpRequest, run_id: int, wanted: Query[PodQuery]) -> dict[str, Any]:
    """The outcome per pod, filtered, sorted, a page at a time."""
    rows = find(Run, run_id).pod_results.matching(wanted.q, wanted.result, wanted.node, wanted.namespace)
    start = (wanted.page - 1) * wanted.page_size
    shown = rows.order_by(wanted.sort, "position")[start : start + wanted.page_size]
    return {"total": rows.count(), "page": wanted.page, "pods": shown}


@api.get("/runs/{int:run_id}/pods/{namespace}/{name}", response={200: PodDetail, **REFUSALS}, tags=["runs"])
def pod(request: HttpRequest, run_id: int, namespace: str, name: str) -> dict[str, Any]:
    """Every decision on one pod: each plugin's verdict and score on every node."""
    run = find(Run, run_id)
    result = get_object_or_404(run.pod_results, namespace=namespace, name=name)
    cycles = Cycle.objects.filter(run=run, namespace=namespace, name=name).order_by("number")
    lists = {version: run.nodes_at(version) for version in {c.nodes_version for c in cycles}}
    traces = [CycleTrace.decode(bytes(c.trace)).golden(lists[c.nodes_version]) for c in cycles]
    return {"result": result, "cycles": traces}


@api.get("/runs/{int:run_id}/pods/{namespace}/{name}/history", response={200: History, **REFUSALS}, tags=["runs"])
def pod_history(request: HttpRequest, run_id: int, namespace: str, name: str) -> dict[str, Any]:
    """A pod's way through a run in time: its moves and what caused them, its attempts, what it waited for."""
    found = history.history(find(Run, run_id), namespace, name)
    if not (found["moves"] or found["attempts"] or found["happened"]):
        raise Http404(f"Nothing happened to pod {namespace}/{name} in this run.")
    return found


@api.get("/runs/{int:run_id}/lanes", response={200: Lanes, **REFUSALS}, tags=["runs"])
def lanes(request: HttpRequest, run_id: int) -> HttpResponse:
    """Which pod of a run in time was in which part of the queue (or waiting, bound, gone) from when."""
    return HttpResponse(msgspec.json.encode(history.lanes(find(Run, run_id))), content_type="application/json")


@api.get("/runs/{int:run_id}/export", tags=["runs"])
def export_run(
    request: HttpRequest, run_id: int, format: Literal["jsonl", "simulator"] = "jsonl"
) -> StreamingHttpResponse:
    """All cycles as JSON lines, or the pods with kube-scheduler-simulator's result annotations as a v1 List."""
    run = find(Run, run_id)
    lines: AsyncIterator[bytes] = export.jsonl(run) if format == "jsonl" else export.simulator(run)
    kind = "application/x-ndjson" if format == "jsonl" else "application/json"
    response = StreamingHttpResponse(lines, content_type=kind)
    response["Content-Disposition"] = f'attachment; filename="run-{run.pk}.{"jsonl" if format == "jsonl" else "json"}"'
    return response


def find(model: type[Any], pk: int) -> Any:
    """The object, or a 404 that says what there is not."""
    found = model.objects.filter(pk=pk).first() if pk <= MAX_ID else None
    if found is None:
        raise Http404(f"There is no {model.__name__.lower()} {pk}.")
    return found
