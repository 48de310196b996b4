"""Items of a source as bytes, for the pipe from a follower to its analysis process.

A frame is its length in 4 bytes and a msgpack array. Objects are the JSON of their structs, so that the receiver shares
the parts that many pods have in common (live/decode.py).
"""

import struct
from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec

from scheduler_core.api.objects import Object
from scheduler_core.api.shared_parts import SharedParts
from scheduler_core.live.decode import ObjectDecoder
from scheduler_core.live.watch_events import Bookmark, Gap, Item, Listed, WatchEvent

LENGTH = struct.Struct("<I")
PART = 500  # objects of a list in one frame
FORGET, START = "forget", "start"

_encode = msgspec.msgpack.Encoder().encode
_json = msgspec.json.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Any]).decode


class Forget(msgspec.Struct):
    """The server refuses or does not serve a kind, so no item of it will come."""

    kind: str


def framed(*values: Any) -> bytes:
    """Return a frame of these values."""
    data = _encode(values)
    return LENGTH.pack(len(data)) + data


def frames(item: Item | Forget) -> Iterator[bytes]:
    """Yield the frames of an item."""
    if isinstance(item, WatchEvent):
        kind, change, key, version, obj, time = item
        yield framed("event", kind, change, key, version, time, _json(obj))
    elif isinstance(item, Listed):
        for start in range(0, len(item.objects), PART):
            yield framed("part", item.kind, [_json(obj) for obj in item.objects[start : start + PART]])
        yield framed("listed", item.kind, item.resource_version, item.time)
    elif isinstance(item, Bookmark):
        yield framed("bookmark", *item)
    elif isinstance(item, Gap):
        yield framed("gap", *item)
    else:
        yield framed(FORGET, item.kind)


class FrameReader:
    """Reads items from frames."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self._shared = SharedParts()
        self._decoders: dict[str, ObjectDecoder] = {}
        self._parts: dict[str, list[Object]] = {}

    def values(self) -> list[Any] | None:
        """Return the values of the next frame; None at the end, also within a frame."""
        head = self.file.read(LENGTH.size)
        if len(head) < LENGTH.size:
            return None
        (size,) = LENGTH.unpack(head)
        data = self.file.read(size)
        return _decode(data) if len(data) == size else None

    def items(self) -> Iterator[Item | Forget]:
        """Yield items until the end."""
        while (values := self.values()) is not None:
            tag, *rest = values
            if tag == "event":
                kind, change, key, version, time, data = rest
                yield WatchEvent(kind, change, key, version, self._object(kind, data), time)
            elif tag == "part":
                kind, objects = rest
                self._parts.setdefault(kind, []).extend(self._object(kind, data) for data in objects)
            elif tag == "listed":
                kind, version, time = rest
                yield Listed(kind, version, tuple(self._parts.pop(kind, ())), time)
            elif tag == "bookmark":
                yield Bookmark(*rest)
            elif tag == "gap":
                yield Gap(*rest)
            elif tag == FORGET:
                yield Forget(*rest)

    def _object(self, kind: str, data: bytes) -> Object:
        if kind not in self._decoders:
            self._decoders[kind] = ObjectDecoder(kind, self._shared)
        return self._decoders[kind].decode(data)
