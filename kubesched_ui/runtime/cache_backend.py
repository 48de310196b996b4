"""Django's cache for all web and worker processes: in the broker's server, each entry for a short while.

It holds what may be lost: how far an upload is, how often a password was wrong. Where the server is away, each process
counts for itself, and asks for the server again after some seconds.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from functools import cache
from typing import Any

from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache
from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)

AWAY_S = 5.0
WAIT_S = 1  # what is kept here is not worth a longer one


class Json:
    """Values as JSON: what was read from a server is never run, as a pickle would be."""

    def dumps(self, value: Any) -> bytes:
        return json.dumps(value).encode()

    def loads(self, data: bytes) -> Any:
        return json.loads(data)


class Server:
    """One for all threads: Django makes a cache for each of them."""

    def __init__(self, url: str) -> None:
        options = {"socket_timeout": WAIT_S, "socket_connect_timeout": WAIT_S, "serializer": Json()}
        self.cache = RedisCache(url, {"OPTIONS": options})
        self.away_until = 0.0


server_at = cache(Server)


class SharedCache(BaseCache):
    """LOCATION: the URL of a Redis-compatible server. Values are what JSON knows; no method raises for the server."""

    def __init__(self, url: str, params: dict[str, Any]) -> None:
        super().__init__(params)
        self.server = server_at(url)
        self.own = LocMemCache(url, params)  # it, too, is shared by the threads

    def add(self, key: str, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        return self._ask(lambda cache: cache.add(key, value, timeout, version))

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        return self._ask(lambda cache: cache.get(key, default, version))

    def set(self, key: str, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> None:
        self._ask(lambda cache: cache.set(key, value, timeout, version))

    def touch(self, key: str, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        return self._ask(lambda cache: cache.touch(key, timeout, version))

    def delete(self, key: str, version: int | None = None) -> bool:
        return self._ask(lambda cache: cache.delete(key, version))

    def incr(self, key: str, delta: int = 1, version: int | None = None) -> int:
        """Raises ValueError if there is no such key."""
        return self._ask(lambda cache: cache.incr(key, delta, version))

    def has_key(self, key: str, version: int | None = None) -> bool:
        return self._ask(lambda cache: cache.has_key(key, version))

    def clear(self) -> None:
        """Forgets everything of this process; what others share goes by its time."""
        self.own.clear()

    def _ask(self, question: Callable[[BaseCache], Any]) -> Any:
        if time.monotonic() >= self.server.away_until:
            try:
                return question(self.server.cache)
            except (RedisError, OSError) as error:
                logger.debug("The shared cache is away: %s", error)
                self.server.away_until = time.monotonic() + AWAY_S
        return question(self.own)
