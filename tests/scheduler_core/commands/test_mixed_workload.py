"""The mixed workloads and the workload of snapshots."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from scheduler_core.api.objects import Node, Pod, Service, decode_all
from scheduler_core.commands.bench import run, snapshots
from scheduler_core.commands.mixed_workload import MIXES, mixed, mixed_preemption
from scheduler_core.errors import InputError
from scheduler_core.plugins.contrib.capacity_scheduling import quotas_of
from scheduler_core.simulation import Simulation

NODES, PODS = 60, 200


def requests(objects: list[Any]) -> list[tuple[Any, Any]]:
    containers = (pod.spec.containers[0] for pod in objects if isinstance(pod, Pod))
    return [(c.resources.requests["cpu"], c.resources.requests["memory"]) for c in containers]


@pytest.mark.parametrize("name", MIXES)
def test_a_mixed_workload_is_the_same_each_time_and_valid(name: str) -> None:
    raws = list(mixed(MIXES[name], NODES, PODS))
    assert raws == list(mixed(MIXES[name], NODES, PODS))
    kinds = Counter(type(obj) for obj in decode_all(raws))
    assert (kinds[Node], kinds[Pod]) == (NODES, PODS)


def test_the_mixes_differ_in_what_they_are_named_after() -> None:
    made = {name: decode_all(mixed(mix, NODES, PODS)) for name, mix in MIXES.items()}
    distinct = {name: len(set(requests(objects))) for name, objects in made.items()}
    assert distinct["mixed-few-requests"] <= 10 < distinct["mixed"] < distinct["mixed-all-requests"]
    namespaces = {name: {obj.namespace for obj in objects if isinstance(obj, Pod)} for name, objects in made.items()}
    assert len(namespaces["mixed-namespaces"]) == 10 < len(namespaces["mixed"])
    services = Counter(isinstance(obj, Service) for obj in made["mixed-namespaces"])
    assert services[True] == round(PODS / 3.3)


@pytest.mark.parametrize(
    ("name", "most"), [("mixed", 200), ("mixed-unschedulable", 160), ("mixed-volumes", 200), ("mixed-numa", 200)]
)
def test_pods_of_a_mixed_workload_are_scheduled(name: str, most: int) -> None:
    figures = run(name, NODES, PODS, 100, "1.34")
    assert figures["pods"] == PODS
    assert 100 < figures["scheduled"] <= most


def test_plugins_count_what_the_pods_of_their_mix_request() -> None:
    numa, quotas = MIXES["mixed-numa"], MIXES["mixed-quotas"]
    objects = list(mixed(numa, NODES, PODS))
    chosen = [[trace.node for trace in Simulation(objects, config=config).run()] for config in (None, numa.config)]
    assert chosen[0] != chosen[1]
    simulation = Simulation(list(mixed(quotas, NODES, PODS)), config=quotas.config)
    placed = sum(trace.result == "scheduled" for trace in simulation.run())
    assert sum(len(quota.pods) for quota in quotas_of(simulation.cluster).values()) == placed > 100


def test_most_pods_of_mixed_preemption_need_victims() -> None:
    simulation = Simulation(list(mixed_preemption(30, 20)), release="1.34", percentage=100)
    assert len(simulation.pods) == 20
    assert sum(bool(trace.victims) for trace in simulation.run()) > 10


def test_devices_are_allocated() -> None:
    objects = list(mixed(MIXES["mixed-devices"], NODES, PODS))
    claims = sum(raw["kind"] == "ResourceClaim" for raw in objects)
    assert claims > 10
    assert run("mixed-devices", NODES, PODS, 100, "1.34")["scheduled"] > PODS - claims


def snapshot(*pods: dict[str, Any]) -> str:
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": {"allocatable": allocatable}}
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": [node, *pods]})


def test_placed_pods_of_snapshots_are_scheduled_again(tmp_path: Path) -> None:
    def pod(name: str, phase: str = "Running", **metadata: Any) -> dict[str, Any]:
        metadata = {"name": name, "namespace": "default", **metadata}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "spec": {"nodeName": "n1", "containers": []},
            "status": {"phase": phase},
        }

    static = pod("static", ownerReferences=[{"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u"}])
    refused = pod("x" * 300)
    (tmp_path / "a.json").write_text(snapshot(pod("a"), static, pod("done", "Succeeded"), refused))
    (tmp_path / "b.json").write_text(snapshot(pod("b"), pod("c")))
    (tmp_path / "README.md").write_text("no snapshot")
    figures = run("snapshots", 0, 0, 100, "1.34", tmp_path)
    assert (figures["nodes"], figures["pods"], figures["scheduled"]) == (2, 3, 3)


def test_a_folder_without_snapshots_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no snapshot"):
        list(snapshots(tmp_path))
    with pytest.raises(InputError, match="needs the folder"):
        run("snapshots", 0, 0, 100, "1.34", tmp_path / "absent")
