"""Splits a stream of bytes into lines of any length, with bounded memory."""

from collections.abc import Iterator
from typing import NamedTuple

MAX_LINE = 64 * 2**20  # bytes; etcd stores no object of more than 1.5 MB
PREFIX = 4096


class LongLine(NamedTuple):
    """A line that is too long. `prefix`: its beginning. `length`: its length in bytes."""

    prefix: bytes
    length: int


class LineSplitter:
    """Splits chunks that end anywhere into lines. Of a line over `limit` bytes, only the beginning is kept."""

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._length = 0

    def feed(self, chunk: bytes) -> Iterator[bytes | LongLine]:
        """Yield the lines that the chunk completes, without newlines and without empty lines."""
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            self._append(chunk[start:end])
            if self._length > self._limit:
                yield LongLine(b"".join(self._parts)[:PREFIX], self._length)
            elif self._length:
                line = b"".join(self._parts) if len(self._parts) > 1 else self._parts[0]
                if not line.isspace():
                    yield line
            self._parts.clear()
            self._length = 0
            start = end + 1
        self._append(chunk[start:] if start else chunk)

    def _append(self, part: bytes) -> None:
        if not part:
            return
        self._length += len(part)
        if self._length <= self._limit:
            self._parts.append(part)
        else:
            self._parts[:] = [b"".join((*self._parts, part))[:PREFIX]]
