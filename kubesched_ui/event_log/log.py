"""The event log of a run. The worker that holds the run writes it in batches; readers read it at their own pace.

A run's events are numbered 1, 2, ... without gaps (`seq`). Each cycle's events are one block, stored in the same
transaction as the cycle, the pod's result and the run's progress. A reader therefore sees all of a cycle or nothing of
it. The blocks of cycles that are stored in batches are made when they are read (`cycle_batches.py`).
"""

import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import merge
from itertools import groupby, islice, pairwise
from operator import attrgetter, itemgetter
from typing import Any

import msgspec
from django.db import connection, transaction
from django.db.models import Model
from django.db.models.functions import Now
from django.utils import timezone

from kubesched_ui.event_log import cycle_batches, queue_sizes
from kubesched_ui.event_log.cycle_batches import EventRange
from kubesched_ui.event_log.events import Event, event, group_event
from kubesched_ui.event_log.queue_sizes import Move
from kubesched_ui.event_log.row_queries import rows_after
from kubesched_ui.event_log.rows import (
    TOTALS,
    AnswerRow,
    CycleRow,
    GroupRow,
    NodeNames,
    RecordedBatch,
    ResultRow,
    SharedCycles,
    SingleCycle,
    TimelineBatch,
    columns_of,
    plain_result,
)
from kubesched_ui.event_log.timeline_markers import TimelineMark
from kubesched_ui.models import (
    Cycle,
    CycleBatch,
    EventBlock,
    GroupCycle,
    Marks,
    Moves,
    NodeList,
    PodResult,
    RecordingBlock,
    Run,
    WorkloadAnswer,
)
from kubesched_ui.models.fields import pack, unpack
from kubesched_ui.work.models import Cancelled
from scheduler_core.cycle.trace_batch import deflate
from scheduler_core.recording.cycle_index import PlainFacts, Refused
from scheduler_core.recording.recording import Block, blocks_of

PROGRESS = ["cycles_done", "cycles_total", *TOTALS, "pods_per_s", "last_seq", "clock"]
READ_ROWS = 32  # Rows of one query. A reader often stops after a few.
BATCH = ("run_id", "first", "last", "first_seq", "last_seq", "nodes_version", "data")
BLOCK = ("run_id", "first_seq", "last_seq", "pod", "data")
# Columns that a later attempt's result does not replace.
KEPT = {"recorded_message"}


class OutOfTime(Exception):
    """Raised if the run exceeds its time limit."""


@dataclass
class ResultNames:
    """What the results of a single pass contain besides what their cycles say.

    `nodes`: in row order. `positions`: of pods in the run's order; empty for those of the cycles. `changed`: the number
    of the cycle before which a fork changes the run, 0 for none. `recorded`: messages of the real cluster by pod.
    """

    nodes: list[str] = field(default_factory=list)
    positions: Mapping[str, int] = field(default_factory=dict)
    changed: int = 0
    recorded: Mapping[str, str] = field(default_factory=dict)

    def result(self, number: int, made: ResultRow | tuple[PlainFacts, Refused]) -> ResultRow:
        """Return the whole result of a cycle."""
        pod = f"{made.namespace}/{made.name}" if isinstance(made, ResultRow) else made[0].pod
        position, message = number - 1, self.recorded.get(pod, "")
        if not self.changed or number < self.changed:
            position = self.positions.get(pod, position)
        if isinstance(made, ResultRow):
            return made._replace(position=position, recorded_message=message)
        return plain_result(*made, self.nodes, position, message)


@dataclass
class RunLog:
    """Writes a run. Only `flush` writes to the database, and it first checks that this worker still holds the run.
    `notify(seq)` is called after each committed batch."""

    run: Run
    notify: Callable[[int], None] = lambda seq: None
    blocks: list[tuple[Any, ...]] = field(default_factory=list)
    batches: list[tuple[Any, ...]] = field(default_factory=list)
    cycles: list[CycleRow] = field(default_factory=list)
    groups: list[GroupRow] = field(default_factory=list)
    results: dict[str, ResultRow] = field(default_factory=dict)
    evicted: dict[str, str] = field(default_factory=dict)
    moves: list[Move] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    marks: list[TimelineMark] = field(default_factory=list)
    node_lists: list[NodeList] = field(default_factory=list)
    deadline: float = math.inf  # by time.monotonic()
    recorded: list[Block] = field(default_factory=list)
    answers: Sequence[AnswerRow] = ()
    names_of: ResultNames = field(default_factory=lambda: ResultNames())  # of a single pass
    began_at: float = field(default_factory=time.monotonic)
    began_with: int = 0

    def __post_init__(self) -> None:
        self.began_with = self.run.cycles_done

    def add_events(self, events: list[Event], pod: str = "") -> None:
        """Number `events` ({t, type, pod, attempt, data}) and append them as one block."""
        first = self.run.last_seq + 1
        numbered = [{"seq": seq, **event} for seq, event in enumerate(events, first)]
        self.run.last_seq += len(events)
        data = pack(msgspec.json.encode(numbered))
        self.blocks.append((self.run.pk, first, self.run.last_seq, pod, data))

    def write(self, batch: RecordedBatch) -> None:
        """Write cycles of a single pass in one transaction. Raises the exceptions of `flush`."""
        plain = iter(batch.recorded.plain_cycles())
        for item in batch.items:
            if isinstance(item, SharedCycles):
                self.add_cycles(item, plain)
            elif isinstance(item, NodeNames):
                self.add_nodes(*item)
            else:
                self.add_cycle(item)
        self.recorded += blocks_of(batch.recorded)
        self.flush()

    def add_cycle(self, added: SingleCycle) -> None:
        """Append a cycle that is stored alone, with its results and events."""
        run, result = self.run, self.names_of.result(added.cycle.number, added.result)
        key = f"{result.namespace}/{result.name}"
        self._count_from_here()
        self.cycles.append(added.cycle)
        for pod, some in groupby(added.events, key=itemgetter("pod")):  # an evicted pod's event is stored with that pod
            self.add_events(list(some), pod)
        self.results[key] = result
        self.evicted.pop(key, None)  # it is back in the queue, so this cycle's result counts
        self.evicted |= dict.fromkeys(added.victims, key)
        for count in columns_of(result.result, bool(result.nominated_node)):
            setattr(run, count, getattr(run, count) + 1)
        run.evicted = (run.evicted or 0) + len(added.victims)
        run.cycles_done += 1
        if added.group:
            self.add_group(added.group, added.events[-1]["t"])

    def add_cycles(self, added: SharedCycles, plain: Iterator[tuple[PlainFacts, Refused]]) -> None:
        """Append cycles that are stored together. `plain`: facts of cycles that only placed their pods."""
        run, whole = self.run, self.names_of.result
        results = [whole(number, row or next(plain)) for number, row in enumerate(added.results, added.first)]
        self._count_from_here()
        first, first_seq = added.first, run.last_seq + 1
        last, run.last_seq = first + len(results) - 1, run.last_seq + added.events
        seqs, version = (first_seq, run.last_seq), added.nodes_version
        self.batches.append((run.pk, first, last, *seqs, version, deflate(added.data)))
        self.cycles += [
            CycleRow(number, row.namespace, row.name, row.attempts, row.result, b"", version)
            for number, row in enumerate(results, first)
        ]
        keys = [f"{row.namespace}/{row.name}" for row in results]
        self.results.update(zip(keys, results, strict=True))
        if self.evicted:
            for key in keys:
                self.evicted.pop(key, None)
        for (result, nominated), number in Counter((row.result, bool(row.nominated_node)) for row in results).items():
            for count in columns_of(result, nominated):
                setattr(run, count, getattr(run, count) + number)
        run.evicted = run.evicted or 0
        run.cycles_done += len(results)

    def _count_from_here(self) -> None:
        if self.run.cycles_done == self.began_with:
            self.began_at = time.monotonic()

    def add_group(self, group: Mapping[str, Any], t: float) -> None:
        """Append the result of a group and its event."""
        self.groups.append(_group_row(group))
        self.add_events([group_event(group, t)])

    def add_nodes(self, version: int, names: list[str]) -> None:
        """Add the list of nodes to which cycles of this version refer, unless it is stored already."""
        self.names_of.nodes = names
        if not self.run.node_lists.filter(version=version).exists():
            self.node_lists.append(NodeList(run=self.run, version=version, names=names))

    def write_timeline(self, batch: TimelineBatch) -> None:
        """Write records of a run in virtual time in one transaction. Raises the exceptions of `flush`."""
        run = self.run
        for first, last, pod, text in batch.blocks:
            self.blocks.append((run.pk, first, last, pod, pack(text)))
            run.last_seq = last
        self.cycles, self.results = batch.cycles, batch.results
        self.moves, self.names, self.marks = batch.moves, batch.names, batch.marks
        self.node_lists = [NodeList(run=run, version=version, names=names) for version, names in batch.nodes]
        self.groups = [_group_row(group) for group in batch.groups]
        run.cycles_done = run.cycles_total = batch.number
        run.clock = batch.clock
        for column in TOTALS:
            setattr(run, column, batch.counts.get(column, 0))
        self.recorded += blocks_of(batch.recorded)
        self.flush()

    def flush(self, **changes: Any) -> None:
        """Write all added data, the run's progress and `changes` in one transaction; then notify.

        Raises LostClaim if another worker holds the run. After writing, raises Cancelled if a user cancelled the
        run, or OutOfTime after the deadline.
        """
        run = self.run
        elapsed = time.monotonic() - self.began_at
        run.pods_per_s = round((run.cycles_done - self.began_with) / elapsed, 1) if elapsed > 0 else 0
        self._check()
        values = {name: getattr(run, name) for name in PROGRESS} | {"heartbeat_at": Now()} | changes
        with transaction.atomic():
            # This comes first to lock the row: others claim or cancel the run before or after this batch.
            run.write(**values)
            insert(EventBlock, BLOCK, self.blocks)
            insert(CycleBatch, BATCH, self.batches)
            insert(Cycle, ("run_id", *CycleRow._fields), ((run.pk, *row) for row in self.cycles))
            insert(GroupCycle, ("run_id", *GroupRow._fields), ((run.pk, *row) for row in self.groups))
            results = ((run.pk, *row) for row in self.results.values())
            insert(PodResult, ("run_id", *ResultRow._fields), results, unique=("run_id", "namespace", "name"))
            NodeList.objects.bulk_create(self.node_lists)
            if self.moves:
                Moves.objects.create(
                    run=run, first_seq=self.moves[0].seq, data=queue_sizes.encode(self.moves, self.names)
                )
            insert(RecordingBlock, ("run_id", *Block._fields), ((run.pk, *block) for block in self.recorded))
            insert_answers(run, self.answers)
            if self.marks:
                Marks.objects.create(run=run, first_seq=self.marks[0].seq, data=self.marks)
            for victim, by in self.evicted.items():
                namespace, _, name = victim.partition("/")
                PodResult.objects.filter(run=run, namespace=namespace, name=name).update(evicted_by=by)
            cancelled = Run.objects.filter(pk=run.pk).values_list("cancel_requested", flat=True).get()
        self.clear()
        self.notify(run.last_seq)
        if cancelled and not changes:
            raise Cancelled
        if not changes and time.monotonic() > self.deadline:
            raise OutOfTime

    def _check(self) -> None:
        """Check what readers of the log rely on: numbers without gaps, and sums that agree with the cycles."""
        run = self.run
        ranges = sorted([block[1:3] for block in self.blocks] + [batch[3:5] for batch in self.batches])
        assert all(after[0] == before[1] + 1 for before, after in pairwise(ranges)), "events have no gap"
        assert not ranges or ranges[-1][1] == run.last_seq, "the last event is the newest"
        if cycles := self.cycles:
            assert cycles[-1].number == run.cycles_done == cycles[0].number + len(cycles) - 1, "cycles have no gap"
        if not run.in_time:
            assert run.placed + run.unschedulable + run.gated + run.errors == run.cycles_done, "each cycle counts once"

    def clear(self) -> None:
        """Discard added data that is not written."""
        self.blocks, self.batches, self.cycles, self.groups, self.recorded = [], [], [], [], []
        self.results, self.evicted = {}, {}
        self.moves, self.names, self.marks, self.node_lists = [], [], [], []
        self.answers = ()

    def set_nominations(self, nominations: Mapping[str, str]) -> None:
        """Write the nominated nodes of pending pods (pod -> node) at the end of the run: a nomination made by a cycle
        may be lost later, and one of the snapshot may last."""
        if not (nominations or self.run.unschedulable):
            return
        rows = PodResult.objects.filter(run=self.run, result=PodResult.Result.UNSCHEDULABLE)
        named = rows.exclude(nominated_node="").values_list("namespace", "name", "nominated_node")
        written = {f"{namespace}/{name}": node for namespace, name, node in named}
        for pod in written.keys() | nominations.keys():
            if written.get(pod) != nominations.get(pod):
                namespace, _, name = pod.partition("/")
                rows.filter(namespace=namespace, name=name).update(nominated_node=nominations.get(pod, ""))
        self.run.nominated = rows.exclude(nominated_node="").count()

    def set_answers(self, answers: Iterable[AnswerRow]) -> None:
        """Add answers about pods without a node, without pods that the run did not try."""
        pending = set(PodResult.objects.filter(run=self.run).without_node().pod_keys())
        shown = [(row, [pod for pod in row.pods if pod in pending]) for row in answers]
        assert len({pod for _, pods in shown for pod in pods}) == sum(len(pods) for _, pods in shown), "one answer each"
        self.answers = [row._replace(pod=pods[0], pods=pods, number=len(pods)) for row, pods in shown if pods]

    def finish(self, state: str, error: str = "", **changes: Any) -> None:
        """Write `run.finished` and end the run, with `changes` to its row."""
        run = self.run
        counts = {name: getattr(run, name) or 0 for name in TOTALS}
        self.add_events([event("run.finished", run.clock, data={"state": state, "error": error, **counts})])
        self.flush(state=state, error=error, finished_at=timezone.now(), worker="", **changes)


def insert_answers(run: Run, answers: Sequence[AnswerRow]) -> None:
    """Insert answers, replacing those about the same pods. Their messages become those of the run, which also say what
    preemption found."""
    if not answers:
        return
    columns = PodResult.objects.filter(run=run).without_node().values_list("namespace", "name", "message")
    messages = {f"{namespace}/{name}": message for namespace, name, message in columns.iterator(chunk_size=2000)}
    rows = []
    for row in answers:
        answer = msgspec.json.decode(row.answer) | {"message": messages.get(row.pod, "")}
        packed = {"pods": pack(msgspec.json.encode(row.pods)), "answer": pack(msgspec.json.encode(answer))}
        rows.append((run.pk, *(row._asdict() | packed).values()))
    insert(WorkloadAnswer, ("run_id", *AnswerRow._fields), rows, unique=("run_id", "pod"))


def insert(
    model: type[Model], columns: Sequence[str], rows: Iterable[tuple[Any, ...]], unique: Sequence[str] = ()
) -> None:
    """Insert rows, replacing (except for KEPT) those with the same `unique` columns. This is `bulk_create` without an
    object per row, which took longer than the scheduling."""
    sql = f"INSERT INTO {model._meta.db_table} ({', '.join(columns)}) VALUES ({', '.join(['%s'] * len(columns))})"
    if unique:
        changes = [f"{name} = EXCLUDED.{name}" for name in columns if name not in {*unique, *KEPT}]
        sql += f" ON CONFLICT ({', '.join(unique)}) DO UPDATE SET {', '.join(changes)}"
    if values := list(rows):
        with connection.cursor() as cursor:
            cursor.executemany(sql, values)


def read_blocks(
    run_id: int, since: int, pod: str = "", limit: int = 100, types: Collection[str] = ()
) -> Iterator[tuple[int, bytes]]:
    """Yield (last seq, JSON list of events) of at most `limit` blocks with events after `since`, in order.

    With `pod`, yield only events of that pod and of the run itself; with `types`, only these types (a list may be
    empty). Rows are read in index order and only as far as needed, so the length of the run does not matter.
    """
    if pod:
        # Two tables are read. What is written between these queries is left to the next reader.
        until: float = Run.everything.filter(pk=run_id).values_list("last_seq", flat=True).first() or 0
        found = merge(_of_pods(run_id, since, (pod, "")), cycle_batches.events_of_pod(run_id, pod, since), key=_BY_SEQ)
    else:
        until = math.inf
        found = merge(_stored_after(run_id, since), cycle_batches.events_after(run_id, since), key=_BY_SEQ)
    reached = since
    for block in islice(found, limit):
        if block.last_seq > until or (not pod and block.first_seq > reached + 1):
            return
        reached, text = block.last_seq, block.read()
        if block.first_seq <= since:  # the reader stopped within this block
            text = msgspec.json.encode([e for e in msgspec.json.decode(text) if e["seq"] > since])
        if types:
            text = msgspec.json.encode([e for e in msgspec.json.decode(text) if e["type"] in types])
        yield reached, text


def read_pod(run_id: int, pod: str) -> Iterator[bytes]:
    """Yield the events of a pod, in order, as JSON lists."""
    for block in merge(_of_pods(run_id, 0, (pod,)), cycle_batches.events_of_pod(run_id, pod, 0), key=_BY_SEQ):
        yield block.read()


_BY_SEQ = attrgetter("first_seq")
STORED = ("first_seq", "last_seq", "data")


def _stored_after(run_id: int, since: int) -> Iterator[EventRange]:
    while found := rows_after(EventBlock, STORED, run_id, since, READ_ROWS):
        yield from (EventRange(first, last, partial(unpack, data)) for first, last, data in found)
        since = found[-1][1]


def _of_pods(run_id: int, since: int, pods: Collection[str]) -> Iterator[EventRange]:
    """Yield the blocks of these pods ("": of the run itself) with events after `since`, by one index per pod."""
    rows = EventBlock.objects.filter(run_id=run_id).values_list(*STORED)
    while True:
        found = []
        for pod in pods:
            own = rows.filter(pod=pod).order_by("first_seq")
            before = own.filter(first_seq__lte=since).order_by("-first_seq")[:1]  # `since` may be within it
            found += [row for row in before if row[1] > since]
            found += own.filter(first_seq__gt=since)[:READ_ROWS]
        found = sorted(found, key=itemgetter(0))[:READ_ROWS]
        yield from (EventRange(first, last, partial(unpack, data)) for first, last, data in found)
        if len(found) < READ_ROWS:
            return
        since = found[-1][1]


def join(texts: list[bytes]) -> bytes:
    """Join the events of several blocks to one JSON list without decoding them."""
    return b"[" + b",".join(text[1:-1] for text in texts if len(text) > 2) + b"]"


def _group_row(group: Mapping[str, Any]) -> GroupRow:
    namespace, _, name = group["name"].partition("/")
    members = group["members"]
    first, last, data = members[0]["cycle"], members[-1]["cycle"], pack(msgspec.json.encode(group))
    return GroupRow(first, last, namespace, name, group["result"], len(members), group["bound"], data)
