"""The transport of live clusters: streamed bodies, broken lines, proxies of the environment."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import AsyncIterator

import msgspec
import pytest
import pytest_asyncio

from scheduler_core.live.aiohttp_transport import AiohttpTransport, Endpoint, proxy_of
from scheduler_core.live.transport import TransportError
from tests.api_server.large_cluster import LargeCluster
from tests.api_server.server import ApiServer, Fault

pytestmark = pytest.mark.asyncio
PODS = "/api/v1/pods"


@pytest_asyncio.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with ApiServer() as server:
        LargeCluster(nodes=5, pods=100, pending=1).load(server.storage)
        yield server


@pytest_asyncio.fixture
async def transport(server: ApiServer) -> AsyncIterator[AiohttpTransport]:
    async def connect() -> Endpoint:
        return Endpoint("the API server", server.url)

    transport = AiohttpTransport(connect, "kubesched/1")
    yield transport
    await transport.close()


async def body(transport: AiohttpTransport, path: str, **query: str) -> bytes:
    async with transport.get(path, query, read_timeout=0.2) as response:
        return b"".join([chunk async for chunk in response.chunks()])


async def test_bodies_are_decompressed_while_they_arrive(server: ApiServer, transport: AiohttpTransport) -> None:
    server.gzip_threshold = None
    plain = await body(transport, PODS, limit="50", labelSelector="app in (app-00000, app-00001)")
    server.gzip_threshold = 1
    compressed = await body(transport, PODS, limit="50", labelSelector="app in (app-00000, app-00001)")
    assert plain == compressed
    page = msgspec.json.decode(plain)
    assert len(page["items"]) == 50
    # A token of a page has characters that must be encoded in a query.
    rest = msgspec.json.decode(await body(transport, PODS, **{"continue": page["metadata"]["continue"]}))
    assert len(rest["items"]) == 50
    sizes = [(request.bytes < 20_000, request.accept_encoding, request.user_agent) for request in server.requests]
    assert sizes == [(False, "gzip", "kubesched/1"), (True, "gzip", "kubesched/1"), (True, "gzip", "kubesched/1")]


async def test_the_pages_of_a_list_use_one_connection(server: ApiServer, transport: AiohttpTransport) -> None:
    async with transport.get(PODS, {"limit": "10"}) as response:
        page = msgspec.json.decode(b"".join([chunk async for chunk in response.chunks()]))
    for _ in range(3):
        page = msgspec.json.decode(
            await body(transport, PODS, limit="10", **{"continue": page["metadata"]["continue"]})
        )
    assert {request.client for request in server.requests} == {server.requests[0].client}


@pytest.mark.parametrize("compressed", [False, True])
async def test_a_line_cut_anywhere_is_an_error(
    server: ApiServer, transport: AiohttpTransport, compressed: bool
) -> None:
    server.gzip_threshold = 1 if compressed else None
    size = len(await body(transport, PODS))
    whole = server.requests[-1].bytes
    assert compressed == (whole < size)
    for cut in (0, 1, whole // 2, whole - 1):
        server.inject(Fault(cut_after=cut))
        with pytest.raises(TransportError, match=r"^The connection to the API server ended before"):
            await body(transport, PODS)
    assert len(await body(transport, PODS)) == size


async def test_silence_is_an_error(server: ApiServer, transport: AiohttpTransport) -> None:
    server.inject(Fault(delay=2))
    with pytest.raises(TransportError, match=r"^The API server sent nothing for 0.2 s\.$"):
        await body(transport, PODS)
    server.inject(Fault(silent=True))
    with pytest.raises(TransportError, match=r"^The API server sent nothing for 0.2 s\.$"):
        await body(transport, PODS, watch="1", resourceVersion=str(server.storage.revision))


async def test_no_connection_is_an_error_without_the_query(transport: AiohttpTransport, server: ApiServer) -> None:
    await server.stop()
    with pytest.raises(TransportError) as failed:
        await body(transport, PODS, **{"continue": "private"})
    assert str(failed.value) == "The API server could not be reached: connection refused."
    assert failed.value.__suppress_context__


async def test_a_failed_connection_is_not_repeated_by_every_kind() -> None:
    calls = 0

    async def connect() -> Endpoint:
        nonlocal calls
        calls += 1
        await asyncio.sleep(0.01)
        raise TransportError("No way.")

    transport = AiohttpTransport(connect)
    results = await asyncio.gather(*(body(transport, PODS) for _ in range(30)), return_exceptions=True)
    assert {str(result) for result in results} == {"No way."}
    assert calls == 1


async def test_credentials_that_cannot_be_renewed_are_used_until_they_expire(server: ApiServer) -> None:
    answers: list[float | None] = [time.time() + 50, None, None]

    async def connect() -> Endpoint:
        expires = answers.pop(0)
        if expires is None:
            raise TransportError("The plugin failed.")
        return Endpoint("the API server", server.url, expires=expires)

    transport = AiohttpTransport(connect)
    await body(transport, PODS)
    assert transport._pool
    transport._pool.created -= 60
    await body(transport, PODS)
    assert len(answers) == 1
    transport._pool.endpoint = dataclasses.replace(transport._pool.endpoint, expires=time.time() - 1)
    with pytest.raises(TransportError, match=r"^The plugin failed\.$"):
        await body(transport, PODS)
    await transport.close()


async def test_redirects_are_not_followed(transport: AiohttpTransport, server: ApiServer) -> None:
    server.inject(Fault(status=302, location="/api/v1/secrets"))
    async with transport.get(PODS, {}) as response:
        assert response.status == 302
    assert len(server.requests) == 1


def _proxy(url: str, **more: str) -> str | None:
    return proxy_of(Endpoint("the API server", url, **more))  # type: ignore[arg-type]


async def test_proxies_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "https_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", "10.0.0.1,.internal, 10.96.0.0/12,fd00::/8,bad/range")
    assert _proxy("https://api.example:6443") == "http://proxy:3128"
    assert _proxy("https://10.0.0.1:6443") is None
    assert _proxy("https://api.internal") is None
    assert _proxy("https://10.96.0.1:443") is None
    assert _proxy("https://[fd00::1]:443") is None
    assert _proxy("https://10.128.0.1:443") == "http://proxy:3128"
    assert _proxy("https://127.0.0.1:6443") is None
    assert _proxy("https://localhost:6443") is None
    assert _proxy("http://localhost", unix_socket="/run/s") is None
    assert _proxy("https://10.0.0.1", proxy="http://own:1") == "http://own:1"
