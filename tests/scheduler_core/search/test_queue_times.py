"""Every time of every pod in the queue is explained as recorded, for conformance cases and samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from scheduler_core.queue.hints import Hints
from scheduler_core.queue.scheduling_queue import event_of
from scheduler_core.search.provenance import DISAGREES, NotDecided
from scheduler_core.search.queue_times import Failed, Move, MoveCause, QueueTimes, Rules, rules_of
from scheduler_core.simulation import Simulation
from scheduler_core.virtual_time.engine import Record
from tests.conformance import golden_cases
from tests.examples import selection
from tests.scheduler_core.provenance.evaluate import problems
from tests.scheduler_core.recording.core_states import timeline_of_case
from tests.scheduler_core.virtual_time.test_engine_properties import a_run

pytestmark = pytest.mark.slow


def moves_of(records: Iterable[Record], pod: str) -> Iterator[Move | Failed]:
    """Return the history of a pod from the records of a run."""
    known, cycle, attempt = {0: ""}, 0, 0
    for record in records:
        data = record.data
        known[record.seq] = record.kind
        cycle += record.kind == "attempt"
        if data.get("pod") != pod:
            continue
        if record.kind == "attempt":
            attempt = data["attempt"]
        if record.kind == "queue.moved":
            cause = MoveCause(known[record.cause], record.cause)
            yield Move(record.seq, record.time, data["from"], data["to"], data["event"], cause)
        elif record.kind == "attempt" and data["result"] not in ("scheduled", "waiting"):
            yield Failed(record.seq, record.time, attempt, cycle, tuple(data.get("plugins", ())))
        elif record.kind in ("permit.rejected", "bind.failed"):
            yield Failed(record.seq, record.time, attempt, cycle, tuple(data["plugins"]))


def rules(simulation: Simulation) -> Rules:
    hints = Hints(simulation.scheduler.profiles, simulation.release)
    profile = next(iter(simulation.scheduler.profiles))

    def woken_by(failed: Failed, label: str) -> list[str]:
        event = event_of(label)
        return sorted(hints.registered_by(profile, event).intersection(failed.plugins)) if event is not None else []

    return rules_of(simulation.release, simulation.configuration, woken_by)


def played(case: dict[str, Any], release: str = "") -> tuple[Simulation, list[Record]]:
    simulation, timeline, until = timeline_of_case(case, release)
    return simulation, list(timeline.run(until))


def check_moves(simulation: Simulation, records: list[Record], name: str) -> set[str]:
    """Compare every time of every pod. Return the labels of the moves."""
    labels: set[str] = set()
    of_queue = rules(simulation)
    for pod in sorted({record.data["pod"] for record in records if record.kind == "queue.moved"}):
        times = QueueTimes(pod, list(moves_of(records, pod)), of_queue)
        ends = times.ends()
        for record in records:
            if record.kind != "queue.moved" or record.data["pod"] != pod:
                continue
            where = f"{name} {pod} {record}"
            tree = msgspec.to_builtins(times.explain(record.seq))
            assert tree["value"] == record.time, where
            assert DISAGREES not in str(tree), where
            assert list(problems(tree, {})) == [], where
            labels.add(record.data["event"])
            if record.seq in ends:
                end = msgspec.to_builtins(times.explain(record.seq, until=True))
                assert end["value"] == ends[record.seq] >= int(record.time), where  # whole seconds count
                assert list(problems(end, {})) == [], where
    return labels


@pytest.mark.parametrize("release", selection(["1.34", "1.27", "1.16"], 2))
def test_every_move_of_conformance_cases(release: str) -> None:
    labels: set[str] = set()
    for case in golden_cases("time"):
        labels |= check_moves(*played(case, release), case["name"])
    wanted = {"Pop", "ScheduleAttemptFailure", "BackoffComplete", "UnschedulableTimeout"}
    assert wanted | ({"PopFromBackoffQ"} if release == "1.34" else set()) <= labels


def test_every_move_of_random_runs_before_plugins() -> None:
    """Recreated pods of the same name, failed bindings, updates of pods in backoff."""
    for seed in range(10):
        run = a_run(seed, "1.16")
        check_moves(run.simulation, list(run.run()), str(seed))


def test_a_pod_stays_no_longer_than_explained() -> None:
    """A pod that is still unschedulable leaves at the latest at the explained time."""
    for case in golden_cases("time"):
        simulation, records = played(case)
        for pod in sorted({record.data["pod"] for record in records if record.kind == "queue.moved"}):
            way = list(moves_of(records, pod))
            times = QueueTimes(pod, way, rules(simulation))
            ends, moves = times.ends(), [one for one in way if isinstance(one, Move)]
            for one, following in pairwise(moves):
                if one.to == "unschedulable":
                    assert following.t <= ends[one.seq]
                elif one.to == "backoff" and following.event == "BackoffComplete":
                    assert ends[one.seq] <= following.t <= ends[one.seq] + 1


def test_moves_without_a_time() -> None:
    simulation, records = played(next(iter(golden_cases("time"))))
    pod = next(record.data["pod"] for record in records if record.kind == "queue.moved")
    way = list(moves_of(records, pod))
    times = QueueTimes(pod, way, rules(simulation))
    first = next(one for one in way if isinstance(one, Move))
    with pytest.raises(NotDecided, match="does not move"):
        times.explain(10**6)
    with pytest.raises(NotDecided, match="only a backoff"):
        times.explain(first.seq, until=True)
    with pytest.raises(NotDecided, match="never popped"):
        QueueTimes(pod, [], rules(simulation)).begin_of()
