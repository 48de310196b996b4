"""Forks start as their parent. Without changes they equal it; with changes they equal a run with the changes."""

from __future__ import annotations

import random
from typing import Any

import pytest

from scheduler_core.forks.mutations import read_changes
from scheduler_core.forks.stages import Stage
from scheduler_core.simulation import Simulation
from scheduler_core.virtual_time.scenario import Scenario
from scheduler_core.virtual_time.scenario_run import ScenarioRun
from tests.conformance import golden_cases
from tests.examples import sample
from tests.scheduler_core.build import node, pod
from tests.scheduler_core.recording.core_states import IN_TIME, Raw, scenario_at
from tests.scheduler_core.recording.recorded_runs import (
    RecordedRun,
    forked,
    from_scratch,
    from_scratch_in_time,
    played,
    played_in_time,
)

pytestmark = pytest.mark.slow

FORKS = 2
SETTINGS: dict[str, Any] = {"config": None, "seed": 0, "tie_break": "name", "preemption": False, "percentage": None}


def settings_of(case: Raw) -> dict[str, Any]:
    return {
        "release": case["kubernetes"],
        "config": case.get("config"),
        "seed": 5,
        "preemption": bool(case.get("preempt")),
        "percentage": case.get("percentage"),
        "timer": lambda: 0,
    }


def cases() -> list[Any]:
    found = [(release, case) for release in ("v1.34", "v1.27") for case in golden_cases(release)]
    several = sample([(release, case) for release, case in found if len(case.get("pods") or ()) > 1], 70)
    several += sample([("v1.36", case) for case in golden_cases("areas-1.36/batching")], 10)
    return [pytest.param(case, id=f"{release}-{case['name']}") for release, case in several]


def changes_for(kept: RecordedRun, cycle: int, chance: random.Random) -> list[Raw]:
    """Return a change of each kind, for the pod of that cycle."""
    trace, names = kept.cycles[min(cycle, len(kept.cycles)) - 1]
    scorers = [*trace.scores] or ["NodeResourcesFit"]
    return [
        {"skip": {"pod": trace.pod, "plugin": chance.choice([*trace.verdicts] or ["NodeResourcesFit"])}},
        {"weight": {"plugin": chance.choice(scorers), "weight": chance.randrange(1, 9)}},
        {"place": {"pod": trace.pod, "node": chance.choice(names)}},
        {"cordon": chance.choice(names)},
        {"taint": {"node": chance.choice(names), "key": "k", "value": "v", "effect": "PreferNoSchedule"}},
        {"create": pod("made", requests={"cpu": "1"})},
    ]


def alike(a: RecordedRun, b: RecordedRun) -> None:
    assert a.decisions == b.decisions
    for mine, other in zip(a.states(), b.states(), strict=True):
        assert mine == other


@pytest.mark.generated
@pytest.mark.parametrize("case", cases())
def test_single_pass(case: Raw) -> None:
    settings = settings_of(case)
    kept = played(Simulation(case["objects"], pods=case.get("pods"), **settings))
    chance = random.Random(case["name"])
    for cycle in sorted(chance.sample(range(1, len(kept.cycles) + 2), min(FORKS, len(kept.cycles) + 1))):
        alike(forked(kept, cycle, settings), kept)
        if not kept.cycles[0][1]:
            continue
        some = chance.sample(changes_for(kept, cycle, chance), 2)
        if cycle > len(kept.cycles):
            some = [change for change in some if "place" not in change and "skip" not in change]
        stages = [Stage(at=cycle, changes=read_changes(some))]
        scratch = from_scratch(Simulation(case["objects"], pods=case.get("pods"), **settings), stages)
        found = forked(kept, cycle, settings, stages)
        assert found.decisions[: cycle - 1] == kept.decisions[: cycle - 1]
        assert found.decisions == scratch.decisions


def test_other_settings_from_a_cycle_on() -> None:
    objects = [*(node(f"n{i}") for i in range(4)), *(pod(f"p{i}", requests={"cpu": "1"}) for i in range(8))]
    settings: dict[str, Any] = {"tie_break": "name", "seed": 0, "timer": lambda: 0}
    strategy = {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}
    packing = {"pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}]}
    fitting = {"plugins": {"score": {"disabled": [{"name": "NodeResourcesBalancedAllocation"}]}}}
    kept = played(Simulation(objects, **settings))
    assert [trace.node for trace, _ in kept.cycles] == ["n0", "n1", "n2", "n3"] * 2
    other = SETTINGS | {"release": "1.27", "config": {"profiles": [packing | fitting]}, "preemption": True}
    fork = forked(kept, 3, settings, [Stage(at=3, settings=other)])
    assert [trace.node for trace, _ in fork.cycles] == ["n0", "n1", "n0", "n0", "n0", "n1", "n1", "n1"]


def test_decisions_stay_if_another_scheduler_is_added() -> None:
    objects = [node("n1"), node("n2"), pod("a"), pod("b"), pod("c")]
    settings: dict[str, Any] = {"tie_break": "name", "seed": 0, "timer": lambda: 0}
    kept = played(Simulation(objects, **settings))
    first = Stage(at=1, changes=read_changes([{"weight": {"plugin": "NodeResourcesFit", "weight": 7}}]))
    fork = forked(kept, 1, settings, [first, Stage(at=2, settings=SETTINGS | {"release": "1.34"})])
    assert [trace.scores["NodeResourcesFit"].weight for trace, _ in fork.cycles] == [7, 7, 7]


TIMED = [(path, "") for path in IN_TIME]
TIMED += [(path, "1.16") for path, _ in TIMED if path.stem in ("14-backoff", "16-preemption-in-time")]


@pytest.mark.parametrize(("path", "release"), TIMED, ids=lambda value: getattr(value, "stem", value))
def test_virtual_time(path: Any, release: str) -> None:
    def scenario() -> Scenario:
        made = scenario_at(path)
        made.spec.kubernetes = release or made.spec.kubernetes
        return made

    kept = played_in_time(ScenarioRun(scenario()))
    chance = random.Random(path.stem)
    for cycle in sorted(chance.sample(range(1, len(kept.cycles) + 2), min(FORKS, len(kept.cycles) + 1))):
        again = from_scratch_in_time(ScenarioRun(scenario()), [Stage(at=cycle)])
        assert [(r.seq, r.time, r.kind) for r in again.records] == [(r.seq, r.time, r.kind) for r in kept.records]
        alike(again, kept)
        if cycle > len(kept.cycles):
            continue
        some = read_changes([{"cordon": kept.cycles[cycle - 1][1][0]}])
        fork = from_scratch_in_time(ScenarioRun(scenario()), [Stage(at=cycle, changes=some)])
        assert fork.decisions[: cycle - 1] == kept.decisions[: cycle - 1]
        steps = [r for r in fork.records if r.kind == "scenario.step" and r.data["step"] == 0]
        assert [step.data["operation"] for step in steps] == ["cordon"]
        attempts = [r for r in fork.records if r.kind == "attempt"]
        assert attempts[cycle - 2].seq < steps[0].seq if cycle > 1 else True
        assert all(a.seq > steps[0].seq for a in attempts[cycle - 1 :])
        name = kept.cycles[cycle - 1][1][0]
        assert all(state["unschedulable"] for state in fork.states()[-1]["nodes"] if state["name"] == name)
