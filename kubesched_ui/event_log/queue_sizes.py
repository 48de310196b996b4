"""Positions of pods in virtual time (a part of the queue, or a state), and their moves, stored in columns.

A pod has an index within its run, in the order of the pods' first moves.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from kubesched_ui.models.fields import pack, unpack

LANES = ("active", "backoff", "unschedulable", "gated", "waiting", "bound", "gone")
LANE = {name: code for code, name in enumerate(LANES)}
NOWHERE = 255  # the `lane` of a pod before its first move


class Move(NamedTuple):
    """A move of the pod with this index from `left` to `lane` at second `t`, as recorded by event `seq`."""

    t: float
    pod: int
    lane: int
    left: int
    seq: int


class Columns(NamedTuple):
    """Moves in order. `names`: "ns/name" of the pods with their first move here."""

    names: list[str]
    t: npt.NDArray[np.float64]
    pod: npt.NDArray[np.uint32]
    lane: npt.NDArray[np.uint8]
    left: npt.NDArray[np.uint8]
    seq: npt.NDArray[np.int64]


class _Stored(msgspec.Struct, array_like=True):
    """Little-endian columns. Each time is stored once with its number of moves; `seq` is stored as differences."""

    names: list[str]
    moments: bytes
    each: bytes
    pod: bytes
    lane: bytes
    left: bytes
    seq: bytes


def encode(moves: Sequence[Move], names: Iterable[str]) -> bytes:
    """Encode and compress a batch of moves, to about five bytes per move."""
    t, pod, lane, left, seq = (np.array(column) for column in zip(*moves, strict=True))
    assert min(np.diff(t, prepend=t[0]).min(), np.diff(seq, prepend=0).min()) >= 0, "moves are in order"
    moments, each = np.unique(t, return_counts=True)
    return pack(
        msgspec.msgpack.encode(
            _Stored(
                list(names),
                moments.astype("<f8").tobytes(),
                each.astype("<u4").tobytes(),
                pod.astype("<u4").tobytes(),
                lane.astype("u1").tobytes(),
                left.astype("u1").tobytes(),
                np.diff(seq, prepend=0).astype("<i8").tobytes(),
            )
        )
    )


def decode(batches: Iterable[bytes | memoryview]) -> Columns:
    """Decode the moves of consecutive batches."""
    found = [msgspec.msgpack.decode(unpack(batch), type=_Stored) for batch in batches]

    def column(name: str, dtype: str) -> npt.NDArray[Any]:
        return np.frombuffer(b"".join(getattr(batch, name) for batch in found), dtype)

    seqs = [np.cumsum(np.frombuffer(batch.seq, "<i8")) for batch in found]
    return Columns(
        [name for batch in found for name in batch.names],
        np.repeat(column("moments", "<f8"), column("each", "<u4")).astype(np.float64),
        column("pod", "<u4").astype(np.uint32),
        column("lane", "u1").astype(np.uint8),
        column("left", "u1").astype(np.uint8),
        np.concatenate(seqs) if seqs else np.zeros(0, np.int64),
    )
