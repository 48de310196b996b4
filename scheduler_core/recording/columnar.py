"""Tables packed by column: integers in the smallest sufficient type, and repeated values stored once."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

INT, FLOAT, TEXT, JSON = "int", "float", "text", "json"

Schema = Mapping[str, str]
"""Column -> INT (64 bits), FLOAT, TEXT, or JSON (any value, kept as text until it is read). INT columns may be added at
the end: blocks that were packed without them have 0."""

_TYPES = (np.int8, np.int16, np.int32, np.int64)
_NO_INTS, _NO_FLOATS = np.zeros(0, np.int64), np.zeros(0, np.float64)
_TYPE_OF_SIZE = {np.dtype(kind).itemsize: kind for kind in _TYPES}


def pack(schema: Schema, rows: Sequence[tuple[Any, ...]], before: Sequence[Sequence[Any]] | None = None) -> list[Any]:
    """Pack the rows column by column into plain data. `before`: columns of earlier rows."""
    columns: Iterable[Sequence[Any]] = zip(*rows, strict=True)
    if before and before[0]:
        columns = [(*one, *more) for one, more in zip(before, columns, strict=True)] if rows else before
    elif not rows:
        return []
    return [_PACK[kind](column) for kind, column in zip(schema.values(), columns, strict=True)]


def _pack_ints(column: Sequence[int]) -> tuple[int, bytes]:
    numbers = np.fromiter(column, np.int64, len(column))
    lowest, highest = int(numbers.min()), int(numbers.max())
    kind = next(kind for kind in _TYPES if np.iinfo(kind).min <= lowest and highest <= np.iinfo(kind).max)
    return np.dtype(kind).itemsize, numbers.astype(kind).tobytes()


def _pack_floats(column: Iterable[float]) -> bytes:
    return np.array(column, np.float64).tobytes()


def _pack_texts(column: Sequence[str]) -> tuple[list[str], tuple[int, bytes]]:
    distinct = dict.fromkeys(column)
    if len(distinct) == len(column):
        return list(distinct), _pack_ints(range(len(column)))
    index = dict(zip(distinct, range(len(distinct)), strict=True))
    return list(distinct), _pack_ints([index[text] for text in column])


def _pack_json(column: Sequence[Any]) -> tuple[list[str], tuple[int, bytes]]:
    index: dict[str, int] = {}
    ids = list(map(id, column))
    values = dict(zip(ids, column, strict=True))  # rows often have the same object
    numbers = {key: index.setdefault(msgspec.json.encode(one).decode(), len(index)) for key, one in values.items()}
    return list(index), _pack_ints([numbers[one] for one in ids])


_PACK: dict[str, Any] = {INT: _pack_ints, FLOAT: _pack_floats, TEXT: _pack_texts, JSON: _pack_json}


def _unpack_ints(packed: Sequence[Any]) -> npt.NDArray[Any]:
    """Return the integers in the type in which they were packed."""
    size, data = packed
    return np.frombuffer(data, _TYPE_OF_SIZE[size])


def _zeros(schema: Schema, block: Sequence[Any]) -> tuple[int, bytes]:
    """Return a column of zeros, packed, for each row of a block."""
    size, data = next(packed for packed, kind in zip(block, schema.values(), strict=False) if kind == INT)
    return 1, bytes(len(data) // size)


class Table:
    """`columns` are int64 or float64 arrays. A TEXT or JSON column holds indexes of its list in `texts`."""

    def __init__(self, schema: Schema, blocks: Sequence[Sequence[Any]]) -> None:
        self.columns: dict[str, npt.NDArray[Any]] = {}
        self.texts: dict[str, list[str]] = {}
        self._schema = schema
        blocks = [block for block in blocks if block]
        for number, (name, kind) in enumerate(schema.items()):
            parts: list[Any] = [
                block[number] if number < len(block) or kind != INT else _zeros(schema, block) for block in blocks
            ]
            if kind == FLOAT:
                self.columns[name] = np.concatenate([_NO_FLOATS, *(np.frombuffer(part, np.float64) for part in parts)])
            elif kind == INT:
                self.columns[name] = np.concatenate([_NO_INTS, *map(_unpack_ints, parts)])
            else:
                texts = self.texts[name] = []
                arrays = [_NO_INTS]
                for distinct, ids in parts:
                    found = _unpack_ints(ids)
                    arrays.append(found + np.int64(len(texts)) if texts else found)
                    texts += distinct
                self.columns[name] = np.concatenate(arrays)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self.columns[name]

    def text(self, name: str, rows: Any = slice(None)) -> list[str]:
        """Return the texts of a TEXT or JSON column in some rows, JSON undecoded."""
        texts = self.texts[name]
        return [texts[i] for i in self.columns[name][rows].tolist()]

    def until(self, timepoint: int) -> int:
        """Return the number of rows up to a timepoint, in a table whose rows are in the order of column `at`."""
        return int(np.searchsorted(self.columns["at"], timepoint, "right"))

    def between(self, first: int, last: int) -> slice:
        """Return the rows after timepoint `first` up to `last`."""
        return slice(self.until(first), self.until(last))

    def at(self, name: str, row: int) -> Any:
        """Return the value of a TEXT or JSON column in a row."""
        text = self.texts[name][self.columns[name][row]]
        return msgspec.json.decode(text) if self._schema[name] == JSON else text

    def distinct(self, name: str) -> list[Any]:
        """Return the distinct values of a TEXT or JSON column; the column holds indexes of this list."""
        texts = self.texts[name]
        return [msgspec.json.decode(text) for text in texts] if self._schema[name] == JSON else texts

    def all(self, name: str) -> list[Any]:
        """Return all values of a column as a list."""
        listed: list[Any] = self.columns[name].tolist()
        if name not in self.texts:
            return listed
        values = self.distinct(name)
        return [values[i] for i in listed]
