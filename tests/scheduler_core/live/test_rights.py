"""The role of deploy/kubernetes is enough and minimal: an API server refuses everything else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from scheduler_core.api.objects import Pod, decode_all
from scheduler_core.api.scheduler_plugins import NodeResourceTopology
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.live.aiohttp_transport import AiohttpTransport, Endpoint
from scheduler_core.live.discovery import Discovered, discover, fetch, fetch_version
from scheduler_core.live.kinds import KINDS, WatchedKind, in_namespace, recorded_kind
from scheduler_core.live.reflector import KindHealth
from scheduler_core.live.source import LiveSource
from scheduler_core.live.store import Store
from scheduler_core.releases import get_release
from scheduler_core.stations.engine import wait_of
from scheduler_core.stations.snapshots import surroundings_of
from scheduler_core.stations.surroundings import Surroundings
from tests.api_server.server import ApiServer
from tests.scheduler_core.build import pod
from tests.scheduler_core.live.test_discovery import PACKING, config_map, mounted

MANIFEST = Path(__file__).parents[3] / "deploy" / "kubernetes" / "rbac.yaml"
MANIFESTS = list(yaml.safe_load_all(MANIFEST.read_text()))
RULES: list[dict[str, Any]] = next(obj for obj in MANIFESTS if obj["kind"] == "ClusterRole")["rules"]
CONFIG_MAPS: list[dict[str, Any]] = [rule for obj in MANIFESTS if obj["kind"] == "Role" for rule in obj["rules"]]
SETTLED = {"watching", "refused", "not served"}
SECONDS = 20.0  # a bound for a test that hangs


@asynccontextmanager
async def connected(server: ApiServer) -> AsyncIterator[AiohttpTransport]:
    async def connect() -> Endpoint:
        return Endpoint("test", server.url)

    transport = AiohttpTransport(connect)
    try:
        yield transport
    finally:
        await transport.close()


async def read(
    server: ApiServer, transport: AiohttpTransport, kinds: Mapping[str, WatchedKind] = KINDS
) -> tuple[Mapping[str, KindHealth], Store]:
    """Follow until each kind is watched or refused. Return the health of the kinds, and their objects."""
    source, store = LiveSource(transport, kinds), Store()

    async def follow() -> None:
        async for item in source.items():
            store.apply(item)

    following = asyncio.create_task(follow())
    async with asyncio.timeout(SECONDS):
        while not all(health.state in SETTLED for health in source.health.values()):
            await asyncio.sleep(0.005)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    return source.health, store


def refused(health: Mapping[str, KindHealth]) -> set[str]:
    return {kind for kind, one in health.items() if one.state == "refused"}


def without(group: str, resource: str) -> list[dict[str, Any]]:
    """Return the rules without one resource."""
    return [
        {**rule, "resources": [one for one in rule["resources"] if group not in rule["apiGroups"] or one != resource]}
        for rule in RULES
    ]


def test_nothing_that_the_follower_reads_is_refused() -> None:
    async def run() -> None:
        async with ApiServer() as server, connected(server) as transport:
            server.rules, server.namespace_rules = RULES, {"kube-system": CONFIG_MAPS}
            health, store = await read(server, transport)
            discover(store, {}, await fetch(transport, store, {}))
            assert refused(health) == set()
            assert 403 not in {request.status for request in server.requests}
            assert {request.verb for request in server.requests if request.resource} <= {"get", "list", "watch"}

    asyncio.run(run())


def test_kinds_of_plugins_are_read_where_they_are_served() -> None:
    zones = [{"name": "node-0", "type": "Node", "resources": [{"name": "cpu", "capacity": "8", "available": "3"}]}]
    topology = {"metadata": {"name": "n1"}, "topologyPolicies": ["SingleNUMANodePodLevel"], "zones": zones}
    quota = {"metadata": {"name": "team", "namespace": "team-a"}, "spec": {"min": {"cpu": "4"}, "max": {"cpu": "8"}}}

    async def run(served: set[str]) -> tuple[dict[str, str], Store]:
        async with ApiServer() as server, connected(server) as transport:
            server.rules, server.storage.unserved = RULES, server.storage.unserved - served
            for name, obj in (("noderesourcetopologies", topology), ("elasticquotas", quota)):
                server.storage.create(name, obj)
            health, store = await read(server, transport)
            return {kind: one.state for kind, one in health.items()}, store

    states, store = asyncio.run(run(set()))
    assert states["NodeResourceTopology"] == states["PodGroup"] == "not served"
    assert states["Node"] == "watching"
    states, store = asyncio.run(
        run({"noderesourcetopologies.topology.node.k8s.io", "elasticquotas.scheduling.x-k8s.io"})
    )
    assert states["NodeResourceTopology"] == states["ElasticQuota"] == "watching"
    found = store.get("NodeResourceTopology", "n1")
    assert isinstance(found, NodeResourceTopology)
    assert found.zones[0].resources[0].available == "3"
    assert store.get("ElasticQuota", "team-a/team") is not None


@pytest.mark.parametrize("group", KINDS["PodGroup"].groups)
def test_groups_of_pods_are_read_in_each_group_that_serves_them(group: str) -> None:
    made = {"apiVersion": f"{group}/v1alpha1", "kind": "PodGroup", "metadata": {"namespace": "default", "name": "pg"}}
    made["spec"] = {"minMember": 3}
    member = pod("web", schedulerName="gang-scheduler")
    member["metadata"]["labels"] = {"scheduling.x-k8s.io/pod-group": "pg"}
    known = recorded_kind(made)

    async def run() -> tuple[Store, set[str]]:
        async with ApiServer() as server, connected(server) as transport:
            name = f"podgroups.{group}"
            server.rules, server.storage.unserved = RULES, server.storage.unserved - {name}
            server.storage.create(name, made)
            server.storage.create("pods", member)
            health, store = await read(server, transport)
            return store, {kind for kind, one in health.items() if one.state == "watching"}

    store, watched = asyncio.run(run())
    assert {known, "Pod"} <= watched
    of_snapshot, of_cluster = (
        wait_of(found, None, around, None)
        for around in (
            surroundings_of(decode_all([made, member]), (), Cluster(get_release("1.36")), ("default-scheduler",)),
            Surroundings(store, Cluster(get_release("1.36")), frozenset(("default-scheduler",))),
        )
        if isinstance(found := around.store.get("Pod", "default/web"), Pod)
    )
    assert of_cluster == of_snapshot
    assert of_cluster is not None
    assert (of_cluster.station, "it needs 3 pods, and 1 exists" in of_cluster.sentence) == ("group", True)


def test_the_configuration_is_found_with_a_role_for_its_config_map() -> None:
    packing = config_map("kube-system/packing", config_yaml=PACKING)
    pod = mounted("/etc/kubernetes/packing", configMap={"name": "packing"})

    async def run(names: list[str]) -> Discovered:
        async with ApiServer() as server, connected(server) as transport:
            server.storage.create("pods", pod)
            server.storage.create("configmaps", packing)
            rule = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": names, "verbs": ["get"]}
            server.rules, server.namespace_rules = RULES, {"kube-system": [rule]}
            _, store = await read(server, transport)
            version = await fetch_version(transport)
            return discover(store, version, await fetch(transport, store, version))

    found = asyncio.run(run(["kubeadm-config", "packing"]))
    assert found.config_source == "ConfigMap kube-system/packing, key config.yaml, of pod kube-system/s"
    assert "MostAllocated" in found.config
    refused = asyncio.run(run(["kubeadm-config"]))
    assert refused.config == ""
    assert (
        "ConfigMap kube-system/packing with the configuration cannot be read: the server refuses" in refused.notes[-1]
    )


@pytest.mark.long
def test_without_a_rule_one_kind_is_refused_with_a_sentence() -> None:
    async def run() -> None:
        async with ApiServer() as server, connected(server) as transport:
            server.storage.unserved = set()
            for name, kind in KINDS.items():
                server.rules = without(kind.group, kind.resource)
                server.namespace_rules = {} if name == "ConfigMap" else {"kube-system": CONFIG_MAPS}
                health, _ = await read(server, transport)
                assert refused(health) == {name}
                assert kind.consequence in health[name].message
                assert not [one for one in health.values() if one.message and one.kind != name]

    asyncio.run(run())


def test_rights_on_a_namespace_alone() -> None:
    async def run() -> None:
        async with ApiServer() as server, connected(server) as transport:
            server.rules, server.storage.unserved = [], set()
            server.namespace_rules = {"team-a": [rule for rule in RULES if "resourceNames" not in rule]}
            health, _ = await read(server, transport, in_namespace("team-a"))
            assert refused(health) == {name for name, kind in KINDS.items() if not kind.namespaced}
            assert "nodes are unknown" in health["Node"].message
            assert {request.namespace for request in server.requests if request.status == 200} <= {"", "team-a"}

    asyncio.run(run())


@pytest.mark.parametrize("resource", ["secrets", "configmaps", "pods/log", "pods/exec", "nodes/proxy"])
def test_the_role_grants_no_confidential_data(resource: str) -> None:
    granted = {name for rule in RULES for name in rule["resources"]}
    assert resource not in granted
