"""Which difference did it: what is named gives the second run's outcome, and nothing less does."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from scheduler_core.api.objects import decode_all
from scheduler_core.debugger.compare import root_cause as module
from scheduler_core.debugger.compare.inputs import Inputs, Item
from scheduler_core.debugger.compare.root_cause import cause_of
from scheduler_core.debugger.mutations import read_changes
from scheduler_core.errors import InputError
from scheduler_core.releases import RELEASES, get_release
from scheduler_core.releases.behaviors import apply_differences, differences
from tests.conformance import golden_cases
from tests.examples import sample
from tests.scheduler_core.build import Raw, node, pod
from tests.scheduler_core.debugger.causes import check, differing

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


@pytest.mark.generated
def test_over_releases_on_conformance_cases() -> None:
    found = []
    for case in sample([*golden_cases("v1.27"), *golden_cases("v1.34")], 50):
        for a, b, name in differing(case, "1.27", "1.34", most=1):
            found.append(check(a, b, name))
    assert len(found) > 2
    assert all(unit.since for cause in found for unit in cause.units or () if unit.kind == "release")


def test_every_switch_is_told_with_its_version() -> None:
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


def test_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [node(f"n{i}") for i in range(30)]
    a = inputs(*many, pod("p"))
    b = inputs(*(node(f"n{i}", unschedulable=True) for i in range(30)), pod("p"))
    monkeypatch.setattr(module, "MOST_RUNS", 100)
    cause = cause_of(a, b, "default/p")
    assert (len(cause.units or ()), cause.minimal, cause.runs) == (30, False, 100)
    assert "stopped after 100 runs" in cause.note
    monkeypatch.setattr(module, "MOST_UNITS", 5)
    with pytest.raises(InputError, match="differ in 30 things"):
        cause_of(a, b, "default/p")
    with pytest.raises(InputError, match="was tried in neither run"):
        cause_of(a, a, "default/none")
