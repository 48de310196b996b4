"""Capacity equals adding pods one at a time through the scheduler until one stays pending."""

import copy
import random
from collections import Counter
from typing import Any

import pytest

from scheduler_core.api.objects import Node, decode_all
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.errors import InputError
from scheduler_core.experiments.capacity import GROUP_LABEL, Capacity
from scheduler_core.experiments.cell import Done
from scheduler_core.experiments.parameters import CapacityParameters, CapacityPod
from scheduler_core.experiments.scenario_input import ScenarioInput
from scheduler_core.metrics.groups import node_groups
from scheduler_core.simulation import Simulation
from tests.random_clusters import random_cluster
from tests.scheduler_core.build import HOSTNAME, REQUIRED, ZONE, claim, node, pod, selector, volume, workload
from tests.scheduler_core.experiments.questions import unchecked

Raw = dict[str, Any]
FAST, ALL = range(8), range(8, 308)


def scenario(objects: list[Raw]) -> ScenarioInput:
    return ScenarioInput("s", "digest", lambda: copy.deepcopy(objects))


def answer(objects: list[Raw], *pods: CapacityPod, release: str = "1.34", seed: int = 0, **more: Any) -> Raw:
    """Return the answer with the results of the cells in `cells`."""
    given = {"s": scenario(objects)}
    parameters = CapacityParameters(pods=list(pods), **more)
    experiment = unchecked("capacity", releases=[release], seeds=[seed], capacity=parameters)
    question = Capacity()
    done = [Done(cell, question.compute(cell, given["s"], lambda: None)) for cell in question.plan(experiment, given)]
    return {**question.summarise(experiment, done), "cells": [one.result for one in done]}


def turns(weights: list[int]) -> Any:
    """Yield the indexes of a mix, independently of the product: each at the middle of its share, by time."""
    credit = [0] * len(weights)
    while True:
        credit = [had + weight for had, weight in zip(credit, weights, strict=True)]
        best = credit.index(max(credit))
        credit[best] -= sum(weights)
        yield best


def by_hand(
    objects: list[Raw], templates: list[Raw], weights: list[int], first: bool, release: str, group: str | None = None
) -> tuple[Counter[int], Counter[str], str]:
    """Add pods one at a time. Return (number by template, number by node, message of the pod that stays pending)."""
    objects = copy.deepcopy(objects)
    if group is not None:
        groups = node_groups([one for one in decode_all(copy.deepcopy(objects)) if isinstance(one, Node)])
        for one in objects:
            if one["kind"] == "Node" and groups[one["metadata"]["name"]] == group:
                one["metadata"]["labels"][GROUP_LABEL] = group
    if not first:
        objects = [one for one in objects if one["kind"] != "Pod" or one["spec"].get("nodeName")]
    prepared = scenario(objects).prepared(release).objects
    simulation = Simulation(prepared, release=release)
    for _ in simulation.run():
        pass
    fits, nodes, numbers = Counter[int](), Counter[str](), Counter[int]()
    simulation.scheduler.preemption = False
    for index in turns(weights):
        numbers[index] += 1
        raw = copy.deepcopy(templates[index])
        name = f"{raw['metadata']['name']}-more-{numbers[index]}"
        raw["metadata"] |= {"name": name, "uid": f"capacity-{name}"}
        raw["spec"].pop("nodeName", None)
        raw["status"] = {}
        if group is not None:
            raw["spec"].setdefault("nodeSelector", {})[GROUP_LABEL] = group
        (decoded,) = decode_all([raw])
        info = PodInfo(decoded, simulation.release)  # type: ignore[arg-type]
        simulation.pending.append(info)
        trace = simulation.scheduler.schedule_one(info)
        if trace.result != "scheduled":
            return fits, nodes, trace.message
        fits[index] += 1
        nodes[trace.node] += 1
        assert fits.total() < 2_000
    raise AssertionError


def compare(seed: int) -> Counter[str]:
    """Compare one random cluster; return what it covered."""
    chance, cluster = random.Random(f"capacity {seed}"), random_cluster(seed)
    objects, release = cluster["objects"], chance.choice(("1.34", "1.34", "1.36", "1.29", "1.22"))
    pods = [one for one in objects if one["kind"] == "Pod" and not one["metadata"].get("deletionTimestamp")]
    chosen = chance.sample(pods, min(len(pods), chance.choice((1, 1, 2, 3))))
    plain = chance.random() < 0.2
    for one in chosen:
        one["spec"].pop("schedulingGates", None)
        for feature in ("affinity", "topologySpreadConstraints", "volumes", "resourceClaims") if plain else ():
            one["spec"].pop(feature, None)
        if plain:
            one["metadata"]["labels"] = {}
    weights = [chance.randint(1, 3) for _ in chosen] if len(chosen) > 1 else [1]
    first = chance.random() < 0.5
    sources = [
        CapacityPod(pod=f"{one['metadata']['namespace']}/{one['metadata']['name']}", weight=weight)
        for one, weight in zip(chosen, weights, strict=True)
    ]
    pending = "first" if first else "ignore"
    found = answer(objects, *sources, release=release, pending=pending, limit=2_000)
    covered = Counter[str]()
    for row, result in zip(found["rows"], found["cells"], strict=True):
        fits, nodes, message = by_hand(objects, chosen, weights, first, release, row["group"] or None)
        assert [one["fit"] for one in result["pods"]] == [fits[index] for index in range(len(chosen))], (seed, row)
        assert result["complete"], seed
        assert result["reason"], (seed, message)
        if not row["group"]:
            groups = node_groups([one for one in decode_all(copy.deepcopy(objects)) if isinstance(one, Node)])
            landed = Counter[str]()
            for name, number in nodes.items():
                landed[groups[name]] += number
            assert result["landed"] == landed, seed
        covered["at once" if result["at_once"] else "one by one"] += 1
        covered["mix" if len(chosen) > 1 else "single"] += 1
        covered["some"] += fits.total() > 1
        spec = str([one["spec"] for one in chosen])
        for feature in ("topologySpreadConstraints", "podAntiAffinity", "hostPort", "tolerations", "example.com/gpu"):
            covered[feature] += feature in spec
    return covered


def test_it_equals_brute_force_on_random_clusters() -> None:
    assert sum((compare(seed) for seed in FAST), Counter[str]())["some"] > 2


@pytest.mark.long
def test_it_equals_brute_force_on_300_random_clusters() -> None:
    covered = sum((compare(seed) for seed in ALL), Counter[str]())
    features = ("topologySpreadConstraints", "podAntiAffinity", "hostPort", "tolerations", "example.com/gpu")
    assert all(covered[what] > 20 for what in ("at once", "one by one", "mix", "single", "some", *features)), covered


NODES = [node("a", cpu="4"), node("b", cpu="2", labels={"pool": "small"}), node("c", cpu="2", labels={"pool": "small"})]


def test_requests_fill_every_node_at_once_and_the_reason_names_what_is_short() -> None:
    found = answer(NODES, CapacityPod(requests={"cpu": "900m"}))
    assert found["answer"] == (
        "8 more of 900m cpu fit, then the next one stays pending. "
        "No node has 0.9 cpu free: the closest, a, is short by 0.5 cpu (requests 0.9, 0.4 of 4 free)."
    )
    whole, *groups = found["rows"]
    assert whole["at_once"]
    assert whole["landed"] == {"no pool": 4, "small": 4}
    assert [(row["group"], row["fit"], row["nodes"]) for row in groups] == [("small", 4, 2), ("no pool", 4, 1)]
    assert groups[0]["reason"] == (
        "None of the 2 nodes of the group has 0.9 cpu free: the closest, b, is short by 0.7 cpu "
        "(requests 0.9, 0.2 of 2 free)."
    )


def test_a_mix_arrives_by_weight() -> None:
    pods = (CapacityPod(requests={"cpu": "1"}, name="one", weight=2), CapacityPod(requests={"cpu": "2"}, name="two"))
    found = answer([node("a", cpu="10")], *pods)
    # one, two, one, one, two, one, one: 9 cpu; then two needs 2
    assert found["answer"].startswith("7 more pods fit (5 of one, 2 of two), then the next one stays pending.")
    apart = answer([node("a", cpu="10")], *pods, separately=True)
    assert [(row["pods"], row["fit"]) for row in apart["rows"]] == [("one", 10), ("two", 5)]


def test_pending_pods_are_scheduled_first_or_left_out() -> None:
    waiting = pod("waits", requests={"cpu": "3"}, status={"nominatedNodeName": "a"}, priority=9)
    for pending, fits in (("first", 1), ("ignore", 4)):
        assert (
            answer([node("a", cpu="4"), waiting], CapacityPod(requests={"cpu": "1"}), pending=pending)["rows"][0]["fit"]
            == fits
        )


def test_the_limit_ends_the_search_and_the_sentence_says_so() -> None:
    found = answer(
        [node("a", pods=50), node("b", pods=50)], CapacityPod(template={"kind": "Pod", "spec": {}}), limit=70
    )
    assert found["answer"] == (
        "At least 70 more of template fit: the search ended at its limit before any pod stayed pending."
    )
    assert "landed" not in found["rows"][0]


def test_each_pod_of_a_stateful_set_has_its_own_claims() -> None:
    wait = {"kind": "StorageClass", "metadata": {"name": "wait"}, "volumeBindingMode": "WaitForFirstConsumer"}
    wait["provisioner"] = "kubernetes.io/no-provisioner"
    mounted = [{"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}}]
    running = pod("db-0", on="a", volumes=mounted)
    running["metadata"]["ownerReferences"] = [{"kind": "StatefulSet", "name": "db", "controller": True}]
    here, taken = {HOSTNAME: ["a"]}, {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "data-db-0"}
    objects = [
        node("a"),
        wait,
        claim("data-db-0", "wait", "v0"),
        volume("v0", "wait", at=here, claimRef=taken),
        running,
    ]
    free = [volume(f"v{number}", "wait", at=here) for number in (1, 2, 3)]
    found = answer([*objects, *free], CapacityPod(workload="StatefulSet default/db"))
    assert found["rows"][0]["fit"] == 3
    immediate = copy.deepcopy(objects)
    immediate[1]["volumeBindingMode"] = "Immediate"
    assert answer(immediate, CapacityPod(pod="default/db-0"), limit=5)["rows"][0]["fit"] == 5


def test_a_workload_without_pods_gives_its_template() -> None:
    raw = workload("Deployment", pod={"containers": [{"resources": {"requests": {"cpu": "1"}}}]}, replicas=0)
    found = answer([node("a", cpu="4"), raw], CapacityPod(workload="Deployment default/web"))
    assert found["answer"].startswith("4 more of Deployment default/web fit")


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        (CapacityPod(pod="default/gone"), "pods[0].pod: the scenario has no pod default/gone"),
        (CapacityPod(workload="Deployment default/gone"), "the scenario has no Deployment default/gone"),
        (CapacityPod(template="kind: Service\nmetadata: {name: s}"), "must be a Pod or a workload, got kind 'Service'"),
        (CapacityPod(template="[1"), "is not valid YAML or JSON"),
        (CapacityPod(template={"kind": "Pod", "spec": 7}), "pods[0].template: "),
        (CapacityPod(requests={"cpu": "many"}), "pods[0].requests: "),
        (CapacityPod(workload="DaemonSet default/agent"), "a DaemonSet has one pod per node"),
    ],
)
def test_a_pod_that_cannot_be_found_or_read_names_its_field(wanted: CapacityPod, problem: str) -> None:
    with pytest.raises(InputError) as error:
        answer(NODES, wanted)
    assert problem in str(error.value)


def test_parameters_name_the_field_that_is_wrong() -> None:
    for wrong, field in (
        (CapacityParameters(pods=[]), "spec.capacity.pods"),
        (CapacityParameters(pods=[CapacityPod()]), "spec.capacity.pods[0]"),
        (CapacityParameters(pods=[CapacityPod(pod="a/b", weight=0)]), "spec.capacity.pods[0].weight"),
        (CapacityParameters(pods=[CapacityPod(pod="a/b")], limit=10**9), "spec.capacity.limit"),
    ):
        with pytest.raises(InputError) as error:
            wrong.check("spec.capacity")
        assert error.value.field == field


def test_a_document_whose_cells_would_store_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scheduler_core.experiments.capacity.MAX_CELL_BYTES", 1_000_000)
    spec = {"containers": [{"name": "c"}], "nodeSelector": {"pool": "x" * 50_000}}
    huge = CapacityPod(template={"kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
    nodes = [node(f"n{i}", labels={"pool": f"p{i}"}) for i in range(20)]
    with pytest.raises(InputError, match="more than 1 MB of pods"):
        answer(nodes, huge, huge)


def test_pods_that_repel_their_equals_fill_hostnames_at_once_but_not_zones() -> None:
    nodes = [node(name, zone=zone, cpu="4") for name, zone in (("a", "x"), ("b", "x"), ("c", "y"))]
    for key, fits, at_once in ((HOSTNAME, 3, True), (ZONE, 2, False)):
        affinity = {"podAntiAffinity": {REQUIRED: [{"labelSelector": selector(app="web"), "topologyKey": key}]}}
        template = pod("web", labels={"app": "web"}, requests={"cpu": "1"}, affinity=affinity)
        row = answer(nodes, CapacityPod(template=template), by_group=False)["rows"][0]
        assert (row["fit"], row["at_once"]) == (fits, at_once)
    constraint = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector(app="web")}
    for key, at_once in ((HOSTNAME, True), (ZONE, False)):
        spread = [{**constraint, "topologyKey": key}]
        template = pod("web", labels={"app": "web"}, requests={"cpu": "2"}, topologySpreadConstraints=spread)
        row = answer(nodes, CapacityPod(template=template), by_group=False)["rows"][0]
        assert (row["fit"], row["at_once"]) == (6 if at_once else 5, at_once)
