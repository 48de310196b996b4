"""How far the reading of an upload is: told by the process that reads, asked by the page through any web process."""

from __future__ import annotations

import re
import time
from types import TracebackType
from typing import Any

from django.core.cache import cache

EVERY = 0.25  # seconds between two writes
KEPT_S = 60  # of a process that was killed while it read
_TOKEN = re.compile(r"[0-9a-f]{32}")


def is_token(text: str) -> bool:
    """Whether `text` may be what a page calls its upload: 32 hexadecimal digits of its own choice."""
    return _TOKEN.fullmatch(text) is not None


def of(token: str) -> dict[str, Any]:
    """{"done": bytes read, "size": of how many, "objects": in them}; {"ahead": uploads before it} while it waits for a
    reader; {} before that and after the reading."""
    return cache.get(_key(token), {}) if is_token(token) else {}


class Progress:
    """To be called as the reading goes on; what it wrote is gone after the `with`. `token`: "" for nobody who asks."""

    def __init__(self, token: str, size: int) -> None:
        self.key = _key(token) if is_token(token) else ""
        self.size = size
        self._last = 0.0

    def __call__(self, done: int, objects: int) -> None:
        self._tell({"done": done, "size": self.size, "objects": objects})

    def waits(self, ahead: int) -> None:
        """To be called while it waits for a reader."""
        self._tell({"ahead": ahead})

    def _tell(self, told: dict[str, int]) -> None:
        now = time.monotonic()
        if not self.key or now - self._last < EVERY:
            return
        self._last = now
        cache.set(self.key, told, KEPT_S)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.key:
            cache.delete(self.key)


def _key(token: str) -> str:
    return f"upload:{token}"
