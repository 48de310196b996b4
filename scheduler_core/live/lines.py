"""Splits a stream of bytes into lines of any length, with bounded memory, and names lines that are left out."""

from collections.abc import Iterator
from typing import NamedTuple

from scheduler_core.cluster.formatting import count

NAMED = 3  # lines that are left out
MAX_LINE = 64 * 2**20  # bytes; etcd stores no object of more than 1.5 MB
PREFIX = 4096


class LongLine(NamedTuple):
    """A line that is too long. `prefix`: its beginning. `length`: its length in bytes."""

    prefix: bytes
    length: int


class LeftOut:
    """Lines of a file that are left out. `number`: how many; the first ones are named."""

    def __init__(self) -> None:
        self.number = 0
        self._first: list[str] = []

    def add(self, place: str, problem: str = "") -> None:
        """Add a line. `place`: such as `line 3`."""
        self.number += 1
        if len(self._first) < NAMED:
            self._first.append(f"{place}: {problem}" if problem else place)

    def note(self, why: str) -> str:
        """Return which lines are left out. `why`: an adjective with "not"."""
        return f"left out, because {why}: {count(self.number, 'line')} ({self.named})"

    @property
    def named(self) -> str:
        """The first lines, and how many more there are."""
        rest = self.number - len(self._first)
        return "; ".join([*self._first, *([f"and {rest:,} more"] if rest else [])])


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
