"""The change stream leads from any timepoint to any other, in both directions."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from scheduler_core.errors import InputError
from scheduler_core.recording import change_stream
from scheduler_core.recording.cluster_state import StateAtTimepoint
from scheduler_core.recording.recording import PENDING, Recording
from scheduler_core.virtual_time.scenario_run import ScenarioRun
from tests.conformance import golden_cases
from tests.scheduler_core.recording.core_states import IN_TIME, Raw, scenario_at, simulation_of_case
from tests.scheduler_core.recording.recorded_runs import played, played_in_time

CASES = golden_cases("v1.34", "preemption", "gates", "mixed")[:6]


class Follower:
    """A timepoint that moves along the change stream as docs/debugger.md describes."""

    def __init__(self, recording: Recording, moment: int) -> None:
        columns_then = change_stream.cluster_columns(StateAtTimepoint(recording, moment))
        nodes, pods = columns_then["nodes"], columns_then["pods"]
        self.moment = moment
        self.keys = dict(zip(pods["id"], pods["key"], strict=True))
        amounts = [nodes["amounts"][index] for index in nodes["allocatable"]]
        self.nodes = dict(zip(nodes["name"], zip(amounts, map(bool, nodes["unschedulable"]), strict=True), strict=True))
        self.pods: dict[int, tuple[str, int, int]] = {}
        for pod, node, state, came in zip(pods["id"], pods["node"], pods["state"], pods["came"], strict=True):
            self.pods[pod] = (nodes["name"][node] if node >= 0 else "", state, came)
        self.nominated = dict(columns_then["nominated"])

    def follow(self, piece: Raw, to: int) -> None:
        """Move within a chunk that contains both timepoints."""
        self.keys |= dict(zip(piece["pods"]["id"], piece["pods"]["key"], strict=True))
        back = to < self.moment
        low, high = sorted((self.moment, to))
        places = piece["places"]
        way = range(len(places["at"]))
        for row in reversed(way) if back else way:
            if low < places["at"][row] <= high:
                before = "was_" if back else ""
                values = tuple(places[before + name][row] for name in ("node", "state", "came"))
                self.pods[places["pod"][row]] = values
        for part, target in (("nodes", self.nodes), ("nominated", self.nominated)):
            entries = [entry for entry in piece[part] if low < entry["at"] <= high]
            for entry in reversed(entries) if back else entries:
                self._set(part, target, entry, entry["was"] if back else entry["now"])
        self.moment = to

    def _set(self, part: str, target: dict[str, Any], entry: Raw, now: Any) -> None:
        key = entry["name" if part == "nodes" else "pod"]
        if not now:
            target.pop(key, None)
        else:
            target[key] = (now["allocatable"], bool(now["unschedulable"])) if part == "nodes" else now

    def state(self) -> Raw:
        """Return node -> facts and pods in order of arrival, the pending pods, and the nominations."""
        on: dict[str, list[tuple[int, str]]] = {}
        for pod, (node, state, came) in self.pods.items():
            if state >= 2 and node in self.nodes:
                on.setdefault(node, []).append((came, self.keys[pod]))
        nodes = {name: (*facts, [key for _, key in sorted(on.get(name, []))]) for name, facts in self.nodes.items()}
        waiting = (PENDING, change_stream.GATED)
        pending = sorted(self.keys[pod] for pod, (_, state, _) in self.pods.items() if state in waiting)
        return {"nodes": nodes, "pending": pending, "nominated": self.nominated}


def expected(recording: Recording, moment: int) -> Raw:
    state = StateAtTimepoint(recording, moment).as_dict()
    nodes = {n["name"]: (n["allocatable"], n["unschedulable"], n["pods"]) for n in state["nodes"]}
    return {"nodes": nodes, "pending": state["pending"], "nominated": state["nominated"]}


def check(recording: Recording, seed: str) -> None:
    """Move from a timepoint to the end, to the beginning and back, with stops on the way."""
    chance = random.Random(seed)
    follower = Follower(recording, chance.randint(0, recording.end))
    assert follower.state() == expected(recording, follower.moment)
    for goal in (recording.end, 0, recording.end // 2):
        while follower.moment != goal:
            forth = goal > follower.moment
            piece = change_stream.stream(recording, **{"after" if forth else "until": follower.moment})
            assert piece["from" if forth else "to"] == follower.moment
            edge = min(goal, piece["to"]) if forth else max(goal, piece["from"])
            assert edge != follower.moment
            stops = {chance.randint(*sorted((follower.moment, edge))) for _ in range(3)} | {edge}
            for stop in sorted(stops, reverse=not forth):
                follower.follow(piece, stop)
                assert follower.state() == expected(recording, stop), f"{seed}, moment {stop}"


@pytest.fixture(params=[3, 4000], ids=["many pieces", "one piece"])
def pieces(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_stream, "MAX_CHANGES", request.param)


@pytest.mark.usefixtures("pieces")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_single_pass(case: Raw) -> None:
    check(played(simulation_of_case(case)).recording, case["name"])


@pytest.mark.usefixtures("pieces")
@pytest.mark.parametrize("path", IN_TIME, ids=lambda path: path.stem)
def test_virtual_time(path: Path) -> None:
    check(played_in_time(ScenarioRun(scenario_at(path))).recording, path.stem)


def test_cycles_and_instants_of_a_chunk() -> None:
    recording = played(simulation_of_case(CASES[0])).recording
    piece = change_stream.stream(recording, after=0)
    assert piece["cycles"]["number"] == list(range(1, recording.cycles + 1))
    assert [at - 1 for at in piece["cycles"]["at"]] == [recording.before_cycle(n) for n in piece["cycles"]["number"]]
    assert (piece["from"], piece["to"], piece["end"]) == (0, recording.end, recording.end)
    beyond = change_stream.stream(recording, after=recording.end + 100)
    assert (beyond["from"], beyond["to"], beyond["places"]["at"]) == (recording.end, recording.end, [])


@pytest.mark.parametrize("moments", [{}, {"after": 1, "until": 2}])
def test_a_chunk_begins_or_ends_at_a_timepoint(moments: dict[str, int]) -> None:
    recording = played(simulation_of_case(CASES[0])).recording
    with pytest.raises(InputError, match="after and until"):
        change_stream.stream(recording, **moments)
