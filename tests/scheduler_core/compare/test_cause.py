"""Cause of a different outcome: the set of differences is sufficient and minimal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count, pairwise
from typing import Any

import msgspec
import pytest

from scheduler_core.api.objects import decode_all
from scheduler_core.compare import root_cause as module
from scheduler_core.compare.deltas import applied_to, deltas_of
from scheduler_core.compare.inputs import Inputs, Item, items_of, play, scenario_run
from scheduler_core.compare.root_cause import RootCause, cause_of
from scheduler_core.errors import InputError
from scheduler_core.forks.mutations import read_changes
from scheduler_core.releases import RELEASES, get_release
from scheduler_core.releases.differences import apply_differences, differences
from tests.conformance import golden_cases
from tests.examples import sample
from tests.scheduler_core.build import Raw, node, pod
from tests.scheduler_core.compare.causes import check, differing
from tests.scheduler_core.recording.core_states import SAMPLES, scenario_at

pytestmark = pytest.mark.slow

PACK = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint: {enabled: [{name: ImageLocality, weight: 3}]}
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
"""


def inputs(*objects: Raw, **more: object) -> Inputs:
    by_key = {(type(obj).__name__, obj.key): obj for obj in decode_all(list(objects))}
    values = {"release": get_release("1.34"), "config": None, "seed": 0, "tie_break": "name", "preemption": True}
    return Inputs(**{**values, "percentage": None, "objects": by_key} | more)  # type: ignore[arg-type]


@pytest.mark.long
@pytest.mark.generated
def test_conformance_cases_over_releases() -> None:
    found = []
    for case in sample([*golden_cases("v1.27"), *golden_cases("v1.34")], 50):
        for a, b, name in differing(case, "1.27", "1.34", most=1):
            found.append(check(a, b, name))
    assert len(found) > 2
    assert all(unit.since for cause in found for unit in cause.units or () if unit.kind == "release")


def test_every_behavior_is_named_with_its_release() -> None:
    releases = list(RELEASES.values())
    for one, other in [*pairwise(releases), (releases[0], releases[-1])]:
        for a, b in ((one, other), (other, one)):
            names = frozenset(found.name for found in differences(a, b))
            assert replace(apply_differences(a, b, names), name=b.name) == b
            assert all(found.text for found in differences(a, b))
    assert differences(get_release("1.34"), get_release("1.34")) == []


def test_objects_settings_and_configuration() -> None:
    pods = [pod(f"p{i}", requests={"cpu": "1"}) for i in range(2)]
    a = inputs(node("n1"), node("n2"), *pods)
    b = inputs(node("n1"), node("n2"), *pods, config=PACK, seed=4)
    (unit,) = cause_of(a, b, "default/p1").units or ()
    assert (unit.kind, unit.path) == ("config", "config.default-scheduler.args.NodeResourcesFit")
    b = inputs(node("n1", unschedulable=True), node("n2"), *pods, percentage=50)
    (unit,) = check(a, b, "default/p0").units or ()
    assert (unit.kind, unit.path) == ("object", "Node/n1")
    b = inputs(node("n1", unschedulable=True), node("n2", unschedulable=True), *pods, percentage=50)
    assert [unit.path for unit in check(a, b, "default/p0").units or ()] == ["Node/n1", "Node/n2"]
    b = inputs(node("n2"), *pods)
    assert [unit.text for unit in check(a, b, "default/p0").units or ()] == ["is only in the first"]


def test_changes_of_a_fork() -> None:
    a = inputs(node("n1"), node("n2"), pod("p0"), pod("p1"))
    b = replace(a, items=tuple(Item(2, None, one) for one in read_changes([{"cordon": "n2"}, {"cordon": "n1"}])))
    assert [unit.path for unit in check(a, b, "default/p1").units or ()] == ["changes[0]", "changes[1]"]
    same = cause_of(a, b, "default/p0")
    assert (same.units, same.note) == ([], "both runs have the same outcome")


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [node(f"n{i}") for i in range(30)]
    a = inputs(*many, pod("p"))
    b = inputs(*(node(f"n{i}", unschedulable=True) for i in range(30)), pod("p"))
    monkeypatch.setattr(module, "MOST_RUNS", 100)
    monkeypatch.setattr(module, "MOST_SECONDS", 600)  # a busy machine needs more than 10 for these runs
    cause = cause_of(a, b, "default/p")
    assert (len(cause.units or ()), cause.minimal, cause.runs) == (30, False, 100)
    assert "stopped after 100 runs" in cause.note
    monkeypatch.setattr(module, "MOST_UNITS", 5)
    with pytest.raises(InputError, match="differ in 30 things"):
        cause_of(a, b, "default/p")
    with pytest.raises(InputError, match="was tried in neither run"):
        cause_of(a, a, "default/none")


OWN = ("objects", "kubernetes", "config", "seed", "tieBreak", "preemption", "percentage", "until")


def of_spec(spec: Raw) -> Inputs:
    """Return the spec of a scenario, read from JSON."""
    metas = ((obj, obj["metadata"]) for obj in spec["objects"])
    named = {(obj["kind"], f"{meta.get('namespace', 'default')}/{meta['name']}"): obj for obj, meta in metas}
    time = {name: value for name, value in spec.items() if name not in OWN}
    values = [spec.get(name) for name in ("config", "percentage", "until")]
    release = get_release(spec.get("kubernetes") or "1.34")
    return Inputs(release, values[0], 0, "name", True, values[1], named, time=time, until=values[2])


def of_sample(name: str) -> Inputs:
    return of_spec(msgspec.to_builtins(scenario_at(next(SAMPLES.glob(f"*{name}.yaml"))).spec))


def of_case(case: Raw) -> Inputs:
    def entry(raw: Raw) -> Raw:
        about, meta = raw["object"], raw["object"]["metadata"]
        gone = {"kind": about["kind"], "name": meta["name"], "namespace": meta.get("namespace", "")}
        return {"at": raw["at"], raw["op"]: gone if raw["op"] == "delete" else about}

    made = {"objects": case["objects"], "kubernetes": case["kubernetes"], "config": case.get("config")}
    return of_spec(made | {"timeline": [entry(raw) for raw in case["timeline"]], "until": case["until"]})


def tried(given: Inputs) -> list[str]:
    """Return the pods of a run, as far as they were tried."""
    return sorted({record.trace.pod for record in scenario_run(given).run() if record.trace is not None})


def caused(a: Inputs, b: Inputs, most: int = 2) -> Iterator[RootCause]:
    """Return and check the cause for the first pods that differ."""
    done = count()
    for name in tried(a):
        if play(a, name)[0] != play(b, name)[0]:
            yield check(a, b, name)
            if next(done) + 1 == most:
                return


def without_a_node(a: Inputs) -> Inputs:
    """Return the inputs with the last node cordoned, without the first timeline entry, and with another seed."""
    last = [key for key in a.objects if key[0] == "Node"][-1]
    raw: Any = a.objects[last]
    cordoned = raw | {"spec": (raw.get("spec") or {}) | {"unschedulable": True}}
    time = dict(a.time or {}) | {"timeline": list((a.time or {}).get("timeline", ()))[1:]}
    return replace(a, objects=a.objects | {last: cordoned}, time=time, seed=7)


@pytest.mark.long
def test_conformance_cases_in_virtual_time() -> None:
    cases = golden_cases("time", "arrivals", "poddelete", "preempt", "spread")
    found = []
    for case in cases:
        a = of_case(case)
        b = without_a_node(a)
        assert applied_to(a, b, deltas_of(a, b)) == replace(b, time=applied_to(a, b, deltas_of(a, b)).time)
        found += list(caused(a, b))
    assert len(found) > 5
    kinds = {unit.kind for cause in found for unit in cause.units or ()}
    assert kinds >= {"object", "scenario"}
    assert all(cause.settled[0] is not None for cause in found if cause.a[0])


@pytest.mark.parametrize("name", ["hints", "16-preemption-in-time", "taint-eviction", "gang"])
def test_samples_in_virtual_time(name: str) -> None:
    a = of_sample(name)
    b = replace(without_a_node(a), preemption=False)
    assert all(cause.minimal for cause in caused(a, b, most=1))


def test_a_release_is_named_by_its_behavior_in_virtual_time() -> None:
    a = of_sample("queue")
    names = frozenset(("pop_from_backoff", "default_plugins", "queueing_hints"))
    found = list(caused(a, replace(a, release=apply_differences(a.release, get_release("1.27"), names)), most=1))
    assert [unit.path for unit in found[0].units or ()] == ["pop_from_backoff"]


def stage(at: int | None = None, t: float | None = None, changes: Any = (), **settings: Any) -> Raw:
    return {"at": at, "t": t, "changes": list(changes), "settings": settings}


def forked(a: Inputs, *stages: Raw) -> Inputs:
    return replace(a, items=items_of(stages, read_changes))


def test_settings_and_changes_of_a_fork() -> None:
    a = inputs(node("n1"), node("n2"), node("n3"), *(pod(f"p{i}", requests={"cpu": "1"}) for i in range(4)))
    taint = {"node": "n3", "key": "x", "effect": "NoSchedule"}
    b = forked(a, stage(2, None, [{"cordon": "n2"}, {"taint": taint}], seed=5))
    units = check(a, b, "default/p1").units or ()
    expected_items = [
        ("changes[1]", "before cycle 2: cordon n2"),
        ("changes[2]", "before cycle 2: taint n3 x NoSchedule"),
    ]
    assert [(unit.path, unit.text) for unit in units] == expected_items
    assert play(b, "default/p1")[0] == ("scheduled", "n1")
    (back,) = check(b, a, "default/p1").units or ()
    assert (back.path, back.text) == ("a.changes[1]", "without: before cycle 2: cordon n2")
    b = forked(a, stage(2, config=PACK, preemption=False))
    assert [unit.text for unit in check(a, b, "default/p2").units or ()] == ["before cycle 2: config"]


def test_a_fork_that_changes_the_release() -> None:
    a = inputs(node("n1"), pod("p0"))
    b = forked(a, stage(1, release="1.27"))
    units = deltas_of(a, b)
    assert len(units) > 5
    assert {unit.kind for unit in units} == {"release"}
    assert all(unit.path.startswith("changes[0].") for unit in units)
    assert applied_to(a, b, units).stages()[0].settings["release"] == replace(get_release("1.27"), name="1.34")


def test_a_fork_in_virtual_time() -> None:
    a = of_sample("16-preemption-in-time")
    first = next(name for name in tried(a) if play(a, name)[0][1])
    (_, where), settled = play(a, first)
    assert settled is not None
    b = forked(a, stage(None, 0.0, [{"cordon": where}], seed=3), stage(None, settled + 1, preemption=False))
    found = check(a, b, first)
    assert [unit.text for unit in found.units or ()] == [f"after 0 s: cordon {where}"]
    assert found.as_dict()["a"]["t"] == settled


def test_limits_during_a_replay() -> None:
    a = of_sample("16-preemption-in-time")
    b = replace(without_a_node(a), preemption=False)
    name = next(name for name in tried(a) if play(a, name)[0] != play(b, name)[0])

    def bounded(share: float, ticks: int = 1) -> tuple[RootCause, int]:
        """Return the cause if time runs out at this share of the steps, and the number of steps."""
        steps = count()
        cause = cause_of(a, b, name, clock=lambda: next(steps) / ticks / share * module.MOST_SECONDS * (ticks > 1))
        return cause, next(steps)

    whole, ticks = bounded(1)
    assert whole.units
    early, _ = bounded(0.01, ticks)
    assert (early.units, early.a) == (None, ("unknown", ""))
    assert "takes more than 10 seconds" in early.note
    late, _ = bounded(0.99, ticks)
    assert (late.a, late.b) == (whole.a, whole.b)
    assert "stopped after" in late.note
    with pytest.raises(InputError, match="both runs must be single passes, or both in virtual time"):
        cause_of(a, inputs(node("n1"), pod("p")), "default/p")


def test_items_are_named_with_their_timepoint() -> None:
    assert [Item(1200, None).moment, Item(None, 2.5).moment] == ["before cycle 1,200", "after 2.5 s"]
