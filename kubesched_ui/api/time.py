"""Runs in virtual time: queue sizes, the events of an instant, and the timeline of one pod."""

from typing import Annotated, Any

from django.http import Http404, HttpRequest, HttpResponse
from ninja import Field, Query, Router, Schema
from pydantic import WithJsonSchema

from kubesched_ui.accounts.permissions import permission
from kubesched_ui.api.common import MAX_ID, REFUSALS, encoded, find, with_former_names
from kubesched_ui.models import Run
from kubesched_ui.presenters import events_at, pod_timeline, queue_timeline
from kubesched_ui.queries import queue_times

MAX_BINS = 2000
MAX_EVENTS = 1000

router = Router(tags=["runs"])

Parts = list[str | dict[str, str]]


# Tools without `prefixItems` support reject an array without `items`.
Move = Annotated[
    tuple[float, int, int, int],
    WithJsonSchema({"type": "array", "items": {"type": "number"}, "minItems": 4, "maxItems": 4}),
]


class Lanes(Schema):
    """Schema for the API documentation only, like those below; the response is encoded directly."""

    until: float | None = Field(description="End of the run, in virtual seconds.")
    clock: float = Field(description="Current virtual second of the run.")
    pods: list[str]
    moves: list[Move] = Field(
        description="(t, index of the pod, code of the lane, seq); seq 1: pods that were bound before the run"
    )
    lanes: list[str] = Field(description="A lane's code is its index.")
    note: str = Field(description="What was omitted; empty for nothing.")


class MarkOut(Schema):
    kind: str = Field(
        description="step, created, deleted, cordon, taint, allocatable, ...: event_log/timeline_markers.py"
    )
    t: float = Field(description="Time of the first mark.")
    to: float = Field(description="Time of the last mark.")
    count: int = Field(description="Marks of one kind in one interval are merged.")
    texts: list[str] = Field(description="Texts of the first three marks.")


class TrackRow(Schema):
    row: str = Field(description="scenario, nodes, evictions, nominations or warnings")
    marks: list[MarkOut]


class Overview(Schema):
    until: float | None
    clock: float
    from_: float = Field(alias="from", description="Start of the first interval.")
    to: float
    lanes: list[str]
    pods: int = Field(description="Number of pods that were ever in a lane.")
    moves: int = Field(description="Number of moves between lanes.")
    sizes: list[list[int]] = Field(description="For each lane, its largest size in each interval.")
    track: list[TrackRow]


class StretchMoves(Schema):
    """Columns: entry i of each column belongs to move i."""

    t: list[float]
    pod: list[int] = Field(description="Index into `pods`.")
    lane: list[int]
    seq: list[int]


class TimeWindow(Schema):
    from_: float = Field(alias="from")
    to: float = Field(description="Start of the next window, or the current second of the run.")
    lanes: list[str]
    pods: list[str] = Field(description="Pods that move in this window, and the newest other pods of each lane.")
    counts: list[int] = Field(description="Size of each lane at the start of the window, counting all pods.")
    there: list[list[int]] = Field(
        description="For each lane, the `pods` in it at the start of the window, oldest first."
    )
    moves: StretchMoves
    moments: list[float] = Field(description="Times of moves and marks, in order.")
    last_seq: int = Field(description="Number of the last event that the answer considers.")


class Cause(Schema):
    seq: int
    t: float
    parts: Parts


class Line(Schema):
    seq: int
    type: str
    depth: int = Field(description="Indentation: an event is listed below its cause.")
    parts: Parts = Field(description='What happened: text, {"pod": "ns/name"} and {"node": name}.')
    label: str = Field(description="Upstream's name of the event that moved a pod, or empty.")
    lane: str = Field(description="The lane that the pod entered, or empty.")
    cause: Cause | None = Field(description="The cause, if it is not listed above.")


class Moment(Schema):
    t: float
    before: float | None = Field(description="The previous time with events.")
    after: float | None
    events: list[Line]
    next: int | None = Field(description="`since` for the next events; null at the end.")


class History(Schema):
    moves: list[dict[str, Any]] = Field(
        description="{t, from, to, event, seq, cause_seq, cause, until}; `until`: the latest end of a backoff or of "
        "the time in unschedulablePods"
    )
    happened: list[dict[str, Any]] = Field(description="{t, seq, type, lane, text}: events outside of the queue")
    attempts: list[dict[str, Any]] = Field(
        description="{t, number, result, came_to, node, message, seq, plugins}; `came_to`: the result once Permit and "
        "binding are over: scheduled (bound), waiting, binding, refused (by Permit), unbound (binding failed) ..."
    )
    preempted: list[dict[str, Any]] = Field(description="The pods that it preempted: {t, pod, node, seq}")
    preempted_by: dict[str, Any] | None = Field(description="{t, pod, node, seq, cause_seq}")
    critical_path: list[dict[str, Any]] = Field(description="{from_t, to_t, where, waiting_for}")
    note: str = Field(description="What was omitted; empty for nothing.")


SECOND = Query(0.0, ge=0, allow_inf_nan=False)


@router.get("/runs/{int:run_id}/pods/{namespace}/{name}/history", response={200: History, **REFUSALS})
@permission(cost="large")
def pod_history(request: HttpRequest, run_id: int, namespace: str, name: str) -> dict[str, Any]:
    """Return a pod's timeline in virtual time: its moves with their causes, its attempts, and what it waited for."""
    run = find(Run, run_id)
    found = pod_timeline.history(run, namespace, name)
    if not (found["moves"] or found["attempts"] or found["happened"]):
        raise Http404(f"Pod {namespace}/{name} has no events in this run.")
    ends = queue_times.latest_times(run, namespace, name) if found["moves"] else {}
    return found | {"moves": [move | {"until": ends.get(move["seq"])} for move in found["moves"]]}


@router.get("/runs/{int:run_id}/lanes", response={200: Lanes, **REFUSALS})
@permission(cost="large")
def every_move(
    request: HttpRequest, run_id: int, start: float = Query(0.0, ge=0, allow_inf_nan=False, alias="from")
) -> HttpResponse:
    """List when pods moved between the parts of the queue (or to waiting, bound, gone), in virtual time."""
    return encoded(queue_timeline.moves(find(Run, run_id), start))


@router.get("/runs/{int:run_id}/lanes/overview", response={200: Overview, **REFUSALS}, by_alias=True)
@permission(cost="large")
def overview(
    request: HttpRequest,
    run_id: int,
    bins: int = Query(600, ge=1, le=MAX_BINS),
    start: float = Query(0.0, ge=0, allow_inf_nan=False, alias="from"),
    end: float | None = Query(None, ge=0, allow_inf_nan=False, alias="to"),
) -> HttpResponse:
    """Return queue sizes over virtual time in `bins` intervals, with node events and events of the scenario."""
    return encoded(queue_timeline.overview(find(Run, run_id), bins, start, end))


@router.get("/runs/{int:run_id}/lanes/stretch", response={200: TimeWindow, **REFUSALS}, by_alias=True)
@permission(cost="large")
def stretch(request: HttpRequest, run_id: int, t: float = SECOND) -> HttpResponse:
    """Return every move in a time window around `t`, and the queue contents at its start."""
    return encoded(queue_timeline.stretch(find(Run, run_id), t))


@router.get("/runs/{int:run_id}/moment", response={200: Moment, **REFUSALS}, by_alias=True)
@permission(cost="large")
def what_happened(
    request: HttpRequest,
    run_id: int,
    t: float = SECOND,
    since: int = Query(0, ge=0, le=MAX_ID),
    limit: int = Query(200, ge=1, le=MAX_EVENTS),
) -> HttpResponse:
    """Return the events of the last instant up to `t` at which anything happened, in order and with their causes."""
    return encoded(with_former_names(events_at.at(find(Run, run_id), t, since, limit), parts="said", events="told"))
