"""Decodes objects as the API server stores them, in protobuf, to the JSON of kubectl.

`kubernetes.json` has the fields of each message: number -> [JSON name, type, 1 if an empty value is written as well]. A
field without a name is inlined: its fields belong to the message itself. `scripts/kubernetes_protobuf.py` makes it.

Source: apimachinery/pkg/runtime/serializer/protobuf/protobuf.go, and the protobuf encoding (protobuf.dev).
"""

import base64
import struct
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

import msgspec

PREFIX = b"k8s\0"  # before an object in protobuf
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NOTHING = object()  # a value that is left out, such as the zero time

Bytes = TypeVar("Bytes", bytes, memoryview)
Value = bytes | int  # of a field: the bytes of a text or a message, the number of a varint, or 8 or 4 bytes


class DamagedValue(ValueError):
    """A value is not what the protobuf encoding allows. `str()` is a phrase that follows the value's name."""


def fields(data: Bytes, at: int = 0, end: int | None = None) -> Iterator[tuple[int, Bytes | int]]:
    """Yield the number and the value of each field of a message. Raises DamagedValue."""
    end = len(data) if end is None else end
    while at < end:
        tag, at = _varint(data, at, end)
        wire = tag & 7
        if wire == _VARINT:
            value, at = _varint(data, at, end)
            yield tag >> 3, value
            continue
        if wire == _BYTES:
            size, at = _varint(data, at, end)
        elif wire in (_FIXED64, _FIXED32):
            size = 8 if wire == _FIXED64 else 4
        else:
            raise DamagedValue("is not in protobuf encoding")
        if at + size > end:
            raise DamagedValue("ends in the middle of a field")
        yield tag >> 3, data[at : at + size]
        at += size


def _varint(data: bytes | memoryview, at: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while at < end and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise DamagedValue("ends in the middle of a number")


class ProtobufDecoder:
    """Decodes objects. `unknown`: fields that are newer than the table, as `type field number`."""

    def __init__(self) -> None:
        self.unknown: set[str] = set()

    def decode(self, value: bytes) -> dict[str, Any] | None:
        """Return the object of a stored value that begins with `PREFIX`; None if its kind is not in the table.
        Raises DamagedValue."""
        try:
            envelope = dict(fields(value, len(PREFIX)))
            head = dict(fields(_bytes(envelope.get(1, b""))))
            api_version, kind = (_text(head.get(number, b"")) for number in (1, 2))
            if (name := _table()[0].get(f"{api_version}/{kind}")) is None:
                return None
            message = self._message(_bytes(envelope.get(2, b"")), name)
        except RecursionError:
            raise DamagedValue("is nested too deeply") from None
        except DamagedValue:
            raise
        except (ValueError, OverflowError, struct.error) as problem:
            raise DamagedValue(f"holds no valid value: {problem}") from None
        return {"apiVersion": api_version, "kind": kind, **message}

    def _message(self, data: bytes, name: str) -> dict[str, Any]:
        table, found = _table()[1][name], dict[str, Any]()
        for number, value in fields(data):
            if (field := table.get(number)) is None:
                self._note(name, number)
                continue
            key, code, empty = field
            if code[0] == "[":
                found.setdefault(key, []).append(self._value(value, code[1:]))
            elif code[0] == "{":
                entry = dict(fields(_bytes(value)))
                found.setdefault(key, {})[_text(entry.get(1, b""))] = self._value(entry.get(2, b""), code[1:])
            elif not key:
                found |= self._value(value, code)
            else:
                read = self._value(value, code)
                if read is not _NOTHING and (empty or read or isinstance(read, dict)):
                    found[key] = read
        return found

    def _value(self, value: Value, code: str) -> Any:
        if code == "string":
            return _text(value)
        if (special := _SPECIAL.get(code)) is not None:
            return special(value)
        return self._message(_bytes(value), code)

    def _note(self, name: str, number: int) -> None:
        if number not in _LEFT_OUT.get(name, ()) and len(self.unknown) < 20:
            self.unknown.add(f"{name.rpartition('.')[2]} {number}")


_LEFT_OUT = {"meta.v1.ObjectMeta": (4, 15, 17)}  # selfLink, clusterName, managedFields


@cache
def _table() -> tuple[dict[str, str], dict[str, dict[int, tuple[str, str, bool]]]]:
    """Return `apiVersion/kind` -> message, and message -> number -> (JSON name, type, whether empty values count)."""
    held = msgspec.json.decode(files(__package__).joinpath("kubernetes.json").read_bytes())
    types = {
        name: {int(number): (key, code, bool(empty)) for number, (key, code, *empty) in numbers.items()}
        for name, numbers in held["types"].items()
    }
    return held["kinds"], types


def _bytes(value: Value) -> bytes:
    if isinstance(value, int):
        raise DamagedValue("holds a number where a text or an object is expected")
    return value


def _text(value: Value) -> str:
    return _bytes(value).decode()


def _int(value: Value) -> int:
    if not isinstance(value, int):
        raise DamagedValue("holds a text where a number is expected")
    value &= 2**64 - 1
    return value - 2**64 if value >> 63 else value


def _time(value: Value) -> Any:
    seconds, _ = _seconds_and_nanos(value)
    return (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ") if seconds else _NOTHING


def _microtime(value: Value) -> Any:
    seconds, nanos = _seconds_and_nanos(value)
    time = _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if seconds else _NOTHING


def _seconds_and_nanos(value: Value) -> tuple[int, int]:
    """Return the parts of a time. The zero time of Go has no fields, or the seconds of the year 1."""
    found = dict(fields(_bytes(value)))
    seconds = _int(found.get(1, 0))
    return max(seconds, 0), _int(found.get(2, 0))


def _duration(value: Value) -> str:
    return f"{_int(dict(fields(_bytes(value))).get(1, 0)) / 1e9:g}s"


def _quantity(value: Value) -> str:
    return _text(dict(fields(_bytes(value))).get(1, b""))


def _int_or_string(value: Value) -> int | str:
    found = dict(fields(_bytes(value)))
    return _text(found.get(3, b"")) if _int(found.get(1, 0)) == 1 else _int(found.get(2, 0))


def _raw(value: Value) -> Any:
    """Return the JSON of a RawExtension; {} if it is empty."""
    text = _bytes(dict(fields(_bytes(value))).get(1, b""))
    return msgspec.json.decode(text) if text else {}


def _double(value: Value) -> float:
    found: float = struct.unpack("<d", _bytes(value))[0]
    return found


_SPECIAL: dict[str, Callable[[Value], Any]] = {
    "int": _int,
    "bool": lambda value: bool(_int(value)),
    "double": _double,
    "quantity": _quantity,
    "time": _time,
    "microtime": _microtime,
    "duration": _duration,
    "int-or-string": _int_or_string,
    "raw": _raw,
    "bytes": lambda value: base64.b64encode(_bytes(value)).decode(),
}
