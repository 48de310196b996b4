"""The event log of a run. The worker that holds the run writes it in batches; readers read it at their own pace.

A run's events are numbered 1, 2, ... without gaps (`seq`). Each cycle's events are one block, stored in the same
transaction as the cycle, the pod's result and the run's progress. A reader therefore sees all of a cycle or nothing of
it.
"""

import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any

import msgspec
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Model
from django.db.models.functions import Now
from django.utils import timezone

from kubesched_ui.event_log import queue_sizes
from kubesched_ui.event_log.events import Event, event, group_event
from kubesched_ui.event_log.queue_sizes import Move
from kubesched_ui.event_log.rows import TOTALS, CycleRow, GroupRow, RecordEntry, ResultRow, columns_of
from kubesched_ui.event_log.timeline_markers import TimelineMark
from kubesched_ui.fields import pack, unpack
from kubesched_ui.models import Cycle, EventBlock, GroupCycle, Marks, Moves, NodeList, PodResult, RecordingBlock, Run
from scheduler_core.debugger.recording import Block, Recorder

PROGRESS = ["cycles_done", "cycles_total", *TOTALS, "pods_per_s", "last_seq", "clock"]
READ_ROWS = 32  # Rows of one query. A reader often stops after a few.
BLOCK = ("run_id", "first_seq", "last_seq", "pod", "data")
# Columns that a later attempt's result does not replace.
KEPT = {"recorded_message"}


class LostClaim(Exception):
    """Raised if another worker holds the run now, or if the run is over. Nothing more may be written."""


class RunCancelled(Exception):
    """Raised if a user cancelled the run."""


class OutOfTime(Exception):
    """Raised if the run exceeds its time limit."""


@dataclass
class RunLog:
    """Writes a run. Only `flush` writes to the database, and it first checks that this worker still holds the run.
    `notify(seq)` is called after each committed batch."""

    run: Run
    notify: Callable[[int], None] = lambda seq: None
    blocks: list[tuple[Any, ...]] = field(default_factory=list)
    cycles: list[CycleRow] = field(default_factory=list)
    groups: list[GroupRow] = field(default_factory=list)
    results: dict[str, ResultRow] = field(default_factory=dict)
    evicted: dict[str, str] = field(default_factory=dict)
    moves: list[Move] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    marks: list[TimelineMark] = field(default_factory=list)
    node_lists: list[NodeList] = field(default_factory=list)
    block: list[Event] = field(default_factory=list)  # in virtual time, events of `block_pod` without numbers
    block_pod: str = ""
    deadline: float = math.inf  # by time.monotonic()
    recorder: Recorder | None = None  # receives cycles and records before they are added here
    flushed_at: float = field(default_factory=time.monotonic)
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

    def add_cycle(
        self,
        cycle: CycleRow,
        result: ResultRow,
        events: list[Event],
        victims: Collection[str],
        group: Mapping[str, Any] | None = None,
    ) -> None:
        """Append a cycle with its results; flush if the batch is full or old enough. `group`: for a group member, {}
        until the group's cycle is over, then that cycle. A group is written as a whole."""
        run, key = self.run, f"{result.namespace}/{result.name}"
        if run.cycles_done == self.began_with:
            self.began_at = time.monotonic()
        self.cycles.append(cycle)
        for pod, some in groupby(events, key=itemgetter("pod")):  # an evicted pod's event is stored with that pod
            self.add_events(list(some), pod)
        self.results[key] = result
        self.evicted.pop(key, None)  # it is back in the queue, so this cycle's result counts
        self.evicted |= dict.fromkeys(victims, key)
        for count in columns_of(result):
            setattr(run, count, getattr(run, count) + 1)
        run.evicted = (run.evicted or 0) + len(victims)
        run.cycles_done += 1
        if group:
            self.add_group(group, events[-1]["t"])
        elif group is not None:
            return
        if len(self.cycles) >= settings.RUN_BATCH_CYCLES or time.monotonic() - self.flushed_at > settings.RUN_BATCH_S:
            self.flush()

    def add_group(self, group: Mapping[str, Any], t: float) -> None:
        """Append the result of a group."""
        namespace, _, name = group["name"].partition("/")
        members = group["members"]
        first, last, data = members[0]["cycle"], members[-1]["cycle"], pack(msgspec.json.encode(group))
        self.groups.append(GroupRow(first, last, namespace, name, group["result"], len(members), group["bound"], data))
        self.add_events([group_event(group, t)])

    def add_nodes(self, version: int, names: list[str]) -> None:
        """Add the list of nodes to which cycles of this version refer, unless it is stored already."""
        if not self.run.node_lists.filter(version=version).exists():
            self.node_lists.append(NodeList(run=self.run, version=version, names=names))

    def add_entry(self, entry: RecordEntry, cycles: int, counts: Mapping[str, int]) -> None:
        """Append the entry of a record in virtual time. Successive events of one pod form a block. `cycles`: number of
        cycles so far. `counts`: pods by their latest result, keyed by the columns of Run."""
        run = self.run
        if entry.events and entry.pod != self.block_pod:
            self.close_block()
            self.block_pod = entry.pod
        self.block += entry.events
        self.add_moves(entry)
        if entry.nodes is not None:
            version, names = entry.nodes
            self.node_lists.append(NodeList(run=run, version=version, names=names))
        if entry.result is not None:
            self.results[entry.pod] = entry.result
        if entry.cycle is not None:
            self.cycles.append(entry.cycle)
        run.cycles_done = run.cycles_total = cycles
        run.clock = entry.t
        for column in TOTALS:
            setattr(run, column, counts[column])
        full = max(len(self.cycles), len(self.blocks) // 4) >= settings.RUN_BATCH_CYCLES
        if full or time.monotonic() - self.flushed_at > settings.RUN_BATCH_S:
            self.flush()

    def add_moves(self, entry: RecordEntry) -> None:
        """Append the moves and marks of an entry."""
        self.moves += entry.moves
        self.names += entry.names
        self.marks += entry.marks

    def close_block(self) -> None:
        """Number the events of the open block and append it."""
        if self.block:
            self.add_events(self.block, self.block_pod)
            self.block = []

    def flush(self, **changes: Any) -> None:
        """Write all added data, the run's progress and `changes` in one transaction; then notify.

        Raises LostClaim if another worker holds the run. After writing, raises RunCancelled if a user cancelled the
        run, or OutOfTime after the deadline.
        """
        run = self.run
        self.close_block()
        elapsed = time.monotonic() - self.began_at
        run.pods_per_s = round((run.cycles_done - self.began_with) / elapsed, 1) if elapsed > 0 else 0
        values = {name: getattr(run, name) for name in PROGRESS} | {"heartbeat_at": Now()} | changes
        recorded = self.recorder.drain() if self.recorder is not None else []
        with transaction.atomic():
            # This comes first to lock the row: others claim or cancel the run before or after this batch.
            if not Run.objects.held(run).update(**values):
                raise LostClaim
            insert(EventBlock, BLOCK, self.blocks)
            insert(Cycle, ("run_id", *CycleRow._fields), ((run.pk, *row) for row in self.cycles))
            insert(GroupCycle, ("run_id", *GroupRow._fields), ((run.pk, *row) for row in self.groups))
            results = ((run.pk, *row) for row in self.results.values())
            insert(PodResult, ("run_id", *ResultRow._fields), results, unique=("run_id", "namespace", "name"))
            NodeList.objects.bulk_create(self.node_lists)
            if self.moves:
                Moves.objects.create(
                    run=run, first_seq=self.moves[0].seq, data=queue_sizes.encode(self.moves, self.names)
                )
            insert(RecordingBlock, ("run_id", *Block._fields), ((run.pk, *block) for block in recorded))
            if self.marks:
                Marks.objects.create(run=run, first_seq=self.marks[0].seq, data=self.marks)
            for victim, by in self.evicted.items():
                namespace, _, name = victim.partition("/")
                PodResult.objects.filter(run=run, namespace=namespace, name=name).update(evicted_by=by)
            cancelled = Run.objects.filter(pk=run.pk).values_list("cancel_requested", flat=True).get()
        self.clear()
        self.flushed_at = time.monotonic()
        self.notify(run.last_seq)
        if cancelled and not changes:
            raise RunCancelled
        if not changes and time.monotonic() > self.deadline:
            raise OutOfTime

    def clear(self) -> None:
        """Discard added data that is not written."""
        self.blocks, self.cycles, self.groups, self.results, self.evicted = [], [], [], {}, {}
        self.moves, self.names, self.marks, self.node_lists, self.block = [], [], [], [], []

    def set_nominations(self, nominations: Mapping[str, str]) -> None:
        """Write the nominated nodes of pending pods (pod -> node) at the end of the run: a nomination made by a cycle
        may be lost later, and one of the snapshot may last."""
        self.flush()
        rows = PodResult.objects.filter(run=self.run, result=PodResult.Result.UNSCHEDULABLE)
        named = rows.exclude(nominated_node="").values_list("namespace", "name", "nominated_node")
        written = {f"{namespace}/{name}": node for namespace, name, node in named}
        for pod in written.keys() | nominations.keys():
            if written.get(pod) != nominations.get(pod):
                namespace, _, name = pod.partition("/")
                rows.filter(namespace=namespace, name=name).update(nominated_node=nominations.get(pod, ""))
        self.run.nominated = rows.exclude(nominated_node="").count()

    def finish(self, state: str, error: str = "", **changes: Any) -> None:
        """Write `run.finished` and end the run, with `changes` to its row."""
        self.close_block()
        run = self.run
        counts = {name: getattr(run, name) or 0 for name in TOTALS}
        self.add_events([event("run.finished", run.clock, data={"state": state, "error": error, **counts})])
        self.flush(state=state, error=error, finished_at=timezone.now(), worker="", **changes)


def insert(
    model: type[Model], columns: Sequence[str], rows: Iterable[tuple[Any, ...]], unique: Sequence[str] = ()
) -> None:
    """Insert rows, replacing (except for KEPT) those with the same `unique` columns. This is `bulk_create` without an
    object per row, which took longer than the scheduling."""
    sql = f"INSERT INTO {model._meta.db_table} ({', '.join(columns)}) VALUES ({', '.join(['%s'] * len(columns))})"
    if unique:
        changes = [f"{name} = EXCLUDED.{name}" for name in columns if name not in {*unique, *KEPT}]
        sql += f" ON CONFLICT ({', '.join(unique)}) DO UPDATE SET {', '.join(changes)}"
    with connection.cursor() as cursor:
        cursor.executemany(sql, list(rows))


def read_blocks(
    run_id: int, since: int, pod: str = "", limit: int = 100, types: Collection[str] = ()
) -> Iterator[tuple[int, bytes]]:
    """Yield (last seq, JSON list of events) of at most `limit` blocks with events after `since`, in order.

    With `pod`, yield only events of that pod and of the run itself; with `types`, only these types (a list may be
    empty). Rows are read in index order and only as far as needed, so the length of the run does not matter.
    """
    rows = EventBlock.objects.filter(run_id=run_id).values_list("first_seq", "last_seq", "data")
    while limit > 0:
        count = min(limit, READ_ROWS)
        found: list[tuple[int, int, bytes | memoryview]]
        if pod:
            found = of_pods(rows, since, (pod, ""), count)
        else:
            found = list(rows.filter(last_seq__gt=since).order_by("last_seq")[:count])
        for first, last, data in found:
            text = unpack(data)
            if first <= since:  # the reader stopped within this block
                text = msgspec.json.encode([e for e in msgspec.json.decode(text) if e["seq"] > since])
            if types:
                text = msgspec.json.encode([e for e in msgspec.json.decode(text) if e["type"] in types])
            yield last, text
        if len(found) < count:
            return
        since, limit = found[-1][1], limit - count


def of_pods(rows: Any, since: int, pods: Collection[str], limit: int) -> list[tuple[int, int, bytes | memoryview]]:
    """Return the first blocks of these pods ("": of the run itself) with events after `since`, by one index per pod."""
    found = []
    for pod in pods:
        own = rows.filter(pod=pod).order_by("first_seq")
        before = own.filter(first_seq__lte=since).order_by("-first_seq")[:1]  # `since` may be within it
        found += [row for row in before if row[1] > since]
        found += own.filter(first_seq__gt=since)[:limit]
    return sorted(found, key=itemgetter(0))[:limit]


def join(texts: list[bytes]) -> bytes:
    """Join the events of several blocks to one JSON list without decoding them."""
    return b"[" + b",".join(text[1:-1] for text in texts if len(text) > 2) + b"]"
