"""Columns that hold compressed bytes."""

import zlib
from typing import Any

import msgspec
from django.db import models

LEVEL = 1  # a third of level 6's time for a tenth more bytes


def pack(data: bytes) -> bytes:
    """Compressed `data`."""
    return zlib.compress(data, LEVEL)


def unpack(data: bytes | memoryview) -> bytes:
    """What `pack` was given."""
    return zlib.decompress(data)


class PackedJSONField(models.BinaryField):
    """A JSON value stored as compressed text; read and written as Python objects, never searched by the database."""

    _pyi_private_set_type: Any
    _pyi_private_get_type: Any

    def get_prep_value(self, value: Any) -> bytes | None:
        return None if value is None else pack(msgspec.json.encode(value))

    def from_db_value(self, value: bytes | memoryview | None, expression: Any, connection: Any) -> Any:
        return None if value is None else msgspec.json.decode(unpack(value))

    def value_to_string(self, obj: models.Model) -> str:
        return msgspec.json.encode(self.value_from_object(obj)).decode()

    def to_python(self, value: Any) -> Any:
        return value
