"""The recorded state at any cycle equals the state of the core at that cycle."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.recording.cluster_state import StateAtTimepoint, changes
from scheduler_core.recording.recording import MOVES_PART, Recorder, Recording
from scheduler_core.simulation import Simulation
from scheduler_core.virtual_time.scenario_run import PLUGINS, ScenarioRun
from tests.clusters import LARGEST_CLUSTERS, cluster_id, read_snapshot
from tests.conformance import golden_cases
from tests.examples import examples, selection
from tests.scheduler_core.recording.core_states import (
    ROOT,
    SAMPLES,
    Raw,
    WatchedRun,
    apply_change,
    comparable_state,
    core_state,
    params,
    scenario_at,
    simulation_of_case,
    timeline_of_case,
)
from tests.scheduler_core.recording.recorded_runs import RecordedRun, watched_once, watched_records, watched_time
from tests.scheduler_core.virtual_time.test_engine_properties import a_run

pytestmark = pytest.mark.slow

PREEMPTING = ("preemption", "preemptaff", "mixed", "volumes", "gates", "affinity")
MOST = {"v1.34": 40, "v1.27": 40, "v1.16": 24}  # of the cases
CYCLES = 50  # compared in each run


def check(kept: RecordedRun, watched: WatchedRun, name: str) -> None:
    """Compare up to CYCLES states, and the changes between them."""
    recording = kept.recording
    assert recording.cycles == len(kept.facts) == len(watched.traces)
    chance = random.Random(name)
    numbers = range(1, recording.cycles + 2)
    chosen = sorted(chance.sample(numbers, min(CYCLES, len(numbers))))
    for number in chosen:
        recorded_state = StateAtTimepoint(recording, recording.before_cycle(number)).as_dict()
        assert recorded_state["cycle"] == number
        assert comparable_state(recorded_state) == watched.states[number - 1], f"{name}, before cycle {number}"


PARAMS = [param for name, most in MOST.items() for param in params(name, kinds=PREEMPTING)[:most]]


@pytest.mark.parametrize("case", selection(PARAMS, 4))
def test_a_single_pass_run(case: Raw) -> None:
    check(*watched_once(simulation_of_case(case)), case["name"])


TIMED = [*sorted(SAMPLES.glob("*.yaml")), *sorted((ROOT / "docs" / "examples" / "time").glob("*.yaml"))]


@pytest.mark.parametrize("path", selection(TIMED, 2), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_virtual_time_run(path: Path) -> None:
    check(*watched_time(ScenarioRun(scenario_at(path))), path.stem)


@pytest.mark.parametrize("path", selection(sorted(SAMPLES.glob("*.yaml")), 2), ids=lambda path: path.stem)
def test_a_sample_as_a_single_pass(path: Path) -> None:
    spec = scenario_at(path).spec
    simulation = Simulation(spec.objects, release=spec.release, config=spec.config, seed=3, registry=PLUGINS)
    check(*watched_once(simulation), path.stem)


@pytest.mark.parametrize("case", selection(params("time"), 4))
def test_a_conformance_case_in_virtual_time(case: Raw) -> None:
    check(*watched_records(*timeline_of_case(case)), case["name"])


@pytest.mark.parametrize("release", ["", "1.16"])
@pytest.mark.parametrize("seed", selection(range(12), 3))
def test_a_random_virtual_time_run(seed: int, release: str) -> None:
    check(*watched_time(a_run(seed, release)), str(seed))


@pytest.mark.parametrize("path", LARGEST_CLUSTERS[:6], ids=cluster_id)
def test_a_real_cluster_with_rescheduled_pods(path: Path) -> None:
    objects = read_snapshot(path)
    for number, obj in enumerate(o for o in objects if o["kind"] == "Pod"):
        if number % 2:
            obj["spec"].pop("nodeName", None)
    simulation = Simulation(objects, seed=1, unknown_plugins="warn")
    assert simulation.pods
    check(*watched_once(simulation), path.name)


@pytest.mark.parametrize("seed", range(6))
def test_the_state_at_a_second_includes_all_of_its_events(seed: int) -> None:
    run = a_run(seed + 100)
    recorder, timeline = Recorder(run.simulation), run.engine
    seen: list[tuple[float, Raw]] = []
    while timeline.next_instant() <= run.until:
        timeline.step()
        records, timeline._records = timeline._records, []
        for record in records:
            recorder.record(record)
        assumed = set(timeline.api.lifecycle.assumed())
        seen.append((timeline.clock.now, core_state(timeline.cluster, set(timeline.api.pods), assumed)))
    recording = Recording([block.data for block in recorder.drain() if block.part == MOVES_PART])
    for i, (t, live) in enumerate(seen):
        assert comparable_state(StateAtTimepoint(recording, recording.after_time(t)).as_dict()) == live
        if i + 1 < len(seen) and seen[i + 1][0] - t > 1e-3:
            between = (t + seen[i + 1][0]) / 2
            assert comparable_state(StateAtTimepoint(recording, recording.after_time(between)).as_dict()) == live


@cache
def recordings() -> list[Recording]:
    """Return runs of every kind, with nodes that are added and deleted."""
    found = [watched_once(simulation_of_case(case))[0].recording for case in golden_cases("v1.34", "preem")]
    return found + [watched_time(a_run(seed))[0].recording for seed in range(4)]


@settings(max_examples=examples(100))
@given(st.data())
def test_changes_add_up(data: st.DataObject) -> None:
    recording = data.draw(st.sampled_from(recordings()))
    before, after = (StateAtTimepoint(recording, data.draw(st.integers(0, recording.end))) for _ in range(2))
    change = changes(before, after)
    assert apply_change(before.as_dict(), change) == after.as_dict()
    recorded_state = {node["name"]: node for node in before.as_dict()["nodes"]}
    assert all(recorded_state.get(node["name"]) != node for node in change["nodes"]), "only what changed"


def test_a_timepoint_has_no_changes_to_itself() -> None:
    recording = recordings()[-1]
    for moment in range(0, recording.end, 5):
        change = changes(StateAtTimepoint(recording, moment), StateAtTimepoint(recording, moment))
        assert not any(value for key, value in change.items() if key not in ("cycle", "t"))
