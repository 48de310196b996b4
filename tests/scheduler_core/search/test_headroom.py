"""Quantities of `Insufficient cpu` are those of the cycle, on every node that rejects the pod for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from scheduler_core.api.objects import Toleration
from scheduler_core.framework.interface import Status
from scheduler_core.search.headroom import COUNTED, FIT, TAINTS, UNNAMED, Headroom
from scheduler_core.simulation import Simulation
from scheduler_core.virtual_time.scenario_run import ScenarioRun
from tests.scheduler_core.build import node, pod
from tests.scheduler_core.recording.core_states import IN_TIME, Raw, WatchedRun, params, scenario_at, simulation_of_case
from tests.scheduler_core.recording.recorded_runs import RecordedRun, watched_once, watched_time

NONE = Status("Success")


def check(kept: RecordedRun, watched: WatchedRun) -> int:
    """Compare the quantities of every reason with the core's own. Return how many were compared."""
    seen, recording = 0, kept.recording
    for number, (trace, names, state) in enumerate(
        zip(watched.traces, watched.orders, watched.states, strict=False), start=1
    ):
        moment = recording.before_cycle(number)
        promised = [names[row] for row, status in trace.nominated.items() if status and status.plugin == FIT]
        headroom = Headroom(recording, moment, trace.pod, promised)
        columns = {node["name"]: node for node in state["nodes"]}
        for row, name in enumerate(names):
            status = trace.status_at(row)
            if status is None or status.plugin != FIT:
                continue
            texts = headroom.with_amounts(status.reasons, [name])
            assert headroom.each(status.reasons, [name]) == ["; ".join(texts)]
            counted = trace.nominated.get(row) is not None
            for reason, text in zip(status.reasons, texts, strict=True):
                assert text.startswith(f"{reason}: "), (number, name, texts)
                assert counted or COUNTED not in text
                seen += 1
            used, of = columns[name]["requested"], columns[name]["allocatable"]
            for resource, (free, whole) in headroom._known.items():
                place = headroom._rows[name]
                assert whole[place] == of.get(resource, 0)
                if not counted:
                    assert free[place] == of.get(resource, 0) - used.get(resource, 0)
    return seen


@pytest.mark.parametrize("case", params("v1.34")[:40])
def test_conformance_cases(case: Raw) -> None:
    check(*watched_once(simulation_of_case(case)))


@pytest.mark.parametrize("path", IN_TIME, ids=lambda path: path.stem)
def test_virtual_time(path: Path) -> None:
    check(*watched_time(ScenarioRun(scenario_at(path))))


def headrooms(*objects: Raw) -> tuple[RecordedRun, WatchedRun]:
    return watched_once(Simulation(list(objects), tie_break="name"))


def test_one_node_and_several_nodes() -> None:
    kept, watched = headrooms(
        node("n1", cpu="8", more={"example.com/gpu": "2"}),
        node("n2", cpu="8"),
        node("big", cpu="64"),
        pod("a", on="n1", requests={"cpu": "5500m"}),
        pod("new", requests={"cpu": "9", "example.com/gpu": "3"}),
    )
    assert check(kept, watched) == 5
    headroom = Headroom(kept.recording, 0, "default/new")
    both = ["Insufficient cpu", "Insufficient example.com/gpu"]
    cpu = "Insufficient cpu: requests 9, 2.5 of 8 free"
    assert headroom.with_amounts(both, ["n1"]) == [cpu, "Insufficient example.com/gpu: requests 3, 2 of 2 free"]
    assert headroom.with_amounts(both[:1], ["n1", "n2"]) == ["Insufficient cpu: requests 9, at most 8 of 8 free"]
    assert headroom.each(both[:1], ["n1", "n2"]) == [cpu, "Insufficient cpu: requests 9, 8 of 8 free"]
    assert headroom.with_amounts(both[:1], ["n1", "big"]) == both[:1], "what the numbers do not bear out stays as it is"


def test_a_full_node() -> None:
    kept, _ = headrooms(node("n1", pods=1), pod("old", on="n1"), pod("new"))
    headroom = Headroom(kept.recording, 0, "default/new")
    assert headroom.with_amounts(["Too many pods"], ["n1"]) == ["Too many pods: 1 of 1 pods run there"]


def test_nominated_pods_are_counted_as_in_the_cycle() -> None:
    kept, watched = headrooms(
        node("n1", cpu="2"),
        pod("low", on="n1", requests={"cpu": "2"}),
        pod("urgent", requests={"cpu": "1500m"}, priority=100),
        pod("new", requests={"cpu": "1"}, priority=10),
    )
    assert check(kept, watched)
    number = next(i for i, trace in enumerate(watched.traces, start=1) if trace.pod == "default/new")
    headroom = Headroom(kept.recording, kept.recording.before_cycle(number), "default/new", ["n1"])
    expected = f"Insufficient cpu: requests 1, 0.5 of 2 free{COUNTED}"
    assert headroom.with_amounts(["Insufficient cpu"], ["n1"]) == [expected]


def test_taints_missing_in_the_message_of_the_release() -> None:
    """The first untolerated taint, most frequent first. 1.34 names the same key and value."""
    own = [
        {"key": "team", "operator": "Exists"},
        {"key": "x", "operator": "Equal", "value": "1", "effect": "NoSchedule"},
    ]
    nodes = [
        node("n1", taints=(("team", "a", "NoSchedule"), ("gpu", "", "NoExecute"))),
        node("n2", taints=(("x", "1", "NoSchedule"), ("x", "2", "NoSchedule"))),
        node("n3", taints=(("gpu", "", "NoExecute"), ("x", "2", "NoSchedule"))),
        node("soft", taints=(("gpu", "", "PreferNoSchedule"),), cpu="1"),
    ]
    objects = [*nodes, pod("new", requests={"cpu": "2"}, tolerations=own)]
    kept, watched = watched_once(Simulation(objects, release="1.36", tie_break="name"))
    recording = kept.recording
    names, trace = watched.orders[0], watched.traces[0]
    tolerations = [Toleration(**entry) for entry in own]
    headroom = Headroom(recording, 0, "default/new", tolerations=tolerations)
    refused = [name for row, name in enumerate(names) if (trace.status_at(row) or NONE).plugin == TAINTS]
    assert refused == ["n1", "n2", "n3"]
    assert headroom.taints(refused) == ["gpu:NoExecute", "x=2:NoSchedule"]
    assert headroom.with_amounts([UNNAMED], refused) == [f"{UNNAMED}: gpu:NoExecute and x=2:NoSchedule"]
    each = [f"{UNNAMED}: gpu:NoExecute", f"{UNNAMED}: x=2:NoSchedule", f"{UNNAMED}: gpu:NoExecute"]
    assert headroom.each([UNNAMED], refused) == each
    assert headroom.taints(refused, most=1) == ["gpu:NoExecute", "1 other"]
    for name, text in zip(refused, each, strict=True):
        assert headroom.with_amounts([UNNAMED], [name]) == [text]
    without_tolerations = Headroom(recording, 0, "default/new")
    assert without_tolerations.with_amounts([UNNAMED], refused) == [UNNAMED]
    _, before = watched_once(Simulation(objects, release="1.34", tie_break="name"))
    words = {name: before.traces[0].status_at(row) for row, name in enumerate(names)}
    named = [(f"node(s) had untolerated taint {{{taint}}}",) for taint in ("gpu: ", "x: 2", "gpu: ")]
    assert [(words[name] or NONE).reasons for name in refused] == named
