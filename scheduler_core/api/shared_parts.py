"""Parts that objects have in common, such as the containers of the pods of one template, kept once.

Such parts must not be changed.
"""

import hashlib
from typing import Any, TypeVar

import msgspec

from scheduler_core.api.objects import Node

_T = TypeVar("_T")
MAX_SHARED = 100_000


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
        return field + (encoded if len(encoded) < 64 else hashlib.blake2b(encoded, digest_size=20).digest())

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
        key = self.key(field, part)
        found: _T | None = self.get(key)
        if found is None:
            self.add(key, part)
            return part
        return found

    def share_node(self, node: Node) -> None:
        """Let a node have the parts that are kept of equal nodes."""
        status, shared = node.status, self.shared
        status.images = [shared(b"image ", image) for image in status.images]
        status.conditions = shared(b"node conditions ", status.conditions)
        status.allocatable = shared(b"quantities ", status.allocatable)
        status.capacity = shared(b"quantities ", status.capacity)
