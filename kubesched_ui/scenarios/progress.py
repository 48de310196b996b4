"""How far the reading of an upload is: told by the process that reads, asked by the page, through a small file."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from django.conf import settings

EVERY = 0.25  # seconds between two writes
_TOKEN = re.compile(r"[0-9a-f]{32}")


def is_token(text: str) -> bool:
    """Whether `text` may be what a page calls its upload: 32 hexadecimal digits of its own choice."""
    return _TOKEN.fullmatch(text) is not None


def of(token: str) -> dict[str, Any]:
    """{"done": bytes read, "size": of how many, "objects": in them}; {} before the reading and after it."""
    try:
        return json.loads(_path(token).read_text()) if is_token(token) else {}
    except (OSError, ValueError):
        return {}


class Progress:
    """To be called as the reading goes on; what it wrote is gone after the `with`. `token`: "" for nobody who asks."""

    def __init__(self, token: str, size: int) -> None:
        self.path = _path(token) if is_token(token) else None
        self.size = size
        self._last = 0.0

    def __call__(self, done: int, objects: int) -> None:
        now = time.monotonic()
        if self.path is None or now - self._last < EVERY:
            return
        self._last = now
        self.path.parent.mkdir(exist_ok=True)
        written = self.path.with_suffix(".new")
        written.write_text(json.dumps({"done": done, "size": self.size, "objects": objects}))
        written.replace(self.path)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def _path(token: str) -> Path:
    return settings.VAR_DIR / "uploads" / token
