"""No credential of a connection is in a log, an exception, a repr, an address or a command line, whatever fails."""

from __future__ import annotations

import asyncio
import base64
import logging
import subprocess
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from scheduler_core.live import in_cluster
from scheduler_core.live.aiohttp_transport import AiohttpTransport, Endpoint, proxy_of
from scheduler_core.live.connections import KubeconfigConnection
from scheduler_core.live.kubeconfig import read_kubeconfig
from scheduler_core.live.transport import TransportError
from tests.api_server.certificates import Authority
from tests.api_server.server import ApiServer, Fault

pytestmark = pytest.mark.asyncio
TOKEN = "sesame-0123456789-ABCDEFGHIJ"
PASSWORD = "hunter2-hunter2"
SECRETS = (TOKEN, PASSWORD, base64.b64encode(f"ada:{PASSWORD}".encode()).decode())


def user(folder: Path, kind: str) -> dict[str, object]:
    """Return a kubeconfig's user, and write its plugin."""
    plugin = folder / "plugin"
    plugin.write_text(
        f"#!/bin/sh\necho 'using token={TOKEN}' >&2\necho '"
        '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s"}}'
        "'\n" % TOKEN
    )
    plugin.chmod(0o755)
    users: dict[str, dict[str, object]] = {
        "token": {"token": TOKEN},
        "password": {"username": "ada", "password": PASSWORD},
        "exec": {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(plugin)}},
    }
    return users[kind]


FAULTS = [
    Fault(status=401),
    Fault(status=403),
    Fault(status=500),
    Fault(cut_after=0),
    Fault(cut_after=20),
    Fault(delay=1),
    Fault(end_after=10),
    Fault(status=302),
]


@pytest.mark.parametrize("kind", ["token", "password", "exec", "in cluster"])
async def test_no_credential_leaves_the_connection(
    tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    asyncio.get_running_loop().set_debug(True)
    authority = Authority(tmp_path)
    async with ApiServer(tls=authority.server_context()) as server:
        port = server.url.split(":")[-1]
        connect: Callable[[], object]
        if kind == "in cluster":
            (tmp_path / "token").write_text(TOKEN)
            (tmp_path / "ca.crt").write_bytes(authority.ca.read_bytes())
            environ = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": port}

            async def connect() -> Endpoint:
                return await in_cluster.connect(environ, tmp_path)
        else:
            content = {
                "clusters": [{"name": "k", "cluster": {"server": server.url, "certificate-authority": "test-ca.crt"}}],
                "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
                "users": [{"name": "u", "user": user(tmp_path, kind)}],
            }
            (tmp_path / "config").write_text(yaml.safe_dump(content))
            shown = repr(read_kubeconfig([tmp_path / "config"]))
            assert shown == "Kubeconfig(c)"
            connect = KubeconfigConnection("c", str(tmp_path / "config")).connect
        connection = AiohttpTransport(connect)
        texts: list[str] = []
        for fault in [Fault(), *FAULTS]:
            server.inject(fault)
            try:
                async with connection.get("/api/v1/pods", {"limit": "1"}, read_timeout=0.1) as response:
                    texts.append(repr(response) + repr(vars(response)) + str(response.headers))
                    texts.append(str([chunk async for chunk in response.chunks()]))
            except TransportError as error:
                texts += ["".join(traceback.format_exception(error)), repr(error)]
            pool = connection._pool
            texts += [
                repr(connection),
                repr(vars(connection)),
                repr(pool),
                repr(vars(pool)),
                repr(pool and pool.endpoint),
            ]
        await connection.close()
        assert len(server.requests) > len(FAULTS)
        assert {request.authentication for request in server.requests} <= {"Bearer", "Basic"}
        texts += [repr(server.requests), caplog.text, *capfd.readouterr()]
        texts.append(subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, text=True).stdout)
    assert [secret for secret in SECRETS for text in texts if secret in text] == []
    assert "TransportError" in "".join(texts)


async def test_the_password_of_a_proxy_is_in_no_message(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("https_proxy", f"http://ada:{PASSWORD}@127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)

    async def connect() -> Endpoint:
        return Endpoint("the API server", "https://api.example")

    connection = AiohttpTransport(connect)
    with pytest.raises(TransportError) as failed:
        async with connection.get("/version", {}):
            pass
    await connection.close()
    shown = "".join(traceback.format_exception(failed.value))
    assert "The proxy of the API server could not be reached: connection refused." in shown
    assert PASSWORD not in shown + caplog.text
    assert PASSWORD not in repr(Endpoint("x", f"https://ada:{PASSWORD}@api.example", proxy=f"http://ada:{PASSWORD}@p"))
    assert proxy_of(Endpoint("x", "https://api.example")) == f"http://ada:{PASSWORD}@127.0.0.1:1"
