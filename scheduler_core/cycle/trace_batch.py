"""Cycles of equal pods that follow each other, encoded together.

A batch contains the parts that its cycles share once, and is deflated as a whole. So a cycle takes a tenth of the bytes
that it takes alone, and it is decoded from its batch. Only cycles with shared parts can be in a batch.
"""

import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from isal import isal_zlib

from scheduler_core.cycle.trace import CycleTrace, FilterOutcome, Layout, pack_keyframe, trace_from, unpack_keyframe
from scheduler_core.errors import InputError, damaged
from scheduler_core.framework.score_columns import Keyframe

VERSION = 3  # follows the versions of traces that are encoded alone
MAX_CYCLES = 128  # of a batch; a reader of one cycle inflates all
_MAX_BYTES = 1 << 20  # of cycles in a batch, before they are deflated

_ENCODE = msgspec.msgpack.Encoder().encode
_DECODER = msgspec.msgpack.Decoder()


class _Document(msgspec.Struct, array_like=True, frozen=True):
    """A batch. `parts`: shared parts of traces. `keyframes`: encoded columns and their patches, which follow each
    other. `counts`: the events of each cycle. `cycles`: `CycleTrace.own_parts`, then the index of the layout, that of
    the verdicts, that of the keyframe or -1, the number of its patches that precede the cycle, and the columns of its
    own."""

    parts: list[bytes]
    keyframes: list[tuple[bytes, int, bytes]]
    counts: list[int]
    cycles: list[msgspec.Raw]


_DOCUMENTS = msgspec.msgpack.Decoder(_Document)


class TraceBatchEncoder:
    """Collects cycles. `encoded` returns them and empties the batch."""

    def __init__(self) -> None:
        self._cycles: list[tuple[Any, ...]] = []
        self._counts: list[int] = []
        self._parts: dict[int, tuple[int, bytes]] = {}  # id of the bytes, which are kept -> their number
        self._keyframes: dict[int, list[int]] = {}  # id -> number, number of patches
        self._frames: list[Keyframe] = []
        self._size = 0
        # keys of a cycle without columns of its own (`parts_key`) -> the cycle, and the number of its part
        self._layouts: dict[int, tuple[CycleTrace, int]] = {}
        self._verdicts: dict[int, tuple[CycleTrace, int]] = {}

    def __len__(self) -> int:
        return len(self._cycles)

    @property
    def full(self) -> bool:
        return len(self._cycles) >= MAX_CYCLES or self._size >= _MAX_BYTES

    def add(self, trace: CycleTrace, events: int, plain: bool = False) -> None:
        """Add a cycle that has shared parts, with this number of events. `plain`: as in `own_parts`."""
        of_class, of_outcome = trace.parts_key
        known_layout, known_verdicts = self._layouts.get(of_class), self._verdicts.get(of_outcome)
        if known_layout and known_verdicts and trace.has_layout_of(known_layout[0]):
            layout, verdicts, columns = known_layout[1], known_verdicts[1], None
            keyframe, patch_count = trace.keyframe()
        else:
            found = trace.shared_parts()
            layout, verdicts, columns = self._number(found.layout), self._number(found.verdicts), found.columns
            keyframe, patch_count = found.keyframe, found.patch_count
            if columns is None:
                self._layouts[of_class], self._verdicts[of_outcome] = (trace, layout), (trace, verdicts)
            else:
                self._size += len(columns)
        number = -1
        if keyframe is not None:
            known = self._keyframes.get(id(keyframe))
            if known is None:
                known = self._keyframes[id(keyframe)] = [len(self._frames), 0]
                self._frames.append(keyframe)
                self._size += len(pack_keyframe(keyframe))
            number = known[0]
            if patch_count > known[1]:
                known[1] = patch_count
        self._cycles.append((*trace.own_parts(plain), layout, verdicts, number, patch_count, columns))
        self._counts.append(events)

    def _number(self, part: bytes) -> int:
        known = self._parts.get(id(part))
        if known is None:
            known = self._parts[id(part)] = len(self._parts), part
            self._size += len(part)
        return known[0]

    def encoded(self) -> bytes:
        """Return the cycles as bytes for `TraceBatch`, not deflated."""
        frames = [
            (pack_keyframe(frame), count, frame.packed_patches(count, _ENCODE))
            for frame, (_, count) in zip(self._frames, self._keyframes.values(), strict=True)
        ]
        parts = [part for _, part in self._parts.values()]
        data = _ENCODE((parts, frames, self._counts, self._cycles))  # as _Document
        self.__init__()  # type: ignore[misc]
        return data


def deflate(batch: bytes) -> bytes:
    """Return an encoded batch as it is stored."""
    return bytes((VERSION,)) + isal_zlib.compress(batch, 1)


class TraceBatch:
    """The cycles of a stored batch, each decoded when it is read. `counts`: the events of each cycle."""

    def __init__(self, data: bytes) -> None:
        """Raises InputError for anything else than the bytes of a batch."""
        if not data or data[0] != VERSION:
            raise InputError("cycle trace", "version", f"expected {VERSION}, got {data[0] if data else 'nothing'}")
        with damaged("cycle trace"):
            self._document = _DOCUMENTS.decode(zlib.decompress(data[1:]))
            if len(self._document.counts) != len(self._document.cycles):
                raise ValueError("counts")
        self.counts: Sequence[int] = self._document.counts
        self._layouts: dict[bytes, Layout] = {}  # by their bytes: many classes have equal parts
        self._outcomes: dict[tuple[bytes, bytes], FilterOutcome] = {}
        self._keyframes: dict[int, Keyframe] = {}

    def __len__(self) -> int:
        return len(self.counts)

    def trace(self, index: int) -> CycleTrace:
        """Return a cycle of the batch, the first one has index 0. Raises InputError if it is damaged."""
        with damaged("cycle trace"):
            *own, layout, verdicts, frame, count, columns = _DECODER.decode(self._document.cycles[index])
            parts = self._document.parts
            return trace_from(
                own,
                self._layout(parts[layout]),
                self._outcome(parts[layout], parts[verdicts]),
                self._keyframe(frame),
                count,
                columns,
            )

    def __iter__(self) -> Iterator[CycleTrace]:
        return (self.trace(index) for index in range(len(self)))

    def head(self, count: int) -> bytes:
        """Return the first cycles as the bytes of a batch."""
        document = self._document
        return deflate(
            _ENCODE(_Document(document.parts, document.keyframes, document.counts[:count], document.cycles[:count]))
        )

    def _layout(self, part: bytes) -> Layout:
        if part not in self._layouts:
            self._layouts[part] = Layout(part)
        return self._layouts[part]

    def _outcome(self, layout: bytes, verdicts: bytes) -> FilterOutcome:
        key = layout, verdicts
        if key not in self._outcomes:
            self._outcomes[key] = self._layout(layout).outcome(verdicts)
        return self._outcomes[key]

    def _keyframe(self, number: int) -> Keyframe | None:
        if number < 0:
            return None
        if number not in self._keyframes:
            frame, count, patches = self._document.keyframes[number]
            listed = _DECODER.decode(b"\xdd" + count.to_bytes(4, "big") + patches)  # the header of a list of msgpack
            self._keyframes[number] = unpack_keyframe(frame, listed)
        return self._keyframes[number]
