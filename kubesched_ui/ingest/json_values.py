"""JSON read one value at a time: the parts of a document are located without building objects, then decoded
strictly."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from kubesched_ui.ingest.errors import IngestError, Where, shown

Json = bytes | memoryview

_BLANKS = (b" ", b"\t", b"\r", b"\n")
_RAW = msgspec.json.Decoder(msgspec.Raw)
_WHITE = re.compile(rb"[ \t\r\n]*")
_COMMA = re.compile(rb"[ \t\r\n]*,?[ \t\r\n]*")
# msgspec reports how far it read if more text follows. A test checks this message for the installed version.
_TRAILING = re.compile(r"trailing characters \(byte (\d+)\)$")
_AT = re.compile(r" \(byte (\d+)\)$")


class Malformed(ValueError):
    """Invalid JSON. `offset` is the byte at which parsing stopped, None at the end of the text."""

    def __init__(self, problem: str, offset: int | None = None) -> None:
        super().__init__(problem)
        self.offset = offset


def next_value(text: memoryview) -> tuple[memoryview, int]:
    """Return the JSON value at the start of `text`, and the offset after it. Raises Malformed."""
    try:
        _RAW.decode(text)
        return text, len(text)
    except msgspec.DecodeError as error:
        if match := _TRAILING.search(str(error)):
            end = int(match[1]) - 1
            return text[:end], end
        at = _AT.search(str(error))
        raise Malformed(_AT.sub("", str(error)), int(at[1]) if at else None) from None
    except RecursionError:
        raise Malformed("is nested too deeply") from None


def elements(array: Json) -> Iterator[memoryview]:
    """Yield the elements of a JSON array one at a time, to keep memory small. The array must be valid JSON."""
    text = memoryview(array)
    position = _skip_white(text, _skip_white(text, 0) + 1)
    while position < len(text) and text[position] != ord("]"):
        value, length = next_value(text[position:])
        yield value
        position = _COMMA.match(text, position + length).end()  # type: ignore[union-attr]


def _skip_white(text: memoryview, position: int) -> int:
    match = _WHITE.match(text, position)
    return match.end() if match else position


def is_array(value: Json) -> bool:
    """Return whether a valid JSON value is an array."""
    return _first(value) == b"["


def is_object(value: Json) -> bool:
    """Return whether a valid JSON value is an object."""
    return _first(value) == b"{"


def _first(value: Json) -> Json:
    first = value[:1]
    return value[_skip_white(memoryview(value), 0) :][:1] if first in _BLANKS else first


def read_object(value: Json, where: Where, max_depth: int, nulls: bool = True) -> dict[str, Any]:
    """Return a JSON object as Python values. `nulls`: whether it keeps members that are null. Raises IngestError for a
    value that is not an object, duplicate keys, NaN, infinite numbers, numbers of more than 400 digits, unpaired
    surrogates, and more than `max_depth` levels."""
    try:
        text = str(value, "utf-8")
        obj = (_DECODER if nulls else _WITHOUT_NULLS).decode(text)
    except RecursionError:
        raise IngestError(where, f"is nested more than {max_depth} levels deep") from None
    except json.JSONDecodeError as error:
        raise IngestError(where, f"is not valid JSON: {error.msg.lower()}") from None
    except ValueError as error:
        raise IngestError(where, str(error)) from None
    if not isinstance(obj, dict):
        raise IngestError(where, f"expected an object, found {shown(json.dumps(obj))}")
    if text.count("{") + text.count("[") > max_depth and deeper_than(obj, max_depth):
        raise IngestError(where, f"is nested more than {max_depth} levels deep")
    return obj


def deeper_than(value: Any, depth: int) -> bool:
    """Return whether lists and maps are nested more than `depth` levels deep."""
    level = [value]
    for _ in range(depth):
        level = [
            child
            for parent in level
            for child in (parent.values() if type(parent) is dict else parent)
            if type(child) is dict or type(child) is list
        ]
        if not level:
            return False
    return True


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f'the key "{shown(twice)}" occurs twice in one object')
    return members


def _members_without_nulls(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = {name: value for name, value in pairs if value is not None}
    if len(members) != len(pairs):
        _members(pairs)  # raises ValueError if a key occurs twice
    return members


def _integer(digits: str) -> int | float:
    if len(digits) < 19:
        return int(digits)
    if len(digits) > 400:
        raise ValueError(f"the number {shown(digits)} is too large")
    number = int(digits)
    # Kubernetes also reads a number that does not fit into 64 bits as float64.
    return number if -(1 << 63) <= number < 1 << 64 else _decimal(digits)


def _decimal(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"the number {shown(digits)} is too large")
    return number


def _constant(name: str) -> float:
    raise ValueError(f"the number {name} is not allowed")


_DECODER, _WITHOUT_NULLS = (
    json.JSONDecoder(object_pairs_hook=hook, parse_int=_integer, parse_float=_decimal, parse_constant=_constant)
    for hook in (_members, _members_without_nulls)
)
