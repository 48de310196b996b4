"""Groups in a recording: the state before each member's cycle has the members before it on their nodes, and the state
after the last one has the outcome. Forks start at the cycle of a group.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from scheduler_core.commands.replay import release_of
from scheduler_core.pod_groups.group_cycle import GroupScheduler
from scheduler_core.recording.cluster_state import StateAtTimepoint
from scheduler_core.recording.recording import MOVES_PART, Recorder, Recording
from scheduler_core.search.provenance import DISAGREES, Question, provenance_of
from scheduler_core.simulation import Simulation
from tests.conformance import golden_cases
from tests.examples import sample, selection
from tests.scheduler_core.recording.core_states import Raw, comparable_state, core_state
from tests.scheduler_core.recording.recorded_runs import RecordedRun, forked, played

CASES = golden_cases("areas-1.36/gang")


def settings_of(case: Raw) -> dict[str, Any]:
    return {
        "release": release_of(case).name,
        "tie_break": "name",
        "preemption": bool(case["preempt"]),
        "percentage": case["percentage"],
        "timer": lambda: 0,
    }


@pytest.mark.parametrize("case", selection(CASES, 3), ids=lambda case: str(case["name"]))
def test_the_cluster_before_every_member_and_after_the_group(case: Raw, monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = Simulation(case["objects"], **settings_of(case))
    existing = {pod.key for pod in simulation.pending} | simulation.cluster.pods.keys()
    there: list[str] = []  # members assumed now
    before: dict[int, Raw] = {}
    trying, placing = GroupScheduler._try, GroupScheduler.place_members

    def place(self: Any, *args: Any, **kwargs: Any) -> Any:
        there.clear()
        found = placing(self, *args, **kwargs)
        there.clear()
        return found

    def look(self: Any, pod: Any, *args: Any) -> Any:
        state = core_state(simulation.cluster, set(existing), set(there))
        found = trying(self, pod, *args)
        before[id(found.member.trace)] = state
        kept.append(found)
        there.extend([pod.key] if found.member.node else [])
        return found

    kept: list[Any] = []  # so that no id is used twice
    monkeypatch.setattr(GroupScheduler, "_try", look)
    monkeypatch.setattr(GroupScheduler, "place_members", place)
    recorder = Recorder(simulation)
    blocks, traces = recorder.drain(), []
    for trace in simulation.run():
        recorder.cycle(trace)
        traces.append(trace)
        gone = simulation.group.victims if simulation.group is not None else trace.victims
        if simulation.group is None or simulation.group.members[-1].trace is trace:
            existing -= set(gone)
    blocks += recorder.drain()
    recording = Recording([block.data for block in blocks if block.part == MOVES_PART])
    assert [trace.number for trace in traces] == list(range(1, len(traces) + 1))
    for trace in traces:
        if id(trace) in before:
            then = before[id(trace)]
            recorded_state = comparable_state(
                StateAtTimepoint(recording, recording.before_cycle(trace.number)).as_dict()
            )
            assert recorded_state == then, trace.pod
    end = comparable_state(StateAtTimepoint(recording, recording.end).as_dict())
    assert end == core_state(simulation.cluster, existing, set())


@pytest.mark.parametrize("case", selection(CASES, 3), ids=lambda case: str(case["name"]))
def test_forks_continue_equally(case: Raw) -> None:
    settings = settings_of(case)
    kept = played(Simulation(case["objects"], **settings))
    inside = [number for number in range(2, len(kept.cycles) + 1) if _same_group(kept, number)]
    for cycle in [number for number in range(1, len(kept.cycles) + 2) if number not in inside][::2]:
        again = forked(kept, cycle, settings)
        assert again.decisions == kept.decisions
        assert again.states() == kept.states()


def _same_group(kept: RecordedRun, number: int) -> bool:
    here, before = kept.cycles[number - 1][0], kept.cycles[number - 2][0]
    return bool(here.group) and here.group == before.group


@pytest.mark.generated
def test_filter_messages_of_members_are_reproduced() -> None:
    compared = different = 0
    cases = sample(CASES, 50)
    for case in cases:
        settings = settings_of(case)
        kept = played(Simulation(case["objects"], **settings))
        simulation = Simulation(case["objects"], **settings)
        run = kept.recording, kept.objects.__getitem__, partial(Simulation, **settings), simulation.release
        for trace, names in kept.cycles:
            if not trace.group or not trace.verdicts:
                continue
            found = provenance_of(*run, trace.number, trace)
            for plugin in trace.verdicts:
                tree = found.explain(Question("filter", names[0], plugin))
                compared += 1
                different += DISAGREES in tree.text
    assert compared > 10 * len(cases)
    assert different <= compared // 100  # terms of members that were only assumed count less (pod_groups/assumed.py)
