"""Event log: numbering, fencing, cancelling, reading."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from django.utils import timezone

from kubesched_ui.event_log.events import event
from kubesched_ui.event_log.log import RunLog, join, read_blocks
from kubesched_ui.event_log.rows import CycleRow, ResultRow, SingleCycle
from kubesched_ui.models import Cycle, EventBlock, PodResult, Run, Scenario
from kubesched_ui.work.models import Cancelled, LostClaim

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    run = Run.objects.create(scenario=Scenario.objects.create(name="one"))
    claimed = Run.objects.claim(run.pk, "worker-a")
    assert claimed
    return claimed


def add(log: RunLog, number: int, result: str = "scheduled", victims: list[str] | None = None, name: str = "") -> None:
    """Add a made-up cycle with three events."""
    name = name or f"p{number}"
    cycle = CycleRow(number, "ns", name, 1, result, b"")
    outcome = ResultRow("ns", name, number, result)
    events = [event(kind, 0.0, f"ns/{name}", 1) for kind in ("cycle.started", "filter", "cycle.finished")]
    log.add_cycle(SingleCycle(cycle, outcome, events, victims or []))


def stored(run: Run, since: int = 0, pod: str = "") -> list[dict[str, Any]]:
    texts = [text for _, text in read_blocks(run.pk, since, pod, 10_000)]
    events: list[dict[str, Any]] = msgspec.json.decode(join(texts))
    return events


def test_events_are_numbered_without_gaps_and_read_from_any_number(run: Run) -> None:
    log = RunLog(run)
    log.add_events([event("run.started", 0.0)])
    for number in range(1, 5):
        add(log, number)
    log.finish(Run.State.DONE)
    assert [e["seq"] for e in stored(run)] == list(range(1, 15))
    for since in range(15):
        assert [e["seq"] for e in stored(run, since)] == list(range(since + 1, 15))
    assert {e["pod"] for e in stored(run, pod="ns/p2")} == {"", "ns/p2"}
    run.refresh_from_db()
    assert (run.state, run.cycles_done, run.placed, run.last_seq) == ("done", 4, 4, 14)


def test_progress_cycles_results_and_events_are_written_together(run: Run) -> None:
    log = RunLog(run)
    seen: list[int] = []
    log.notify = seen.append
    add(log, 1)
    add(log, 2, "unschedulable")
    assert not EventBlock.objects.exists()
    add(log, 3, "gated")
    log.flush()
    assert seen == [9]
    assert Cycle.objects.count() == PodResult.objects.count() == EventBlock.objects.count() == 3
    run.refresh_from_db()
    assert (run.placed, run.unschedulable, run.gated, run.errors) == (1, 1, 1, 0)


def test_a_replaced_worker_writes_nothing(run: Run) -> None:
    log = RunLog(run)
    Run.objects.filter(pk=run.pk).update(heartbeat_at=timezone.now() - timedelta(minutes=1))
    second = Run.objects.claim(run.pk, "worker-b")
    assert second
    add(log, 1)
    with pytest.raises(LostClaim):
        log.flush()
    assert not EventBlock.objects.exists()
    other = RunLog(second)
    add(other, 1)
    other.finish(Run.State.DONE)
    assert [e["seq"] for e in stored(run)] == [1, 2, 3, 4]


def test_only_one_worker_claims_a_run_and_none_a_finished_one(run: Run) -> None:
    assert Run.objects.claim(run.pk, "worker-b") is None
    RunLog(run).finish(Run.State.DONE)
    assert Run.objects.claim(run.pk, "worker-b") is None


def test_cancelling_keeps_recorded_cycles(run: Run) -> None:
    log = RunLog(run)
    add(log, 1)
    Run.objects.filter(pk=run.pk).update(cancel_requested=True)
    with pytest.raises(Cancelled):
        log.flush()
    log.finish(Run.State.CANCELLED)
    run.refresh_from_db()
    assert (run.state, run.cycles_done) == ("cancelled", 1)
    assert stored(run)[-1]["data"]["state"] == "cancelled"


def test_a_deleted_run_stops_its_worker(run: Run) -> None:
    log = RunLog(run)
    add(log, 1)
    Run.objects.filter(pk=run.pk).delete()
    with pytest.raises(LostClaim):
        log.flush()


def test_a_second_attempt_replaces_the_result_and_an_eviction_is_recorded(run: Run) -> None:
    log = RunLog(run)
    add(log, 1, "unschedulable", name="a")
    add(log, 2, name="b")
    log.flush()
    add(log, 3, name="a", victims=["ns/b"])
    log.flush()
    a, b = PodResult.objects.order_by("name")
    assert (a.result, a.evicted_by) == ("scheduled", "")
    assert (b.result, b.evicted_by) == ("scheduled", "ns/a")
    add(log, 4, "unschedulable", name="b")
    log.flush()
    b.refresh_from_db()
    assert (b.result, b.evicted_by) == ("unschedulable", "")
