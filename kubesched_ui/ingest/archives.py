"""gz, zip, tar and tar.gz, one inside the other, as the text files they hold. Nothing is ever written to disk."""

from __future__ import annotations

import gzip
import io
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import IO

from kubesched_ui.ingest.budget import Budget
from kubesched_ui.ingest.errors import IngestError, LimitError, Where, shown

CHUNK = 1024 * 1024
ARCHIVES = (".gz", ".tgz", ".zip", ".tar")
READ = (".json", ".yaml", ".yml", ".jsonl", ".ndjson", *ARCHIVES)
SPAM = ("__MACOSX", ".DS_Store", "._")

Skip = Callable[[Where], None]


def text_files(where: Where, data: bytes, budget: Budget, skip: Skip, depth: int = 0) -> Iterator[tuple[Where, bytes]]:
    """The file itself, or the text files inside it if it is an archive; told by content, not by name.

    `skip` is called for members whose names promise neither text that we read nor an archive (logs, pictures).
    Raises IngestError for a damaged archive, LimitError for one that holds too much.
    """
    if data.startswith(b"\x1f\x8b"):
        yield from _opened(where, depth, budget, [(where, _gunzip(where, data, budget))], skip)
    elif data.startswith((b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")):
        yield from _opened(where, depth, budget, _unzip(where, data, budget, skip), skip)
    elif data[257:262] == b"ustar":
        yield from _opened(where, depth, budget, _untar(where, data, budget, skip), skip)
    else:
        yield where, data


def _opened(
    where: Where,
    depth: int,
    budget: Budget,
    members: Iterator[tuple[Where, bytes]] | list[tuple[Where, bytes]],
    skip: Skip,
) -> Iterator[tuple[Where, bytes]]:
    # tar.gz is one archive to people and two to us.
    if depth >= 2 * budget.limits.max_nesting:
        raise LimitError(where, f"archives are nested more than {budget.limits.max_nesting} deep")
    for place, data in members:
        yield from text_files(place, data, budget, skip, depth + 1)


def _gunzip(where: Where, data: bytes, budget: Budget) -> bytes:
    try:
        return _read(gzip.GzipFile(fileobj=io.BytesIO(data)), where, len(data), budget)
    except (OSError, EOFError, zlib.error) as error:
        raise IngestError(where, f"is a damaged gz file ({_why(error)})") from None


def _unzip(where: Where, data: bytes, budget: Budget, skip: Skip) -> Iterator[tuple[Where, bytes]]:
    # The directory is loaded at once: its size is looked at before.
    if data.count(b"PK\x01\x02") > budget.limits.max_members:
        raise LimitError(where, f"the archive holds more than {budget.limits.max_members:,} files")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for info in archive.infolist():
                place = _member(where, info.filename, budget)
                mode = info.external_attr >> 16
                if info.is_dir():
                    continue
                if (mode and not stat.S_ISREG(mode) and stat.S_IFMT(mode)) or not wanted(info.filename):
                    skip(place)
                    continue
                if info.flag_bits & 1:
                    raise IngestError(place, "is encrypted; pack it without a password")
                if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise IngestError(place, "uses a zip method other than deflate, which is not read")
                with archive.open(info) as file:
                    yield place, _read(file, place, info.compress_size, budget)
    except (zipfile.BadZipFile, OSError, EOFError, zlib.error, NotImplementedError, ValueError, RuntimeError) as error:
        if isinstance(error, IngestError):
            raise
        raise IngestError(where, f"is a damaged zip file ({_why(error)})") from None


def _untar(where: Where, data: bytes, budget: Budget, skip: Skip) -> Iterator[tuple[Where, bytes]]:
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for info in archive:
                archive.members = []  # type: ignore[attr-defined]  # it keeps all of them otherwise
                place = _member(where, info.name, budget)
                if info.isdir():
                    continue
                if not info.isreg() or info.issparse() or not wanted(info.name):
                    skip(place)
                    continue
                file = archive.extractfile(info)
                if file is not None:
                    content = file.read(min(info.size, len(data)))
                    budget.take_bytes(len(content), place)
                    yield place, content
    except (tarfile.TarError, OSError, EOFError, ValueError, RecursionError) as error:
        if isinstance(error, IngestError):
            raise
        raise IngestError(where, f"is a damaged tar file ({_why(error)})") from None


def wanted(name: str) -> bool:
    """Whether a member's name promises something that we read."""
    path = PurePosixPath(name)
    return path.suffix.lower() in READ and not any(part.startswith(SPAM) for part in path.parts)


def _member(where: Where, name: str, budget: Budget) -> Where:
    budget.take_member(where)
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or "\0" in name or name[1:2] == ":":
        raise LimitError(where.at(file=f"{where.file}/{name}"), "the member's name points outside the archive")
    return where.at(file=f"{where.file}/{name}")


def _read(file: IO[bytes] | gzip.GzipFile, where: Where, packed: int, budget: Budget) -> bytes:
    chunks, total = [], 0
    while chunk := file.read(CHUNK):
        total += len(chunk)
        budget.take_bytes(len(chunk), where)
        if total > budget.limits.ratio_from and total > budget.limits.max_ratio * max(packed, 1):
            raise LimitError(where, f"unpacks to more than {budget.limits.max_ratio} times its size")
        chunks.append(chunk)
    return b"".join(chunks)


def _why(error: BaseException) -> str:
    return shown(str(error).rstrip(".").lower() or type(error).__name__)
