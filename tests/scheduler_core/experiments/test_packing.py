"""Packing: cases computed by hand, and an independent version on random clusters that schedules raw objects."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from typing import Any

import pytest

from scheduler_core.experiments.cell import Cell, Done
from scheduler_core.experiments.local_run import run_experiment
from scheduler_core.experiments.packing import PackingQuestion, Scale, largest, smallest
from scheduler_core.experiments.questions import load_experiment
from scheduler_core.experiments.scenario_input import ScenarioInput
from scheduler_core.releases import get_release
from scheduler_core.simulation import Simulation
from scheduler_core.snapshot.preflight import AS_UPSTREAM
from scheduler_core.snapshot.prepare import prepare
from tests.scheduler_core.build import REQUIRED, ZONE, Raw, node, pod, static_pod

RELEASE = "1.34"
DAEMON = [{"kind": "DaemonSet", "name": "agent", "controller": True}]


def scenario_of(*objects: Raw) -> ScenarioInput:
    encoded = json.dumps(objects)
    return ScenarioInput("cluster", "digest", lambda: json.loads(encoded))


def computed(
    scenario: ScenarioInput, measure: str, order: int = 1, picky: float = 0.0, pending: str = "first", **fields: Any
) -> dict[str, Any]:
    parameters = {"measure": measure, "order": order, "pending": pending, "picky": picky}
    cell = Cell(question="packing", scenario="", release=RELEASE, parameters=parameters, **fields)
    return PackingQuestion().compute(cell, scenario, lambda: None)


def with_owner(raw: Raw) -> Raw:
    raw["metadata"]["ownerReferences"] = DAEMON
    return raw


# ---- cases computed by hand


def test_the_fewest_nodes_of_equal_nodes() -> None:
    running = [pod(f"p{i}", on=f"n{i}", requests={"cpu": 1}) for i in range(6)]
    scenario = scenario_of(*(node(f"n{i}", cpu=4) for i in range(6)), *running)
    for order in range(1, 4):
        found = computed(scenario, "compaction", order)
        assert (found["found"], found["nodes"], found["pods"], found["pending"]) == (2, 6, 6, 0)
        assert found["metrics"] == {"compaction": 2}
        assert (found["tried"]["2"], found["tried"]["1"]) == (True, False)


def test_pods_of_daemon_sets_and_static_pods_belong_to_their_node() -> None:
    agents = [with_owner(pod(f"agent-{i}", on=f"n{i}", requests={"cpu": 1})) for i in range(4)]
    mirrors = [static_pod(f"mirror-{i}", on=f"n{i}", requests={"cpu": 1}) for i in range(4)]
    nodes = [node(f"n{i}", cpu=4) for i in range(4)]
    web = [pod(f"p{i}", requests={"cpu": 1}) for i in range(4)]
    found = computed(scenario_of(*nodes, *agents, *mirrors, *web), "compaction")
    assert (found["found"], found["pods"]) == (2, 4)  # each node has 2 of 4 cpu left


def test_picky_pods_may_stay_pending() -> None:
    nodes = [node(f"n{i}", cpu=10) for i in range(4)]
    pods = [*(pod(f"p{i}", requests={"cpu": 1}) for i in range(9)), pod("picky", nodeSelector={"disk": "tape"})]
    scenario = scenario_of(*nodes, *pods)
    assert computed(scenario, "compaction")["found"] is None
    found = computed(scenario, "compaction", picky=0.1)
    assert (found["found"], found["allowed"], found["pending"]) == (1, 1, 1)
    assert computed(scenario, "compaction", picky=0.099)["found"] is None


def test_pending_pods_may_be_left_out() -> None:
    pods = [pod("a", on="n0", requests={"cpu": 1}), pod("huge", requests={"cpu": 99})]
    scenario = scenario_of(*(node(f"n{i}", cpu=4) for i in range(3)), *pods)
    assert computed(scenario, "compaction")["found"] is None
    assert computed(scenario, "compaction", pending="ignore")["found"] == 1
    gated = pod("gated", schedulingGates=[{"name": "later"}])
    leaving = pod("leaving", on="n0", deleted=True)
    other = pod("other", on="n1", requests={"cpu": 3}, schedulerName="mine")
    found = computed(scenario_of(node("n0", cpu=4), node("n1", cpu=4), pods[0], gated, leaving, other), "compaction")
    assert (found["pods"], found["found"]) == (2, 1)  # a and other; the scheduler of the configuration places both


def test_changes_apply_to_compaction() -> None:
    pods = [pod(f"p{i}", requests={"cpu": 2}) for i in range(4)]
    scenario = scenario_of(*(node(f"n{i}", cpu=4) for i in range(4)), *pods)
    assert computed(scenario, "compaction")["found"] == 2
    changes = [{"cordon": "n1"}, {"delete": {"kind": "Pod", "namespace": "default", "name": "p0"}}]
    sizes = {computed(scenario, "compaction", order, changes=changes)["found"] for order in range(1, 9)}
    assert sizes == {2, 3}  # three pods need two nodes, and n1 among the first ones is useless
    skip = [{"skip": {"plugin": "NodeResourcesFit"}}]
    assert computed(scenario, "compaction", changes=skip)["found"] == 1


def test_the_largest_factor_of_replicas_and_requests() -> None:
    pods = [pod(f"p{i}", on="n0", requests={"cpu": "500m", "memory": "1Gi"}) for i in range(4)]
    scenario = scenario_of(node("n0", cpu=4), node("n1", cpu=4), *pods)
    found = computed(scenario, "replicas")
    assert (found["found"], found["complete"]) == (4.0, True)  # 16 pods of 500m in 8 cpu
    assert (found["tried"]["16"], found["tried"]["17"]) == (True, False)
    found = computed(scenario, "requests")
    assert found["found"] == 4.0  # 2 cpu each: two on each node
    assert found["metrics"] == {"inflation:requests": 4.0}


def test_a_workload_that_does_not_fit_cannot_grow_and_has_requests_with_which_it_fits() -> None:
    scenario = scenario_of(node("n0", cpu=4), *(pod(f"p{i}", requests={"cpu": 1}) for i in range(8)))
    replicas = computed(scenario, "replicas")
    assert (replicas["found"], replicas["metrics"], replicas["tried"]) == (None, {}, {"8": False})
    assert computed(scenario, "requests")["found"] == 0.5
    answer = experiment(scenario, measures=["replicas", "requests"])["answer"]
    assert answer.startswith(
        "The workload does not fit as it is: placed from scratch, 4 of 8 pods stay pending on all nodes"
    )
    assert "The pods fit only if their requests shrink to 50% of what they are." in answer
    impossible = scenario_of(node("n0"), pod("a", nodeSelector={"disk": "tape"}))
    assert computed(impossible, "replicas")["found"] is computed(impossible, "requests")["found"] is None


def test_the_search_ends_at_a_limit() -> None:
    scenario = scenario_of(node("n0", pods=10_000), pod("a"), pod("b"))
    found = computed(scenario, "replicas")
    assert (found["found"], found["complete"]) == (64, False)


def test_resources_do_not_count_without_their_plugin() -> None:
    off = {"kind": "KubeSchedulerConfiguration", "apiVersion": "kubescheduler.config.k8s.io/v1"}
    off["profiles"] = [{"plugins": {"multiPoint": {"disabled": [{"name": "NodeResourcesFit"}]}}}]  # type: ignore[assignment]
    scenario = scenario_of(
        *(node(f"n{i}", cpu=1) for i in range(3)), *(pod(f"p{i}", requests={"cpu": 1}) for i in range(3))
    )
    assert computed(scenario, "compaction")["found"] == 3
    assert computed(scenario, "compaction", configuration=json.dumps(off))["found"] == 1


def test_a_scenario_without_pods_has_no_answer() -> None:
    scenario = scenario_of(node("n0"), static_pod("mirror", on="n0"))
    assert computed(scenario, "compaction")["found"] is computed(scenario, "replicas")["found"] is None
    assert experiment(scenario)["answer"].startswith("The scenario has no pods that could be placed")


def test_requests_are_scaled_and_rounded_up() -> None:
    raw = pod("p", requests={"cpu": "333m", "memory": 1001, "nvidia.com/gpu": 1})
    (made,) = prepare([raw], release=get_release(RELEASE), schedulers={"x"}, choices=AS_UPSTREAM).objects
    scaled = Scale(150)(made)  # type: ignore[arg-type]
    assert scaled.spec.containers[0].resources.requests == {"cpu": "500m", "memory": "1502", "nvidia.com/gpu": 1}


@pytest.mark.parametrize("bound", range(1, 20))
def test_bisection_finds_a_boundary(bound: int) -> None:
    assert smallest(lambda size: size >= bound, 19) == bound
    assert largest(lambda size: size <= bound, 5, 64) == bound
    assert smallest(lambda size: size >= bound, bound - 1) is None


def test_a_search_that_is_not_monotone_ends_at_a_boundary() -> None:
    fits = {3, 5, 6, 9, 10, 11}
    found = smallest(fits.__contains__, 11)
    assert found is not None
    assert found in fits
    assert found - 1 not in fits
    low = largest(lambda size: size in {1, 2, 3, 4, 6, 7, 8, 9, 11}, 4, 16)
    assert low == 9


# ---- the question


def experiment(scenario: ScenarioInput, seeds: tuple[int, ...] = (0,), **packing: Any) -> dict[str, Any]:
    spec = {
        "question": "packing",
        "scenarios": [{"id": 1, "name": "cluster"}],
        "releases": [RELEASE],
        "packing": packing,
    }
    spec["seeds"] = seeds
    document = {"apiVersion": "kubesched.dev/v1alpha1", "kind": "Experiment", "spec": spec}
    return run_experiment(load_experiment(json.dumps(document)), {"cluster": scenario})


def test_the_answer_is_the_90th_percentile() -> None:
    nodes = [node(f"n{i}", cpu=2 + 2 * (i % 3)) for i in range(9)]
    scenario = scenario_of(*nodes, *(pod(f"p{i}", requests={"cpu": 1}) for i in range(12)))
    summary = experiment(scenario, measures=["compaction", "replicas", "requests"])
    row = summary["rows"][0]
    assert row["orders"] == len(row["values"]) == 11
    assert row["found"] == sorted(row["values"])[9]
    assert (row["least"], row["most"]) == (row["values"][0], row["values"][-1])
    assert [one["measure"] for one in summary["rows"]] == ["compaction", "replicas", "requests"]
    assert summary["answer"].startswith(f"The 12 pods fit on {row['found']} of 9 nodes, so ")
    factor = f"{summary['rows'][1]['found']:.2f}"
    assert f" are not needed. {factor} times as many pods fit. Pods with " in summary["answer"]
    assert summary["answer"].endswith(" times the requests fit. This holds for 90% of 11 random orders of the nodes.")


def test_nine_of_ten_orders_reach_the_answer() -> None:
    cell = Cell(question="packing", scenario="s", release="1.34", labels={"measure": "replicas"})
    same = {"nodes": 1, "pods": 1, "allowed": 0, "pending": 0, "complete": True}
    done = [Done(cell, {"found": factor, **same}) for factor in range(10)]
    (row,) = PackingQuestion().summarise(load_experiment(MINIMAL), done)["rows"]
    assert row["found"] == 1


def test_the_answer_names_the_best_of_several() -> None:
    nodes = [node(f"n{i}", cpu=4) for i in range(4)]
    scenario = scenario_of(*nodes, *(pod(f"p{i}", requests={"cpu": 1}) for i in range(4)))
    spec = json.loads(MINIMAL)
    changes = [{"name": "as it is"}, {"name": "without n0", "changes": [{"cordon": "n0"}]}]
    spec["spec"] |= {"changes": changes, "seeds": [0, 1], "packing": {"measures": ["replicas"], "orders": 2}}
    spec["spec"]["scenarios"][0]["name"] = "cluster"
    summary = run_experiment(load_experiment(json.dumps(spec)), {"cluster": scenario})
    titles = ["as it is, seed 0", "as it is, seed 1", "without n0, seed 0", "without n0, seed 1"]
    assert [row["title"] for row in summary["rows"]] == titles
    assert summary["answer"].startswith("With as it is, seed 0, 4.00 times as many pods fit.")


def test_the_answer_says_why_there_is_none() -> None:
    scenario = scenario_of(node("n0", cpu=4), *(pod(f"p{i}", requests={"cpu": 1}) for i in range(8)))
    answer = experiment(scenario, measures=["compaction"])["answer"]
    assert "4 of 8 pods stay pending on all nodes, and none may" in answer
    assert PackingQuestion().summarise(load_experiment(MINIMAL), [])["answer"] == "No cell was computed."
    failed = Done(Cell(question="packing", scenario="", release=RELEASE, labels={"measure": "compaction"}), None, "bad")
    assert "bad" in PackingQuestion().summarise(load_experiment(MINIMAL), [failed])["answer"]


MINIMAL = json.dumps(
    {
        "apiVersion": "kubesched.dev/v1alpha1",
        "kind": "Experiment",
        "spec": {"question": "packing", "scenarios": [{"id": 1}]},
    }
)


# ---- an independent version


class Straightforward:
    """Schedules the raw objects of each trial anew, to the end, and counts what is pending."""

    def __init__(self, objects: list[Raw], order: int, picky: float) -> None:
        self.picky = picky
        self.nodes = sorted((o for o in objects if o["kind"] == "Node"), key=lambda o: str(o["metadata"]["name"]))
        random.Random(f"0/{order}").shuffle(self.nodes)
        pods = [o for o in objects if o["kind"] == "Pod"]
        self.fixed = [o for o in pods if o["metadata"].get("ownerReferences")]
        self.pods = [o for o in pods if not o["metadata"].get("ownerReferences")]
        self.order = random.Random(f"0/{order}/replicas")
        self.shuffled = list(range(len(self.pods)))
        self.order.shuffle(self.shuffled)

    def fits(self, nodes: list[Raw], pods: list[Raw]) -> bool:
        names = {o["metadata"]["name"] for o in nodes}
        loose = json.loads(json.dumps(pods))
        for o in loose:
            o["spec"].pop("nodeName", None)
        fixed = [o for o in self.fixed if o["spec"]["nodeName"] in names]
        raws = json.loads(json.dumps([*nodes, *fixed])) + loose
        release = get_release(RELEASE)
        found = prepare(raws, release=release, schedulers={"default-scheduler"}, choices=AS_UPSTREAM)
        cycles = list(Simulation(found.objects, release=release, preemption=False).run())
        return sum(not cycle.node for cycle in cycles) <= math.floor(self.picky * len(pods))

    def compaction(self) -> int | None:
        if not self.fits(self.nodes, self.pods):
            return None
        fails, works = 0, len(self.nodes)
        while works > fails + 1:
            size = (fails + works) // 2
            fails, works = (fails, size) if self.fits(self.nodes[:size], self.pods) else (size, works)
        return works

    def replicas(self) -> float | None:
        def fits(size: int) -> bool:
            pods, copies = list[Raw](), list[Raw]()
            for position, raw in enumerate(self.pods):
                number = size // len(self.pods) + (self.shuffled.index(position) < size % len(self.pods))
                pods += [raw] if number else []
                for copy in range(1, number):
                    more = json.loads(json.dumps(raw))
                    more["metadata"]["name"] += f"-more-{copy}"
                    copies.append(more)
            return self.fits(self.nodes, pods + copies)

        found = self._factor(fits, len(self.pods))
        return found if found is not None and found >= 1 else None

    @staticmethod
    def _factor(fits: Callable[[int], bool], whole: int) -> float | None:
        works, fails = 0, whole
        while fits(fails):
            works, fails = fails, fails * 2
        while fails > works + 1:
            size = (works + fails) // 2
            works, fails = (size, fails) if fits(size) else (works, size)
        return round(works / whole, 4) if works else None


def random_cluster(chance: random.Random) -> list[Raw]:
    nodes = [
        node(
            f"n{i}",
            cpu=chance.choice([2, 3, 4, 8]),
            memory=f"{chance.choice([4, 8, 16])}Gi",
            pods=chance.choice([4, 6, 110]),
            zone=chance.choice(["a", "b", ""]),
            labels={"disk": chance.choice(["ssd", "hdd"])},
            unschedulable=chance.random() < 0.05,
        )
        for i in range(chance.randint(1, 6))
    ]
    names = [o["metadata"]["name"] for o in nodes]
    agents = [with_owner(pod(f"agent-{name}", on=name, requests={"cpu": "100m"})) for name in names]
    pods = []
    for i in range(chance.randint(1, 9)):
        more: Raw = {}
        if chance.random() < 0.2:
            more["nodeSelector"] = {"disk": "ssd"}
        if chance.random() < 0.2:
            term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "a"}}}
            more["affinity"] = {"podAntiAffinity": {REQUIRED: [term]}}
        if chance.random() < 0.2:
            constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
            more["topologySpreadConstraints"] = [constraint | {"labelSelector": {"matchLabels": {"app": "b"}}}]
        requests = {"cpu": f"{chance.choice([100, 500, 1000, 2500])}m", "memory": f"{chance.choice([1, 2, 3])}Gi"}
        on = chance.choice(["", *names])
        labels = {"app": chance.choice("abc")}
        pods.append(pod(f"p{i}", on=on, labels=labels, requests=requests, priority=chance.choice([0, 5]), **more))
    return [*nodes, *agents, *pods] if chance.random() < 0.5 else [*nodes, *pods]


def compare(seed: int) -> None:
    chance = random.Random(seed)
    objects, order, picky = random_cluster(chance), chance.randint(1, 20), chance.choice([0, 0, 0.25])
    scenario = scenario_of(*objects)
    expected = Straightforward(objects, order, picky)
    found = computed(scenario, "compaction", order, picky)
    assert found["found"] == expected.compaction(), seed
    if found["found"]:
        assert found["tried"][str(found["found"])]
        assert found["found"] == 1 or found["tried"][str(found["found"] - 1)] is False
    if picky == 0 and seed % 3 == 0:  # with picky pods, the factor of a workload without requests has no limit
        assert computed(scenario, "replicas", order)["found"] == expected.replicas(), seed


@pytest.mark.parametrize("seed", range(12))
def test_a_straightforward_version_agrees(seed: int) -> None:
    compare(seed)


@pytest.mark.long
def test_a_straightforward_version_agrees_on_1000_clusters() -> None:
    for seed in range(100, 1100):
        compare(seed)


def test_answers_without_a_number_are_one_sentence() -> None:
    empty = experiment(scenario_of(node("n")), measures=["compaction", "replicas", "requests"])
    assert empty["answer"] == "The scenario has no pods that could be placed elsewhere."
    assert experiment(scenario_of(pod("p")))["answer"] == "The scenario has no nodes."
    large = scenario_of(node("n"), pod("p", on="n", requests={"cpu": 9999}))
    start = "The workload does not fit as it is: placed from scratch"
    sentence = f"{start}, 1 of 1 pod stays pending on all nodes, and none may."
    assert experiment(large, measures=["compaction"], pending="ignore")["answer"] == sentence
    first = experiment(large, measures=["compaction"])["answer"]
    assert first == f"{sentence} To measure it, leave out the pods that are pending now."
