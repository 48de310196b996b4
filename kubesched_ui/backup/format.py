"""The file format of a backup: a line of text, then compressed records, each preceded by its length.

    KubeSched backup 1\\n
    gzip of: ["header", made at, program, [migration, ...], {table: [column, ...]}]
             ["rows", table, [row, ...]] ...
             ["end", {table: number of rows}]

Records are MessagePack. The checksum of gzip and the last record detect a truncated or changed file.
"""

import gzip
import struct
import zlib
from collections.abc import Iterator
from typing import IO, Any

import msgspec

NAME = b"KubeSched backup "
VERSION = 1
LENGTH = struct.Struct(">I")
LONGEST = 2**31  # bytes of a record; a row is far smaller


class NotReadable(Exception):
    """A sentence that explains why a file is not a restorable backup."""


class Header(msgspec.Struct, array_like=True, tag="header"):
    """The first record. `tables`: label -> columns."""

    made_at: str
    program: str
    migrations: list[str]
    tables: dict[str, list[str]]


class Batch(msgspec.Struct, array_like=True, tag="rows"):
    """A batch of rows of a table."""

    table: str
    rows: list[list[Any]]


class End(msgspec.Struct, array_like=True, tag="end"):
    """The last record: the number of rows of each table."""

    rows: dict[str, int]


class Writer:
    """Writes records. Call `close` at the end: otherwise the file is incomplete."""

    def __init__(self, file: IO[bytes]) -> None:
        file.write(NAME + b"%d\n" % VERSION)
        # Most of the data is already compressed.
        self.stream = gzip.GzipFile(fileobj=file, mode="wb", compresslevel=1, mtime=0, filename="")

    def add(self, record: Header | Batch | End) -> None:
        data = msgspec.msgpack.encode(record)
        self.stream.write(LENGTH.pack(len(data)))
        self.stream.write(data)

    def close(self) -> None:
        self.stream.close()


class Reader:
    """Reads the file of a Writer from its beginning. All methods raise NotReadable."""

    def __init__(self, file: IO[bytes]) -> None:
        file.seek(0)
        first = file.readline(64)
        if not first.startswith(NAME) or not first.endswith(b"\n"):
            raise NotReadable("This file is not a KubeSched backup.")
        if (version := first[len(NAME) :].strip()) != b"%d" % VERSION:
            shown = version.decode("ascii", "replace")
            raise NotReadable(f"This backup has format {shown}; this version of KubeSched reads {VERSION}.")
        self.stream = gzip.GzipFile(fileobj=file, mode="rb")
        self.header = self._decoded(self._record(), Header)

    def batches(self) -> Iterator[Batch]:
        """Yield all batches, and check their number of rows at the end."""
        counted: dict[str, int] = {}
        while True:
            record = self._decoded(self._record(), Batch | End)
            if isinstance(record, Batch):
                counted[record.table] = counted.get(record.table, 0) + len(record.rows)
                yield record
                continue
            if {table: number for table, number in record.rows.items() if number} != counted or self._read(1):
                raise NotReadable("This backup is damaged: its number of rows is wrong.")
            return

    def _record(self) -> bytes:
        (length,) = LENGTH.unpack(self._exactly(LENGTH.size))
        if length > LONGEST:
            raise NotReadable("This backup is damaged.")
        return self._exactly(length)

    def _exactly(self, length: int) -> bytes:
        data = self._read(length)
        if len(data) < length:
            raise NotReadable("This backup is truncated.")
        return data

    def _read(self, length: int) -> bytes:
        try:
            return self.stream.read(length)
        except EOFError:
            raise NotReadable("This backup is truncated.") from None
        except (OSError, zlib.error):
            raise NotReadable("This backup is damaged: its checksum is wrong.") from None

    def _decoded(self, data: bytes, kind: Any) -> Any:
        try:
            return msgspec.msgpack.decode(data, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise NotReadable("This backup is damaged: a record cannot be read.") from None
