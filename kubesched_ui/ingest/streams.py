"""A sequential reader of a file or an archive member, with access to its first bytes before reading."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import IO, Any

CHUNK = 1024 * 1024
HEAD = 1024  # bytes; the magic number of tar is at 257


class Stream(io.RawIOBase):
    """Reads `file`; `head` holds its first bytes.

    `whole`: this is the uploaded file itself, which is seekable. `packed`: the stream of the compressed bytes from
    which this one is unpacked; `size`: their number, if known. `take`: called with the number of newly unpacked bytes.
    `watch`: called with the number of bytes read so far.
    """

    def __init__(
        self,
        file: IO[bytes],
        whole: bool = False,
        packed: Stream | None = None,
        size: int | None = None,
        take: Callable[[int], None] | None = None,
        watch: Callable[[int], None] | None = None,
    ) -> None:
        self._file, self._take, self._watch = file, take, watch
        self._whole, self._size = whole, size
        self.packed = packed
        self.position = 0  # bytes read from `file`
        self.texts = 0  # bytes of text unpacked from this stream, or of this file itself
        self.head = b""
        while len(self.head) < HEAD and (chunk := self._next(HEAD - len(self.head))):
            self.head += chunk
        self._kept = self.head

    def _next(self, n: int) -> bytes:
        data = self._file.read(n)
        self.position += len(data)
        if self._take is not None:
            self._take(len(data))
        if self._watch is not None:
            self._watch(self.position)
        return data

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._kept:
            data, self._kept = self._kept[: len(buffer)], self._kept[len(buffer) :]
        else:
            data = self._next(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seekable_source(self) -> IO[bytes] | None:
        """Return the file itself if it is on disk or in memory, None if it is part of an archive."""
        return self._file if self._whole else None

    def count_text(self, n: int) -> int:
        """Add `n` bytes of text to the counter of the innermost compressed stream. Return the total."""
        counter = self.packed or self
        counter.texts += n
        self.texts = counter.texts
        return counter.texts

    @property
    def packed_bytes(self) -> int:
        """Packed bytes of the texts so far, at least 1."""
        if self._size is not None:
            return max(self._size, 1)
        return max((self.packed or self).position, 1)
