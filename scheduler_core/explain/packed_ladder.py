"""A ladder with all nodes in a few bytes: one for each node, deflated."""

import zlib
from collections.abc import Iterable, Sequence

import msgspec

from scheduler_core.cluster.formatting import agree, count
from scheduler_core.explain.answer import Part, Rung

MOST_RUNGS = 255  # those of a byte; the last one then stands for all further ones
MOST_BYTES = 64_000  # of a packed ladder; a larger one is not kept
FURTHER = "is kept from the pod by further reasons"


class _PackedLadder(Part):
    """`names`: checksum of the sorted names of the nodes. `rungs`: changes, text about them, text about one of them.
    `at`: the index of its rung for each node, uint8, in the order of the names."""

    names: int
    rungs: list[tuple[int | None, str, str]]
    at: bytes


def pack(ladder: Sequence[Rung]) -> bytes:
    """Return a ladder that has all nodes of its rungs; b"" if it is empty or takes more than MOST_BYTES."""
    if not ladder:
        return b""
    rungs = [(one.changes, one.text, one.each) for one in ladder[:MOST_RUNGS]]
    if len(ladder) > MOST_RUNGS:
        further = sum(one.count for one in ladder[MOST_RUNGS - 1 :])
        rungs[-1] = (ladder[MOST_RUNGS - 1].changes, f"{count(further)} {agree(further, 'are')} further", FURTHER)
    rung_of = {name: min(index, MOST_RUNGS - 1) for index, one in enumerate(ladder) for name in one.nodes}
    names = sorted(rung_of)
    packed = _PackedLadder(_checksum(names), rungs, bytes(rung_of[name] for name in names))
    data = zlib.compress(msgspec.msgpack.encode(packed))
    return data if len(data) <= MOST_BYTES else b""


def unpack(data: bytes, nodes: Iterable[str]) -> list[Rung] | None:
    """Return the ladder that `pack` packed, the nodes of each rung by name; None if it is of other nodes."""
    if not data:
        return None
    packed, names = msgspec.msgpack.decode(zlib.decompress(data), type=_PackedLadder), sorted(nodes)
    if packed.names != _checksum(names) or len(packed.at) != len(names):
        return None
    of_rung: list[list[str]] = [[] for _ in packed.rungs]
    for name, index in zip(names, packed.at, strict=True):
        of_rung[index].append(name)
    return [
        Rung(changes, len(found), found, text, each)
        for (changes, text, each), found in zip(packed.rungs, of_rung, strict=True)
    ]


def _checksum(names: Sequence[str]) -> int:
    return zlib.crc32("\n".join(names).encode())
