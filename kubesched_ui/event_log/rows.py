"""Row types of the event log, shared by the code that creates rows and the code that writes them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec
from django.conf import settings

from kubesched_ui.event_log.events import Event
from kubesched_ui.event_log.queue_sizes import Move
from kubesched_ui.event_log.timeline_markers import TimelineMark
from scheduler_core.recording.cycle_index import PlainFacts, Refused
from scheduler_core.recording.recording import Unpacked

# result of a pod -> the column of Run that counts it; see `columns_of`
COUNTS = {
    "scheduled": "placed",
    "waiting": "placed",
    "unschedulable": "unschedulable",
    "gated": "gated",
    "error": "errors",
}
TOTALS = ("placed", "unschedulable", "nominated", "evicted", "gated", "errors")  # columns of Run


def columns_of(result: str, nominated: bool) -> list[str]:
    """Return the columns of Run that count a pod with this result."""
    return [COUNTS[result], *(("nominated",) if result == "unschedulable" and nominated else ())]


class CycleRow(NamedTuple):
    """A Cycle to write; `trace` is encoded by the core."""

    number: int
    namespace: str
    name: str
    attempt: int
    result: str
    trace: bytes
    nodes_version: int = 0


class ResultRow(NamedTuple):
    """A PodResult to write; `reasons` is JSON text."""

    namespace: str
    name: str
    position: int
    result: str
    node: str = ""
    nominated_node: str = ""
    score: int | None = None
    runner_up: str = ""
    margin: int | None = None
    feasible: int = 0
    attempts: int = 1
    message: str = ""
    reasons: str = "[]"
    recorded_message: str = ""
    evicted_by: str = ""
    duration: float = 0.0


class GroupRow(NamedTuple):
    """A GroupCycle to write; `told` is the compressed result of the core's `group_to_dict`."""

    first: int
    last: int
    namespace: str
    name: str
    result: str
    members: int
    bound: int
    told: bytes


class NodeNames(NamedTuple):
    """A list of nodes that differs from the previous one."""

    version: int
    names: list[str]


class SingleCycle(NamedTuple):
    """A cycle that is stored alone. `group`: for a group member, {} until the group's cycle is over, then that
    cycle."""

    cycle: CycleRow
    result: ResultRow
    events: list[Event]
    victims: Collection[str]
    group: Mapping[str, Any] | None = None


class SharedCycles(NamedTuple):
    """Successive cycles that are stored together. `data`: the core's encoded batch. `results`: None for a cycle that
    only placed its pod, since its facts are recorded. `events`: their number."""

    first: int
    nodes_version: int
    data: bytes
    results: list[ResultRow | None]
    events: int


class RecordedBatch(NamedTuple):
    """What is written in one transaction. `recorded`: what the debugger's recorder has recorded."""

    items: list[SingleCycle | SharedCycles | NodeNames]
    recorded: Unpacked


class Repeated(NamedTuple):
    """A cycle that was stored before, for comparison with its row."""

    number: int
    pod: str
    result: str


class AnswerRow(NamedTuple):
    """A WorkloadAnswer to write. `answer`: JSON."""

    kind: str
    namespace: str
    name: str
    pod: str
    number: int
    pods: list[str]
    cause: str
    sentence: str
    answer: bytes
    fixed: bool = False


class Ended(NamedTuple):
    """The end of a run. `nominations`: pod -> node. `answers`: of pods without a node."""

    nominations: dict[str, str]
    answers: Sequence[AnswerRow] = ()


class EventRow(NamedTuple):
    """Successive events of one pod or of the run. `text`: a JSON list."""

    first_seq: int
    last_seq: int
    pod: str
    text: bytes


@dataclass(slots=True)
class TimelineBatch:
    """What is written in one transaction in virtual time.

    `names`: pods with their first move. `nodes`: new lists of nodes. `clock`: the second of the last entry. `number`:
    the number of cycles so far. `groups`: cycles of pod groups. `counts`: pods by their latest result, keyed by the
    columns of Run.
    """

    blocks: list[EventRow] = field(default_factory=list)
    cycles: list[CycleRow] = field(default_factory=list)
    results: dict[str, ResultRow] = field(default_factory=dict)
    moves: list[Move] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    marks: list[TimelineMark] = field(default_factory=list)
    nodes: list[NodeNames] = field(default_factory=list)
    groups: list[Mapping[str, Any]] = field(default_factory=list)
    clock: float = 0.0
    number: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    recorded: Unpacked = field(default_factory=Unpacked)

    @property
    def full(self) -> bool:
        """Whether no more should be added."""
        return max(len(self.cycles), len(self.blocks) // 4) >= settings.RUN_BATCH_CYCLES


@dataclass(slots=True)
class RecordEntry:
    """The data from one record. `events` have no numbers yet; the last one will have the number `seq`. `names`: pods
    with their first move. `group`: the cycle of a pod group."""

    t: float
    pod: str
    seq: int
    events: list[Event]
    cycle: CycleRow | None = None
    result: ResultRow | None = None
    moves: list[Move] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    marks: list[TimelineMark] = field(default_factory=list)
    nodes: NodeNames | None = None
    group: Mapping[str, Any] | None = None


# ---- result of a pod


MAX_REASONS = 20
SCORED_EVENTS, UNSCORED_EVENTS = 14, 12  # of a plain cycle, see `cycle_events`
NONE: dict[str, Any] = {}


def pod_result(events: list[Event], position: int, recorded_message: str, duration: float) -> ResultRow:
    """Return the result. `position`: the pod's index in the run's order; `duration`: seconds that the cycle took."""
    data: dict[str, dict[str, Any]] = {e["type"]: e["data"] for e in events}
    finished, select = data["cycle.finished"], data.get("select", NONE)
    namespace, _, name = events[0]["pod"].partition("/")
    return ResultRow(
        namespace=namespace,
        name=name,
        position=position,
        result=finished["result"],
        node=finished["node"],
        nominated_node=finished["nominated_node"],
        score=select.get("score"),
        runner_up=select.get("runner_up", ""),
        margin=select.get("margin"),
        feasible=data.get("filter", NONE).get("feasible", 0),
        attempts=events[0]["attempt"],
        message=finished["message"],
        reasons=msgspec.json.encode(reasons(data)[:MAX_REASONS]).decode(),
        recorded_message=recorded_message,
        duration=round(duration, 6),
    )


def plain_result(
    facts: PlainFacts, refused: Refused, nodes: Sequence[str], position: int, recorded_message: str
) -> ResultRow:
    """Return the result of a cycle that only placed its pod. `nodes`: the names in row order."""
    namespace, _, name = facts.pod.partition("/")
    scored = facts.score is not None
    return ResultRow(
        *(namespace, name, position, "scheduled", facts.node, "", facts.score),
        *(nodes[facts.other] if scored else "", facts.margin if scored else None, facts.feasible, facts.attempt, ""),
        *(_listed(refused), recorded_message, "", round(facts.seconds, 6)),
    )


def _listed(refused: Refused) -> str:
    if not refused.listed:
        return "[]"
    listed = [{"plugin": plugin, "reason": reason, "nodes": n} for plugin, reason, n in refused.listed[:MAX_REASONS]]
    return msgspec.json.encode(listed).decode()


def reasons(data: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return [{plugin, reason, nodes}]: why nodes, or the pod as a whole (nodes 0), were rejected."""
    whole = [status for point in ("preenqueue", "prefilter") if (status := data.get(point, NONE).get("status"))]
    statuses = [(status, 0) for status in whole]
    statuses += [(refusal, refusal["count"]) for refusal in data.get("filter", NONE).get("refusals", [])]
    return [
        {"plugin": s["plugin"], "reason": reason, "nodes": count} for s, count in statuses for reason in s["reasons"]
    ]
