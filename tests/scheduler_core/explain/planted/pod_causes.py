"""Planted causes that are about other pods: spread, affinity, ports, gates, nominations."""

from __future__ import annotations

from tests.scheduler_core.build import HOSTNAME, ZONE
from tests.scheduler_core.explain.planted.case import Case
from tests.scheduler_core.explain.planted.world import World, pod_terms, spread

SMALL = {"cpu": "2", "memory": "4Gi"}
OWNERS = ("Deployment", "Deployment", "StatefulSet", "ReplicaSet")


def zone_full(world: World) -> Case:
    """The spread constraint leaves one zone, which is full."""
    pools = {zone: world.pool("web", 4, zone=zone) for zone in world.zones}
    *free, full = world.zones
    world.fill(pools[full], 0.8, 4)
    for zone in free:
        world.fill(pools[zone], 11, 40)
    on = [pools[zone][0] for zone in free]
    count = world.chance.randint(1, 3)
    constraints = spread(ZONE, world.name)
    keys, _ = world.workload(count, SMALL, kinds=OWNERS, on=on, topologySpreadConstraints=constraints)
    return Case("", world.objects, keys, ("domain-full",), frozenset(pools[full]), (), (full, "cpu|full"))


def zone_cordoned(world: World) -> Case:
    """The spread constraint leaves one zone, whose nodes are cordoned."""
    pools = {zone: world.pool("web", 3, zone=zone) for zone in world.zones}
    for name in pools[world.zones[2]]:
        world.nodes[name]["spec"]["unschedulable"] = True
    on = [pools[zone][0] for zone in world.zones[:2]]
    keys, _ = world.workload(1, SMALL, kinds=OWNERS, on=on, topologySpreadConstraints=spread(ZONE, world.name))
    return Case("", world.objects, keys, ("cordoned", "topology-spread"), None)


def spread_key_absent(world: World) -> Case:
    world.background(spot=False)
    nodes = world.pool("app", 4)
    constraints = spread("example.com/rack", world.name)
    keys, target = world.workload(2, {"cpu": "6", "memory": "8Gi"}, topologySpreadConstraints=constraints)
    return Case(
        "",
        world.objects,
        keys,
        ("topology-spread",),
        frozenset(nodes),
        (target,),
        ("example.com/rack",),
        places=len(keys),
    )


def spread_domains(world: World) -> Case:
    """The constraint wants more domains than the cluster has."""
    nodes = world.pool("app", 6)
    on = nodes[:3]
    constraints = spread(ZONE, world.name, minDomains=5)
    keys, target = world.workload(1, SMALL, kinds=OWNERS, on=on, topologySpreadConstraints=constraints)
    return Case("", world.objects, keys, ("topology-spread",), frozenset(nodes), (target,), ("zone",), places=1)


def anti_affinity_zones(world: World) -> Case:
    """More replicas must be in different zones than there are zones."""
    nodes = world.pool("app", 9)
    affinity = pod_terms("podAntiAffinity", ZONE, world.name)
    keys, target = world.workload(2, SMALL, kinds=OWNERS, on=nodes[:3], affinity=affinity)
    return Case(
        "",
        world.objects,
        keys,
        ("pod-anti-affinity",),
        frozenset(nodes),
        (target,),
        ("3 zones|each zone.*all 3",),
        places=2,
    )


def anti_affinity_hosts(world: World) -> Case:
    """More replicas must be on different nodes than the pool has."""
    world.background()
    count = world.chance.randint(2, 4)
    nodes = world.pool("db", count)
    affinity = pod_terms("podAntiAffinity", HOSTNAME, world.name)
    selector = {"pool": "db"}
    keys, target = world.workload(
        1, {"cpu": "4", "memory": "4Gi"}, kinds=OWNERS, on=nodes, affinity=affinity, nodeSelector=selector
    )
    return Case(
        "",
        world.objects,
        keys,
        ("pod-anti-affinity",),
        frozenset(nodes),
        (target,),
        (f"all {count}\\b" if count > 2 else "both",),
    )


def repelled(world: World) -> Case:
    """Running pods of another workload repel the pod."""
    nodes = world.pool("app", 3)
    world.background()
    for name in nodes:
        affinity = pod_terms("podAntiAffinity", HOSTNAME, world.name, namespaces=[world.namespace])
        world.run("quiet", name, {"cpu": "1", "memory": "1Gi"}, affinity=affinity)
    keys, _ = world.workload(1, {"cpu": "4", "memory": "4Gi"}, nodeSelector={"pool": "app"})
    return Case("", world.objects, keys, ("pod-anti-affinity",), frozenset(nodes), (), ("quiet",))


def avoids(world: World) -> Case:
    """The pod repels pods of another workload, which run on all nodes that it selects."""
    nodes = world.pool("app", 3)
    world.background()
    for name in nodes:
        world.run("noisy", name, {"cpu": "1", "memory": "1Gi"}, namespace=world.namespace)
    affinity = pod_terms("podAntiAffinity", HOSTNAME, "noisy")
    keys, target = world.workload(1, {"cpu": "4", "memory": "4Gi"}, affinity=affinity, nodeSelector={"pool": "app"})
    return Case("", world.objects, keys, ("pod-anti-affinity",), frozenset(nodes), (target,), ("noisy",))


def anti_affinity_zone_full(world: World) -> Case:
    """Own replicas leave one zone, which is full."""
    pools = {zone: world.pool("app", 3, zone=zone) for zone in world.zones}
    full = world.zones[2]
    world.fill(pools[full], 0.8, 4)
    on = [pools[zone][0] for zone in world.zones[:2]]
    affinity = pod_terms("podAntiAffinity", ZONE, world.name)
    keys, _ = world.workload(1, SMALL, kinds=OWNERS, on=on, affinity=affinity)
    return Case("", world.objects, keys, ("domain-full",), frozenset(pools[full]), (), (full,))


def affinity_no_pod(world: World) -> Case:
    nodes = world.pool("app", 5)
    world.background()
    affinity = pod_terms("podAffinity", HOSTNAME, "redis-main")
    keys, target = world.workload(2, {"cpu": "4", "memory": "4Gi"}, affinity=affinity)
    return Case(
        "", world.objects, keys, ("pod-affinity",), frozenset(nodes), (target,), ("redis-main",), places=len(keys)
    )


def affinity_other_namespace(world: World) -> Case:
    """The pods that the affinity names run in another namespace."""
    nodes = world.pool("app", 5)
    world.background()
    for name in nodes[:2]:
        world.run("redis-main", name, {"cpu": "1", "memory": "1Gi"}, namespace="infra")
    affinity = pod_terms("podAffinity", world.chance.choice((HOSTNAME, ZONE)), "redis-main")
    keys, target = world.workload(1, {"cpu": "4", "memory": "4Gi"}, affinity=affinity)
    return Case("", world.objects, keys, ("pod-affinity",), frozenset(nodes), (target,), ("redis-main",), places=1)


def affinity_on_a_full_node(world: World) -> Case:
    """The pod must run next to a pod whose node is full."""
    nodes = world.pool("app", 5)
    world.background()
    world.run("redis-main", nodes[0], {"cpu": "15", "memory": "8Gi"}, namespace=world.namespace)
    affinity = pod_terms("podAffinity", HOSTNAME, "redis-main")
    keys, _ = world.workload(1, {"cpu": "4", "memory": "4Gi"}, affinity=affinity)
    kinds = ("domain-full", "insufficient-resource")
    return Case("", world.objects, keys, kinds, frozenset(nodes[:1]), (), (nodes[0], "cpu|full"))


def host_port(world: World) -> Case:
    nodes = world.pool("edge", world.chance.randint(2, 4))
    world.background()
    for name in nodes:
        world.run("ingress", name, {"cpu": "1"}, ports=[{"containerPort": 443, "hostPort": 443, "protocol": "TCP"}])
    port = {"containerPort": 443, "hostPort": 443, "protocol": "TCP"}
    kinds = ("Deployment", "StatefulSet", "Pod")
    requests = {"cpu": "1", "memory": "3Gi"}
    keys, target = world.workload(1, requests, kinds=kinds, container={"ports": [port]}, nodeSelector={"pool": "edge"})
    return Case("", world.objects, keys, ("host-port",), frozenset(nodes), (target,), ("443",))


def host_port_of_one_address(world: World) -> Case:
    """The port is in use on one address, and the pod wants it on all."""
    nodes = world.pool("edge", 2)
    world.background()
    for name in nodes:
        port = {"containerPort": 8080, "hostPort": 8080, "protocol": "UDP", "hostIP": "10.0.0.5"}
        world.run("dns", name, {"cpu": "1"}, ports=[port])
    port = {"containerPort": 8080, "hostPort": 8080, "protocol": "UDP"}
    requests = {"cpu": "1", "memory": "3Gi"}
    keys, target = world.workload(
        1, requests, kinds=("Deployment",), container={"ports": [port]}, nodeSelector={"pool": "edge"}
    )
    return Case("", world.objects, keys, ("host-port",), frozenset(nodes), (target,), ("8080",))


def gated(world: World) -> Case:
    nodes = world.pool("app", 4)
    gate = "example.com/wait-for-license"
    keys, target = world.workload(2, SMALL, schedulingGates=[{"name": gate}])
    return Case("", world.objects, keys, ("gated",), frozenset(nodes), (target,), (gate,))


def nominated(world: World) -> Case:
    """The pod waits for the end of the pods that it preempted."""
    nodes = world.pool("app", 2)
    for name in nodes:
        world.run("batch", name, {"cpu": "15", "memory": "8Gi"}, priority=0)
    victim = world.objects[-2]
    victim["metadata"] |= {"deletionTimestamp": "2026-11-28T09:21:00Z", "deletionGracePeriodSeconds": 30}
    keys, _ = world.workload(1, {"cpu": "4", "memory": "4Gi"}, priority=1000, status={"nominatedNodeName": nodes[0]})
    return Case("", world.objects, keys, ("nominated",), None, (), (nodes[0],), fix=False)
