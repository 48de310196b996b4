"""Writes databases of etcd for tests: bbolt files with one leaf page per bucket, and values in protobuf."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable
from typing import Any

from scheduler_core.etcd.bbolt import _fnv

PAGE = 4096
Revision = tuple[str, bytes | None]  # key, value; None for a deletion


def varint(number: int) -> bytes:
    number &= 2**64 - 1
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def field(number: int, value: bytes | str | int) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def stored(api_version: str, kind: str, *raw: bytes) -> bytes:
    """Return an object as the API server stores it."""
    return b"k8s\0" + field(1, field(1, api_version) + field(2, kind)) + field(2, b"".join(raw))


def custom(**fields: Any) -> bytes:
    """Return a custom resource, which is stored as JSON."""
    return json.dumps(fields).encode()


def leaf(number: int, elements: list[tuple[int, bytes, bytes]]) -> bytes:
    """Return a leaf page with as many overflow pages as it needs. An element: flags, key, value."""
    table, body = b"", b""
    for index, (flags, key, value) in enumerate(elements):
        position = (len(elements) - index) * 16 + len(body)
        table += struct.pack("<IIII", flags, position, len(key), len(value))
        body += key + value
    size = 16 + len(table) + len(body)
    pages = -(-size // PAGE)
    page = struct.pack("<QHHI", number, 2, len(elements), pages - 1) + table + body
    return page.ljust(pages * PAGE, b"\0")


def meta(number: int, root: int, transaction: int) -> bytes:
    held = struct.pack("<IIIIQQQQQ", 0xED0CDAED, 2, PAGE, 0, root, 0, 2, 100, transaction)
    page = struct.pack("<QHHI", number, 4, 0, 0) + held + struct.pack("<Q", _fnv(held))
    return page.ljust(PAGE, b"\0")


def database(changes: Iterable[Revision], compacted: int = 0) -> bytes:
    """Return a database whose changes have the revisions 2, 3, ... in their order."""
    created: dict[str, int] = {}
    revisions = []
    for revision, (key, value) in enumerate(changes, 2):
        name = revision.to_bytes(8, "big") + b"_" + bytes(8)
        if value is None:
            created.pop(key, None)
            revisions.append((0, name + b"t", field(1, key)))
        else:
            first = created.setdefault(key, revision)
            held = field(1, key) + field(2, first) + field(3, revision) + field(4, 1) + field(5, value)
            revisions.append((0, name, held))
    marks = [(0, b"finishedCompactRev", compacted.to_bytes(8, "big") + b"_" + bytes(8))] if compacted else []
    keys = leaf(4, revisions)
    after = 4 + len(keys) // PAGE
    buckets = [(1, b"key", struct.pack("<QQ", 4, 0)), (1, b"meta", struct.pack("<QQ", after, 0))]
    free = struct.pack("<QHHI", 2, 16, 0, 0).ljust(PAGE, b"\0")
    return meta(0, 3, 8) + meta(1, 3, 7) + free + leaf(3, buckets) + keys + leaf(after, marks)
