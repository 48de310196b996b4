"""Planted causes that are about nodes: taints, labels, resources, states of nodes."""

from __future__ import annotations

import re
from typing import Any

from tests.scheduler_core.build import ZONE
from tests.scheduler_core.explain.planted.case import Case
from tests.scheduler_core.explain.planted.world import CONTROL_PLANE, VIRTUAL, World, container, node_affinity

SMALL = {"cpu": "2", "memory": "4Gi"}
GPU = "nvidia.com/gpu"
AMOUNT = r"\d"


def _taint(world: World, effect: str = "NoSchedule") -> tuple[list[str], str, dict[str, str]]:
    """Add a tainted pool with space. Return its nodes, its name and the taint."""
    pool = world.chance.choice(("highmem", "batch", "db"))
    taint = {"key": "dedicated", "value": pool, "effect": effect}
    nodes = world.pool(pool, world.chance.randint(2, 4), cpu=32, memory=256, taints=[taint])
    world.fill(nodes, 24, 190)
    return nodes, pool, taint


def untolerated_taint(world: World) -> Case:
    world.background()
    nodes, pool, taint = _taint(world, world.chance.choice(("NoSchedule", "NoExecute")))
    keys, target = world.workload(2, {"cpu": "4", "memory": "32Gi"}, nodeSelector={"pool": pool})
    return _case(
        world, keys, "untolerated-taint", nodes, target, f"dedicated={pool}:{taint['effect']}", places=len(keys)
    )


def taint_with_another_value(world: World) -> Case:
    world.background()
    nodes, pool, _ = _taint(world)
    wrong = {"key": "dedicated", "operator": "Equal", "value": f"{pool}s", "effect": "NoSchedule"}
    keys, target = world.workload(2, {"cpu": "4", "memory": "32Gi"}, nodeSelector={"pool": pool}, tolerations=[wrong])
    return _case(world, keys, "untolerated-taint", nodes, target, f"dedicated={pool}", places=len(keys))


def gpu_taint(world: World) -> Case:
    world.background()
    taint = {"key": GPU, "value": "present", "effect": "NoSchedule"}
    nodes = world.pool("gpu", world.chance.randint(2, 3), cpu=64, memory=512, more={GPU: "8"}, taints=[taint])
    world.fill(nodes, 40, 300)
    keys, target = world.workload(world.chance.randint(1, 2), {"cpu": "2", "memory": "8Gi", GPU: "1"})
    return _case(world, keys, "untolerated-taint", nodes, target, re.escape(GPU), places=len(keys))


def two_taints(world: World) -> Case:
    """Two tolerations are needed for the same nodes."""
    world.background()
    taints = [{"key": "team", "value": "risk", "effect": "NoSchedule"}, {"key": "arch", "effect": "NoExecute"}]
    nodes = world.pool("risk", 2, taints=taints)
    keys, target = world.workload(2, SMALL, nodeSelector={"pool": "risk"})
    return _case(world, keys, "untolerated-taint", nodes, target, "team=risk", places=len(keys))


def control_plane_has_space(world: World) -> Case:
    """Only the control plane and a virtual node have space: the answer is about the full nodes."""
    general = world.background(spot=False)
    labels = {CONTROL_PLANE["key"]: ""}
    world.node("control-9", cpu=32, memory=128, labels=labels, taints=[CONTROL_PLANE])
    world.node("virtual-9", cpu=1000, memory=4000, labels={"type": "virtual-kubelet"}, taints=[VIRTUAL])
    keys, _ = world.workload(2, SMALL)
    return _case(world, keys, "insufficient-resource", general, None, "cpu")


def only_control_plane(world: World) -> Case:
    for i in range(world.chance.choice((1, 3))):
        world.node(f"control-{i}", labels={CONTROL_PLANE["key"]: ""}, taints=[CONTROL_PLANE])
    keys, _ = world.workload(1, SMALL)
    kinds = ("untolerated-taint", "no-nodes")
    return Case("", world.objects, keys, kinds, None, mentions=("control.plane",), fix=False)


def uninitialized(world: World) -> Case:
    key = "node.cloudprovider.kubernetes.io/uninitialized"
    taint = {"key": key, "value": "true", "effect": "NoSchedule"}
    nodes = world.pool("new", 2, taints=[taint])
    world.background()
    keys, _ = world.workload(1, SMALL, nodeSelector={"pool": "new"})
    return _case(world, keys, "node-not-ready", nodes, None, "initiali[sz]ed")


def pressure(world: World) -> Case:
    kind, key = world.chance.choice((("MemoryPressure", "memory-pressure"), ("DiskPressure", "disk-pressure")))
    taint = {"key": f"node.kubernetes.io/{key}", "effect": "NoSchedule"}
    nodes = world.pool("work", 2, taints=[taint])
    for name in nodes:
        world.nodes[name]["status"]["conditions"].append({"type": kind, "status": "True"})
    world.background()
    keys, _ = world.workload(1, SMALL, nodeSelector={"pool": "work"})
    return _case(world, keys, "node-not-ready", nodes, None, "pressure", fix=False)


def not_ready(world: World) -> Case:
    world.background()
    state = world.chance.choice(("not-ready", "unreachable"))
    effects = ("NoSchedule", "NoExecute")
    taints = [
        {"key": f"node.kubernetes.io/{state}", "effect": effect, "timeAdded": "2026-11-28T09:00:00Z"}
        for effect in effects
    ]
    nodes = world.pool("license", 2, taints=taints)
    for name in nodes:
        status = {"not-ready": "False", "unreachable": "Unknown"}[state]
        ready = {"type": "Ready", "status": status, "lastTransitionTime": "2026-11-28T09:00:00Z"}
        world.nodes[name]["status"]["conditions"] = [ready]
    keys, _ = world.workload(1, SMALL, nodeSelector={"pool": "license"})
    targets = [("Node", "", name) for name in nodes]
    return Case(
        "", world.objects, keys, ("node-not-ready",), frozenset(nodes), tuple(targets), ("not ready|unreachable",)
    )


def cordoned(world: World) -> Case:
    world.background()
    nodes = world.pool("license", world.chance.randint(1, 3))
    for name in nodes:
        world.nodes[name]["spec"]["unschedulable"] = True
        if world.chance.random() < 0.7:
            world.nodes[name]["spec"]["taints"] = [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]
    keys, _ = world.workload(1, SMALL, nodeSelector={"pool": "license"})
    targets = tuple(("Node", "", name) for name in nodes)
    return Case("", world.objects, keys, ("cordoned",), frozenset(nodes), targets, ("cordoned",), places=1)


def selector_typo(world: World) -> Case:
    world.background()
    nodes = world.pool("batch", world.chance.randint(2, 4))
    value = world.chance.choice(("bacth", "batch-pool", "Batch"))
    keys, target = world.workload(2, {"cpu": "6", "memory": "8Gi"}, nodeSelector={"pool": value})
    return _case(world, keys, "node-selector", nodes, target, f"pool={value}", "pool=batch", places=len(keys))


def selector_key_typo(world: World) -> Case:
    world.background()
    nodes = world.pool("batch", world.chance.randint(2, 4))
    keys, target = world.workload(2, {"cpu": "6", "memory": "8Gi"}, nodeSelector={"pol": "batch"})
    return _case(world, keys, "node-selector", nodes, target, "pol=batch", places=len(keys))


def zone_typo(world: World) -> Case:
    """A required zone affinity names a zone that does not exist."""
    world.background(spot=False)
    nodes = world.pool("app", 6)
    zone = world.zones[0][:-1] + "d"
    keys, target = world.workload(2, {"cpu": "6", "memory": "8Gi"}, affinity=node_affinity((ZONE, "In", [zone])))
    return _case(world, keys, "node-selector", nodes, target, zone, places=len(keys))


def several_values(world: World) -> Case:
    world.background()
    nodes = world.pool("highmem", 3, cpu=32, memory=256)
    affinity = node_affinity(("pool", "In", ["highmemory", "bigmem"]))
    keys, target = world.workload(2, {"cpu": "6", "memory": "128Gi"}, affinity=affinity)
    return _case(world, keys, "node-selector", nodes, target, "highmemory", "bigmem", places=len(keys))


def two_requirements(world: World) -> Case:
    """No node has both labels, though each occurs."""
    world.background()
    nodes = world.pool("app", 3, labels={"disk": "hdd"})
    world.fill(world.pool("old", 2, labels={"disk": "ssd"}), 0.5, 1)
    keys, target = world.workload(2, SMALL, nodeSelector={"pool": "app", "disk": "ssd"})
    return _case(world, keys, "node-selector", nodes, target, "disk=ssd", places=len(keys))


def greater_than(world: World) -> Case:
    world.background()
    nodes = world.pool("app", 3, labels={"cores": "16"})
    keys, target = world.workload(1, {"cpu": "6", "memory": "8Gi"}, affinity=node_affinity(("cores", "Gt", ["31"])))
    return _case(world, keys, "node-selector", nodes, target, "cores", places=len(keys))


def another_architecture(world: World) -> Case:
    world.background(spot=False)
    for node in world.nodes.values():
        node["metadata"]["labels"]["kubernetes.io/arch"] = "amd64"
    nodes = world.pool("app", 3, labels={"kubernetes.io/arch": "amd64"})
    requests = {"cpu": "6", "memory": "8Gi"}
    keys, target = world.workload(2, requests, nodeSelector={"kubernetes.io/arch": "arm64"})
    return _case(world, keys, "node-selector", nodes, target, "kubernetes.io/arch=arm64")


def selected_zone_full(world: World) -> Case:
    """The pod selects a zone, which is full; the others have space."""
    pools = {zone: world.pool("app", 3, zone=zone) for zone in world.zones}
    full = world.zones[1]
    world.fill(pools[full], 0.9, 3)
    keys, _ = world.workload(1, SMALL, nodeSelector={ZONE: full})
    return _case(world, keys, ("domain-full", "insufficient-resource"), pools[full], None, full, "cpu")


def hostname_gone(world: World) -> Case:
    world.background(spot=False)
    nodes = world.pool("app", 3)
    selector = {"kubernetes.io/hostname": "app-9"}
    keys, target = world.workload(1, {"cpu": "6", "memory": "8Gi"}, nodeSelector=selector)
    return _case(world, keys, ("node-selector", "node-name"), nodes, target, "app-9", places=len(keys))


def match_fields_gone(world: World) -> Case:
    world.background(spot=False)
    nodes = world.pool("app", 3)
    affinity = node_affinity(fields=[("metadata.name", "In", ["app-9"])])
    keys, target = world.workload(1, {"cpu": "6", "memory": "8Gi"}, affinity=affinity, kinds=("Deployment", "Job"))
    return _case(world, keys, ("node-selector", "node-name"), nodes, target, "app-9")


def taint_and_typo(world: World) -> Case:
    """Two changes are needed: the selector's value and a toleration."""
    world.background()
    taint = {"key": "dedicated", "value": "batch", "effect": "NoSchedule"}
    nodes = world.pool("batch", 3, taints=[taint])
    keys, target = world.workload(2, {"cpu": "6", "memory": "8Gi"}, nodeSelector={"pool": "bacth"})
    return _case(world, keys, ("untolerated-taint", "node-selector"), nodes, target, places=len(keys))


def cordoned_and_tainted(world: World) -> Case:
    world.background()
    taint = {"key": "dedicated", "value": "batch", "effect": "NoSchedule"}
    nodes = world.pool("batch", 2, taints=[taint])
    for name in nodes:
        world.nodes[name]["spec"]["unschedulable"] = True
    keys, _ = world.workload(1, SMALL, nodeSelector={"pool": "batch"})
    return _case(world, keys, ("cordoned", "untolerated-taint"), nodes, None, "cordoned", "dedicated=batch", places=1)


def resources_short(world: World) -> Case:
    world.background()
    nodes = world.pool("big", 3, cpu=32, memory=128)
    world.fill(nodes, 6, 100)
    keys, _ = world.workload(2, {"cpu": "8", "memory": "4Gi"}, nodeSelector={"pool": "big"})
    return _case(world, keys, "insufficient-resource", nodes, None, "cpu", AMOUNT)


def memory_short(world: World) -> Case:
    world.background()
    nodes = world.pool("big", 3, cpu=32, memory=128)
    world.fill(nodes, 20, 12)
    keys, _ = world.workload(2, {"cpu": "2", "memory": "16Gi"}, nodeSelector={"pool": "big"})
    return _case(world, keys, "insufficient-resource", nodes, None, "memory", AMOUNT)


def two_resources_short(world: World) -> Case:
    world.background()
    nodes = world.pool("big", 3, cpu=32, memory=128)
    world.fill(nodes, 6, 12)
    keys, _ = world.workload(2, {"cpu": "8", "memory": "16Gi"}, nodeSelector={"pool": "big"})
    return _case(world, keys, "insufficient-resource", nodes, None, "cpu", "memory")


def gpus_in_use(world: World) -> Case:
    world.background()
    nodes = world.pool("gpu", 2, cpu=64, memory=512, more={GPU: "8"})
    for name in nodes:
        world.run("train", name, {"cpu": "8", "memory": "64Gi", GPU: str(world.chance.randint(6, 8))})
    keys, _ = world.workload(1, {"cpu": "2", "memory": "8Gi", GPU: "4"})
    return _case(world, keys, "insufficient-resource", nodes, None, GPU)


def all_full(world: World) -> Case:
    general = world.background(spot=False)
    keys, _ = world.workload(3, {"cpu": "3", "memory": "4Gi"})
    return _case(world, keys, "insufficient-resource", general, None, "cpu")


def ephemeral_storage_short(world: World) -> Case:
    world.background()
    nodes = world.pool("big", 3)
    for name in nodes:
        world.run("logs", name, {"cpu": "1", "ephemeral-storage": "150Gi"})
    requests = {"cpu": "1", "memory": "1Gi", "ephemeral-storage": "80Gi"}
    keys, _ = world.workload(1, requests, nodeSelector={"pool": "big"})
    return _case(world, keys, "insufficient-resource", nodes, None, "ephemeral-storage")


def request_exceeds(world: World) -> Case:
    world.background()
    name, amount = world.chance.choice((("cpu", "96"), ("memory", "900Gi"), ("ephemeral-storage", "300Gi")))
    requests = {"cpu": "2", "memory": "4Gi"} | {name: amount}
    keys, target = world.workload(1, requests, kinds=("Deployment", "Job", "StatefulSet", "CronJob", "Pod"))
    targets = (target, ("Job", target[1], f"{target[2]}-29401200")) if target[0] == "CronJob" else (target,)
    return Case("", world.objects, keys, ("request-exceeds-nodes",), frozenset(), targets, (name, amount.rstrip("Gi")))


def init_container_exceeds(world: World) -> Case:
    world.background(full=False)
    init = [container({"cpu": "80", "memory": "2Gi"}, "unpack")]
    keys, target = world.workload(1, SMALL, initContainers=init)
    return _case(world, keys, "request-exceeds-nodes", [], target, "cpu", "80")


def overhead_exceeds(world: World) -> Case:
    world.background(full=False)
    overhead = {"cpu": "4", "memory": "8Gi"}
    keys, _ = world.workload(1, {"cpu": "14", "memory": "16Gi"}, runtimeClassName="kata", overhead=overhead)
    return _case(world, keys, "request-exceeds-nodes", [], None, "cpu", "18", fix=False)


def small_pool(world: World) -> Case:
    """The request is larger than the nodes that match the selector; larger nodes exist."""
    world.background(spot=False)
    world.pool("small", 3, cpu=4, memory=16)
    world.pool("large", 3, cpu=32, memory=128)
    keys, target = world.workload(1, {"cpu": "6", "memory": "8Gi"}, nodeSelector={"pool": "small"})
    kinds = ("request-exceeds-nodes", "node-selector")
    return Case("", world.objects, keys, kinds, None, (target,))


def resource_absent(world: World) -> Case:
    world.background(full=False)
    name = world.chance.choice(("example.com/fpga", "amd.com/gpu", "hugepages-2Mi"))
    amount = "512Mi" if name.startswith("huge") else "1"
    if name.startswith("huge") and world.chance.random() < 0.5:
        for node in world.nodes.values():
            node["status"]["allocatable"][name] = "0"
    keys, target = world.workload(2, {"cpu": "1", "memory": "1Gi", name: amount})
    return _case(world, keys, "resource-absent", [], target, re.escape(name))


def resource_typo(world: World) -> Case:
    world.background(full=False)
    world.pool("gpu", 2, cpu=64, memory=512, more={GPU: "8"})
    keys, target = world.workload(1, {"cpu": "1", "memory": "1Gi", "nvidia.com/gpus": "1"})
    return Case("", world.objects, keys, ("resource-absent",), None, (target,), ("nvidia.com/gpus",))


def hugepages_in_use(world: World) -> Case:
    world.background()
    nodes = world.pool("db", 2, more={"hugepages-2Mi": "4Gi"})
    for name in nodes:
        world.run("db", name, {"cpu": "1", "memory": "1Gi", "hugepages-2Mi": "4Gi"})
    keys, _ = world.workload(1, {"cpu": "1", "memory": "1Gi", "hugepages-2Mi": "512Mi"})
    return _case(world, keys, "insufficient-resource", nodes, None, "hugepages-2Mi")


def pods_limit(world: World) -> Case:
    world.background()
    nodes = _crowded(world)
    keys, _ = world.workload(2, {"cpu": "100m", "memory": "64Mi"}, nodeSelector={"pool": "tiny"})
    return _case(world, keys, "pods-limit", nodes, None, "pod slots|pods")


def pods_limit_and_cpu(world: World) -> Case:
    world.background()
    nodes = _crowded(world)
    keys, _ = world.workload(1, {"cpu": "15700m", "memory": "64Mi"}, nodeSelector={"pool": "tiny"})
    return _case(world, keys, ("pods-limit", "insufficient-resource"), nodes, None, "pod slot|1 pod", "cpu")


def _crowded(world: World) -> list[str]:
    nodes = world.pool("tiny", 3, pods=5)
    for name in nodes:
        for _ in range(5):
            world.run("agent", name, {"cpu": "100m", "memory": "64Mi"})
    return nodes


def no_nodes(world: World) -> Case:
    keys, _ = world.workload(1, SMALL)
    return Case("", world.objects, keys, ("no-nodes",), frozenset(), fix=False)


def daemon_pod_on_a_tainted_node(world: World) -> Case:
    world.background()
    nodes, _, _ = _taint(world)
    affinity = node_affinity(fields=[("metadata.name", "In", [nodes[0]])])
    keys, target = world.workload(1, SMALL, kind="DaemonSet", affinity=affinity)
    return _case(world, keys, "untolerated-taint", nodes[:1], target, "dedicated=", nodes[0])


def daemon_pod_on_a_full_node(world: World) -> Case:
    general = world.background()
    affinity = node_affinity(fields=[("metadata.name", "In", [general[0]])])
    keys, _ = world.workload(1, SMALL, kind="DaemonSet", affinity=affinity)
    kinds = ("domain-full", "insufficient-resource")
    return _case(world, keys, kinds, general[:1], None, general[0], "cpu")


def _case(
    world: World,
    keys: list[str],
    kinds: str | tuple[str, ...],
    near: list[str],
    target: Any,
    *mentions: str,
    places: int | None = None,
    fix: bool = True,
) -> Case:
    kinds = (kinds,) if isinstance(kinds, str) else kinds
    targets = (target,) if target is not None else ()
    return Case("", world.objects, keys, kinds, frozenset(near), targets, mentions, places=places, fix=fix)
