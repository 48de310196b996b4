"""Parts that objects have in common, such as the containers of the pods of one template, kept once.

Such parts must not be changed.
"""

import hashlib
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from scheduler_core.api.objects import Node

_T = TypeVar("_T")
MAX_SHARED = 100_000
_LONG = 64  # bytes of an encoding, from which on the key has a digest of them
_LONG_TEXT = 256  # bytes of a text


def _digest(encoded: bytes) -> bytes:
    return hashlib.blake2b(encoded, digest_size=20).digest()


class SharedParts:
    """Parts of objects by their encoding, each kept once.

    A part that was not used while `limit` others were added is forgotten; objects that have it keep it.
    """

    def __init__(self, limit: int = MAX_SHARED) -> None:
        self._limit = limit
        self._recent: dict[bytes, Any] = {}
        self._earlier: dict[bytes, Any] = {}
        self.encode = msgspec.msgpack.Encoder().encode

    def key(self, field: bytes, part: Any) -> bytes:
        """Return the key of a part. `field`: where it occurs, because parts of two types can be encoded alike."""
        encoded = self.encode(part)
        return field + (encoded if len(encoded) < _LONG else _digest(encoded))

    def get(self, key: bytes) -> Any:
        """Return the part with this key, or None."""
        part = self._recent.get(key)
        if part is None and (part := self._earlier.get(key)) is not None:
            self.add(key, part)
        return part

    def add(self, key: bytes, part: Any) -> None:
        """Keep a part."""
        if len(self._recent) >= self._limit:
            self._earlier, self._recent = self._recent, {}
        self._recent[key] = part

    def shared(self, field: bytes, part: _T) -> _T:
        """Return an equal part that is kept; the part itself if it is the first one."""
        encoded = self.encode(part)
        key = field + (encoded if len(encoded) < _LONG else _digest(encoded))
        found: _T | None = self._recent.get(key) or self.get(key)
        if found is None:
            self.add(key, part)
            return part
        return found

    def read(self, field: bytes, text: bytes | msgspec.Raw, decode: Callable[[bytes | msgspec.Raw], _T]) -> _T:
        """Return what `decode` returns for the text of a part; only once for the same text."""
        key = field + text
        if len(key) >= _LONG_TEXT:
            key = field + _digest(key)
        found: _T | None = self._recent.get(key) or self.get(key)
        if found is None:
            found = decode(text)
            self.add(key, found)
        return found

    def share_node(self, node: Node) -> None:
        """Let a node have the parts that are kept of equal nodes."""
        status, shared = node.status, self.shared
        status.images = [shared(b"image ", image) for image in status.images]
        status.conditions = shared(b"node conditions ", status.conditions)
        status.allocatable = shared(b"quantities ", status.allocatable)
        status.capacity = shared(b"quantities ", status.capacity)
