"""Fingerprints: equal for equal decisions, in any storage format."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.framework.interface import Status, Verdict
from scheduler_core.recording.fingerprint import SIZE, fingerprint, hash_names
from tests.conformance import golden_cases
from tests.scheduler_core.recording.core_states import simulation_of_case


@cache
def cycles() -> list[tuple[CycleTrace, bytes]]:
    found = []
    for case in golden_cases("v1.34", "preemption", "mixed", "sampling", "spread"):
        simulation = simulation_of_case(case)
        names = hash_names(simulation.nodes)
        found += [(trace, names) for trace in simulation.run()]
    return found


def test_stored_and_read_back() -> None:
    prints = {}
    for trace, names in cycles():
        mine = fingerprint(trace, names)
        assert len(mine) == SIZE
        assert fingerprint(CycleTrace.decode(trace.encode()), names) == mine
        trace.durations = {"filter": 7}
        assert fingerprint(trace, names) == mine
        prints[mine] = trace
    assert len(prints) > len(cycles()) / 2


def test_the_order_of_statuses_and_passing_plugins_do_not_count() -> None:
    full, low, idle = Status("Unschedulable", ("full",)), Status("Unschedulable", ("low",)), Status("Error", ("idle",))
    one, other = (CycleTrace("a/b", nodes=3, feasible=np.array([1])) for _ in range(2))
    one.verdicts = {"X": Verdict(np.array([1, 0, 2], np.uint16), (full, low)), "Y": Verdict()}
    other.verdicts = {"X": Verdict(np.array([3, 0, 2], np.uint16), (idle, low, full))}
    assert fingerprint(one, b"") == fingerprint(other, b"")
    other.verdicts = {"X": Verdict(np.array([2, 0, 1], np.uint16), (full, low))}
    assert fingerprint(one, b"") != fingerprint(other, b"")


def scored(trace: CycleTrace) -> None:
    next(iter(trace.scores.values())).raw[0] += 1


CHANGES: dict[str, Callable[[CycleTrace], None]] = {
    "node": lambda t: setattr(t, "node", "elsewhere"),
    "result": lambda t: setattr(t, "result", "error"),
    "message": lambda t: setattr(t, "message", "0/1 nodes"),
    "victims": lambda t: setattr(t, "victims", ["a/b"]),
    "attempt": lambda t: setattr(t, "attempt", t.attempt + 1),
    "time": lambda t: setattr(t, "time", t.time + 0.001),
    "feasible": lambda t: setattr(t, "feasible", t.feasible_rows()[1:]),
    "refusals": lambda t: t.refuse("X", Verdict(np.ones(t.nodes, np.uint16), (Status("Unschedulable", ("x",)),))),
    "waits": lambda t: setattr(t, "permit_waits", {"X": 1.0}),
    "score": scored,
}


@pytest.mark.parametrize("what", CHANGES)
def test_another_decision_has_another_fingerprint(what: str) -> None:
    trace, names = next((trace, names) for trace, names in cycles() if trace.scores)
    changed = copy.deepcopy(trace)
    changed.made_scores = {plugin: copy.deepcopy(score) for plugin, score in trace.scores.items()}
    CHANGES[what](changed)
    assert fingerprint(changed, names) != fingerprint(trace, names)
    assert fingerprint(trace, hash_names(["other"])) != fingerprint(trace, names)
