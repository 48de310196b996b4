"""Converts bytes to UTF-8 text: byte order marks, UTF-16 as written by `>` in PowerShell. Explains all other
encodings."""

import codecs
import json

from kubesched_ui.ingest.errors import IngestError, Where
from scheduler_core.snapshot.wrong_input_hints import binary_input_hint

CHUNK = 1024 * 1024
NOT_TEXT = "is not a text file; upload JSON or YAML"


def to_utf8(data: bytes, where: Where) -> bytes:
    """Return `data` as UTF-8 without a byte order mark. Raises IngestError if it is not text."""
    not_text(data, where)
    encoding = json.detect_encoding(data[:4])
    if encoding not in ("utf-8", "utf-8-sig"):
        data = _decoded(data, encoding, where).encode()
    elif encoding == "utf-8-sig":
        data = data[len(codecs.BOM_UTF8) :]
    nul = data.find(b"\0")
    if nul >= 0:
        raise IngestError(where, f"contains a NUL byte in line {_line(data, nul)}; this is not a text file")
    _check_utf8(data, where)
    if not data.strip():
        raise IngestError(where, "is empty")
    return data


def not_text(head: bytes, where: Where) -> None:
    """Raise IngestError if the first bytes are not text."""
    if what := binary_input_hint(head):
        raise IngestError(where, what)


def _decoded(data: bytes, encoding: str, where: Where) -> str:
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        if encoding.startswith("utf-32"):
            raise IngestError(where, NOT_TEXT) from None
        what = f"looks like {encoding.upper()} but is not ({error.reason} at byte {error.start:,})"
        raise IngestError(where, f"{what}; save it as UTF-8") from None


def _check_utf8(data: bytes, where: Where) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for offset in range(0, len(data), CHUNK):  # in chunks: a valid file needs no second copy
            decoder.decode(data[offset : offset + CHUNK], final=offset + CHUNK >= len(data))
    except UnicodeDecodeError:
        at = _first_bad(data)
        problem = f"is not UTF-8: byte 0x{data[at]:02x} in line {_line(data, at)}; save it as UTF-8"
        raise IngestError(where, problem) from None


def _first_bad(data: bytes) -> int:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start
    return 0


def _line(data: bytes, offset: int) -> int:
    return data.count(b"\n", 0, offset) + 1
