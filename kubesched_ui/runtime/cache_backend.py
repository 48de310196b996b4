"""Django's cache for all web and worker processes, on the server of the broker. Entries are short-lived.

It holds data that may be lost: progress of uploads, counts of failed logins. If the server is unreachable, each process
uses its own cache and tries the server again after some seconds.
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
WAIT_S = 1  # seconds; the data is not worth a longer wait


class Json:
    """Serializes values as JSON: unlike pickle, this cannot execute code from the server."""

    def dumps(self, value: Any) -> bytes:
        return json.dumps(value).encode()

    def loads(self, data: bytes) -> Any:
        return json.loads(data)


class SharedServer:
    """A connection shared by all threads; Django creates a cache for each thread."""

    def __init__(self, url: str) -> None:
        options = {"socket_timeout": WAIT_S, "socket_connect_timeout": WAIT_S, "serializer": Json()}
        self.cache = RedisCache(url, {"OPTIONS": options})
        self.away_until = 0.0


server_at = cache(SharedServer)


class SharedCache(BaseCache):
    """LOCATION: the URL of a Redis-compatible server. Values must be JSON types. Errors of the server raise no
    exceptions."""

    def __init__(self, url: str, params: dict[str, Any]) -> None:
        super().__init__(params)
        self.server = server_at(url)
        self.own = LocMemCache(url, params)  # also shared by all threads

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
        """Increment a value. Raises ValueError if the key does not exist."""
        return self._ask(lambda cache: cache.incr(key, delta, version))

    def has_key(self, key: str, version: int | None = None) -> bool:
        return self._ask(lambda cache: cache.has_key(key, version))

    def clear(self) -> None:
        """Clear the cache of this process; entries of the shared cache expire."""
        self.own.clear()

    def _ask(self, question: Callable[[BaseCache], Any]) -> Any:
        if time.monotonic() >= self.server.away_until:
            try:
                return question(self.server.cache)
            except (RedisError, OSError) as error:
                logger.debug("The shared cache is away: %s", error)
                self.server.away_until = time.monotonic() + AWAY_S
        return question(self.own)
