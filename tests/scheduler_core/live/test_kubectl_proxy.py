"""`kubectl proxy` as the transport: real kubectls against the test API server, and kubectls that fail."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio
import yaml

from scheduler_core.live.aiohttp_transport import AiohttpTransport
from scheduler_core.live.kinds import KINDS
from scheduler_core.live.kubectl_proxy import KubectlProxy
from scheduler_core.live.transport import TransportError
from tests.api_server.certificates import Authority
from tests.api_server.large_cluster import LargeCluster
from tests.api_server.recordings import Recording
from tests.api_server.server import ApiServer
from tests.api_server.storage import Storage
from tests.kubernetes_tools import KUBECTL_RELEASES, kubectl
from tests.recordings import LIVE_MOST
from tests.scheduler_core.live.following import Follower

pytestmark = pytest.mark.asyncio
GOOD = "sesame-0123456789-ABCDEFGHIJ"


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the folder for temporary files. Its path is short enough for a socket, unlike tmp_path."""
    monkeypatch.setenv("HOME", str(tmp_path))
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)


def fake(folder: Path, script: str) -> str:
    path = folder / "kubectl"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


FAILURES = {
    "echo 'error: context \"c\" does not exist' >&2; exit 1": (
        'kubectl proxy for context c ended with status 1: context "c" does not exist.'
    ),
    f"echo 'plugin: token={GOOD} expired'; exit 2": (
        "kubectl proxy for context c ended with status 2: plugin: token=... expired."
    ),
    "printf 'Please enter Username: error: EOF'; exit 1": (
        "kubectl proxy for context c ended with status 1: the user of the context has no credentials."
    ),
    "exit 0": "kubectl proxy for context c ended with status 0: no message.",
    "exec sleep 30": "kubectl proxy for context c did not start in 0.3 s.",
    # The pipe does not fill up, and only the last line is reported.
    "yes x | head -c 300000; echo 'error: end' >&2; exit 1": "kubectl proxy for context c ended with status 1: end.",
}


async def test_kubectl_does_not_get_the_settings_of_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBESCHED_DATABASE_PASSWORD", "hunter2")
    monkeypatch.setenv("AWS_PROFILE", "dev")
    proxy = KubectlProxy("c", kubectl=fake(tmp_path, 'echo "error: $KUBESCHED_DATABASE_PASSWORD/$AWS_PROFILE"; exit 1'))
    with pytest.raises(TransportError, match=r"status 1: /dev\.$"):
        await proxy.connect()


@pytest.mark.parametrize("script", FAILURES, ids=range(len(FAILURES)))
async def test_a_kubectl_that_does_not_start_is_one_sentence(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    if "sleep" in script:
        monkeypatch.setattr("scheduler_core.live.kubectl_proxy.START_TIMEOUT", 0.3)
    proxy = KubectlProxy("c", kubectl=fake(tmp_path, script))
    with pytest.raises(TransportError) as failed:
        await proxy.connect()
    assert str(failed.value) == FAILURES[script]
    assert list(temporary.iterdir()) == []


async def test_a_missing_kubectl_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TransportError, match=r"^kubectl is not installed on the server's machine\.$"):
        await KubectlProxy("c").connect()
    (tmp_path / "kubectl").write_text("not a program")
    (tmp_path / "kubectl").chmod(0o755)
    with pytest.raises(TransportError, match=r"^kubectl could not be started: exec format error\.$"):
        await KubectlProxy("c").connect()


async def test_a_long_path_of_temporary_files_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / ("long" * 25)
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    with pytest.raises(TransportError, match=r"^The path of the folder for temporary files is too long for a socket"):
        await KubectlProxy("c", kubectl=fake(tmp_path, "exit 1")).connect()
    assert list(folder.iterdir()) == []


async def test_the_command_line_is_the_documented_one() -> None:
    command = KubectlProxy("c", "/etc/kubeconfig").command("kubectl", Path("/run/s"))
    assert command == [
        *("kubectl", "--context", "c", "--kubeconfig", "/etc/kubeconfig", "proxy", "--unix-socket=/run/s"),
        "--reject-methods=POST,PUT,PATCH,DELETE",
        "--accept-paths=^/(api|apis|version)($|/)",
        r"--reject-paths=/secrets($|/|\?),/exec,/attach,/portforward,/proxy,/log",
    ]


# ---- real kubectls


@pytest_asyncio.fixture(params=KUBECTL_RELEASES)
async def proxy(
    request: pytest.FixtureRequest, tmp_path: Path, server: ApiServer
) -> AsyncIterator[tuple[AiohttpTransport, KubectlProxy]]:
    plugin = tmp_path / "plugin"
    credential = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": GOOD}}
    plugin.write_text(f"#!/bin/sh\necho '{msgspec.json.encode(credential).decode()}'\n")
    plugin.chmod(0o755)
    user = {"exec": {"apiVersion": credential["apiVersion"], "command": str(plugin), "interactiveMode": "Never"}}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "k", "cluster": {"server": server.url, "certificate-authority": "test-ca.crt"}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
    }
    (tmp_path / "config").write_text(yaml.safe_dump(config))
    proxy = KubectlProxy("c", str(tmp_path / "config"), str(kubectl(request.param)))
    transport = AiohttpTransport(proxy.connect, "kubesched/1", proxy.close)
    yield transport, proxy
    await transport.close()


@pytest_asyncio.fixture
async def server(tmp_path: Path) -> AsyncIterator[ApiServer]:
    async with ApiServer(tls=Authority(tmp_path).server_context()) as server:
        LargeCluster(nodes=5, pods=100, pending=1).load(server.storage)
        server.authorizations = {f"Bearer {GOOD}"}
        yield server


async def fetch(transport: AiohttpTransport, path: str, **query: str) -> tuple[int, bytes]:
    async with transport.get(path, query) as response:
        return response.status, b"".join([chunk async for chunk in response.chunks()])


@pytest.mark.long
async def test_real_kubectl_lists_and_watches(
    proxy: tuple[AiohttpTransport, KubectlProxy], server: ApiServer, temporary: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    transport, kubectl_proxy = proxy
    status, body = await fetch(transport, "/api/v1/pods", limit="100")
    assert (status, len(msgspec.json.decode(body)["items"])) == (200, 100)
    assert server.requests[-1].authentication == "Bearer"
    assert server.requests[-1].user_agent == "kubesched/1"
    # Watches stream: the change arrives while the response is open.
    query = {"watch": "1", "resourceVersion": msgspec.json.decode(body)["metadata"]["resourceVersion"]}
    async with transport.get("/api/v1/pods", query) as response:
        chunks = response.chunks()
        received = b""
        for number in range(3):
            server.storage.patch("pods", "team-0/app-00000-000000", {"metadata": {"labels": {"n": str(number)}}})
            while not received.endswith(b"}\n"):
                received += await anext(chunks)
            assert msgspec.json.decode(received)["object"]["metadata"]["labels"]["n"] == str(number)
            received = b""
    # A wrong token is a status, as without kubectl.
    server.authorizations = set()
    assert (await fetch(transport, "/api/v1/nodes"))[0] == 401
    # No one else can use the socket, and no credential is in a command line or a log.
    assert [path.stat().st_mode & 0o777 for path in temporary.iterdir()] == [0o700]
    commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert any(b"--unix-socket" in command and str(temporary).encode() in command for command in commands)
    assert not any(GOOD.encode() in command for command in commands)
    assert GOOD not in caplog.text
    assert GOOD not in repr(vars(kubectl_proxy)) + repr(vars(transport)) + repr(vars(transport._pool))
    await transport.close()
    assert list(temporary.iterdir()) == []


@pytest.mark.long
async def test_what_kubectl_cannot_reach_is_one_sentence(
    proxy: tuple[AiohttpTransport, KubectlProxy], server: ApiServer, tmp_path: Path
) -> None:
    transport, _ = proxy
    (tmp_path / "plugin").write_text(f"#!/bin/sh\necho 'token={GOOD} refused' >&2\nexit 1\n")
    with pytest.raises(TransportError) as failed:
        await fetch(transport, "/version")
    assert str(failed.value) == (
        "kubectl cannot reach the API server of context c: getting credentials: "
        f"exec: executable {tmp_path}/plugin failed with exit code 1."
    )
    credential = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": GOOD}}
    (tmp_path / "plugin").write_text(f"#!/bin/sh\necho '{msgspec.json.encode(credential).decode()}'\n")
    assert (await fetch(transport, "/version"))[0] == 200
    await server.stop()
    with pytest.raises(TransportError, match=r"^kubectl cannot reach the API server of context c: .*refused\.$"):
        await fetch(transport, "/version")


@pytest.mark.long
@pytest.mark.parametrize("namespace", ["logging", "proxy-system", "executors"])
async def test_a_namespace_that_looks_like_a_subresource_is_read(
    proxy: tuple[AiohttpTransport, KubectlProxy], server: ApiServer, tmp_path: Path, namespace: str
) -> None:
    _, other = proxy
    path = f"/api/v1/namespaces/{namespace}/pods"
    server.storage.create("pods", {"metadata": {"name": "p", "namespace": namespace}, "spec": {"containers": []}})
    connection = KubectlProxy("c", str(tmp_path / "config"), other._kubectl, namespace)
    transport = AiohttpTransport(connection.connect, disconnect=connection.close)
    assert (await fetch(transport, path))[0] == 200
    forwarded = len(server.requests)
    for subresource in ("log", "exec", "attach", "portforward", "proxy", "proxy/"):
        assert (await fetch(transport, f"{path}/p/{subresource}"))[0] == 403
    assert (await fetch(transport, f"/api/v1/namespaces/{namespace}/secrets"))[0] == 403
    assert len(server.requests) == forwarded
    await transport.close()


REJECTED = [
    ("GET", "/api/v1/secrets"),
    ("GET", "/api/v1/secrets?watch=1"),
    ("GET", "/api/v1/namespaces/default/secrets/s"),
    ("GET", "/api/v1/namespaces/default/%73ecrets/s"),
    ("GET", "/api/v1//secrets"),
    ("GET", "/api/v1/nodes/../secrets"),
    ("GET", "/api/v1/namespaces/default/pods/p/exec"),
    ("GET", "/api/v1/namespaces/default/pods/p/attach"),
    ("GET", "/api/v1/namespaces/default/pods/p/portforward"),
    ("GET", "/api/v1/namespaces/default/pods/p/log"),
    ("GET", "/api/v1/namespaces/default/pods/p/proxy/"),
    ("GET", "/api/v1/nodes/n/proxy/metrics"),
    ("GET", "/metrics"),
    ("GET", "/openapi/v2"),
    ("GET", "/static/"),
    ("POST", "/api/v1/namespaces/default/pods"),
    ("PUT", "/api/v1/nodes/n"),
    ("PATCH", "/api/v1/nodes/n"),
    ("DELETE", "/api/v1/nodes/n"),
    ("DELETE", "/api/v1/pods"),
]


@pytest.mark.long
async def test_real_kubectl_rejects_all_else(proxy: tuple[AiohttpTransport, KubectlProxy], server: ApiServer) -> None:
    transport, kubectl_proxy = proxy
    assert (await fetch(transport, "/version"))[0] == 200
    server.storage.create("secrets", {"metadata": {"name": "s", "namespace": "default"}, "data": {"k": "djNy"}})
    endpoint = await kubectl_proxy.connect()
    assert endpoint.unix_socket
    forwarded = len(server.requests)
    statuses = {await raw_status(endpoint.unix_socket, method, path) for method, path in REJECTED}
    assert statuses <= {301, 307, 403, 404}  # a redirect cleans the path
    assert server.requests[forwarded:] == []


async def raw_status(socket: str, method: str, path: str) -> int:
    """Return the status of a request whose path is sent as it is."""
    reader, writer = await asyncio.open_unix_connection(socket)
    writer.write(
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
    )
    line = await reader.readline()
    writer.close()
    return int(line.split()[1])


@pytest.mark.long
async def test_a_killed_kubectl_is_started_again(
    proxy: tuple[AiohttpTransport, KubectlProxy], server: ApiServer
) -> None:
    transport, kubectl_proxy = proxy
    assert (await fetch(transport, "/version"))[0] == 200
    assert kubectl_proxy._process
    kubectl_proxy._process.send_signal(signal.SIGKILL)
    await kubectl_proxy._process.wait()
    with pytest.raises(TransportError, match=r"^The API server of context c could not be reached: "):
        await fetch(transport, "/version")
    assert (await fetch(transport, "/version"))[0] == 200


@pytest.mark.long
async def test_a_token_that_was_replaced_in_the_kubeconfig_is_used(tmp_path: Path, server: ApiServer) -> None:
    file = tmp_path / "config"

    def write(token: str) -> None:
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "k", "cluster": {"server": server.url, "certificate-authority": "test-ca.crt"}}],
            "users": [{"name": "u", "user": {"token": token}}],
            "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        }
        file.write_text(yaml.safe_dump(config))

    write(GOOD)
    proxy = KubectlProxy("c", str(file), str(kubectl(KUBECTL_RELEASES[-1])))
    transport = AiohttpTransport(proxy.connect, "kubesched/1", proxy.close)
    async with Follower(server, ("Node", "Pod"), transport=transport) as follower:
        await follower.synced(30)
        server.authorizations = {"Bearer new"}
        server.cut()
        await asyncio.sleep(3)
        assert {health.state for health in follower.source.health.values()} == {"retrying"}
        assert {health.message.partition(".")[0] for health in follower.source.health.values()} == {
            *("nodes: the API server does not accept the credentials (401)",),
            *("pods: the API server does not accept the credentials (401)",),
        }
        write("new")
        server.storage.delete("nodes", next(iter(server.storage.keys("nodes"))))
        await follower.synced(60)
        await follower.healthy(60)


@pytest.mark.long
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems have no PR_SET_PDEATHSIG")
async def test_kubectl_ends_with_its_parent(tmp_path: Path, temporary: Path) -> None:
    (tmp_path / "config").write_text(
        "contexts: [{name: c, context: {cluster: k}}]\nclusters: [{name: k, cluster: {server: 'http://127.0.0.1:1'}}]\n"
    )
    program = (
        "import asyncio\nfrom scheduler_core.live.kubectl_proxy import KubectlProxy\nasync def main():\n"
        f"    proxy = KubectlProxy('c', {str(tmp_path / 'config')!r}, {str(kubectl('1.37'))!r})\n"
        "    await proxy.connect()\n    print(proxy._process.pid, flush=True)\n    await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    environ = {**os.environ, "TMPDIR": str(temporary)}
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environ) as parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        assert Path(f"/proc/{pid}").exists()
        parent.kill()
    end = time.monotonic() + 10
    while Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes():
        assert time.monotonic() < end, "kubectl still runs"
        await asyncio.sleep(0.05)


@pytest.mark.long
@pytest.mark.parametrize("release", KUBECTL_RELEASES)
async def test_real_kubectl_reads_the_test_server(release: str, tmp_path: Path) -> None:
    """The plugin reads by `kubectl get --raw`; people look at the same server by `kubectl get`."""
    async with ApiServer() as server:
        LargeCluster(nodes=3, pods=60, pending=1).load(server.storage)
        config: dict[str, Any] = {"clusters": [{"name": "k", "cluster": {"server": server.url}}]}
        config["contexts"] = [{"name": "c", "context": {"cluster": "k"}}]
        (tmp_path / "config").write_text(yaml.safe_dump(config))

        async def run(*arguments: str) -> str:
            process = await asyncio.create_subprocess_exec(
                *(str(kubectl(release)), "--kubeconfig", str(tmp_path / "config"), "--context", "c", *arguments),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            out, error = await process.communicate()
            return (out + error).decode()

        page = msgspec.json.decode(await run("get", "--raw", "/api/v1/pods?limit=25"))
        assert len(page["items"]) == 25
        token = page["metadata"]["continue"]
        assert len(msgspec.json.decode(await run("get", "--raw", f"/api/v1/pods?continue={token}"))["items"]) == 35
        nodes = (await run("get", "nodes")).splitlines()
        assert nodes[0].split() == ["NAME", "STATUS", "ROLES", "VERSION", "AGE"]
        assert nodes[1].split()[:4] == ["node-00000", "Ready", "<none>", "v1.36.2"]
        assert len((await run("get", "pods", "-A", "--chunk-size=10", "-o", "name")).splitlines()) == 60
        assert "app-00000-000001" in await run("get", "pods", "-n", "team-0", "app-00000-000001")
        assert await run("get", "pods", "nope") == 'Error from server (NotFound): pods "nope" not found\n'
        assert "deploy" in await run("api-resources")
        server.rules = []
        assert (await run("get", "nodes")).startswith("Error from server (Forbidden): nodes is forbidden: ")


@pytest.mark.long
async def test_a_recording_is_followed_through_a_kubectl_that_is_killed(
    proxy: tuple[AiohttpTransport, KubectlProxy], server: ApiServer
) -> None:
    transport, kubectl_proxy = proxy
    recording = Recording(LIVE_MOST)
    server.storage = Storage(0)
    recording.load(server.storage)
    # Events without a reason of the scheduler are dropped.
    kinds = [name for name, kind in KINDS.items() if kind.resource in recording.resources and name != "Event"]
    async with Follower(server, kinds, transport=transport) as follower:
        await follower.synced(30)
        for part in range(5):
            size = -(-len(recording.changes) // 5)
            for change in recording.changes[part * size : (part + 1) * size]:
                server.storage.put(*change[2:], change.revision)
            await asyncio.sleep(0)
            assert kubectl_proxy._process
            with suppress(ProcessLookupError):
                kubectl_proxy._process.send_signal(signal.SIGKILL)
            server.cut()
        await follower.synced(60)
        assert {request.authentication for request in server.requests} == {"Bearer"}
        lists = {kind: server.count("list", kind) for kind in recording.resources}
        assert max(lists.values()) <= 2
