"""Unpacks gz, bz2, xz, zip and tar, also nested, into the text files they contain. Nothing is written to disk.

Archives are read as streams: memory holds one text file at a time, of a long List a part, and nothing of skipped files
(logs).
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path, PurePosixPath
from typing import IO, Any

from kubesched_ui.ingest.encoding import not_text
from kubesched_ui.ingest.errors import IngestError, LimitError, Where, shown
from kubesched_ui.ingest.limits import Budget
from kubesched_ui.ingest.long_lists import LongList, may_begin
from kubesched_ui.ingest.path_hints import is_readable, is_readable_name, with_slashes

CHUNK = 1024 * 1024
HEAD = 1024  # bytes; the magic number of tar is at 257
MAGIC = {b"\x1f\x8b": "gz", b"BZh": "bzip2", b"\xfd7zXZ\0": "xz"}
COMPRESSED: dict[str, Callable[[Any], Any]] = {
    "gz": lambda file: gzip.GzipFile(fileobj=file),
    "bzip2": bz2.BZ2File,
    "xz": lzma.LZMAFile,
}
ZIPS = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
DAMAGED = (
    *(OSError, EOFError, ValueError, RuntimeError),  # zipfile raises NotImplementedError, a RuntimeError
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)

LONG = 16  # chunks of a List that is not read as a whole

Texts = Iterator[tuple[Where, bytes | LongList]]


class Archives:
    """Opens uploaded files. `skip` is called for members that are skipped because of their names (logs, pictures),
    `broken` for unreadable members; the other members are still read. `in_parts`: whether a long List that is no member
    becomes a LongList."""

    def __init__(
        self,
        budget: Budget,
        skip: Callable[[Where], None],
        broken: Callable[[IngestError], None],
        in_parts: bool = False,
    ) -> None:
        self.budget = budget
        self.skip = skip
        self.broken = broken
        self.in_parts = in_parts
        self._file = Where("")

    def texts(self, where: Where, source: bytes | Path) -> Texts:
        """Yield the file itself, or the text files inside it if its content (not its name) is an archive. Raises
        IngestError for a damaged archive, LimitError if a limit is exceeded."""
        try:
            self._file = where
            with source.open("rb") if isinstance(source, Path) else io.BytesIO(source) as file:
                self.budget.take_file(file.seek(0, io.SEEK_END), where)
                file.seek(0)
                yield from self._texts(where, MemberStream(file, whole=True, watch=self.budget.at), 0)
        except OSError as error:
            raise IngestError(where, f"cannot be read: {(error.strerror or str(error)).lower()}") from None

    def _texts(self, where: Where, file: MemberStream, depth: int) -> Texts:
        head = file.head
        compression = next((name for magic, name in MAGIC.items() if head.startswith(magic)), "")
        if not compression and not head.startswith(ZIPS) and head[257:262] != b"ustar":
            yield where, self._text(where, file)
            return
        # tar.gz is one archive for users but two levels here.
        if depth >= 2 * self.budget.limits.max_nesting:
            raise IngestError(where, f"archives are nested more than {self.budget.limits.max_nesting} deep")
        if compression:
            yield from self._unpacked(where, file, compression, depth)
        elif head.startswith(ZIPS):
            yield from self._members(where, self._zip(where, file), "zip", depth)
        else:
            yield from self._members(where, self._tar(where, file), "tar", depth)

    def _unpacked(self, where: Where, file: MemberStream, compression: str, depth: int) -> Texts:
        try:
            unpacked = COMPRESSED[compression](file)
            stream = MemberStream(unpacked, packed=file, take=lambda n: self.budget.take("max_unpacked", where, n))
            yield from self._texts(where, stream, depth + 1)
        except DAMAGED as error:
            raise _damaged(where, compression, error) from None

    def _members(self, where: Where, members: Iterator[tuple[Where, MemberStream]], form: str, depth: int) -> Texts:
        try:
            for place, member in members:
                try:
                    yield from self._texts(place, member, depth + 1)
                except LimitError:
                    raise
                except IngestError as error:
                    self.broken(error)
        except DAMAGED as error:
            raise _damaged(where, form, error) from None

    def _zip(self, where: Where, file: MemberStream) -> Iterator[tuple[Where, MemberStream]]:
        source = file.seekable_source() or io.BytesIO(b"".join(self._chunks(where, file)))
        # zipfile loads the whole directory, so count its entries first.
        if _number_of(b"PK\x01\x02", source) > self.budget.limits.max_members:
            raise LimitError(where, f"the archive contains more than {self.budget.limits.max_members:,} files")
        with zipfile.ZipFile(source) as archive:
            for info in archive.infolist():
                place = self._member(where, info.filename)
                mode = info.external_attr >> 16
                if info.is_dir():
                    continue
                if (mode and not stat.S_ISREG(mode) and stat.S_IFMT(mode)) or not is_readable_name(info.filename):
                    self.skip(place)
                elif info.flag_bits & 1:
                    self.broken(IngestError(place, "is encrypted; create the archive without a password"))
                elif info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    self.broken(IngestError(place, "uses an unsupported zip method; use deflate"))
                else:
                    with archive.open(info) as opened:
                        yield from self._if_wanted(place, MemberStream(opened, size=info.compress_size))

    def _tar(self, where: Where, file: MemberStream) -> Iterator[tuple[Where, MemberStream]]:
        with tarfile.open(fileobj=file, mode="r|", bufsize=CHUNK) as archive:
            for info in archive:
                archive.members = []  # type: ignore[attr-defined]  # it keeps all of them otherwise
                place = self._member(where, info.name)
                if info.isdir():
                    continue
                if not info.isreg() or info.issparse() or not is_readable_name(info.name):
                    self.skip(place)
                elif (opened := archive.extractfile(info)) is not None:
                    yield from self._if_wanted(place, MemberStream(opened, packed=file.packed))

    def _if_wanted(self, place: Where, member: MemberStream) -> Iterator[tuple[Where, MemberStream]]:
        if is_readable(place.file, member.head):
            yield place, member
        else:
            self.skip(place)

    def _member(self, where: Where, name: str) -> Where:
        self.budget.take("max_members", where)
        name = with_slashes(name)
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or "\0" in name or name[1:2] == ":":
            raise LimitError(where.at(file=f"{where.file}/{name}"), "the member's name points outside the archive")
        return where.at(file=f"{where.file}/{name}")

    def _text(self, where: Where, file: MemberStream) -> bytes | LongList:
        """Return the whole text, or what reads it. Raises as `_chunks`."""
        chunks = self._chunks(where, file)
        if not self.in_parts or where != self._file or not may_begin(file.head):
            whole = io.BytesIO()  # unlike a join, it needs no second copy
            whole.writelines(chunks)
            return whole.getvalue()
        first = list(islice(chunks, LONG))
        return LongList(chain(_consumed(first), chunks)) if len(first) == LONG else b"".join(first)

    def _chunks(self, where: Where, file: MemberStream) -> Iterator[bytes]:
        """Yield a text. Raises IngestError if the first bytes are not text, LimitError for a decompression bomb."""
        not_text(file.head, where)
        limits = self.budget.limits
        while chunk := file.read(CHUNK):
            self.budget.take("max_text", where, len(chunk))
            if file.count_text(len(chunk)) > limits.max_ratio * file.packed_bytes and file.texts > limits.ratio_from:
                raise LimitError(where, f"unpacks to more than {limits.max_ratio} times its size")
            yield chunk


class MemberStream(io.RawIOBase):
    """Reads `file`; `head` holds its first bytes.

    `whole`: this is the uploaded file itself, which is seekable. `packed`: the stream of the compressed bytes from
    which this one is unpacked; `size`: their number, if known. `take`: called with the number of newly unpacked bytes.
    `watch`: called with the number of bytes read so far.
    """

    def __init__(
        self,
        file: IO[bytes],
        whole: bool = False,
        packed: MemberStream | None = None,
        size: int | None = None,
        take: Callable[[int], None] | None = None,
        watch: Callable[[int], None] | None = None,
    ) -> None:
        self._file, self._take, self._watch = file, take, watch
        self._whole, self._size = whole, size
        self.packed = packed
        self.position = 0  # bytes read from `file`
        self.texts = 0  # bytes of text unpacked from this stream, or of this file itself
        self.head = b""
        while len(self.head) < HEAD and (chunk := self._next(HEAD - len(self.head))):
            self.head += chunk
        self._kept = self.head

    def _next(self, n: int) -> bytes:
        data = self._file.read(n)
        self.position += len(data)
        if self._take is not None:
            self._take(len(data))
        if self._watch is not None:
            self._watch(self.position)
        return data

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._kept:
            data, self._kept = self._kept[: len(buffer)], self._kept[len(buffer) :]
        else:
            data = self._next(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seekable_source(self) -> IO[bytes] | None:
        """Return the file itself if it is on disk or in memory, None if it is part of an archive."""
        return self._file if self._whole else None

    def count_text(self, n: int) -> int:
        """Add `n` bytes of text to the counter of the innermost compressed stream. Return the total."""
        counter = self.packed or self
        counter.texts += n
        self.texts = counter.texts
        return counter.texts

    @property
    def packed_bytes(self) -> int:
        """Packed bytes of the texts so far, at least 1."""
        if self._size is not None:
            return max(self._size, 1)
        return max((self.packed or self).position, 1)


def _consumed(chunks: list[bytes]) -> Iterator[bytes]:
    """Yield the elements of a list, which loses them."""
    while chunks:
        yield chunks.pop(0)


def _number_of(mark: bytes, file: IO[bytes]) -> int:
    """Return how often `mark` occurs in a file. Reads the file in chunks and rewinds it."""
    number, rest = 0, b""
    file.seek(0)
    while chunk := file.read(CHUNK):
        number += (rest + chunk).count(mark)
        rest = chunk[1 - len(mark) :]
    file.seek(0)
    return number


def _damaged(where: Where, form: str, error: BaseException) -> IngestError:
    if isinstance(error, IngestError):
        return error
    why = shown(str(error).rstrip(".").lower() or type(error).__name__)
    return IngestError(where, f"is a damaged {form} file ({why})")
