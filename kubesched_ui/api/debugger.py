"""Debugger queries on a run: the cluster or an object at any timepoint, and a search over cycles.

See docs/debugger.md.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from django.http import Http404, HttpRequest, HttpResponse
from ninja import Field, Query, Router, Schema

from kubesched_ui.api.common import MAX_ID, REFUSALS, Refusal, Text, find
from kubesched_ui.models import Run
from kubesched_ui.queries import search_client
from kubesched_ui.queries.recording_cache import object_at, recording_of
from scheduler_core.debugger import change_stream, timepoints
from scheduler_core.debugger.search import FUNCTIONS, MAX_LENGTH, MAX_LIMIT, VARIABLES
from scheduler_core.debugger.timepoints import Asked
from scheduler_core.errors import InputError

router = Router(tags=["debugger"])

ASKED = {**REFUSALS, 409: Refusal}

Cycle = Annotated[
    int | None, Field(ge=1, le=MAX_ID, description="Before this cycle; one more than there are is the end.")
]
Seconds = Annotated[
    float | None, Field(ge=0, allow_inf_nan=False, description="After everything that happened until that second.")
]
Seq = Annotated[int | None, Field(ge=0, le=MAX_ID, description="Of a run in time: after the event of that number.")]
Since = Annotated[
    float | None,
    Field(ge=0, le=MAX_ID, allow_inf_nan=False, description="Only what changed since then, in the unit of the moment."),
]

Moment = Annotated[int | None, Field(ge=0, le=MAX_ID, description="As `moment` of the map counts.")]


class NodeState(Schema):
    name: str
    allocatable: dict[str, int] = Field(description="cpu in millicores, memory and storage in bytes, else units")
    requested: dict[str, int] = Field(description="By the pods that count there, `pods` their number")
    nonzero_requested: dict[str, int] = Field(description="cpu and memory as scoring counts them, with defaults")
    taints: list[str] = Field(description="key=value:Effect, or key:Effect")
    unschedulable: bool
    pods: list[str] = Field(description="In order of arrival")


class ClusterState(Schema):
    """Schema for the API documentation only; the response is encoded directly."""

    cycle: int = Field(description="The first cycle after this moment")
    t: float = Field(description="The virtual second of the moment")
    nodes: list[NodeState] = Field(description="In the order of every column's rows; with `since` those that changed")
    nominated: dict[str, str | None] = Field(description="Pod -> node; with `since` null: not any more")
    waiting: dict[str, str | None] = Field(description="Pod -> the node it counts on, but is not bound to yet")
    pending: list[str] = Field(description="Pods on no node; with `since` those that were not pending then")
    orphans: dict[str, str | None] = Field(description="Pod -> its node, of nodes that are not there")
    added: list[str] = Field(description="With `since`: nodes that were not there then")
    removed: list[str] = Field(description="With `since`: nodes that are gone")
    since: float | None = Field(None, description="With `since`: the moment it was")
    no_longer_pending: list[str] | None = Field(None, description="With `since`: pods that were pending then")
    order: list[str] | None = Field(None, description="With `since`: all nodes, where their order changed")


class Match(Schema):
    cycle: int
    pod: str
    attempt: int
    t: float


class Matches(Schema):
    matches: list[Match]
    total: int = Field(description="Matching cycles of the whole run")
    next_from: int | None = Field(description="The `from` that continues; null where nothing is left")
    note: str = Field(description="Where nothing matches: in how many cycles the expression has no answer, and why")


class Wrong(Refusal):
    line: int = Field(0, description="Where the expression is wrong, from 1; 0 for as a whole")
    column: int = 0


@router.get("/runs/{int:run_id}/state", response={200: ClusterState, **ASKED})
def state(
    request: HttpRequest, run_id: int, cycle: Cycle = None, t: Seconds = None, seq: Seq = None, since: Since = None
) -> HttpResponse:
    """Return the cluster at a timepoint, from the recording: before a cycle, or after a second or an event; by
    default at the end. With `since`, return only the changes between the two timepoints, in either direction.
    """
    run = asked(run_id, seq)
    return encoded(timepoints.tell(recording_of(run), Asked(cycle, t, seq), since))


@router.get("/runs/{int:run_id}/map", response={200: dict[str, Any], **ASKED})
def picture(request: HttpRequest, run_id: int, cycle: Cycle = None, t: Seconds = None, seq: Seq = None) -> HttpResponse:
    """Return the state at a timepoint in columns, with the data that the map needs: node labels, and requests, owners
    and priorities of pods (scheduler_core/debugger/change_stream.py).
    """
    recording = recording_of(asked(run_id, seq))
    found = change_stream.picture(recording, Asked(cycle, t, seq).moment(recording))
    return encoded(found | ({"cycle": cycle} if cycle is not None else {}))


@router.get("/runs/{int:run_id}/map/tape", response={200: dict[str, Any], **ASKED})
def piece_of_tape(request: HttpRequest, run_id: int, after: Moment = None, until: Moment = None) -> HttpResponse:
    """Return changes after a timepoint of the map, or before one, as many as fit into one response.

    A client can continue in both directions.
    """
    run = asked(run_id, None)
    found = change_stream.tape(recording_of(run), after, until)
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


@router.get("/runs/{int:run_id}/object", response={200: dict[str, Any], **ASKED})
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
    run = asked(run_id, seq)
    moment = Asked(cycle, t, seq).moment(recording_of(run))
    found = object_at(run, kind, f"{namespace}/{name}" if namespace else name, moment)
    if found is None:
        raise Http404(f"There is no {kind[:100]} {name[:253]} at that timepoint.")
    return encoded(found)


def asked(run_id: int, seq: int | None) -> Run:
    """Return the run. Raises InputError if `seq` is given for a single-pass run, which has no numbered events."""
    run: Run = find(Run, run_id)
    if seq is not None and not run.in_time:
        raise InputError("seq", "", "is only for runs in virtual time; use cycle")
    return run


NAMES = ", ".join([*VARIABLES, *(f"{name}(text)" for name in FUNCTIONS)])
WHERE = Query(..., description=f"A CEL expression over a cycle, at most {MAX_LENGTH:,} characters, with {NAMES}")
FROM = Query(None, alias="from", ge=1, le=MAX_ID, description="The cycle to begin at, itself included.")
LIMIT = Query(None, ge=1, le=MAX_LIMIT, description="100 for `all`, else 1, if nothing is said.")


@router.get("/runs/{int:run_id}/find", response={200: Matches, **ASKED, 400: Wrong, 503: Refusal})
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


def encoded(answer: dict[str, Any]) -> HttpResponse:
    return HttpResponse(msgspec.json.encode(answer), content_type="application/json")
