"""Model fields that store compressed bytes."""

from typing import Any, cast

import msgspec
from django.db import models
from isal import isal_zlib

UNPACK_ERROR = cast(type[Exception], isal_zlib.error)


def pack(data: bytes) -> bytes:
    """Return `data` compressed. For a pod, zlib takes ten times as long and produces as many bytes."""
    return isal_zlib.compress(data, 1)


def unpack(data: bytes | memoryview) -> bytes:
    """Decompress the output of `pack`. zlib takes half as long again. Raises UNPACK_ERROR."""
    return isal_zlib.decompress(data)


class PackedJSONField(models.BinaryField):
    """A JSON value stored as compressed text. Code reads and writes Python objects; the database cannot search the
    value."""

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
