"""Columns as few bytes: a column with a single value is stored as that value, others as differences from the lowest
value in the smallest integers that hold them.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]
Packed = tuple[int, int, int, bytes]

_MAX_NODES = 1 << 24  # limit of a decoded column: a constant column is small when packed but not when unpacked
# Kinds of packed columns; larger values are the bits of the integer type. Few: the rows (uint32) and then the values
# (uint16) of those that are not 0. Consecutive: the lowest value and those that follow it, one by one.
_CONSTANT, _BIT, _FEW, _CONSECUTIVE, _NIBBLE = 0, 1, 2, 3, 4
_TYPES: dict[int, type[np.unsignedinteger[Any]]] = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
_MAX_SMALL = np.iinfo(np.uint8).max
_lowest, _highest = np.minimum.reduce, np.maximum.reduce  # the methods `min` and `max` call these in Python


def pack(column: npt.NDArray[Any]) -> Packed:
    """Return (length, lowest value, kind, differences from the lowest value in as few bits as the kind says)."""
    size = len(column)
    if not size:
        return 0, 0, _CONSTANT, b""
    if not column.strides[0]:  # a view of one value
        return size, int(column[0]), _CONSTANT, b""
    if column.dtype == np.bool_:
        column = column.view(np.uint8)
    lowest, highest = int(_lowest(column)), int(_highest(column))
    span = highest - lowest
    if span == 0:
        return size, lowest, _CONSTANT, b""
    if lowest:
        column = column - lowest
    if span == 1:
        return size, lowest, _BIT, np.packbits(column.view(np.bool_) if column.itemsize == 1 else column != 0).tobytes()
    if span < 1 << 4:
        small = column.astype(np.uint8)
        if size % 2:
            small = np.append(small, np.uint8(0))
        return size, lowest, _NIBBLE, (small[::2] << 4 | small[1::2]).tobytes()
    kind = 8 if span < 1 << 8 else 16 if span < 1 << 16 else 32 if span < 1 << 32 else 64
    return size, lowest, kind, column.astype(_TYPES[kind]).tobytes()


def pack_small(column: npt.NDArray[np.uint8]) -> Packed:
    """Pack a column as it is, which is fast. Deflated, it takes about as many bytes as after `pack`."""
    return len(column), 0, 8, column.tobytes()


def pack_scores(column: Int64) -> Packed:
    """Pack a column for a document that is deflated: as small integers, without looking for fewer bits."""
    if len(column) and 0 < np.bitwise_or.reduce(column) <= _MAX_SMALL:
        return pack_small(column.astype(np.uint8))
    return pack(column)


def pack_codes(column: npt.NDArray[np.uint16], rows: npt.NDArray[np.intp] | None = None) -> Packed:
    """Pack a column that is 0 on most rows. `rows`: the others, if they are known."""
    rows = np.flatnonzero(column) if rows is None else rows
    if len(rows) * 64 > len(column):
        return pack(column)
    return len(column), 0, _FEW, rows.astype(np.uint32).tobytes() + column[rows].tobytes()


def pack_rows(rows: npt.NDArray[np.intp]) -> Packed:
    """Pack rows, which follow each other if they are those of all nodes."""
    size = len(rows)
    if size > 1 and rows[-1] - rows[0] == size - 1 and bool((np.diff(rows) == 1).all()):
        return size, int(rows[0]), _CONSECUTIVE, b""
    return pack(rows)


def unpack(packed: Sequence[Any]) -> Int64:
    """Return the column that `pack` packed. Raises ValueError for a wrong length."""
    size, lowest, kind, data = packed
    if not 0 <= size <= _MAX_NODES:
        raise ValueError("column length")
    if kind == _CONSTANT:
        return np.full(size, lowest, np.int64)
    if kind == _CONSECUTIVE:
        return np.arange(lowest, lowest + size, dtype=np.int64)
    if kind == _FEW:
        number = len(data) // 6
        few = np.zeros(size, np.int64)
        few[np.frombuffer(data, np.uint32, number)] = np.frombuffer(data, np.uint16, number, 4 * number)
        return few
    if kind == _BIT:
        column = np.unpackbits(np.frombuffer(data, np.uint8), count=size)
    elif kind == _NIBBLE:
        pairs = np.frombuffer(data, np.uint8)
        column = np.stack((pairs >> 4, pairs & 15), axis=1).ravel()[:size]
    else:
        column = np.frombuffer(data, _TYPES[kind])
    if len(column) != size:
        raise ValueError("column length")
    values: Int64 = column.astype(np.int64)
    return values + lowest if lowest else values


def pack_optional(column: npt.NDArray[Any] | None) -> Packed | None:
    return None if column is None else pack(column)


def unpack_optional(packed: Sequence[Any] | None, dtype: Any) -> Any:
    return None if packed is None else unpack(packed).astype(dtype)
