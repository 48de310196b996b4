"""Reads the elements of a long List while its text arrives, so that memory holds a small part of it.

A text of another form, and each fault, raises NotInParts: the text is then read as a whole, which says what is wrong.
"""

import codecs
import re
from collections.abc import Iterable, Iterator
from itertools import islice

from kubesched_ui.ingest.json_values import Malformed, next_value

MAX_WINDOW = 8_000_000  # bytes of the text that are held at once
_BEGINNING = re.compile(rb'\s*\{(?:\s*"(?:apiVersion|kind)"\s*:\s*"[^"\\]*"\s*,)*\s*"items"\s*:\s*\[')
_NEXT = re.compile(rb"[ \t\r\n]*(,?)[ \t\r\n]*(?=([{\]]))")
_BETWEEN = re.compile(rb"[ \t\r\n,]*")


class NotInParts(Exception):
    """A text cannot be read in parts."""


def may_begin(head: bytes) -> bool:
    """Return whether a text that begins with `head` may be a List."""
    return _BEGINNING.match(head) is not None


class LongList:
    """A List. `chunks`: its text. `head`: its first megabyte."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = _checked(chunks)
        self.head = b"".join(islice(self._chunks, 2))  # the first is short
        self.outline = b""
        """The document without its elements, after these were read."""

    def elements(self) -> Iterator[memoryview]:
        """Yield each element, which must be an object. It is valid until the next one. Call it once."""
        window, separator = self.head, b""
        beginning = _BEGINNING.match(window)
        if beginning is None:
            raise NotInParts
        position = beginning.end()
        while True:
            following = _NEXT.match(window, position)
            if following and following[1] == separator and following[2] == b"{":
                try:
                    element, length = next_value(memoryview(window)[following.end() :])
                except Malformed as error:
                    if error.offset is not None:
                        raise NotInParts from None
                else:
                    yield element
                    position, separator = following.end() + length, b","
                    continue
            elif following and following[2] == b"]" and not following[1]:
                break
            elif following or _BETWEEN.match(window, position).end() < len(window):  # type: ignore[union-attr]
                raise NotInParts
            window, position = window[position:] + self._more(len(window) - position), 0
        end = bytearray(window[following.end() :])
        for chunk in self._chunks:
            end += chunk
            if len(end) > MAX_WINDOW:
                raise NotInParts
        self.outline = self.head[: beginning.end()] + end

    def _more(self, held: int) -> bytes:
        if held > MAX_WINDOW or not (chunk := next(self._chunks, b"")):
            raise NotInParts
        return chunk


def _checked(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the chunks of a text in UTF-8 without NUL bytes."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for chunk in chunks:
            decoder.decode(chunk)
            if b"\0" in chunk:
                raise NotInParts
            yield chunk
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        raise NotInParts from None
