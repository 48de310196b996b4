"""Reads a bbolt file, the format in which etcd stores its keys, without writing to it.

Source: go.etcd.io/bbolt, internal/common (page.go, meta.go, bucket.go).
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

_MAGIC, _VERSION = 0xED0CDAED, 2
_MAGIC_AT = 16  # bytes before the magic number of the first page
_BRANCH, _LEAF = 1, 2  # flags of a page
_BUCKET = 1  # flag of an element
_HEADER, _INLINE = struct.Struct("<QHHI"), struct.Struct("<QQ")  # id, flags, count, overflow; root, sequence
_META = struct.Struct("<IIIIQQQQQQ")  # magic, version, page size, flags, root, sequence, free list, pages, txid, sum
_BRANCH_ELEMENT, _LEAF_ELEMENT = struct.Struct("<IIQ"), struct.Struct("<IIII")
_FNV_OFFSET, _FNV_PRIME, _64_BITS = 0xCBF29CE484222325, 0x100000001B3, 2**64 - 1


class DamagedFile(ValueError):
    """The file is not a complete bbolt file. `str()` is a phrase that follows its name."""


def is_database(head: bytes, big_endian: bool = False) -> bool:
    """Return whether a file that begins with `head` is a bbolt file, which little-endian machines write as a rule.
    `head`: at least 20 bytes."""
    return head[_MAGIC_AT : _MAGIC_AT + 4] == _MAGIC.to_bytes(4, "big" if big_endian else "little")


class _BoltPage(NamedTuple):
    start: int  # of the header
    end: int
    flags: int
    number: int  # of elements


class Bolt:
    """A bbolt file. `data`: its bytes, also with etcd's checksum at the end. Raises DamagedFile, as all methods do."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.page_size, root = self._newest_meta()
        self._seen = bytearray(len(data) // self.page_size)  # pages that were read: each has one parent
        self._buckets = {
            key: (start, end) for key, start, end, flags in self._elements(self._page(root)) if flags & _BUCKET
        }

    def _newest_meta(self) -> tuple[int, int]:
        """Return the page size and the root of the newest transaction that was written completely."""
        first = self._meta(0)
        sizes = [first[1]] if first else [1 << n for n in range(9, 17)]  # the first one tells where the second is
        found = [meta for meta in (first, *map(self._meta, sizes)) if meta]
        if not found:
            raise DamagedFile("is a damaged database of etcd: neither of its two meta pages is valid")
        _, page_size, root = max(found)
        return page_size, root

    def _meta(self, start: int) -> tuple[int, int, int] | None:
        """Return the transaction, the page size and the root of the meta page at `start`; None if it is not valid."""
        at = start + _HEADER.size
        if len(self.data) < at + _META.size:
            return None
        magic, version, page_size, _, root, _, _, _, transaction, checksum = _META.unpack_from(self.data, at)
        if magic != _MAGIC or checksum != _fnv(self.data[at : at + _META.size - 8]):
            return None
        if version != _VERSION or page_size not in range(512, 65537):
            raise DamagedFile(f"is a database of etcd in the unknown version {version}")
        return transaction, page_size, root

    def bucket(self, name: bytes) -> Iterator[tuple[bytes, int, int]]:
        """Yield each key of a bucket with the start and the end of its value, in the order of keys. Call it once."""
        if name not in self._buckets:
            raise DamagedFile(f"is a bbolt file without the bucket {name.decode()!r}, so it is no database of etcd")
        start, end = self._buckets[name]
        if end - start < _INLINE.size:
            raise self._damaged(start)
        root, _ = _INLINE.unpack_from(self.data, start)
        page = self._page(root) if root else self._inline(start + _INLINE.size, end)
        yield from (element[:3] for element in self._elements(page))

    def _page(self, number: int) -> _BoltPage:
        start = number * self.page_size
        if start + self.page_size > len(self.data):
            raise DamagedFile(f"is an incomplete database of etcd: page {number:,} is missing")
        found, flags, count, overflow = _HEADER.unpack_from(self.data, start)
        end = start + (overflow + 1) * self.page_size
        if found != number or end > len(self.data) or any(self._seen[number : number + overflow + 1]):
            raise self._damaged(start)
        self._seen[number : number + overflow + 1] = b"\1" * (overflow + 1)
        return _BoltPage(start, end, flags, count)

    def _inline(self, start: int, end: int) -> _BoltPage:
        if end - start < _HEADER.size:
            raise self._damaged(start)
        _, flags, count, _ = _HEADER.unpack_from(self.data, start)
        return _BoltPage(start, end, flags, count)

    def _elements(self, root: _BoltPage) -> Iterator[tuple[bytes, int, int, int]]:
        """Yield key, start and end of the value, and flags of each element below a page, in order."""
        data, waiting = self.data, [iter([root])]
        while waiting:
            if (page := next(waiting[-1], None)) is None:
                waiting.pop()
                continue
            at = page.start + _HEADER.size
            if page.flags & _LEAF:
                last = self._end(at, page, _LEAF_ELEMENT.size)
                elements, before = range(at, last, _LEAF_ELEMENT.size), last
                for element in elements:
                    flags, position, key_size, value_size = _LEAF_ELEMENT.unpack_from(data, element)
                    start = element + position
                    middle, end = start + key_size, start + key_size + value_size
                    if start < before or end > page.end:  # one after the other
                        raise self._damaged(element)
                    before = end
                    yield data[start:middle], middle, end, flags
            elif page.flags & _BRANCH:
                elements = range(at, self._end(at, page, _BRANCH_ELEMENT.size), _BRANCH_ELEMENT.size)
                waiting.append(self._page(_BRANCH_ELEMENT.unpack_from(data, element)[2]) for element in elements)
            else:
                raise self._damaged(page.start)

    def _end(self, start: int, page: _BoltPage, size: int) -> int:
        """Return the end of the table of a page's elements."""
        end = start + page.number * size
        if end > page.end:
            raise self._damaged(page.start)
        return end

    def _damaged(self, position: int) -> DamagedFile:
        return DamagedFile(f"is a damaged database of etcd, in page {position // self.page_size:,}")


def _fnv(data: bytes) -> int:
    """Return the FNV-1a hash with 64 bits."""
    found = _FNV_OFFSET
    for byte in data:
        found = ((found ^ byte) * _FNV_PRIME) & _64_BITS
    return found
