"""Stored data of a run, without durations, to compare two runs."""

from typing import Any

import msgspec
import pytest

from kubesched_ui.event_log import queue_sizes
from kubesched_ui.event_log.cycle_batches import TraceReader
from kubesched_ui.event_log.log import read_blocks
from kubesched_ui.models import Cycle, Marks, Moves, Run
from kubesched_ui.queries.recording_cache import recording_of
from kubesched_ui.runs import services
from kubesched_ui.runs.tasks import execute_run
from scheduler_core.recording.cluster_state import StateAtTimepoint

COUNTERS = ("placed", "unschedulable", "gated", "errors", "cycles_done", "cycles_total", "last_seq", "node_names")


def events_of(run: Run) -> list[Any]:
    return [event for _, text in read_blocks(run.pk, 0, limit=1_000_000) for event in msgspec.json.decode(text)]


def cycles_of(run: Run, before: int | None = None) -> list[Any]:
    rows = Cycle.objects.filter(run=run).order_by("number")
    rows = rows if before is None else rows.filter(number__lt=before)
    return list(rows.values_list("number", "namespace", "name", "attempt", "result", "nodes_version", "trace"))


def decided(run: Run) -> list[Any]:
    """Return the cycles without their durations."""
    found = []
    reader = TraceReader(run.pk)
    for *head, data in cycles_of(run):
        trace = reader.trace(head[0], data)
        trace.durations = {}
        found.append((head, trace.encode()))
    return found


def recorded(run: Run) -> dict[str, Any]:
    """Return everything that is stored of a run but durations and primary keys."""
    moves = Moves.objects.filter(run=run).order_by("first_seq").values_list("data", flat=True)
    columns = queue_sizes.decode(list(moves))
    marks = Marks.objects.filter(run=run).order_by("first_seq").values_list("data", flat=True)
    results = run.pod_results.order_by("position", "name").values()
    return {
        "counters": {name: getattr(run, name) for name in (*COUNTERS, "clock", "state", "error")},
        "cycles": decided(run),
        "events": events_of(run),
        "results": [{k: v for k, v in row.items() if k not in ("id", "run_id", "duration")} for row in results],
        "lists": list(run.node_lists.order_by("version").values_list("version", "names")),
        "moves": [column if isinstance(column, list) else column.tolist() for column in columns],
        "marks": [mark for data in marks for mark in data],
    }


def assert_alike(run: Run, other: Run) -> None:
    """Compare all stored data of two runs, and the cluster states derived from it."""
    mine, theirs = recorded(run), recorded(other)
    for name, value in mine.items():
        assert value == theirs[name], name
    recordings = [recording_of(run), recording_of(other)]
    assert [recording.cycles for recording in recordings] == [run.cycles_done] * 2
    for number in range(1, run.cycles_done + 2):
        states = [StateAtTimepoint(recording, recording.before_cycle(number)).as_dict() for recording in recordings]
        assert states[0] == states[1]


def lose_worker(monkeypatch: pytest.MonkeyPatch, number: int, after: int) -> None:
    """Execute a run until its worker dies after some batches of a single pass."""
    write, count = services.RunLog.write, iter(range(1, 100))

    def dying(log: Any, *args: Any) -> None:
        write(log, *args)
        if next(count) == after:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(services.RunLog, "write", dying)
        with pytest.raises(KeyboardInterrupt):
            execute_run(number)
    Run.objects.filter(pk=number).update(heartbeat_at=None)
