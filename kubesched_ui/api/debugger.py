"""Debugger queries on a run: the cluster or an object at any timepoint, one cycle, a search over cycles, breakpoints.

See docs/debugger.md.
"""

from typing import Annotated, Any, Literal

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from ninja import Field, ModelSchema, Query, Router, Schema, Status

from kubesched_ui.accounts.permissions import OWN, permission
from kubesched_ui.api.common import MAX_ID, RECORDED, REFUSALS, Refusal, Text, encoded, find, with_former_names
from kubesched_ui.event_log.cycle_batches import TraceReader, trace_of
from kubesched_ui.models import MAX_NAME, Breakpoint, Run
from kubesched_ui.models import Cycle as StoredCycle
from kubesched_ui.queries import search_client
from kubesched_ui.queries.cycles import steps_of
from kubesched_ui.queries.decisions import decisions_after
from kubesched_ui.queries.recording_cache import object_at, recording_of
from kubesched_ui.runtime.advisory_lock import lock_until_commit
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.errors import InputError
from scheduler_core.recording import change_stream, timepoints
from scheduler_core.recording.cluster_state import StateAtTimepoint
from scheduler_core.recording.timepoints import Timepoint
from scheduler_core.search.search import FUNCTIONS, MAX_LENGTH, MAX_LIMIT, VARIABLES

router = Router(tags=["debugger"])

Cycle = Annotated[int | None, Field(ge=1, le=MAX_ID, description="Before this cycle; last cycle + 1 is the end.")]
Seconds = Annotated[float | None, Field(ge=0, allow_inf_nan=False, description="After all events up to this second.")]
Seq = Annotated[int | None, Field(ge=0, le=MAX_ID, description="In virtual time: after the event with this number.")]
Since = Annotated[
    float | None,
    Field(ge=0, le=MAX_ID, allow_inf_nan=False, description="Return only changes since then, in the same unit."),
]
Moment = Annotated[int | None, Field(ge=0, le=MAX_ID, description="A position as in `moment` of the map.")]


class NodeState(Schema):
    name: str
    allocatable: dict[str, int] = Field(description="cpu in millicores, memory and storage in bytes, else units")
    requested: dict[str, int] = Field(description="Total of the pods that count on the node; `pods`: their number")
    nonzero_requested: dict[str, int] = Field(description="cpu and memory as scoring counts them, with defaults")
    taints: list[str] = Field(description="key=value:Effect, or key:Effect")
    unschedulable: bool
    pods: list[str] = Field(description="In order of arrival")


class ClusterState(Schema):
    """Schema for the API documentation only; the response is encoded directly."""

    cycle: int = Field(description="The first cycle after this timepoint")
    t: float = Field(description="Virtual second of the timepoint")
    nodes: list[NodeState] = Field(description="In row order; with `since`, only changed nodes")
    nominated: dict[str, str | None] = Field(description="Pod -> node; with `since`, null: no longer nominated")
    waiting: dict[str, str | None] = Field(description="Pod -> the node on which it is assumed, but not bound yet")
    pending: list[str] = Field(description="Pods without a node; with `since`, those that were not pending then")
    orphans: dict[str, str | None] = Field(description="Pod -> its node, for nodes that do not exist")
    added: list[str] = Field(description="With `since`: nodes created since then")
    removed: list[str] = Field(description="With `since`: nodes deleted since then")
    since: float | None = Field(None, description="With `since`: its timepoint")
    no_longer_pending: list[str] | None = Field(None, description="With `since`: pods that were pending then")
    order: list[str] | None = Field(None, description="With `since`: all nodes, if their order changed")


class Match(Schema):
    cycle: int
    pod: str
    attempt: int
    t: float


class Matches(Schema):
    matches: list[Match]
    total: int = Field(description="Matching cycles of the whole run")
    next_from: int | None = Field(description="`from` for the next matches; null at the end")
    note: str = Field(
        description="If nothing matches: the number of cycles in which the expression has no value, and why"
    )


class Wrong(Refusal):
    line: int = Field(0, description="Line of the error, from 1; 0 if it concerns the whole expression")
    column: int = 0


@router.get("/runs/{int:run_id}/state", response={200: ClusterState, **RECORDED})
@permission(cost="large")
def state(
    request: HttpRequest, run_id: int, cycle: Cycle = None, t: Seconds = None, seq: Seq = None, since: Since = None
) -> HttpResponse:
    """Return the cluster at a timepoint, from the recording: before a cycle, or after a second or an event; by
    default at the end. With `since`, return only the changes between the two timepoints, in either direction.
    """
    run = run_at(run_id, seq)
    return encoded(timepoints.cluster_at(recording_of(run), Timepoint(cycle, t, seq), since))


@router.get("/runs/{int:run_id}/map", response={200: dict[str, Any], **RECORDED})
@permission(cost="large")
def picture(request: HttpRequest, run_id: int, cycle: Cycle = None, t: Seconds = None, seq: Seq = None) -> HttpResponse:
    """Return the state at a timepoint in columns, with the data that the map needs: node labels, and requests, owners
    and priorities of pods (scheduler_core/recording/change_stream.py).
    """
    recording = recording_of(run_at(run_id, seq))
    found = change_stream.cluster_columns(StateAtTimepoint(recording, Timepoint(cycle, t, seq).moment(recording)))
    return encoded(found | ({"cycle": cycle} if cycle is not None else {}))


@router.get("/runs/{int:run_id}/map/tape", response={200: dict[str, Any], **RECORDED})
@permission(cost="large")
def piece_of_tape(request: HttpRequest, run_id: int, after: Moment = None, until: Moment = None) -> HttpResponse:
    """Return changes after a timepoint of the map, or before one, as many as fit into one response.

    A client can continue in both directions.
    """
    run = run_at(run_id, None)
    found = change_stream.stream(recording_of(run), after, until)
    return encoded(found | {"cycles": named(run, found["cycles"])})


def named(run: Run, cycles: dict[str, list[int]]) -> dict[str, list[Any]]:
    """Add the columns `pod`, `attempt`, `result` to cycles with the columns `number` (sorted) and `at`."""
    if not cycles["number"]:
        return cycles | {"pod": [], "attempt": [], "result": []}
    span = (cycles["number"][0], cycles["number"][-1])
    rows = run.cycles.filter(number__range=span).values_list("number", "namespace", "name", "attempt", "result")
    found = {number: (f"{namespace}/{name}", *rest) for number, namespace, name, *rest in rows}
    each = [found.get(number, ("", 0, "")) for number in cycles["number"]]
    pod, attempt, result = zip(*each, strict=True)
    return cycles | {"pod": list(pod), "attempt": list(attempt), "result": list(result)}


@router.get("/runs/{int:run_id}/object", response={200: dict[str, Any], **RECORDED})
@permission(cost="large")
def object_then(
    request: HttpRequest,
    run_id: int,
    kind: Text,
    name: Text,
    namespace: Text = "",
    cycle: Cycle = None,
    t: Seconds = None,
    seq: Seq = None,
) -> HttpResponse:
    """Return an object as the scheduler knew it at a timepoint, including objects that were created or deleted during
    the run.
    """
    run = run_at(run_id, seq)
    moment = Timepoint(cycle, t, seq).moment(recording_of(run))
    found = object_at(run, kind, f"{namespace}/{name}" if namespace else name, moment)
    if found is None:
        raise Http404(f"There is no {kind[:100]} {name[:253]} at that timepoint.")
    return encoded(found)


def run_at(run_id: int, seq: int | None) -> Run:
    """Return the run. Raises InputError if `seq` is given for a single-pass run, which has no numbered events."""
    run = find(Run, run_id)
    if seq is not None and not run.in_time:
        raise InputError("seq", "", "is only for runs in virtual time; use cycle")
    return run


NAMES = ", ".join([*VARIABLES, *(f"{name}(text)" for name in FUNCTIONS)])
WHERE = Query(..., description=f"A CEL expression over a cycle, at most {MAX_LENGTH:,} characters. Names: {NAMES}")
FROM = Query(None, alias="from", ge=1, le=MAX_ID, description="The first cycle to search.")
LIMIT = Query(None, ge=1, le=MAX_LIMIT, description="Default: 100 for `all`, otherwise 1.")


@router.get("/runs/{int:run_id}/find", response={200: Matches, **RECORDED, 400: Wrong})
@permission(cost="always")
def find_cycles(
    request: HttpRequest,
    run_id: int,
    where: Text = WHERE,
    start: int | None = FROM,
    direction: Literal["next", "previous", "all"] = "all",
    limit: int | None = LIMIT,
) -> HttpResponse:
    """Find cycles for which the expression is true, forward or backward from a cycle."""
    limit = limit or (100 if direction == "all" else 1)
    return encoded(search_client.find_cycles(find(Run, run_id), where, start, direction, limit))


SCORES = Query("", description="A Score plugin whose scores the response includes.")
KNOWN = Query(-1, ge=-1, le=MAX_ID, description="A known `nodes_version`, whose `names` are then null.")


@router.get("/runs/{int:run_id}/cycles/{int:number}", response={200: dict[str, Any], **REFUSALS})
def cycle(request: HttpRequest, run_id: int, number: int, scores: Text = SCORES, known: int = KNOWN) -> HttpResponse:
    """Return every plugin's verdicts in one cycle, in order, with totals and preemption victims
    (scheduler_core/search/cycle_steps.py).

    `names`: the nodes of the rows. `before` and `after` are the pod's previous and next cycle.
    """
    run = find(Run, run_id)
    row = run.cycles.filter(number=number).first() if number <= MAX_ID else None
    if row is None:
        raise Http404(f"Run {run_id} has no cycle {number}.")
    names = None if known == row.nodes_version else row.nodes
    return encoded(_cycle(run, row, trace_of(row), names, scores))


def _cycle(run: Run, row: StoredCycle, trace: CycleTrace, names: list[str] | None, scores: str = "") -> dict[str, Any]:
    found = steps_of(run, row, trace, scores)
    return found | {"names": names, "steps": with_former_names(found["steps"], message="said")}


SINCE_CYCLE = Query(0, ge=0, le=MAX_ID, description="Only cycles after this number.")


@router.get("/runs/{int:run_id}/cycles", response={200: dict[str, Any], **REFUSALS})
def cycles(
    request: HttpRequest,
    run_id: int,
    since: int = SINCE_CYCLE,
    limit: int = Query(20, ge=1, le=50),
    known: int = KNOWN,
) -> HttpResponse:
    """Return successive cycles, each as `/cycles/{number}` does without scores. A client that plays a run needs few
    and small responses. Only the first cycle of each `nodes_version` has `names`.
    """
    run, found = find(Run, run_id), []
    reader = TraceReader(run.pk)
    for row in run.cycles.filter(number__gt=since).order_by("number")[:limit]:
        names = None if known == row.nodes_version else row.nodes
        found.append(_cycle(run, row, reader.trace(row.number, row.trace), names))
        known = row.nodes_version
    return encoded({"cycles": found})


@router.get("/runs/{int:run_id}/decisions", response={200: dict[str, Any], **REFUSALS})
def decisions(
    request: HttpRequest, run_id: int, since: int = SINCE_CYCLE, limit: int = Query(100, ge=1, le=1000)
) -> HttpResponse:
    """Return the decisions after a cycle, one short summary per cycle, as `/ws/runs/{id}/decisions` sends them
    (docs/websocket.md).
    """
    return encoded({"decisions": decisions_after(find(Run, run_id), since, limit)})


class BreakpointIn(Schema):
    model_config = {"extra": "forbid", "str_strip_whitespace": True}

    name: Annotated[Text, Field("", max_length=MAX_NAME, description="Default: the expression.")]
    where: Annotated[Text, Field(min_length=1, max_length=MAX_LENGTH, description="An expression as in `find`.")]


class BreakpointOut(ModelSchema):
    class Meta:
        model = Breakpoint
        fields = ["id", "name", "where"]


@router.get("/runs/{int:run_id}/breakpoints", response={200: list[BreakpointOut], **REFUSALS})
def breakpoints(request: HttpRequest, run_id: int) -> QuerySet[Breakpoint]:
    """List the breakpoints of a run, oldest first. Playback stops at cycles for which their expressions are true."""
    return find(Run, run_id).breakpoints.all()


@router.post("/runs/{int:run_id}/breakpoints", response={201: BreakpointOut, **RECORDED, 400: Wrong})
@permission(write=OWN, action="set breakpoint")
def make_breakpoint(request: HttpRequest, run_id: int, wanted: BreakpointIn) -> Status[Breakpoint]:
    """Add a breakpoint to a run. An invalid expression is rejected with its position, as by `find`."""
    run = find(Run, run_id)
    search_client.find_cycles(run, wanted.where, None, "all", 1)
    name = wanted.name or wanted.where[:MAX_NAME]
    try:
        with transaction.atomic():
            lock_until_commit(f"breakpoints of run {run_id}")
            if run.breakpoints.count() >= Breakpoint.MOST:
                raise InputError("breakpoints", "", f"limit reached: a run can have {Breakpoint.MOST} breakpoints")
            return Status(201, run.breakpoints.create(name=name, where=wanted.where))
    except IntegrityError:
        problem = f"{name!r} is already the name of another breakpoint of this run"
        raise InputError("breakpoint", "name", problem) from None


@router.delete("/runs/{int:run_id}/breakpoints/{int:number}", response={204: None, **REFUSALS})
@permission(write=OWN, action="delete breakpoint")
def drop_breakpoint(request: HttpRequest, run_id: int, number: int) -> Status[None]:
    """Delete a breakpoint."""
    deleted, _ = find(Run, run_id).breakpoints.filter(pk=min(number, MAX_ID)).delete()
    if not deleted:
        raise Http404(f"Run {run_id} has no breakpoint {number}.")
    return Status(204, None)
