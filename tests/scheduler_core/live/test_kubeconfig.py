"""Kubeconfig files without kubectl: each connects to the test API server, or is refused in one sentence."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import logging
import os
import stat
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import pytest_asyncio
import yaml
from aiohttp import web

from scheduler_core.errors import InputError
from scheduler_core.live.aiohttp_transport import AiohttpTransport, Endpoint
from scheduler_core.live.connections import KubeconfigConnection
from scheduler_core.live.kubeconfig import default_files, files_of_context, read_kubeconfig
from scheduler_core.live.kubectl_proxy import KubectlProxy
from scheduler_core.live.private_folder import create_private_folder
from scheduler_core.live.transport import TransportError
from tests.api_server.certificates import Authority
from tests.api_server.server import ApiServer
from tests.kubernetes_tools import KUBECTL_RELEASES, kubectl

GOOD = "sesame-0123456789-ABCDEFGHIJ"
Raw = dict[str, Any]
EXEC = {"apiVersion": "client.authentication.k8s.io/v1"}


@dataclass
class World:
    """An API server with TLS that accepts the token GOOD and certificates of `authority`, and a folder."""

    server: ApiServer
    authority: Authority
    folder: Path

    def write(self, cluster: Raw | None = None, user: Raw | None = None, name: str = "config") -> Path:
        """Write a kubeconfig with the context c."""
        cluster = {"server": self.server.url, "certificate-authority": str(self.authority.ca), **(cluster or {})}
        content = {
            "clusters": [{"name": "k", "cluster": {key: value for key, value in cluster.items() if value is not None}}],
            "users": [{"name": "u", "user": user or {}}],
            "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
            "current-context": "c",
        }
        path = self.folder / name
        path.write_text(yaml.safe_dump(content))
        return path

    def program(self, status: Raw, version: str = "v1", name: str = "plugin", exit_status: int = 0) -> Path:
        """Write a credential plugin that prints a status and counts its calls."""
        document = {"apiVersion": f"client.authentication.k8s.io/{version}", "kind": "ExecCredential", "status": status}
        path = self.folder / name
        path.write_text(f"#!/bin/sh\necho >> {path}.calls\ncat <<'E'\n{json.dumps(document)}\nE\n"
                        f"echo 'token={GOOD} is wrong' >&2\nexit {exit_status}\n")  # fmt: skip
        path.chmod(0o755)
        return path


@pytest_asyncio.fixture
async def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    authority = Authority(tmp_path)
    with tempfile.TemporaryDirectory() as temporary:  # short enough for a socket, unlike tmp_path
        monkeypatch.setattr(tempfile, "tempdir", temporary)
        async with ApiServer(tls=authority.server_context()) as server:
            server.authorizations = {f"Bearer {GOOD}"}
            yield World(server, authority, tmp_path)
        assert os.listdir(temporary) == []  # no key is left on the disk


async def status(path: Path, context: str = "c") -> int | str:
    """Return the HTTP status of a request through a kubeconfig, or the sentence of the failure."""
    return await status_of(AiohttpTransport(KubeconfigConnection(context, str(path)).connect))


async def status_of(transport: AiohttpTransport) -> int | str:
    """Return the HTTP status of a request, or the sentence of the failure, and close the transport."""
    try:
        async with transport.get("/api/v1/nodes", {"limit": "1"}, read_timeout=5) as response:
            return response.status
    except TransportError as error:
        return str(error)
    finally:
        await transport.close()


def encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def id_token(lifetime: float) -> str:
    parts = [{"alg": "none"}, {"exp": int(time.time() + lifetime)}]
    return ".".join([*(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().strip("=") for part in parts), "s"])


def token_user(world: World) -> Path:
    return world.write(user={"token": GOOD})


def token_file(world: World) -> Path:
    (world.folder / "token").write_text(f"{GOOD}\n")
    return world.write(user={"tokenFile": "token", "token": "ignored"})


def basic(world: World) -> Path:
    world.server.authorizations = {"Basic " + base64.b64encode(b"ada:pass").decode()}
    return world.write(user={"username": "ada", "password": "pass"})


def certificate_files(world: World) -> Path:
    certificate, key = world.authority.issue("ada")
    return world.write(user={"client-certificate": certificate.name, "client-key": str(key)})


def certificate_data(world: World) -> Path:
    certificate, key = world.authority.issue("ada")
    authority = {"certificate-authority": None, "certificate-authority-data": encoded(world.authority.ca)}
    return world.write(authority, {"client-certificate-data": encoded(certificate), "client-key-data": encoded(key)})


def exec_v1(world: World) -> Path:
    plugin = world.program({"token": GOOD})
    user = {"apiVersion": "client.authentication.k8s.io/v1", "command": f"./{plugin.name}", "args": ["--login"]}
    return world.write(user={"exec": {**user, "env": [{"name": "A", "value": "b"}], "interactiveMode": "Never"}})


def exec_v1beta1(world: World) -> Path:
    plugin = world.program({"token": GOOD, "expirationTimestamp": "2099-01-01T00:00:00Z"}, "v1beta1")
    user = {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": str(plugin), "args": None, "env": None}
    return world.write(user={"exec": user})


def exec_certificate(world: World) -> Path:
    certificate, key = world.authority.issue("ada")
    plugin = world.program({"clientCertificateData": certificate.read_text(), "clientKeyData": key.read_text()})
    return world.write(user={"exec": {**EXEC, "command": str(plugin), "interactiveMode": "IfAvailable"}})


def oidc(world: World) -> Path:
    token = id_token(3600)
    world.server.authorizations = {f"Bearer {token}"}
    config = {"id-token": token, "client-id": "k", "idp-issuer-url": "https://issuer.example"}
    return world.write(user={"auth-provider": {"name": "oidc", "config": config}})


def server_name(world: World) -> Path:
    address = world.server.url.replace("127.0.0.1", "localhost")
    return world.write({"server": address, "tls-server-name": "127.0.0.1"}, {"token": GOOD})


def insecure(world: World) -> Path:
    return world.write({"certificate-authority": None, "insecure-skip-tls-verify": True}, {"token": GOOD})


CONNECTING: list[Callable[[World], Path]] = [
    *(token_user, token_file, basic, certificate_files, certificate_data, exec_v1, exec_v1beta1, exec_certificate),
    *(oidc, server_name, insecure),
]


@pytest.mark.asyncio
@pytest.mark.parametrize("kubeconfig", CONNECTING, ids=lambda function: function.__name__)
async def test_a_kubeconfig_connects(world: World, kubeconfig: Callable[[World], Path]) -> None:
    assert await status(kubeconfig(world)) == 200


@pytest.mark.long
@pytest.mark.asyncio
@pytest.mark.parametrize("release", KUBECTL_RELEASES)
@pytest.mark.parametrize("kubeconfig", CONNECTING, ids=lambda function: function.__name__)
async def test_kubectl_connects_with_the_same_kubeconfigs(
    world: World, kubeconfig: Callable[[World], Path], release: str
) -> None:
    proxy = KubectlProxy("c", str(kubeconfig(world)), str(kubectl(release)))
    assert await status_of(AiohttpTransport(proxy.connect, disconnect=proxy.close)) == 200


EXPIRED = {"name": "oidc", "config": {"id-token": id_token(-10), "client-id": "k"}}
REFUSED: dict[str, tuple[Raw, Raw, str]] = {
    "wrong token": (
        {},
        {"token": "wrong"},
        "401",
    ),
    "no credentials": (
        {},
        {},
        "401",
    ),
    "unknown authority": (
        {"certificate-authority": None},
        {"token": GOOD},
        "The certificate of the API server of context c is not trusted: self-signed certificate in certificate chain.",
    ),
    "wrong host name": (
        {"tls-server-name": "other.example"},
        {"token": GOOD},
        "The certificate of the API server of context c is not trusted: Hostname mismatch, certificate "
        "is not valid for 'other.example'.",
    ),
    "password in the address": (
        {"server": "https://ada:hunter2@127.0.0.1:1"},
        {},
        "The server address of the cluster of context c must have no user.",
    ),
    "no server": (
        {"server": None},
        {},
        "The cluster of context c has no server address that begins with https://.",
    ),
    "file server": (
        {"server": "file:///etc/passwd"},
        {},
        "The cluster of context c has no server address that begins with https://.",
    ),
    "authority missing": (
        {"certificate-authority": "nowhere.crt"},
        {},
        "The credentials of context c could not be loaded: this file does not exist: FOLDER/nowhere.crt.",
    ),
    "authority data": (
        {"certificate-authority": None, "certificate-authority-data": "abc"},
        {},
        "The credentials of context c have data that is not base64.",
    ),
    "authority without certificate": (
        {"certificate-authority": "config"},
        {},
        "The certificate-authority of context c has no certificate.",
    ),
    "authority and insecure": (
        {"insecure-skip-tls-verify": True},
        {},
        "The cluster of context c has certificate-authority and insecure-skip-tls-verify; only one is allowed.",
    ),
    "SOCKS proxy": (
        {"proxy-url": "socks5://p:1080"},
        {},
        "The proxy-url of context c is not an http address; install kubectl to use others.",
    ),
    "proxy down": (
        {"proxy-url": "http://ada:hunter2@127.0.0.1:1"},
        {},
        "The proxy of the API server of context c could not be reached: connection refused.",
    ),
    "server down": (
        {"server": "https://127.0.0.1:1"},
        {},
        "The API server of context c could not be reached: connection refused.",
    ),
    "certificate without key": (
        {},
        {"client-certificate": "test-ca.crt"},
        "The user of context c has a client certificate without a key.",
    ),
    "key of another certificate": (
        {},
        {"client-certificate": "test-ca.crt", "client-key": "server.key"},
        "The client certificate and key of context c do not fit or are not valid.",
    ),
    "token file missing": (
        {},
        {"tokenFile": "nowhere"},
        "The credentials of context c could not be loaded: FOLDER/nowhere: no such file or directory.",
    ),
    "token file empty": (
        {},
        {"tokenFile": "/dev/null"},
        "The token file /dev/null has no token.",
    ),
    "number as token": (
        {},
        {"token": 123456789012345},
        "FOLDER/config: user of context 'c': token: must be a text.",
    ),
    "list as address": (
        {"proxy-url": ["http://p"]},
        {},
        "FOLDER/config: cluster of context 'c': proxy-url: must be a text.",
    ),
    "token with a line break": (
        {},
        {"token": f"{GOOD}\nX-Header: y"},
        "The token of context c has characters that no HTTP header can have.",
    ),
    "impersonation": (
        {},
        {"as": "admin"},
        "The user of context c impersonates another (as); install kubectl to use it.",
    ),
    "gcp": (
        {},
        {"auth-provider": {"name": "gcp"}},
        "The user of context c has the auth provider 'gcp', which Kubernetes 1.26 removed.",
    ),
    "exec v1alpha1": (
        {},
        {"exec": {"apiVersion": "client.authentication.k8s.io/v1alpha1", "command": "true"}},
        "The credential plugin of context c has apiVersion 'client.authentication.k8s.io/v1alpha1', not "
        "client.authentication.k8s.io/v1.",
    ),
    "exec without command": (
        {},
        {"exec": EXEC},
        "The credential plugin (exec) of context c has no command.",
    ),
    "exec with a wrong env": (
        {},
        {"exec": {**EXEC, "command": "true", "env": {"A": "b"}}},
        "The args and env of the credential plugin of context c must be lists.",
    ),
    "exec not installed": (
        {},
        {"exec": {**EXEC, "command": "no-such-plugin"}},
        "The credential plugin no-such-plugin of context c is not installed on the server's machine.",
    ),
    "exec needs a terminal": (
        {},
        {"exec": {**EXEC, "command": "true", "interactiveMode": "Always"}},
        "The credential plugin true of context c needs a terminal.",
    ),
    "exec fails": (
        {},
        {"exec": {**EXEC, "command": "./failing"}},
        "The credentials of context c could not be loaded: process returned 3. token=... is wrong.",
    ),
    "exec prints nothing": (
        {},
        {"exec": {**EXEC, "command": "true"}},
        "The credentials of context c could not be loaded: failed to decode process output: Expecting "
        "value: line 1 column 1 (char 0).",
    ),
    "OIDC expired": (
        {},
        {"auth-provider": EXPIRED},
        "The credentials of context c could not be loaded: the id-token has expired and refresh-token is missing.",
    ),
    "OIDC malformed": (
        {},
        {"auth-provider": {"name": "oidc", "config": {"id-token": "x"}}},
        "The credentials of context c are not valid (ValueError).",
    ),
}


@pytest.mark.long
@pytest.mark.asyncio
@pytest.mark.parametrize("case", REFUSED)
async def test_kubectl_refuses_in_one_sentence(world: World, case: str, caplog: pytest.LogCaptureFixture) -> None:
    """What is refused without kubectl is refused with it, but what kubectl can do more."""
    world.program({}, name="failing", exit_status=3)
    cluster, user, _ = REFUSED[case]
    path = world.write(cluster, user)
    proxy = KubectlProxy("c", str(path), str(kubectl("1.37")))
    found = str(await status_of(AiohttpTransport(proxy.connect, disconnect=proxy.close)))
    assert found in ("401", "403") or (found.endswith(".") and "\n" not in found), found
    for secret in (GOOD, "hunter2"):
        assert secret not in caplog.text + found


@pytest.mark.asyncio
@pytest.mark.parametrize("case", REFUSED)
async def test_a_kubeconfig_is_refused_in_one_sentence(
    world: World, case: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    world.program({}, name="failing", exit_status=3)
    cluster, user, expected = REFUSED[case]
    found = str(await status(world.write(cluster, user)))
    assert found.replace(str(world.folder), "FOLDER") == expected
    for secret in (GOOD, "hunter2", "wrong"):
        assert secret not in caplog.text
        assert secret not in found.replace("is wrong", "")


@pytest.mark.asyncio
async def test_a_plugin_does_not_get_the_settings_of_the_server(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBESCHED_DATABASE_PASSWORD", "hunter2")
    monkeypatch.setenv("AWS_PROFILE", "dev")
    path = exec_v1(world)
    plugin = world.folder / "plugin"
    plugin.write_text(plugin.read_text().replace("#!/bin/sh\n", f"#!/bin/sh\nenv > {world.folder}/env\n"))
    assert await status(path) == 200
    seen = (world.folder / "env").read_text()
    assert "hunter2" not in seen
    assert {"AWS_PROFILE=dev", "A=b"} <= set(seen.splitlines())


@pytest.mark.asyncio
async def test_proxy_url_tunnels_to_the_server(world: World) -> None:
    requested: list[str] = []

    async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requested.append((await reader.readuntil(b"\r\n\r\n")).decode())
        host, port = requested[-1].split(" ")[1].split(":")
        inner_reader, inner_writer = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")

        async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
            while data := await source.read(4096):
                target.write(data)
            target.close()

        await asyncio.gather(copy(reader, inner_writer), copy(inner_reader, writer))

    proxy = await asyncio.start_server(tunnel, "127.0.0.1", 0)
    port = proxy.sockets[0].getsockname()[1]
    path = world.write({"proxy-url": f"http://ada:hunter2@127.0.0.1:{port}"}, {"token": GOOD})
    assert await status(path) == 200
    assert requested[0].startswith(f"CONNECT {world.server.url.removeprefix('https://')} ")
    assert "Proxy-Authorization: Basic" in requested[0]
    assert GOOD not in requested[0]
    proxy.close()


@pytest.mark.asyncio
async def test_credentials_are_loaded_again_before_expiry_and_after_a_401(world: World) -> None:
    soon = "2026-01-01T00:00:00Z"
    plugin = world.program({"token": "old", "expirationTimestamp": "2099-01-01T00:00:00Z"})
    path = world.write(user={"exec": {**EXEC, "command": str(plugin)}})
    transport = AiohttpTransport(KubeconfigConnection("c", str(path)).connect)

    async def request() -> int:
        async with transport.get("/version", {}) as response:
            return response.status

    def calls() -> int:
        return len(Path(f"{plugin}.calls").read_text().splitlines())

    world.server.authorizations = {"Bearer old"}
    assert (await request(), await request(), calls()) == (200, 200, 1)
    world.program({"token": "new", "expirationTimestamp": soon})
    world.server.authorizations = {"Bearer new"}
    # The running watch of the old token goes on; the next request renews once.
    assert (await request(), calls()) == (200, 2)
    # It expires, but was loaded a moment ago: a plugin whose tokens are too short is not run for each request.
    assert (await request(), calls()) == (200, 2)
    assert transport._pool
    transport._pool.created -= 60
    assert (await request(), calls()) == (200, 3)
    # A server that accepts no token does not make the plugin run for each request either.
    world.server.authorizations = set()
    assert [await request() for _ in range(3)] == [401, 401, 401]
    assert calls() == 4
    await transport.close()


@pytest.mark.asyncio
async def test_rejected_credentials_are_loaded_again_ever_more_rarely(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SimpleNamespace(time=lambda: now)
    monkeypatch.setattr("scheduler_core.live.aiohttp_transport.time", clock)
    now, calls = 1000.0, list[float]()
    connection = KubeconfigConnection("c", str(world.write(user={"token": "old"})))

    async def connect() -> Endpoint:
        calls.append(now)
        return await connection.connect()

    transport = AiohttpTransport(connect)
    world.server.authorizations = {"Bearer new"}

    async def request() -> int:
        async with transport.get("/version", {}) as response:
            return response.status

    for _ in range(200):
        assert await request() == 401
        now += 5
    delays = [later - before for before, later in itertools.pairwise(calls[1:])]
    assert delays == [15, 25, 45, 85, 165, 305, 305]
    # A changed file is read at once.
    world.write(user={"token": "new"})
    assert await request() == 200
    await transport.close()


@pytest.mark.asyncio
async def test_a_changed_kubeconfig_is_read_after_any_failure(world: World, tmp_path: Path) -> None:
    path = world.write(user={"token": GOOD}, cluster={"server": "https://127.0.0.1:9"})
    transport = AiohttpTransport(KubeconfigConnection("c", str(path)).connect)
    world.server.authorizations = {f"Bearer {GOOD}"}
    with pytest.raises(TransportError):
        async with transport.get("/version", {}):
            pass
    world.write(user={"token": GOOD})
    with pytest.raises(TransportError):  # the server of before
        async with transport.get("/version", {}):
            pass
    async with transport.get("/version", {}) as response:
        assert response.status == 200
    await transport.close()


@pytest.mark.asyncio
async def test_the_files_of_a_context_are_compared(world: World) -> None:
    path = world.write(user={"tokenFile": "token"})
    (path.parent / "token").write_text("one")
    changed = files_of_context(str(path), "c")
    assert not changed()
    (path.parent / "token").write_text("other")
    assert changed()
    changed = files_of_context(str(path), "c")
    path.unlink()
    assert changed()


@pytest.mark.asyncio
async def test_an_expired_id_token_is_renewed_by_its_issuer(world: World) -> None:
    forms = []
    token = id_token(3600)

    async def answer(request: web.Request) -> web.Response:
        if request.method == "GET":
            return web.json_response({"token_endpoint": f"https://127.0.0.1:{port}/token"})
        forms.append((dict(await request.post()), request.headers["Authorization"]))
        return web.json_response({"id_token": token})

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=world.authority.server_context()).start()
    port = runner.addresses[0][1]
    config = {**EXPIRED["config"], "refresh-token": "again", "client-secret": "s"}  # type: ignore[dict-item]
    config["idp-issuer-url"] = f"https://127.0.0.1:{port}"
    provider = {"name": "oidc", "config": config}
    world.server.authorizations = {f"Bearer {token}"}
    # The issuer's certificate is verified.
    assert "the issuer could not renew it" in str(await status(world.write(user={"auth-provider": provider})))
    assert forms == []
    config["idp-certificate-authority-data"] = encoded(world.authority.ca)
    before = world.write(user={"auth-provider": provider}).read_text()
    assert await status(world.folder / "config") == 200
    assert forms == [({"grant_type": "refresh_token", "refresh_token": "again"}, "Basic azpz")]
    assert (world.folder / "config").read_text() == before
    await runner.cleanup()


@pytest.mark.asyncio
async def test_a_rotated_token_file_is_read_again(world: World) -> None:
    transport = AiohttpTransport(KubeconfigConnection("c", str(token_file(world))).connect)
    for token in (GOOD, "second"):
        world.server.authorizations = {f"Bearer {token}"}
        (world.folder / "next").write_text(token)
        (world.folder / "next").replace(world.folder / "token")
        async with transport.get("/version", {}) as response:
            assert response.status == 200
    assert [request.status for request in world.server.requests] == [200, 200]
    await transport.close()


def test_merged_files_and_their_contexts(tmp_path: Path) -> None:
    first, second = tmp_path / "a" / "config", tmp_path / "b" / "config"
    for folder in (first.parent, second.parent):
        folder.mkdir()
    first.write_text(yaml.safe_dump({
        "contexts": [{"name": "one", "context": {"cluster": "k", "user": "u", "namespace": "dev"}}],
        "users": [{"name": "u", "user": {"tokenFile": "t", "exec": {"command": "bin/plugin"}}}],
    }))  # fmt: skip
    second.write_text(yaml.safe_dump({
        "clusters": [{"name": "k", "cluster": {"server": "https://x", "certificate-authority": "ca"}}],
        "contexts": [
            {"name": "one", "context": {"cluster": "other", "user": "u"}},
            {"name": "two", "context": {"cluster": "k", "user": "gone"}},
        ],
        "users": [{"name": "u", "user": {"token": GOOD}}],
        "current-context": "two",
    }))  # fmt: skip
    files = default_files({"KUBECONFIG": f"{first}:{tmp_path / 'missing'}:{second}:{first}"})
    config = read_kubeconfig(files)
    assert [tuple(context) for context in config.list_contexts()] == [
        ("one", "k", "u", "dev", False),
        ("two", "k", "gone", "", True),
    ]
    cluster, user = config.resolve("one")
    assert cluster["certificate-authority"] == str(second.parent / "ca")
    assert user == {"tokenFile": str(first.parent / "t"), "exec": {"command": str(first.parent / "bin/plugin")}}
    with pytest.raises(InputError, match="context 'two' names user 'gone', which does not exist"):
        config.resolve("two")
    with pytest.raises(InputError, match="there is no context 'three'; contexts are: one, two"):
        config.resolve("three")


def test_listing_contexts_runs_and_reads_nothing_else(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    program = tmp_path / "plugin"
    program.write_text(f"#!/bin/sh\ntouch {marker}\n")
    program.chmod(0o755)
    pipe = tmp_path / "pipe"  # reading it would block
    os.mkfifo(pipe)
    path = tmp_path / "config"
    user = {"exec": {**EXEC, "command": str(program)}, "tokenFile": str(pipe)}
    path.write_text(yaml.safe_dump({
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "users": [{"name": "u", "user": user}],
    }))  # fmt: skip
    assert [context.name for context in read_kubeconfig([path]).list_contexts()] == ["c"]
    assert not marker.exists()


BROKEN = {
    "a: b\n  token: sesame\n c": "line 2: is not YAML",
    "[1, 2]": "is not a kubeconfig",
    "contexts: {}": None,
    "contexts: 7": "contexts: must be a list",
    "contexts: [7]": "contexts[0].name: must be a text",
    "users: [{name: u, user: sesame}]": "users[0].user: must be a mapping",
    "a: &a [*a]": None,
    "\x00": "is not YAML",
    "": None,
    "[" * 5000: "line 2: is not YAML",
}


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
def test_a_broken_file_is_refused_with_its_name_and_field(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    expected = BROKEN[text]
    if expected is None:
        assert read_kubeconfig([path]).list_contexts() == []
        return
    with pytest.raises(InputError) as refused:
        read_kubeconfig([path])
    assert str(refused.value) == f"{path}: {expected}"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r": is not a file$"):
        read_kubeconfig([tmp_path])
    os.mkfifo(tmp_path / "pipe")  # does not block
    with pytest.raises(InputError, match=r"pipe: is not a file$"):
        read_kubeconfig([tmp_path / "pipe"])


def test_temporary_folders_are_private_and_those_of_killed_processes_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ended = subprocess.Popen(["true"])
    ended.wait()
    (tmp_path / f"kubesched-live-{ended.pid}-a").mkdir()
    (tmp_path / f"kubesched-live-{ended.pid}-b").write_text("a file is left alone")
    (tmp_path / f"kubesched-live-{os.getppid()}-c").mkdir()
    (tmp_path / "kubesched-live-x-d").mkdir()
    folder = create_private_folder()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    left = {path.name for path in tmp_path.iterdir()} - {folder.name}
    assert left == {f"kubesched-live-{ended.pid}-b", f"kubesched-live-{os.getppid()}-c", "kubesched-live-x-d"}
