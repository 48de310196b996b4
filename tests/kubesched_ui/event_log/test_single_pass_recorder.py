"""Cycles that are recorded together give the same rows as cycles that are recorded one by one."""

from typing import Any

import pytest

from kubesched_ui.event_log import single_pass_recorder
from kubesched_ui.event_log.rows import RecordedBatch
from kubesched_ui.event_log.single_pass_recorder import SinglePassRecorder
from scheduler_core.commands.bench import workload
from scheduler_core.commands.replay import release_of
from scheduler_core.recording.recording import Recorder, blocks_of
from scheduler_core.simulation import Simulation
from tests.conformance import golden_cases
from tests.examples import sample


def recorded(simulation: Simulation, monkeypatch: pytest.MonkeyPatch, values_kept: int) -> tuple[list[Any], list[Any]]:
    """Return what is written about each cycle, and the recording."""
    monkeypatch.setattr(single_pass_recorder, "VALUES_KEPT", values_kept)
    monkeypatch.setattr(single_pass_recorder.time, "perf_counter", lambda: 0.0)
    recorder = Recorder(simulation)
    written: list[Any] = []
    blocks = recorder.drain()
    for batch in SinglePassRecorder(simulation, recorder, 1, 0, False, list(simulation.nodes)).run():
        if not isinstance(batch, RecordedBatch):
            written.append(batch)
            continue
        written += batch.items
        written += batch.recorded.plain_cycles()
        blocks += blocks_of(batch.recorded)
    return written, blocks


def compare(objects: list[Any], monkeypatch: pytest.MonkeyPatch, **settings: Any) -> int:
    alone, together = (
        recorded(Simulation(objects, timer=lambda: 0, **settings), monkeypatch, kept) for kept in (0, 640_000)
    )
    assert together == alone
    return len(alone[0])


@pytest.mark.long
@pytest.mark.parametrize("name", ["basic", "spread", "antiaffinity", "prefaffinity", "preemption"])
@pytest.mark.parametrize("percentage", [100, 40])
def test_workloads(name: str, percentage: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert compare(workload(name, 12, 200), monkeypatch, release="1.34", percentage=percentage)


@pytest.mark.parametrize("release", ["v1.16", "v1.20", "v1.34", "v1.36"])
def test_golden_samples(release: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for case in sample(golden_cases(release), 40):
        compare(
            case["objects"],
            monkeypatch,
            release=release_of(case),
            config=case.get("config"),
            preemption=bool(case.get("preempt")),
            percentage=case.get("percentage"),
        )
