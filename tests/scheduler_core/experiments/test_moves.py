"""Moves are as few as brute force finds, and a run confirms them."""

import copy
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

from scheduler_core.api.objects import Pod, decode_all
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.errors import InputError
from scheduler_core.experiments.cell import Done
from scheduler_core.experiments.moves import Moves
from scheduler_core.experiments.parameters import MovesParameters
from scheduler_core.experiments.scenario_input import ScenarioInput
from scheduler_core.framework.interface import CycleState
from scheduler_core.plugins.contrib.coscheduling import POD_GROUP
from scheduler_core.simulation import Simulation
from tests.scheduler_core.build import HOSTNAME, REQUIRED, ZONE, node, pod, selector, static_pod
from tests.scheduler_core.experiments.questions import unchecked

Raw = dict[str, Any]
FAST, ALL = range(6), range(6, 206)
MOST = 3


def answer(objects: list[Raw], *pods: str, release: str = "1.34", **more: Any) -> Raw:
    """Return the result of the only cell, with the answer's sentence."""
    given = {"s": ScenarioInput("s", "digest", lambda: copy.deepcopy(objects))}
    parameters = MovesParameters(pods=list(pods), **{"most": MOST, **more})
    parameters.check("spec.moves")
    experiment = unchecked("moves", releases=[release], moves=parameters)
    (cell,) = Moves().plan(experiment, given)
    result = Moves().compute(cell, given["s"], lambda: None)
    return {**result, "answer": Moves().summarise(experiment, [Done(cell, result)])["answer"]}


def owned(raw: Raw, name: str = "web", kind: str = "ReplicaSet") -> Raw:
    raw["metadata"]["ownerReferences"] = [{"kind": kind, "name": name, "uid": name, "controller": True}]
    return raw


def small(seed: int) -> tuple[list[Raw], list[str]]:
    """Return a small full cluster, and the pending pods that should fit."""
    chance = random.Random(f"moves {seed}")
    number = chance.randint(3, 4)
    names = [f"n{i}" for i in range(number)]
    objects: list[Raw] = []
    for name in names:
        taints = (("team", "red", "NoSchedule"),) if chance.random() < 0.15 else ()
        pool = {"pool": chance.choice("ab")}
        cpu = chance.choice((4, 6, 8))
        objects.append(
            node(name, zone=chance.choice("xy"), cpu=cpu, pods=chance.choice((4, 110)), taints=taints, labels=pool)
        )
    features = chance.random() < 0.6

    def made(name: str, cpu: int, on: str = "") -> Raw:
        more: Raw = {}
        app = chance.choice(("web", "db"))
        draw = chance.random() if features else 1.0
        if draw < 0.1:
            term = {"labelSelector": selector(app=app), "topologyKey": chance.choice((HOSTNAME, ZONE))}
            more["affinity"] = {"podAntiAffinity": {REQUIRED: [term]}}
        elif draw < 0.2:
            term = {
                "labelSelector": selector(app=chance.choice(("web", "db"))),
                "topologyKey": chance.choice((HOSTNAME, ZONE)),
            }
            more["affinity"] = {"podAffinity": {REQUIRED: [term]}}
        elif draw < 0.35:
            constraint = {
                "maxSkew": 1,
                "topologyKey": chance.choice((HOSTNAME, ZONE)),
                "whenUnsatisfiable": "DoNotSchedule",
            }
            more["topologySpreadConstraints"] = [{**constraint, "labelSelector": selector(app=app)}]
        elif draw < 0.45:
            more["ports"] = ({"containerPort": 80, "hostPort": 80},)
        elif draw < 0.55:
            more["nodeSelector"] = {"pool": chance.choice("ab")}
        elif draw < 0.65:
            more["tolerations"] = [{"key": "team", "operator": "Exists"}]
        raw = pod(name, on=on, labels={"app": app}, requests={"cpu": cpu}, priority=chance.choice((0, 5)), **more)
        kind = chance.random()
        if kind < 0.75:
            return owned(raw, app)
        return owned(raw, "agent", "DaemonSet") if kind < 0.82 else raw if kind < 0.92 else owned(raw, app)

    free = {one["metadata"]["name"]: one["status"]["allocatable"]["cpu"] for one in objects}
    for name in names:
        for i in range(chance.randint(2, 4)):
            cpu = chance.randint(1, 3)
            if cpu < free[name]:
                free[name] -= cpu
                objects.append(made(f"{name}-{i}", cpu, name))
    if chance.random() < 0.25:
        status = {"disruptionsAllowed": chance.randint(0, 1)}
        budget = {"metadata": {"name": "b", "namespace": "default"}, "spec": {"selector": selector(app="db")}}
        objects.append({"kind": "PodDisruptionBudget", **budget, "status": status})
    targets = [f"p{i}" for i in range(2 if chance.random() < 0.2 else 1)]
    most = max(free.values()) + (chance.choice((0, 1, 1, 2, 2)))
    objects += [made(name, max(1, most // len(targets))) for name in targets]
    return objects, [f"default/{name}" for name in targets]


def brute_force(objects: list[Raw], pods: list[str], release: str = "1.34") -> int | None:
    """Return the fewest moves; None if there are none up to MOST, or at all.

    Every sequence of moves of pods that may move to nodes that pass all filters, breadth first.
    """
    simulation = Simulation(decode_all(copy.deepcopy(objects)), release=release)
    for _ in simulation.run():
        pass
    cluster = simulation.cluster
    by_key = {one.key: one for one in simulation.pending}
    targets = [by_key[key] for key in pods if not by_key[key].node]
    free = [
        one
        for one in cluster.pods.values()
        if one.pod.metadata.owner_references
        and one.pod.metadata.owner_references[0].kind == "ReplicaSet"
        and not any(
            b.status.disruptions_allowed < 1 and one.labels.get("app") == "db" for b in cluster.budgets.values()
        )
    ]
    start = tuple(one.node for one in free)
    new: list[PodInfo] = []
    for one in free:
        raw = copy.deepcopy(one.pod)
        raw.spec.node_name = ""
        assert isinstance(raw, Pod)
        new.append(PodInfo(raw, simulation.release))
    scheduler = simulation.scheduler
    scheduler.preemption = scheduler.batches = False
    for one in free:
        cluster.remove_pod(one)

    def show(state: tuple[str, ...]) -> None:
        for info in new:
            if info.node:
                cluster.remove_pod(info)
        for info, name in zip(new, state, strict=True):
            if name:
                cluster.add_pod(info, name)

    def fits() -> bool:
        done = []
        for target in targets:
            framework, cycle, trace = scheduler.try_pod(target)
            if trace.result != "scheduled":
                break
            done.append((framework, cycle, target))
        for framework, cycle, target in reversed(done):
            scheduler.forget(framework, cycle, target, target.node)
        return len(done) == len(targets)

    def destinations(info: PodInfo) -> list[str]:
        framework, cycle = scheduler.framework_of(info), CycleState()
        left, status, _ = framework.run_pre_filter(cycle, info)
        if status is not None:
            return []
        refused = np.zeros(len(cluster.nodes), np.bool_)
        for verdict in framework.run_filter(cycle, info).values():
            refused |= verdict.codes > 0 if verdict.codes is not None else False
        names = cluster.nodes.names
        return [names[row] for row in np.flatnonzero(~refused) if left is None or names[row] in left]

    level, known = {start}, {start}
    for number in range(MOST + 1):
        after = set()
        for state in level:
            show(state)
            if fits():
                return number
            if number == MOST:
                continue
            for i, info in enumerate(new):
                show((*state[:i], "", *state[i + 1 :]))
                after |= {(*state[:i], name, *state[i + 1 :]) for name in destinations(info)}
        level = after - known
        known |= level
    return None


def compare(seed: int) -> Counter[str]:
    """Compare one small cluster; return what it covered."""
    objects, pods = small(seed)
    fewest = brute_force(objects, pods)
    found = answer(objects, *pods)
    if fewest is None:
        assert found.get("moves") is None, (seed, found)
        assert found["impossible"] or found["at_least"] > MOST or found["ended"], (seed, found)
    else:
        assert found.get("moves") is not None, (seed, fewest, found)
        assert len(found["moves"]) == fewest, (seed, fewest, found)
        assert found["minimal"] or found["ended"], (seed, found)
        assert found.get("placed_by_run") or not fewest or found["verified"], (seed, found)
        assert set(found["placed"]) == set(pods)
    return Counter([f"{fewest} moves", "ended" if found.get("ended") else "proved", f"{min(len(pods), 2)} pods"])


def test_moves_are_as_few_as_brute_force_finds() -> None:
    assert sum((compare(seed) for seed in FAST), Counter[str]())["proved"] == len(FAST)


@pytest.mark.long
def test_moves_are_as_few_as_brute_force_finds_on_200_clusters() -> None:
    covered = sum((compare(seed) for seed in ALL), Counter[str]())
    assert covered["ended"] < 10, covered
    assert all(covered[what] >= 5 for what in ("0 moves", "1 moves", "2 moves", "None moves", "2 pods")), covered


def test_a_chain_of_moves_is_in_executable_order() -> None:
    """big leaves a for b, which small has to leave before for c."""
    objects = [
        node("a", cpu=4), node("b", cpu=4), node("c", cpu=2, labels={"pool": "c"}),
        owned(pod("big", on="a", requests={"cpu": 3}, priority=7), "one"),
        owned(pod("small", on="b", requests={"cpu": 2})),
        owned(pod("other", on="b", requests={"cpu": 1}), kind="DaemonSet"),
        pod("new", requests={"cpu": 4}),
    ]  # fmt: skip
    found = answer(objects, "default/new")
    assert [(move["pod"], move["from"], move["to"]) for move in found["moves"]] == [
        ("default/small", "b", "c"),
        ("default/big", "a", "b"),
    ]
    assert found["answer"] == (
        "default/new fits after 2 moves, and fewer do not suffice. "
        "default/small, default/big are the only pods of theirs."
    )
    assert found["cost"]["highest_priority"] == 7
    assert found["cost"]["cpu"] == 5000
    assert found["placed"] == {"default/new": "a"}
    assert found["wanted"] == {"default/new": {"cpu": 4000}}
    nodes = {one["name"]: one for one in found["nodes"]}
    assert [key for key, _ in nodes["b"]["before"]] == ["default/other", "default/small"]
    assert nodes["b"]["after"] == [["default/other", {"cpu": 1000}], ["default/big", {"cpu": 3000}]]
    assert nodes["a"]["after"] == []


def test_a_swap_needs_a_third_node_and_a_third_move() -> None:
    """x and y change places; one of them waits on c, which the second pending pod needs afterwards."""
    objects = [
        node("a", cpu=5), node("b", cpu=4),
        owned(pod("x", on="a", requests={"cpu": 4}), "x"), owned(pod("y", on="b", requests={"cpu": 3}), "y"),
        pod("new", requests={"cpu": 2}, nodeSelector={HOSTNAME: "a"}),
    ]  # fmt: skip
    alone = answer(objects, "default/new", most=6)
    assert alone["impossible"]
    objects += [node("c", cpu=4), pod("second", requests={"cpu": 4}, nodeSelector={HOSTNAME: "c"})]
    found = answer(objects, "default/new", "default/second", pending="ignore", most=6)
    assert len(found["moves"]) == 3
    assert found["cost"]["pods"] == 2
    assert found["minimal"]
    assert found["verified"]
    assert "fit after 3 moves of 2 pods, and fewer do not suffice." in found["answer"]


def test_no_more_moves_are_required_than_pods_may_move() -> None:
    """Each node has space for the pending pod without its pod, which fits nowhere else."""
    names = ("a", "b", "c")
    objects = [node(name, cpu=4) for name in names]
    objects += [owned(pod(f"on-{name}", on=name, requests={"cpu": 3})) for name in names]
    objects.append(pod("new", requests={"cpu": 3}))
    found = answer(objects, "default/new", most=8)
    assert (found["movable"], found["impossible"]) == (3, True)
    assert found["answer"] == "No moves of running pods let default/new fit."
    assert found["reason"] == ("However the 3 pods that may move are placed, no node has what the pending pods need.")
    fewer = answer(objects, "default/new", most=2)
    assert (fewer["impossible"], fewer["at_least"]) == (False, 3)


def test_more_moves_than_searched_for_are_required_by_the_resources() -> None:
    objects = [node("a", cpu=6), node("b", cpu=9)]
    objects += [owned(pod(f"r{i}", on="a", requests={"cpu": 1})) for i in range(5)]
    objects.append(pod("new", requests={"cpu": 6}, nodeSelector={HOSTNAME: "a"}))
    found = answer(objects, "default/new", most=2)
    assert found["reason"] == "At least 5 moves would be needed, and the search is for 2 at most."


def test_pods_that_cannot_move_are_counted_with_the_reason() -> None:
    budget = {"metadata": {"name": "b", "namespace": "default"}, "spec": {"selector": selector(app="db")}}
    objects = [
        node("a", cpu=4), node("b", cpu=4),
        pod("bare", on="a", requests={"cpu": 1}), owned(pod("agent", on="a", requests={"cpu": 1}), kind="DaemonSet"),
        static_pod("static", on="a"), owned(pod("db", on="b", labels={"app": "db"}, requests={"cpu": 2})),
        {"kind": "PodDisruptionBudget", **budget, "status": {"disruptionsAllowed": 0}},
        pod("new", requests={"cpu": 3}),
    ]  # fmt: skip
    found = answer(objects, "default/new")
    assert found["impossible"]
    assert found["answer"] == "No moves of running pods let default/new fit."
    assert found["fixed"] == {
        "no controller would create it again": 1,
        "its DaemonSet has one pod per node": 1,
        "it is a static pod": 1,
        "a PodDisruptionBudget allows no disruption": 1,
    }


def test_a_budget_without_a_status_is_computed() -> None:
    budget = {"metadata": {"name": "b", "namespace": "default"}}
    spec = {"selector": selector(app="db"), "minAvailable": 1}
    objects = [
        node("a", cpu=4), node("b", cpu=4), node("c", cpu=2),
        *(owned(pod(f"db-{on}", on=on, labels={"app": "db"}, requests={"cpu": 2})) for on in "ab"),
        pod("new", requests={"cpu": 4}),
    ]  # fmt: skip
    found = answer([*objects, {"kind": "PodDisruptionBudget", **budget, "spec": spec}], "default/new")
    assert len(found["moves"]) == 1
    assert found["cost"]["budgets"] == ["default/b"]
    spec["minAvailable"] = 2
    found = answer([*objects, {"kind": "PodDisruptionBudget", **budget, "spec": spec}], "default/new")
    assert found["fixed"] == {"a PodDisruptionBudget allows no disruption": 2}


def test_the_effort_ends_the_search_with_what_is_known() -> None:
    objects = [node(f"n{i}", cpu=8) for i in range(6)]
    objects += [
        owned(pod(f"r{i}-{j}", on=f"n{i}", requests={"cpu": 2}), f"r{i}{j}") for i in range(6) for j in range(3)
    ]
    objects += [node("last", cpu=1), pod("new", requests={"cpu": 8})]
    enough = answer(objects, "default/new", most=6)
    assert len(enough["moves"]) == 3
    assert enough["minimal"]
    ended = answer(objects, "default/new", most=6, effort=3)
    assert ended["ended"]
    assert len(ended.get("moves") or [1, 2, 3]) >= 3
    assert "At least" in ended["answer"] or "at least" in ended["answer"]


def test_a_pod_that_the_run_places_needs_no_moves() -> None:
    found = answer([node("a"), pod("new")], "default/new")
    assert found["answer"] == "default/new fits without moves: the scheduler places it on a."


@pytest.mark.parametrize("names", [("default/low", "default/high"), ("default/high", "default/low")])
def test_pending_pods_are_placed_in_queue_order(names: tuple[str, str]) -> None:
    """`high` fits on `b` only, which `low` would take. The scheduler tries it first, whatever the document says."""
    low, high = pod("low", requests={"cpu": 2}), pod("high", requests={"cpu": 4}, priority=5)
    found = answer([node("a", cpu=3), node("b", cpu=4), low, high], *names, pending="ignore")
    assert found["moves"] == []
    assert found["placed"] == {"default/high": "b", "default/low": "a"}


def test_other_reasons_than_full_nodes_are_named() -> None:
    assert answer([pod("new")], "default/new")["impossible"]
    gated = answer([node("a"), pod("new", schedulingGates=[{"name": "quota"}])], "default/new")
    assert gated["reason"] == (
        "default/new is not queued: SchedulingGates rejects it (waiting for scheduling gates: [quota]), "
        "which no moves change."
    )
    lower = owned(pod("lower", on="a", requests={"cpu": 4}))
    preempts = answer([node("a"), lower, pod("new", requests={"cpu": 4}, priority=9)], "default/new")
    assert preempts["answer"] == ("default/new fits without moves: the scheduler evicts pods of lower priority on a.")


def test_a_gang_is_placed_as_a_whole() -> None:
    group = {
        "kind": "PodGroup",
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "metadata": {"name": "g", "namespace": "default"},
    }
    labels = {POD_GROUP: "g"}
    members = [pod(f"g-{i}", labels=labels, requests={"cpu": 3}) for i in range(2)]
    running = [owned(pod(f"web-{name}", on=name, requests={"cpu": 2})) for name in "ab"]
    objects = [node("a"), node("b"), node("c", cpu=4, pods=2), {**group, "spec": {"minMember": 2}}, *running, *members]
    found = answer(objects, group="default/g", pending="ignore")
    assert found["pods"] == ["default/g-0", "default/g-1"]
    assert [move["to"] for move in found["moves"]] != []
    assert found["verified"]


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"pods": []}, "spec.moves.pods"),
        ({"pods": ["default/new"], "group": "default/g"}, "spec.moves.pods"),
        ({"pods": ["default/new"], "most": 99}, "spec.moves.most"),
        ({"pods": ["default/new"], "effort": 0}, "spec.moves.effort"),
        ({"pods": ["default/gone"]}, "spec.moves.pods[0]"),
        ({"pods": ["default/runs"]}, "spec.moves.pods[0]"),
        ({"group": "default/none"}, "spec.moves.group"),
    ],
)
def test_wrong_parameters_name_the_field(parameters: Raw, field: str) -> None:
    with pytest.raises(InputError) as error:
        answer(
            [node("a"), pod("runs", on="a"), pod("new", requests={"cpu": 99})],
            *parameters.pop("pods", []),
            **parameters,
        )
    assert error.value.field == field
