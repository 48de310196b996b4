"""Planted causes that are about claims, volumes and devices."""

from __future__ import annotations

from typing import Any

from tests.scheduler_core.build import HOSTNAME, ZONE
from tests.scheduler_core.dra.objects import allocation, device, device_class, exactly, resource_slice
from tests.scheduler_core.dra.objects import claim as device_claim
from tests.scheduler_core.explain.planted.case import Case
from tests.scheduler_core.explain.planted.world import World

SMALL = {"cpu": "2", "memory": "4Gi"}
OWNERS = ("Deployment", "StatefulSet", "Pod")
ANOTHER_CLAIM = ("claim of ", "instead of data-")


def uses(name: str) -> list[dict[str, Any]]:
    return [{"name": "d", "persistentVolumeClaim": {"claimName": name}}]


def _bound(world: World, claim: str, **volume: Any) -> str:
    """Add a bound claim with its volume."""
    world.storage_class("fast")
    world.volume(f"pv-{claim}", "fast", claim, **volume)
    return world.claim(claim, "fast", f"pv-{claim}")


def volume_zone_full(world: World) -> Case:
    pools = {zone: world.pool("data", 3, zone=zone) for zone in world.zones}
    zone = world.chance.choice(world.zones)
    world.fill(pools[zone], 1.5, 4)
    claim = _bound(world, f"data-{world.name}-0", values=[zone])
    keys, _ = world.workload(1, {"cpu": "4", "memory": "8Gi"}, kinds=OWNERS, volumes=uses(claim))
    return Case(
        "", world.objects, keys, ("domain-full",), frozenset(pools[zone]), (), (zone, "cpu|full"), ANOTHER_CLAIM
    )


def volume_zone_gone(world: World) -> Case:
    world.pool("data", 6)
    gone = world.zones[0][:-1] + "d"
    claim = _bound(world, f"data-{world.name}-0", values=[gone])
    keys, target = world.workload(1, SMALL, kinds=OWNERS, volumes=uses(claim))
    targets = (("PersistentVolume", "", f"pv-{claim}"), ("PersistentVolumeClaim", target[1], claim))
    return Case("", world.objects, keys, ("volume-zone",), frozenset(), targets, (gone,), ANOTHER_CLAIM)


def local_volume_on_a_full_node(world: World) -> Case:
    nodes = world.pool("data", 4)
    world.fill(nodes[:1], 0.5, 1)
    local = {"local": {"path": "/mnt/disk1"}}
    claim = _bound(world, "local-data", key=HOSTNAME, values=[nodes[0]], **local)
    keys, _ = world.workload(1, SMALL, kinds=OWNERS, volumes=uses(claim))
    return Case("", world.objects, keys, ("domain-full",), frozenset(nodes[:1]), (), (nodes[0],), ANOTHER_CLAIM)


def local_volume_on_a_node_that_is_gone(world: World) -> Case:
    world.pool("data", 4)
    local = {"local": {"path": "/mnt/disk1"}}
    claim = _bound(world, "local-data", key=HOSTNAME, values=["data-9"], **local)
    keys, target = world.workload(1, SMALL, kinds=OWNERS, volumes=uses(claim))
    targets = (("PersistentVolume", "", f"pv-{claim}"), ("PersistentVolumeClaim", target[1], claim))
    return Case("", world.objects, keys, ("volume-zone",), frozenset(), targets, ("data-9",), ANOTHER_CLAIM)


def claim_missing(world: World) -> Case:
    nodes = world.pool("data", 4)
    if world.chance.random() < 0.5:
        _bound(world, "other-data")
    keys, target = world.workload(1, SMALL, kinds=OWNERS, volumes=uses("wiki-data"))
    targets = (("PersistentVolumeClaim", target[1], "wiki-data"),)
    return Case("", world.objects, keys, ("claim-missing",), frozenset(nodes), targets, ("wiki-data",), ("other-data",))


def claim_unbound(world: World) -> Case:
    nodes = world.pool("data", 4)
    world.claim("blog-data", world.storage_class("slow", "Immediate"))
    keys, target = world.workload(1, SMALL, kinds=OWNERS, volumes=uses("blog-data"))
    targets = (("PersistentVolumeClaim", target[1], "blog-data"),)
    return Case("", world.objects, keys, ("claim-unbound",), frozenset(nodes), targets, ("blog-data",))


def storage_class_missing(world: World) -> Case:
    nodes = world.pool("data", 4)
    world.storage_class("fast")
    world.claim("blog-data", "fastt")
    keys, target = world.workload(1, SMALL, kinds=OWNERS, volumes=uses("blog-data"))
    targets = (("PersistentVolumeClaim", target[1], "blog-data"), ("StorageClass", "", "fastt"))
    return Case("", world.objects, keys, ("claim-unbound",), frozenset(nodes), targets, ("fastt",))


def claim_deleted(world: World) -> Case:
    """The claim is being deleted."""
    nodes = world.pool("data", 4)
    world.storage_class("fast")
    world.volume("pv-1", "fast", f"data-{world.name}-0")
    ended = {"deletionTimestamp": "2026-11-28T09:00:00Z", "finalizers": ["kubernetes.io/pvc-protection"]}
    claim = world.claim(f"data-{world.name}-0", "fast", "pv-1", **ended)
    keys, _ = world.workload(1, SMALL, kind="StatefulSet", volumes=uses(claim))
    kinds = ("claim-missing", "claim-unbound")
    return Case("", world.objects, keys, kinds, frozenset(nodes), (), (claim, "delet"), fix=False)


def no_local_volume(world: World) -> Case:
    """The class provisions nothing, and there is no volume to bind."""
    nodes = world.pool("data", 4)
    world.claim("local-data", world.storage_class("local", by="kubernetes.io/no-provisioner"))
    keys, _ = world.workload(1, SMALL, kinds=OWNERS, volumes=uses("local-data"))
    return Case("", world.objects, keys, ("claim-unbound",), frozenset(nodes), (), ("local-data",))


def storage_capacity(world: World) -> Case:
    nodes = world.pool("data", 4)
    driver = "lvm.csi.example.com"
    metadata = {"name": driver, "uid": "uid-driver"}
    spec = {"storageCapacity": True}
    world.objects.append({"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": metadata, "spec": spec})
    world.claim("big-data", world.storage_class("lvm", by=driver))
    for name in nodes:
        world.objects.append(
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "CSIStorageCapacity",
                "metadata": {"name": f"lvm-{name}", "namespace": "kube-system", "uid": f"uid-lvm-{name}"},
                "storageClassName": "lvm",
                "capacity": f"{world.chance.randint(1, 9)}Gi",
                "nodeTopology": {"matchLabels": {HOSTNAME: name}},
            }
        )
    keys, _ = world.workload(1, SMALL, kinds=OWNERS, volumes=uses("big-data"))
    return Case("", world.objects, keys, ("storage-capacity",), frozenset(nodes), (), ("20Gi|storage",))


def claim_of_one_pod_in_use(world: World) -> Case:
    """A ReadWriteOncePod claim is in use by another pod."""
    nodes = world.pool("data", 4)
    world.storage_class("fast")
    world.volume("pv-1", "fast", "ledger")
    claim = world.claim("ledger", "fast", "pv-1", "ReadWriteOncePod")
    world.run("ledger-old", nodes[0], {"cpu": "1"}, namespace=world.namespace, volumes=uses(claim))
    keys, _ = world.workload(1, SMALL, kinds=OWNERS, volumes=uses(claim))
    return Case("", world.objects, keys, ("volume-conflict",), None, (), ("ledger",), fix=False)


def volume_limit(world: World) -> Case:
    nodes = world.pool("data", 3)
    driver = "disk.csi.example.com"
    world.storage_class("fast")
    world.objects.append(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSIDriver",
            "metadata": {"name": driver, "uid": "uid-driver"},
            "spec": {"attachRequired": True},
        }
    )
    for name in nodes:
        drivers = [{"name": driver, "nodeID": name, "allocatable": {"count": 2}, "topologyKeys": [ZONE]}]
        metadata = {"name": name, "uid": f"uid-csi-{name}"}
        spec = {"drivers": drivers}
        world.objects.append({"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": metadata, "spec": spec})
        for i in range(2):
            world.volume(f"pv-{name}-{i}", "fast", f"old-{name}-{i}")
            old = world.claim(f"old-{name}-{i}", "fast", f"pv-{name}-{i}")
            world.run("old", name, {"cpu": "1"}, namespace=world.namespace, volumes=uses(old))
    world.volume("pv-new", "fast", "new")
    keys, _ = world.workload(1, SMALL, kinds=OWNERS, volumes=uses(world.claim("new", "fast", "pv-new")))
    return Case("", world.objects, keys, ("volume-limit",), frozenset(nodes), (), ("volume",))


def devices_in_use(world: World) -> Case:
    nodes = world.pool("gpu", 2)
    world.objects.append(device_class())
    for name in nodes:
        world.objects.append(resource_slice(f"s-{name}", device("gpu-0"), on=name))
        taken = device_claim(
            f"taken-{name}", exactly(), status=allocation("gpu-0", pool=name, to=f"old-{name}", on=name)
        )
        world.objects.append(taken)
    return _with_device(world, "device-claim", nodes)


def device_absent(world: World) -> Case:
    world.pool("gpu", 2)
    world.objects.append(device_class())
    return _with_device(world, "device-absent", [])


def device_class_missing(world: World) -> Case:
    nodes = world.pool("gpu", 2)
    world.objects.append(device_class("gpus"))
    world.objects += [resource_slice(f"s-{name}", device("gpu-0"), on=name) for name in nodes]
    return _with_device(world, ("device-absent", "device-claim"), None)


def _with_device(world: World, kinds: str | tuple[str, ...], near: list[str] | None) -> Case:
    world.namespace = "default"
    world.objects.append(device_claim("mine", exactly()))
    container = {"resources": {"requests": SMALL, "claims": [{"name": "gpu"}]}}
    claims = [{"name": "gpu", "resourceClaimName": "mine"}]
    keys, _ = world.workload(1, SMALL, kinds=OWNERS, container=container, resourceClaims=claims)
    kinds = (kinds,) if isinstance(kinds, str) else kinds
    nodes = None if near is None else frozenset(near)
    return Case("", world.objects, keys, kinds, nodes, (), ("gpu|device|mine",), fix=False)
