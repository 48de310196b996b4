"""Outcomes of the pods of a cell, and structs packed into a text of some bytes for each pod."""

import base64
import zlib
from collections.abc import Mapping
from typing import NamedTuple, TypeVar

import msgspec
import numpy as np

EVICTED = "evicted"
MAX_BYTES = 64_000_000


class PodOutcome(NamedTuple):
    """Where a pod is at the end of a run: its `node`, or "" and the `reason`: the plugin and the message that keep it
    pending, or EVICTED."""

    node: str
    reason: str = ""


_T = TypeVar("_T", bound=msgspec.Struct)


def pack(struct: msgspec.Struct) -> str:
    """Return a struct as compressed text."""
    return base64.b64encode(zlib.compress(msgspec.msgpack.encode(struct), 6)).decode()


def unpack(text: str, kind: type[_T]) -> _T:
    """Return the struct of `pack`."""
    data = zlib.decompressobj().decompress(base64.b64decode(text), MAX_BYTES)
    return msgspec.msgpack.decode(data, type=kind)


class _Packed(msgspec.Struct, array_like=True):
    """Columns over pods. `places`: distinct outcomes; `codes`: uint32, an index into them for each pod."""

    pods: list[str]
    places: list[PodOutcome]
    codes: bytes


def pack_outcomes(outcomes: Mapping[str, PodOutcome]) -> str:
    """Return the outcomes as text: about 5 bytes for each pod."""
    pods = sorted(outcomes)
    index: dict[PodOutcome, int] = {}
    codes = [index.setdefault(outcomes[pod], len(index)) for pod in pods]
    column = np.array(codes, np.uint32).view(np.uint8).reshape(-1, 4).T.tobytes()  # equal bytes next to each other
    return pack(_Packed(pods, list(index), column))


def unpack_outcomes(text: str) -> dict[str, PodOutcome]:
    """Return the outcomes of `pack_outcomes`."""
    packed = unpack(text, _Packed)
    codes = np.frombuffer(packed.codes, np.uint8).reshape(4, -1).T.copy().view(np.uint32).ravel()
    return {pod: packed.places[code] for pod, code in zip(packed.pods, codes.tolist(), strict=True)}
