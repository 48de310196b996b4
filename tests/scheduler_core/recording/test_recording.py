"""Recordings: resumed, damaged, large; objects over time."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from scheduler_core.api.objects import decode_all
from scheduler_core.commands.bench import workload
from scheduler_core.errors import InputError
from scheduler_core.recording.cluster_state import StateAtTimepoint
from scheduler_core.recording.objects import ObjectAt, objects_at, written
from scheduler_core.recording.recording import (
    FACTS_PART,
    MOVES_PART,
    OBJECTS_PART,
    Block,
    Recorder,
    Recording,
    encode,
    facts_from,
    objects_from,
)
from scheduler_core.simulation import Simulation
from scheduler_core.virtual_time.scenario_run import ScenarioRun
from tests.conformance import golden_cases
from tests.scheduler_core.build import node, pod
from tests.scheduler_core.recording.core_states import comparable_state, core_state, simulation_of_case
from tests.scheduler_core.recording.recorded_runs import RecordedRun, opening, played, played_in_time, watched_time
from tests.scheduler_core.virtual_time.test_engine_properties import a_run
from tests.scheduler_core.virtual_time_runs import scenario

CASES = [case for case in golden_cases("v1.34", "preemption", "mixed") if case["pods"]]


def once(case: dict[str, Any], stored: int, stop: int, every: int = 2) -> tuple[list[Block], int]:
    """Return the blocks of a run abandoned after `stop` cycles, and how many cycles they cover."""
    simulation = simulation_of_case(case)
    recorder, covered = Recorder(simulation, stored), 0
    blocks = recorder.drain()
    for number, trace in enumerate(simulation.run(), 1):
        recorder.cycle(trace)
        if number == stop:
            return blocks, covered
        if number % every == 0 and number > stored:
            blocks += recorder.drain()
            covered = number
    return blocks + recorder.drain(), len(simulation.pods)


def in_time(seed: int, stored: int, stop: int, every: int = 11) -> tuple[list[Block], int]:
    """The same for virtual time, by records."""
    run = a_run(seed)
    recorder, covered, last = Recorder(run.simulation, stored), 0, 0
    blocks = recorder.drain()
    for record in run.run():
        recorder.record(record, last := record.seq * 3)
        if record.seq == stop:
            return blocks, covered
        if record.seq % every == 0 and record.seq * 3 > stored:
            blocks += recorder.drain()
            covered = record.seq * 3
    return blocks + recorder.drain(), last


def assert_same(whole: list[Block], parts: list[Block]) -> None:
    """The blocks join without a gap, and have the same content."""
    keys = [(block.part, block.first) for block in parts]
    assert len(keys) == len(set(keys)), "no block twice"
    for name in (FACTS_PART, OBJECTS_PART):
        ranges = [(block.first, block.last) for block in parts if block.part == name]
        assert [first for first, _ in ranges[1:]] == [last + 1 for _, last in ranges[:-1]]
    one, other = RecordedRun([], whole), RecordedRun([], parts)
    expected, found = one.recording, other.recording
    assert (expected.names, expected.cycles, expected.end) == (found.names, found.cycles, found.end)
    for name, table in expected.tables.items():
        assert list(rows(table)) == list(rows(found.tables[name])), name
    assert without_duration(one.facts.table) == without_duration(other.facts.table)
    assert np.array_equal(one.facts.bits, other.facts.bits)
    assert one.objects == other.objects


def rows(table: Any) -> Iterator[tuple[Any, ...]]:
    return zip(*(table.all(name) for name in table.columns), strict=True)


def without_duration(table: Any) -> list[Any]:
    return [table.all(name) for name in table.columns if name != "duration"]


@pytest.mark.parametrize("case", CASES[:10], ids=lambda case: case["name"])
def test_a_resumed_single_pass_run(case: dict[str, Any]) -> None:
    whole, _ = once(case, -1, -1)
    for stop in range(1, len(case["pods"]) + 1, 3):
        first, covered = once(case, -1, stop)
        second, _ = once(case, covered, -1, every=5)
        assert_same(whole, first + second)


@pytest.mark.parametrize("seed", range(6))
def test_a_resumed_virtual_time_run(seed: int) -> None:
    whole, _ = in_time(seed, -1, -1)
    for stop in (5, 40, 90):
        first, covered = in_time(seed, -1, stop)
        second, _ = in_time(seed, covered, -1, every=17)
        assert_same(whole, first + second)


def test_the_initial_block_of_a_large_cluster_is_small() -> None:
    kept = opening(Simulation(workload("basic", 1000, 2000)))
    assert sum(len(block.data) for block in kept.blocks) < 200_000
    assert len(kept.part(MOVES_PART)) == 1
    state = StateAtTimepoint(kept.recording, 0)
    assert (len(state.rows), len(state.pending())) == (1000, 2000)


def test_sums_wrap_like_the_columns_of_the_core() -> None:
    large = {"cpu": "4611686018427387904m", "memory": 1 << 62}
    placed = [pod(f"p{i}", on="n1", requests=large) for i in range(3)]
    simulation = Simulation([node("n1"), node("n2"), *placed, pod("q", requests={"cpu": "1", "example.com/gpu": 2})])
    recorded_state = comparable_state(StateAtTimepoint(opening(simulation).recording, 0).as_dict())
    assert recorded_state == core_state(simulation.cluster, {"default/q", *(f"default/p{i}" for i in range(3))}, set())
    assert recorded_state["nodes"][0]["requested"]["cpu"] < 0


@pytest.mark.parametrize("release", ["1.16", "1.34"])
def test_an_opening_with_cycles_in_its_block(release: str) -> None:
    """In 1.16, init containers do not count on the node, so a pod there has two versions."""
    init = [{"name": "init", "resources": {"requests": {"cpu": "3"}}}]
    placed = [pod(f"p{i}", on="n1", requests={"cpu": "1"}, initContainers=init) for i in range(3)]
    objects = [node("n1", cpu="4"), *placed, pod("high", priority=9, requests={"cpu": "2"}), pod("wide", cpu="64")]

    def blocks(often: bool) -> list[Block]:
        simulation = Simulation(objects, release=release, retry_preemptors=True)
        recorder, found = Recorder(simulation), list[Block]()
        for trace in simulation.run():
            found += recorder.drain() if often else []
            recorder.cycle(trace)
        return found + recorder.drain()

    whole = blocks(often=False)
    assert_same(blocks(often=True), whole)
    recording = RecordedRun([], whole).recording
    assert len(recording.tables["pods"]) == (8 if release == "1.16" else 5)
    state = StateAtTimepoint(recording, recording.end)
    gone = {"default/p0", "default/p1", "default/p2"} - {
        name for one in state.as_dict()["nodes"] for name in one["pods"]
    }
    assert gone, "high preempts some"


def test_pods_on_missing_nodes_are_orphans() -> None:
    simulation = Simulation([node("n1"), pod("lost", on="gone"), pod("a", on="n1")])
    recorded_state = StateAtTimepoint(opening(simulation).recording, 0).as_dict()
    assert recorded_state["orphans"] == {"default/lost": "gone"}
    assert [n["pods"] for n in recorded_state["nodes"]] == [["default/a"]]


def test_an_empty_cluster() -> None:
    kept = played(Simulation([]))
    assert kept.cycles == []
    recording = kept.recording
    recorded_state = StateAtTimepoint(recording, recording.before_cycle(1)).as_dict()
    empty: dict[str, Any] = {key: [] for key in ("nodes", "pending", "added", "removed")}
    empty |= {key: {} for key in ("nominated", "waiting", "orphans")}
    assert recorded_state == empty | {"cycle": 1, "t": 0.0}
    with pytest.raises(InputError, match=r"must be in 1\.\.1"):
        recording.before_cycle(2)
    assert objects_at(recording, 0) == []


def test_damaged_recordings_and_other_versions_are_rejected() -> None:
    (block,) = opening(Simulation([node("n1")])).part(MOVES_PART)
    with pytest.raises(InputError, match="recording"):
        Recording([encode({"version": 0})])
    for wrong in (b"", b"x", block[:-9], zlib.compress(b"x")):
        for read in (lambda data: Recording([data]), lambda data: facts_from([data]), objects_from):
            with pytest.raises(InputError, match="recording"):
                read(wrong)


@pytest.mark.parametrize("seed", range(8))
def test_objects_of_a_timepoint_give_its_cluster(seed: int) -> None:
    """Loaded as a snapshot they give the same rows, order of pods, sums and nominations."""
    run = a_run(seed)
    kept, watched = watched_time(run)
    recording, fetch = kept.recording, kept.fetch
    for number, live in list(enumerate(watched.states, 1))[:: max(1, len(watched.states) // 12)]:
        there = objects_at(recording, recording.before_cycle(number))
        objects = [written(at._replace(bound=bool(at.node)), fetch) for at in there]
        again = Simulation(decode_all(objects), release=run.scenario.spec.kubernetes)
        existing = {pod.key for pod in again.pending} | again.cluster.pods.keys()
        assert core_state(again.cluster, existing, set(live["waiting"])) == live
        for at in there:
            if at.start:
                assert again.cluster.pods[at.key].start_time == pytest.approx(at.start, abs=1e-5)
        assumed = {at.key for at in there if at.node and not at.bound}
        assert assumed == live["waiting"].keys()
        assert all("nodeName" not in written(at, fetch)["spec"] for at in there if at.key in assumed)


def test_objects_change_over_time() -> None:
    claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "c", "namespace": "default"}}
    template = {"metadata": {"labels": {"app": "site"}}, "spec": {"containers": [{"name": "c"}]}}
    site = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "site"}}
    made = scenario(
        node("n1", labels={"tier": "old"}),
        site | {"spec": {"replicas": 1, "template": template}},
        pod("p", labels={"app": "one"}, on="n1"),
        pod("waits", labels={"app": "one"}, nodeSelector={"tier": "none"}),
        timeline=[
            {"at": 10, "patch": {"kind": "Node", "name": "n1", "patch": {"metadata": {"labels": {"tier": "new"}}}}},
            {"at": 20, "create": claim | {"spec": {"storageClassName": "slow"}}},
            {"at": 30, "patch": {"kind": "PersistentVolumeClaim", "name": "c", "namespace": "default",
                                 "patch": {"spec": {"storageClassName": "fast"}}}},
            {"at": 40, "create": pod("late", requests={"cpu": "1"}, nodeSelector={"tier": "new"})},
            {"at": 50, "delete": {"kind": "PersistentVolumeClaim", "name": "c", "namespace": "default"}},
            {"at": 60, "patch": {"kind": "Pod", "name": "p", "namespace": "default",
                                 "patch": {"metadata": {"labels": {"app": "two"}}}}},
            {"at": 65, "patch": {"kind": "Deployment", "name": "site", "patch": {"spec": {"replicas": 2}}}},
            {"at": 75, "delete": {"kind": "Deployment", "name": "site"}},
            {"at": 70, "patch": {"kind": "Pod", "name": "waits", "namespace": "default",
                                 "patch": {"metadata": {"labels": {"app": "two"}}}}},
        ],
    )  # fmt: skip
    kept = played_in_time(ScenarioRun(made))
    recording, fetch = kept.recording, kept.fetch

    def at(t: float) -> dict[str, Any]:
        return {f"{o.kind} {o.key}": written(o, fetch) for o in objects_at(recording, recording.after_time(t))}

    assert [at(t)["Node n1"]["metadata"]["labels"]["tier"] for t in (0, 9.9, 10, 99)] == ["old", "old", "new", "new"]
    claims = [at(t).get("PersistentVolumeClaim default/c") for t in (19, 20, 29, 30, 49, 50)]
    names = [c and c["spec"]["storageClassName"] for c in claims]
    assert names == [None, "slow", "slow", "fast", "fast", None]
    late = at(40)["Pod default/late"]
    assert (late["apiVersion"], late["kind"], late["spec"]["nodeName"]) == ("v1", "Pod", "n1")
    assert late["spec"]["nodeSelector"] == {"tier": "new"}
    assert late["status"]["startTime"].startswith("2026-01-01T00:00:40")
    assert "Pod default/late" not in at(39)
    assert [at(t)["Pod default/p"]["metadata"]["labels"]["app"] for t in (59, 60)] == ["one", "two"]
    assert [at(t)["Pod default/waits"]["metadata"]["labels"]["app"] for t in (69, 70)] == ["one", "two"]
    sites = [at(t).get("Deployment default/site") for t in (0, 65, 75)]
    assert [found and found["spec"]["replicas"] for found in sites] == [1, 2, None]
    assert sites[0] is not None
    assert sites[0]["apiVersion"] == "apps/v1"
    assert at(99)["Pod default/p"]["spec"]["nodeName"] == "n1"
    assert ObjectAt("Node", "n1", 0) in objects_at(recording, 0)
