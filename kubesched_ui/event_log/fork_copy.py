"""Copies the shared beginning from a parent run to its fork, row by row, without computing it again."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
from django.db import connection, transaction
from django.db.models import Model

from kubesched_ui.event_log.cycle_batches import batch_of, last_event_before
from kubesched_ui.event_log.log import BATCH, insert
from kubesched_ui.event_log.rows import COUNTS, TOTALS, CycleRow, GroupRow, ResultRow
from kubesched_ui.models import Cycle, CycleBatch, EventBlock, GroupCycle, NodeList, PodResult, RecordingBlock, Run
from kubesched_ui.models.fields import pack, unpack
from kubesched_ui.work.models import LostClaim
from scheduler_core.cycle.trace_batch import TraceBatch
from scheduler_core.errors import InputError
from scheduler_core.recording.recording import Block

CYCLE, EVENTS = CycleRow._fields, ("first_seq", "last_seq", "pod", "data")


def adopt_once(run: Run, parent: Run, blocks: Sequence[Block], rest: list[str], evicted: int = 0) -> None:
    """Copy everything before the fork's cycle from the parent to a fork in a single pass. `blocks`: the beginning of
    its recording. `rest`: the pods still to try. `evicted`: the number of pods evicted so far. Raises LostClaim."""
    number = run.fork_at or 1
    before = Cycle.objects.filter(run=parent, number__lt=number)
    tried = {f"{namespace}/{name}" for namespace, name in before.values_list("namespace", "name")}
    counts: Counter[str] = Counter()
    for result in before.values_list("result", flat=True):
        counts[COUNTS[result]] += 1
    results = PodResult.objects.filter(run=parent, result=PodResult.Result.UNSCHEDULABLE).exclude(nominated_node="")
    counts["nominated"] = sum(f"{row.namespace}/{row.name}" in tried for row in results)
    values: dict[str, Any] = {column: counts[column] for column in TOTALS} | {"evicted": evicted}
    values |= {"cycles_done": number - 1, "last_seq": last_event(parent, number), "node_names": parent.node_names}
    values["remaining"] = rest
    for name, value in values.items():
        setattr(run, name, value)
    with transaction.atomic():
        run.write(**values)
        copy(Cycle, CYCLE, run, parent, "number < %s", number)
        copy(CycleBatch, BATCH[1:], run, parent, "last < %s", number)
        cut_batch(run, parent, number)
        copy(GroupCycle, GroupRow._fields, run, parent, "last < %s", number)
        copy(EventBlock, EVENTS, run, parent, "last_seq <= %s", run.last_seq)
        newest = max(before.values_list("nodes_version", flat=True), default=0)
        copy(NodeList, ("version", "names"), run, parent, "version <= %s", newest)
        insert(RecordingBlock, ("run_id", *Block._fields), ((run.pk, *block) for block in blocks))
        adopt_results(run, parent, tried)


def cut_batch(run: Run, parent: Run, number: int) -> None:
    """Copy the cycles before `number` of the batch that contains the cycle."""
    batch = batch_of(parent.pk, number)
    if batch is not None and batch.first < number:
        data = TraceBatch(bytes(batch.data)).head(number - batch.first)
        seqs, version = (batch.first_seq, run.last_seq), batch.nodes_version
        insert(CycleBatch, BATCH, [(run.pk, batch.first, number - 1, *seqs, version, data)])


def adopt_results(run: Run, parent: Run, tried: set[str]) -> None:
    """Copy the results of these pods as they were then, without later evictions."""
    rows = PodResult.objects.filter(run=parent).order_by("position").values_list(*ResultRow._fields)
    kept = []
    for row in (ResultRow(*values) for values in rows.iterator(chunk_size=2000)):
        if f"{row.namespace}/{row.name}" in tried:
            evicted = row.evicted_by if row.evicted_by in tried else ""
            reasons = msgspec.json.encode(row.reasons).decode()
            kept.append(row._replace(evicted_by=evicted, reasons=reasons))
    insert(PodResult, ("run_id", *ResultRow._fields), ((run.pk, *row) for row in kept))


def last_event(parent: Run, number: int) -> int:
    """Return the number of the last event before a cycle of a single pass."""
    batched = last_event_before(parent, number)
    if batched is not None:
        return batched
    cycle = Cycle.objects.filter(run=parent, number=number).only("namespace", "name").first()
    blocks = EventBlock.objects.filter(run=parent).order_by("first_seq")
    if cycle is not None:
        first = blocks.filter(pod=f"{cycle.namespace}/{cycle.name}").first()
    else:
        first = blocks.filter(pod="").last()  # run.finished, or else run.started
        first = first if first is not None and first.first_seq > 1 else None
    return first.first_seq - 1 if first is not None else parent.last_seq


def adopt_in_time(run: Run, parent_id: int, number: int, seq: int) -> None:
    """Replace repeated cycles before `number` and events up to `seq` by the parent's. Raises InputError if they
    differ."""
    table = Cycle._meta.db_table
    with transaction.atomic():
        if not run.held().exists():
            raise LostClaim
        if not Run.objects.filter(pk=parent_id).exists():
            return  # deleted in the meantime: the repeated data stays
        check_same(run.pk, parent_id, seq)
        with connection.cursor() as cursor:
            theirs = f"FROM {table} p WHERE p.run_id = %s AND p.number = {table}.number"
            cursor.execute(
                f"UPDATE {table} SET trace = (SELECT p.trace {theirs}) WHERE run_id = %s AND number < %s "
                f"AND EXISTS (SELECT 1 {theirs})",
                [parent_id, run.pk, number, parent_id],
            )
        EventBlock.objects.filter(run=run, last_seq__lte=seq).delete()
        copy(EventBlock, EVENTS, run, Run(pk=parent_id), "last_seq <= %s", seq)
        cut = EventBlock.objects.filter(run_id=parent_id, first_seq__lte=seq, last_seq__gt=seq).first()
        if cut is not None:
            events = [event for event in msgspec.json.decode(unpack(cut.data)) if event["seq"] <= seq]
            data = pack(msgspec.json.encode(events))
            EventBlock.objects.create(run=run, first_seq=cut.first_seq, last_seq=seq, pod=cut.pod, data=data)


def check_same(run_id: int, parent_id: int, seq: int) -> None:
    """Raise InputError unless the event with this number is the same in both runs."""
    found = []
    for pk in (run_id, parent_id):
        block = EventBlock.objects.filter(run_id=pk, first_seq__lte=seq, last_seq__gte=seq).first()
        events = msgspec.json.decode(unpack(block.data)) if block is not None else []
        found.append(next((event for event in events if event["seq"] == seq), None))
    if seq > 1 and found[0] != found[1]:
        problem = f"run {parent_id} was recorded by another version, which decides differently; fork a new run instead"
        raise InputError("Fork", "", problem)


def copy(model: type[Model], columns: Sequence[str], run: Run, parent: Run, where: str, value: int) -> None:
    """Copy rows of the parent to the run."""
    table, names = model._meta.db_table, ", ".join(columns)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} (run_id, {names}) SELECT %s, {names} FROM {table} WHERE run_id = %s AND {where}",
            [run.pk, parent.pk, value],
        )
