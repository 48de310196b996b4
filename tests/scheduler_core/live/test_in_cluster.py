"""The connection of a pod: the token file is rotated, the authority is verified, each failure is one sentence."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from scheduler_core.live import in_cluster
from scheduler_core.live.aiohttp_transport import AiohttpTransport
from scheduler_core.live.transport import TransportError
from tests.api_server.certificates import Authority
from tests.api_server.server import ApiServer

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def server(tmp_path: Path) -> AsyncIterator[ApiServer]:
    authority = Authority(tmp_path)
    authority.ca.rename(tmp_path / "ca.crt")
    authority.ca = tmp_path / "ca.crt"
    async with ApiServer(tls=authority.server_context()) as server:
        yield server


def rotate(folder: Path, token: str) -> None:
    """Replace the token as kubelet does: ..data is a link to a folder of a time."""
    version = folder / f"..{token}"
    version.mkdir()
    (version / "token").write_text(token)
    link = folder / "..next"
    link.symlink_to(version)
    link.replace(folder / "..data")
    if not (folder / "token").exists():
        (folder / "token").symlink_to("..data/token")


def transport(server: ApiServer, folder: Path) -> AiohttpTransport:
    host, port = server.url.removeprefix("https://").split(":")
    environ = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
    return AiohttpTransport(lambda: in_cluster.connect(environ, folder))


async def status(transport: AiohttpTransport) -> int:
    async with transport.get("/api/v1/nodes", {"limit": "1"}) as response:
        return response.status


async def test_the_rotated_token_is_used_without_a_failed_request(server: ApiServer, tmp_path: Path) -> None:
    rotate(tmp_path, "first")
    connection = transport(server, tmp_path)
    for token in ("first", "second", "third"):
        if token != "first":
            rotate(tmp_path, token)
        server.authorizations = {f"Bearer {token}"}
        assert await status(connection) == 200
    (tmp_path / "token").unlink()  # the last token stays in use
    assert await status(connection) == 200
    assert [request.status for request in server.requests] == [200] * 4
    await connection.close()


async def test_a_rotated_authority_is_read_again(server: ApiServer, tmp_path: Path) -> None:
    rotate(tmp_path, "first")
    good = (tmp_path / "ca.crt").read_bytes()
    (tmp_path / "ca.crt").write_bytes(Authority(tmp_path, "other").ca.read_bytes())
    connection = transport(server, tmp_path)
    with pytest.raises(
        TransportError, match=r"^The certificate of the API server of this cluster is not trusted: .*\.$"
    ):
        await status(connection)
    (tmp_path / "ca.crt").write_bytes(good)
    assert await status(connection) == 200
    await connection.close()


async def test_each_failure_is_one_sentence(server: ApiServer, tmp_path: Path) -> None:
    async def failure() -> str:
        connection = transport(server, tmp_path)
        with pytest.raises(TransportError) as failed:
            await status(connection)
        return str(failed.value).replace(str(tmp_path), "")

    assert await failure() == "The token file /token cannot be read: no such file or directory."
    (tmp_path / "token").write_text(" \n")
    assert await failure() == "The token file /token has no token."
    (tmp_path / "token").write_bytes(b"\xff\x00")
    assert await failure() == "The token file /token has no token."
    (tmp_path / "token").write_text("t")
    (tmp_path / "ca.crt").write_text("none")
    assert await failure() == "The file /ca.crt has no certificate."
    (tmp_path / "ca.crt").unlink()
    assert await failure() == "The file /ca.crt cannot be read: no such file or directory."
    with pytest.raises(TransportError, match=r"^This process does not run in a pod: .*\.$"):
        await in_cluster.connect({}, tmp_path)


async def test_the_address_of_a_cluster_with_ipv6(server: ApiServer, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t")
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    assert (await in_cluster.connect(environ, tmp_path)).url == "https://[fd00::1]:443"
