"""The history of a node agrees with the cluster state at every timepoint."""

from __future__ import annotations

from pathlib import Path

import pytest

from scheduler_core.recording.cluster_state import StateAtTimepoint
from scheduler_core.recording.node_history import history_of
from scheduler_core.recording.recording import Recording
from scheduler_core.virtual_time.scenario_run import ScenarioRun
from tests.scheduler_core.recording.core_states import IN_TIME, scenario_at
from tests.scheduler_core.recording.recorded_runs import played_in_time


def recording_of(path: Path) -> Recording:
    return played_in_time(ScenarioRun(scenario_at(path))).recording


@pytest.mark.parametrize("path", IN_TIME, ids=lambda path: path.stem)
def test_the_history_agrees_with_the_states(path: Path) -> None:
    recording = recording_of(path)
    here: dict[str, set[str]] = {}
    for name in recording.names:
        history = history_of(recording, name)
        assert history is not None
        for moment in range(recording.end + 1):
            state = StateAtTimepoint(recording, moment).nodes().get(name)
            assert (history.version(moment) not in (None, -1)) == (state is not None)
            pods = here.setdefault(name, set())
            for arrival in history.arrivals:
                if arrival.at == moment:
                    assert (arrival.pod in pods) is not arrival.came
                    pods ^= {arrival.pod}
            if state is not None:
                assert pods == set(state["pods"])
                used = history.used(moment)
                assert {resource: used.get(resource, 0) for resource in state["requested"]} == state["requested"]


def test_an_unknown_node() -> None:
    assert history_of(recording_of(IN_TIME[0]), "missing") is None
