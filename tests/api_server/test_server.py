"""The test API server behaves as a real one does."""

from __future__ import annotations

import asyncio
import gzip
import urllib.error
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from scheduler_core.live.aiohttp_transport import AiohttpTransport
from scheduler_core.live.connections import KubeconfigConnection
from tests.api_server.large_cluster import LargeCluster
from tests.api_server.process import api_server
from tests.api_server.recordings import Recording
from tests.api_server.server import ApiServer, Fault
from tests.api_server.storage import Storage
from tests.recordings import LIVE_A

pytestmark = pytest.mark.asyncio
PODS, NODES = "/api/v1/pods", "/api/v1/nodes"


def pod(name: str, **fields: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "c", "image": "i"}], "schedulerName": "default-scheduler"}
    return {"metadata": {"name": name, "namespace": "default"}, "spec": spec, **fields}


async def get(server: ApiServer, path: str, **query: Any) -> tuple[int, Any]:
    async with aiohttp.ClientSession() as session, session.get(server.url + path, params=query) as response:
        return response.status, await (
            response.json() if response.content_type == "application/json" else response.text()
        )


async def watch(server: ApiServer, path: str, **query: Any) -> AsyncIterator[dict[str, Any]]:
    """Yield the events of a watch until it ends or breaks."""
    async with aiohttp.ClientSession() as session:
        query = {"watch": 1, "allowWatchBookmarks": "true", **query}
        async with session.get(server.url + path, params=query) as response:
            assert response.status == 200
            while line := await response.content.readline():
                yield msgspec.json.decode(line)


def summary(event: dict[str, Any]) -> tuple[str, str, str]:
    metadata = event["object"]["metadata"]
    return event["type"], metadata.get("name", ""), metadata["resourceVersion"]


async def test_pages_of_a_list_are_of_one_revision() -> None:
    async with ApiServer() as server:
        for name in "abcde":
            server.storage.create("pods", pod(name))
        _, first = await get(server, PODS, limit=2)
        server.storage.delete("pods", "default/d")
        server.storage.create("pods", pod("bb"))
        token = first["metadata"]["continue"]
        _, second = await get(server, PODS, limit=2, **{"continue": token})
        _, third = await get(server, PODS, limit=2, **{"continue": second["metadata"]["continue"]})
        pages = [first, second, third]
        assert [[item["metadata"]["name"] for item in page["items"]] for page in pages] == [
            ["a", "b"],
            ["c", "d"],
            ["e"],
        ]
        assert {page["metadata"]["resourceVersion"] for page in pages} == {"1005"}
        assert [page["metadata"].get("remainingItemCount") for page in pages] == [3, 1, None]
        server.storage.compact()
        status, expired = await get(server, PODS, limit=2, **{"continue": token})
        assert (status, expired["reason"]) == (410, "Expired")
        # As from a real server, the token of the 410 continues at another revision.
        _, rest = await get(server, PODS, **{"continue": expired["metadata"]["continue"]})
        assert [item["metadata"]["name"] for item in rest["items"]] == ["bb", "c", "e"]
        assert server.count("list", "pods") == 1


async def test_a_watch_continues_from_a_revision() -> None:
    async with ApiServer() as server:
        server.watch_timeout = 0.3
        server.storage.create("pods", pod("a"))
        server.storage.create("nodes", {"metadata": {"name": "n"}})
        begin = server.storage.revision
        server.storage.bind("default/a", "n")
        server.storage.delete("pods", "default/a")
        events = watch(server, PODS, resourceVersion=begin)
        assert summary(await anext(events)) == ("MODIFIED", "a", "1003")
        assert summary(await anext(events)) == ("DELETED", "a", "1004")
        server.storage.create("pods", pod("b"))
        assert summary(await anext(events)) == ("ADDED", "b", "1005")
        server.storage.advance(5)
        assert [summary(event) async for event in events] == [("BOOKMARK", "", "1010")]


async def test_watch_list_ends_with_an_annotated_bookmark() -> None:
    query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "timeoutSeconds": 1}
    async with ApiServer() as server:
        server.storage.create("pods", pod("a"))
        server.bookmark_interval = 0.01
        events = watch(server, PODS, **query)
        assert summary(await anext(events)) == ("ADDED", "a", "1001")
        end = await anext(events)
        assert end["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
        assert end["object"]["spec"] == {"containers": None}
        assert summary(await anext(events)) == ("BOOKMARK", "", "1001")
        server.watch_list = False
        assert (await get(server, PODS, watch=1, allowWatchBookmarks="true", **query))[0] == 422
        server.watch_list = None
        server.storage.compact()
        events = watch(server, PODS, **query)
        assert summary(await anext(events)) == ("ADDED", "a", "1001")
        assert "annotations" not in (await anext(events))["object"]["metadata"]


async def test_compacted_history_is_a_410_as_status_or_event() -> None:
    async with ApiServer() as server:
        server.storage.create("pods", pod("a"))
        server.storage.create("pods", pod("b"))
        server.storage.compact()
        events = [event async for event in watch(server, PODS, resourceVersion=1001)]
        assert [(event["type"], event["object"]["code"]) for event in events] == [("ERROR", 410)]
        server.expired_as = "status"
        assert (await get(server, PODS, watch=1, resourceVersion=1001))[0] == 410
        assert (await get(server, PODS, watch=1, resourceVersion=9999))[0] == 504


async def test_selectors_change_the_type_of_events() -> None:
    async with ApiServer() as server:
        server.storage.create("pods", pod("a"))
        query = {"fieldSelector": "spec.nodeName=n", "resourceVersion": 1001, "timeoutSeconds": 1}
        events = watch(server, PODS, **query)
        server.storage.bind("default/a", "n")
        assert summary(await anext(events))[0] == "ADDED"
        server.storage.patch("pods", "default/a", {"spec": {"nodeName": "m"}})
        assert summary(await anext(events))[0] == "DELETED"
        _, found = await get(server, PODS, labelSelector="!app,tier notin (x,y)")
        assert len(found["items"]) == 1
        assert (await get(server, PODS, fieldSelector="spec.color=red"))[0] == 400


async def test_rules_allow_what_a_role_allows() -> None:
    async with ApiServer() as server:
        server.rules = [
            {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]},
            {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["kubeadm-config"], "verbs": ["get"]},
        ]
        server.namespace_rules = {"dev": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]}
        server.storage.create("configmaps", {"metadata": {"name": "kubeadm-config", "namespace": "kube-system"}})
        maps = "/api/v1/namespaces/kube-system/configmaps"
        expected = {
            NODES: 200, PODS: 403, "/api/v1/namespaces/dev/pods": 200, f"{maps}/kubeadm-config": 200, maps: 403,
            f"{maps}/other": 403, "/apis/apps/v1/deployments": 403, "/api": 200, "/version": 200,
        }  # fmt: skip
        assert {path: (await get(server, path))[0] for path in expected} == expected
        assert (await get(server, NODES, watch=1))[0] == 403
        server.storage.unserved = {"podgroups.scheduling.k8s.io"}
        assert (await get(server, "/apis/scheduling.k8s.io/v1alpha2/podgroups"))[0] == 404


async def test_faults_and_the_log() -> None:
    async with ApiServer() as server:
        server.storage.create("pods", pod("a"))
        server.inject(Fault(status=429, retry_after=3), resource="pods", verb="list")
        async with aiohttp.ClientSession() as session, session.get(server.url + PODS) as response:
            assert (response.status, response.headers["Retry-After"]) == (429, "3")
        server.authorizations = {"Bearer good"}
        async with aiohttp.ClientSession(headers={"Authorization": "Bearer secret"}) as session:
            assert (await session.get(server.url + PODS)).status == 401
        server.authorizations = None
        server.inject(Fault(cut_after=-1), times=2)
        with pytest.raises(aiohttp.ServerDisconnectedError):
            await get(server, PODS)
        for cut in (0, 1, 40):
            server.inject(Fault(cut_after=cut))
            with pytest.raises(aiohttp.ClientError):
                await get(server, PODS)
        server.inject(Fault(end_after=40))
        with pytest.raises(msgspec.DecodeError):
            _ = [event async for event in watch(server, PODS)]
        watching = asyncio.create_task(anext(watch(server, PODS, resourceVersion=server.storage.revision)))
        while not any(request.open for request in server.requests):
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.01)
        assert server.cut("pods") == 1
        with pytest.raises(aiohttp.ClientPayloadError):
            await watching
        assert [request.status for request in server.requests] == [429, 401, 0, 0, 200, 200, 200, 200, 200]
        assert "secret" not in repr(server.requests)


async def test_large_lists_are_compressed() -> None:
    async with ApiServer() as server:
        server.gzip_threshold = 1000
        for number in range(50):
            server.storage.create("pods", pod(f"pod-{number}"))
        async with aiohttp.ClientSession(auto_decompress=False) as session, session.get(server.url + PODS) as response:
            assert response.headers["Content-Encoding"] == "gzip"
            assert len(msgspec.json.decode(gzip.decompress(await response.read()))["items"]) == 50


@pytest.mark.long
async def test_a_recording_is_served_by_its_revisions() -> None:
    recording = Recording(LIVE_A)
    async with ApiServer(Storage(0), git_version=recording.version["gitVersion"]) as server:
        recording.load(server.storage)
        assert (await get(server, "/version"))[1]["gitVersion"] == "v1.36.2"
        _, nodes = await get(server, NODES, limit=10)
        assert nodes["metadata"]["resourceVersion"] == "315"
        await recording.play(server.storage)
        server.watch_timeout = 0.01
        changes = [change for change in recording.changes if change.resource == "pods"]
        events = [event async for event in watch(server, PODS, resourceVersion=315)]
        expected = [(change.type, change.key.split("/")[1], str(change.revision)) for change in changes]
        assert [summary(event) for event in events if event["type"] != "BOOKMARK"] == expected
        assert len(expected) > 1000


async def test_a_large_cluster_is_listed_and_changes() -> None:
    cluster = LargeCluster(nodes=20, pods=300, pending=2)
    async with ApiServer() as server:
        cluster.load(server.storage)
        _, nodes = await get(server, NODES, limit=500)
        _, pods = await get(server, PODS, limit=500)
        names = {node["metadata"]["name"] for node in nodes["items"]}
        bound = [item["spec"]["nodeName"] for item in pods["items"] if item["spec"]["nodeName"]]
        assert (len(names), len(bound), len(pods["items"])) == (20, 298, 300)
        assert set(bound) <= names
        assert 4000 < len(msgspec.json.encode(pods["items"][0])) < 8000
        revision = cluster.change(server.storage)
        event = await anext(watch(server, PODS, resourceVersion=pods["metadata"]["resourceVersion"]))
        assert event["object"]["metadata"]["resourceVersion"] == str(revision)
        assert event["object"]["status"]["containerStatuses"][0]["restartCount"] == 1


@pytest.mark.slow
async def test_the_server_runs_as_a_process() -> None:
    with api_server("--nodes", "3", "--pods", "5", "--pending", "1") as server:
        path = "/api/v1/namespaces/team-0/pods"
        created = server.request("POST", path, pod("new"))
        assert created["metadata"]["namespace"] == "team-0"
        server.request("POST", f"{path}/new/binding", {"target": {"name": "node-00001"}})
        assert server.request("GET", f"{path}/new")["spec"]["nodeName"] == "node-00001"
        for method, url, body, status in [
            ("POST", path, pod("new"), 409),
            ("POST", f"{path}/new/binding", {"target": {"name": "node-00002"}}, 409),
            ("POST", f"{path}/nope/binding", {"target": {"name": "node-00002"}}, 404),
            ("PUT", f"{path}/nope", pod("nope"), 404),
            ("DELETE", f"{path}/nope", None, 404),
        ]:
            with pytest.raises(urllib.error.HTTPError) as refused:
                server.request(method, url, body)
            assert refused.value.code == status
        server.control("refuse", key="team-0/new", message="0/3 nodes are available.")
        assert server.control("state")["objects"]["pods"] == 6
        assert [logged["verb"] for logged in server.control("requests")][:3] == ["create", "create", "get"]


async def test_a_unix_socket_and_slow_lines(tmp_path: Path) -> None:
    async with ApiServer(unix_socket=tmp_path / "s") as server:
        server.storage.create("pods", pod("a"))
        connector = aiohttp.UnixConnector(str(tmp_path / "s"))
        async with aiohttp.ClientSession(connector=connector) as session:
            server.inject(Fault(bytes_per_second=2000))
            async with session.get(server.url + PODS) as response:
                chunks = [chunk async for chunk in response.content.iter_any()]
        assert len(chunks) > 1
        assert len(msgspec.json.decode(b"".join(chunks))["items"]) == 1


@pytest.mark.slow
async def test_a_process_with_tls_writes_its_kubeconfig(tmp_path: Path) -> None:
    config = tmp_path / "config"
    with api_server("--tls", str(tmp_path), "--token", "t", "--kubeconfig", str(config), "--nodes", "2"):
        transport = AiohttpTransport(KubeconfigConnection("test", str(config)).connect)
        async with transport.get(NODES, {}) as response:
            assert response.status == 200
        await transport.close()
