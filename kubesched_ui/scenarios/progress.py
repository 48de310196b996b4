"""Progress of reading an upload: the reading process writes it, and any web process returns it to the page."""

from __future__ import annotations

import re
import time
from types import TracebackType
from typing import Any

from django.core.cache import cache

EVERY = 0.25  # seconds between two writes
KEPT_S = 60  # time to live, in case the reading process is killed
_TOKEN = re.compile(r"[0-9a-f]{32}")


def is_token(text: str) -> bool:
    """Return whether `text` is a valid upload token: 32 hexadecimal digits that the page chooses."""
    return _TOKEN.fullmatch(text) is not None


def progress_of(token: str) -> dict[str, Any]:
    """Return the progress of an upload. {"done": bytes read, "size": total bytes, "objects": objects read}; {"ahead":
    number of uploads before it} while it waits for a worker; {} before and after."""
    return cache.get(_key(token), {}) if is_token(token) else {}


class Progress:
    """Callback that writes the progress; the entry is deleted at the end of the `with` block. `token`: "" if no page
    polls."""

    def __init__(self, token: str, size: int) -> None:
        self.key = _key(token) if is_token(token) else ""
        self.size = size
        self._last = 0.0

    def __call__(self, done: int, objects: int) -> None:
        self._write({"done": done, "size": self.size, "objects": objects})

    def waits(self, ahead: int) -> None:
        """Write the queue position while the upload waits for a worker."""
        self._write({"ahead": ahead})

    def _write(self, progress: dict[str, int]) -> None:
        now = time.monotonic()
        if not self.key or now - self._last < EVERY:
            return
        self._last = now
        cache.set(self.key, progress, KEPT_S)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.key:
            cache.delete(self.key)


def _key(token: str) -> str:
    return f"upload:{token}"
