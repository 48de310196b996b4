"""The sentence about a node: what the pods that wait want of it."""

from __future__ import annotations

import random
import re
import time
from typing import Any

import msgspec
import pytest

from scheduler_core.errors import InputError
from scheduler_core.forks.template_patch import patch_of
from scheduler_core.simulation import Simulation
from scheduler_core.suggestions.node_demand import KINDS_TIMES_NODES, Demands, demands_of, summary_of
from scheduler_core.suggestions.what_if import WhatIf
from tests.scheduler_core.build import Raw, node, pod

SPOT = (("spot", "true", "NoSchedule"),)


def summary(*objects: Raw, name: str = "n1") -> str:
    return summary_of(Simulation(list(objects), tie_break="name"), name)


def owned(raw: Raw) -> Raw:
    """Return the pod with a controller that creates it again."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web", "controller": True}
    raw["metadata"]["ownerReferences"] = [owner]
    return raw


def test_no_pod_is_pending() -> None:
    assert summary(node("n1"), pod("a", on="n1", requests={"cpu": "1"})) == (
        "No pod is pending, so nothing asks for this node (cpu 25% and memory 0% requested)."
    )
    assert summary(node("n1", unschedulable=True)).startswith("Cordoned; no pod is pending, ")


def test_pods_that_fit_now() -> None:
    assert summary(node("n1"), pod("a")) == "The pending pod fits here now."
    assert summary(node("n1"), pod("a"), pod("b")) == "Both pending pods fit here now."
    big = pod("big", requests={"cpu": "9"})
    assert summary(node("n1"), pod("a"), pod("b"), big) == "2 of 3 pending pods fit here now."


def test_a_taint_that_no_pod_tolerates() -> None:
    pods = pod("a"), pod("b"), pod("big", requests={"cpu": "9"})
    assert summary(node("n1", taints=SPOT), *pods) == (
        "No pending pod tolerates spot=true:NoSchedule; with that toleration 2 of 3 would fit here."
    )
    tolerations = [{"key": "spot", "operator": "Exists"}]
    able = pod("able", requests={"cpu": "9"}, tolerations=tolerations)
    assert summary(node("n1", taints=SPOT), pod("a"), pod("b"), able) == (
        "2 of 3 pending pods would fit here with a toleration of spot=true:NoSchedule."
    )


def test_the_state_of_the_node() -> None:
    assert summary(node("n1", unschedulable=True), pod("a"), pod("big", requests={"cpu": "9"})) == (
        "Cordoned: 1 of 2 pending pods would fit without that."
    )
    gone = node("n1", taints=(("node.kubernetes.io/unreachable", "", "NoSchedule"),))
    gone["spec"]["taints"][0]["timeAdded"] = "2026-01-01T00:00:00Z"
    assert summary(gone, pod("a")) == "Unreachable since 2026-01-01T00:00:00Z: the pending pod would fit without that."
    control = node("n1", taints=(("node-role.kubernetes.io/control-plane", "", "NoSchedule"),))
    assert summary(control, pod("a")) == "Belongs to the control plane: the pending pod does not fit here."
    assert summary(control, pod("a", requests={"cpu": "9"})) == (
        "Belongs to the control plane: the pending pod does not fit here."
    )


def test_a_full_node_and_the_pods_that_could_move() -> None:
    full = [owned(pod(f"web-{i}", on="n1", requests={"cpu": "950m"})) for i in range(3)]
    lone = pod("lone", on="n1", requests={"cpu": "950m"})
    wanting = pod("a", requests={"cpu": "1"})
    found = "Full, with cpu 95% requested: the pending pod lacks only cpu here"
    assert summary(node("n1"), *full, lone, wanting) == f"{found}."
    objects = [node("n1"), node("n2", unschedulable=True), node("n3"), *full, lone, wanting]
    simulation = Simulation(objects, tie_break="name")
    before = msgspec.to_builtins([p.pod for p in simulation.cluster.pods.values()])
    assert summary_of(simulation, "n1") == f"{found}, and 3 of its 4 pods would each fit on another node."
    assert msgspec.to_builtins([p.pod for p in simulation.cluster.pods.values()]) == before


def test_too_little_is_free() -> None:
    old = pod("old", on="n1", requests={"cpu": "2"})
    assert summary(node("n1"), old, pod("a", requests={"cpu": "3"})) == (
        "The pending pod lacks only cpu here (cpu 50% requested)."
    )


def test_a_selector() -> None:
    assert summary(node("n1"), pod("a", nodeSelector={"pool": "batch"})) == (
        "The pending pod would fit here without the required pool=batch."
    )


def test_the_words_name_the_pod() -> None:
    away = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "kubernetes.io/hostname"}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [away]}}
    there = pod("old", on="n1", labels={"app": "x"})
    assert summary(node("n1"), there, pod("a", affinity=affinity)) == (
        "The pending pod would fit here after one change: the node has a pod that the pod wants to be away from."
    )


def test_no_change_is_enough() -> None:
    gpu = pod("gpu", requests={"example.com/gpu": "1"})
    assert summary(node("n1"), gpu) == "The pending pod does not fit here: the node has no example.com/gpu."
    assert summary(node("n1"), gpu, pod("gpu-2", requests={"example.com/gpu": "2"})) == (
        "No pending pod fits here: the node has no example.com/gpu."
    )


def test_each_reason_is_stated_once_with_its_pods() -> None:
    big = pod("big", requests={"cpu": "3"})
    picky = pod("picky", requests={"cpu": "3"}, nodeSelector={"disk": "ssd"})
    busy = pod("old", on="n1", requests={"cpu": "2"})
    assert summary(node("n1", taints=SPOT), busy, big, picky) == (
        "No pending pod fits here after one change: the node has the untolerated taint spot=true:NoSchedule, lacks cpu "
        "and does not have disk=ssd (1 pod)."
    )


def test_pods_that_wait_for_something_else() -> None:
    gated = pod("a", schedulingGates=[{"name": "quota"}])
    assert summary(node("n1"), gated) == "The pending pod waits for something other than a node."


def test_only_the_most_frequent_pods_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scheduler_core.suggestions.node_demand.KINDS_TIMES_NODES", 1)
    assert summary(node("n1"), owned(pod("a")), owned(pod("b")), pod("c", requests={"cpu": "9"})) == (
        "Both pending pods fit here now. 1 other pending pod was not tried."
    )
    assert KINDS_TIMES_NODES > 40 * 5_000


def test_an_unknown_node_is_named() -> None:
    with pytest.raises(InputError, match="Node n9: does not exist at that timepoint"):
        summary(node("n1"), name="n9")


@pytest.mark.parametrize("seed", range(20))
def test_the_numbers_are_true(seed: int) -> None:
    """What the sentence says of a toleration or of now holds in a cycle of each pod."""
    rng = random.Random(seed)
    nodes = [node(f"n{i}", cpu=str(rng.randint(1, 6)), taints=SPOT if rng.random() < 0.5 else ()) for i in range(4)]
    tolerations: list[Any] = [[], [{"key": "spot", "operator": "Exists"}]]
    pods = [
        pod(f"p{i}", requests={"cpu": str(rng.randint(1, 8))}, tolerations=rng.choice(tolerations)) for i in range(6)
    ]
    simulation = Simulation([*nodes, *pods], tie_break="name")
    demands = demands_of(simulation)
    for name in simulation.cluster.nodes.names:
        sentence = summary_of(simulation, name, demands)
        number = re.search(r"(\d+) of 6", sentence)
        if number is None:
            continue
        tolerated = {"spec": {"tolerations": [{"operator": "Exists"}]}} if "olerat" in sentence else {"spec": {}}
        fit = 0
        for one in pods:
            what_if = WhatIf(simulation, f"default/{one['metadata']['name']}")
            trace = what_if.run([patch_of("Pod", "default", what_if.pod.name, tolerated)])
            passing = trace.passing()
            fits = passing is None or bool(passing[simulation.cluster.nodes.rows[name]])
            fit += fits
        if "fit" in sentence and "lack" not in sentence:
            assert int(number[1]) == fit, (name, sentence)


def test_a_large_cluster() -> None:
    """5,000 nodes and 40 workloads: all pods in less than 2 s, with a margin for loaded machines."""
    nodes = [node(f"n{i:04}", taints=SPOT if i % 2 else ()) for i in range(5_000)]
    pods = [pod(f"w{i}-{j}", requests={"cpu": f"{4_000 + i}m"}) for i in range(40) for j in range(3)]
    for one in pods:
        owned(one)["metadata"]["ownerReferences"][0]["uid"] = one["metadata"]["name"].partition("-")[0]
    simulation = Simulation([*nodes, *pods], tie_break="name")
    summary_of(simulation, "n0000", Demands([]))
    begin = time.perf_counter()
    demands = demands_of(simulation)
    sentence = summary_of(simulation, "n0001", demands)
    assert time.perf_counter() - begin < 10
    assert len(demands.kinds) == 40
    assert "pending pod" in sentence
