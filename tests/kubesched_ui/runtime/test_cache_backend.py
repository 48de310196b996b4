"""Shared cache of all processes, which works without its server."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubesched_ui.runtime import cache_backend
from kubesched_ui.runtime.cache_backend import SharedCache
from tests.kubesched_ui.instance import REDIS, RedisServer, until


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    if not REDIS:
        pytest.skip("redis-server is not installed")
    server = RedisServer()
    yield server
    server.kill()


@pytest.fixture(autouse=True)
def forget_server() -> Iterator[None]:
    """Forget whether the server is down, as another process would."""
    yield
    cache_backend.server_at.cache_clear()


def processes(url: str) -> tuple[SharedCache, SharedCache]:
    """Return the caches of two processes, which share no memory."""
    found = []
    for name in ("one", "two"):
        cache_backend.server_at.cache_clear()
        cache = SharedCache(url, {})
        cache.own = type(cache.own)(name, {})
        found.append(cache)
    return found[0], found[1]


def test_a_process_finds_the_entries_of_another(redis: RedisServer) -> None:
    one, two = processes(redis.url)
    until(lambda: socket.socket().connect_ex(("127.0.0.1", redis.port)) == 0, "Redis's start")
    one.set("upload", {"done": 3}, 60)
    assert two.get("upload") == {"done": 3}
    assert not two.add("upload", 4)
    one.set("tries", 1, 60)
    assert (two.incr("tries"), one.get("tries"), two.has_key("tries")) == (2, 2, True)
    assert two.touch("tries", 60)
    assert two.delete("upload")
    assert one.get("upload", "gone") == "gone"


@pytest.mark.parametrize("url", ["redis://127.0.0.1:1/0", f"unix://{Path('/nowhere/broker.sock')}"])
def test_without_the_server_each_process_uses_its_memory_and_retries_later(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = processes(url)
    one.set("tries", 1, 60)
    assert (one.get("tries"), two.get("tries")) == (1, None)
    commands: list[str] = []
    monkeypatch.setattr(one.server.cache, "get", lambda key, *rest: commands.append(key))
    one.get("tries")
    assert commands == []
    one.server.away_until = 0.0
    one.get("tries")
    assert commands == ["tries"]
