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

from django.core.cache.backends.base import BaseCache
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


def shared(name: str) -> Callable[..., Any]:
    """Return a method of SharedCache that calls the method `name` of the server's cache, or of this process's own."""

    def method(self: SharedCache, *args: Any, **options: Any) -> Any:
        if time.monotonic() >= self.server.away_until:
            try:
                return getattr(self.server.cache, name)(*args, **options)
            except (RedisError, OSError) as error:
                logger.debug("The shared cache is not reachable: %s", error)
                self.server.away_until = time.monotonic() + AWAY_S
        return getattr(self.own, name)(*args, **options)

    return method


class SharedCache(BaseCache):
    """LOCATION: the URL of a Redis-compatible server. Values must be JSON types. Errors of the server raise no
    exceptions."""

    def __init__(self, url: str, params: dict[str, Any]) -> None:
        super().__init__(params)
        self.server = server_at(url)
        self.own = LocMemCache(url, params)  # also shared by all threads

    add, get, set, touch = shared("add"), shared("get"), shared("set"), shared("touch")
    delete, incr, has_key = shared("delete"), shared("incr"), shared("has_key")

    def clear(self) -> None:
        """Clear the cache of this process; entries of the shared cache expire."""
        self.own.clear()
