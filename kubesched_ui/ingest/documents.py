"""Splits a text file into JSON documents: JSON, several consecutive JSON values, YAML, or JSON followed by YAML."""

import re
from collections import Counter
from collections.abc import Iterator

from kubesched_ui.ingest import yaml_reader
from kubesched_ui.ingest.errors import IngestError, Where
from kubesched_ui.ingest.json_values import Malformed, next_value
from kubesched_ui.ingest.limits import Limits

# Permitted between JSON documents: blanks, the separator of YAML, comments, messages of kubectl and of scripts, and the
# logs that `kubectl cluster-info dump` prints.
_BETWEEN = re.compile(
    rb"(?:[ \t\r\n]+|---[ \t]*(?=\r?\n|\Z)|#[^\n]*"
    rb"|(?<![^\n])(?:Warning: |Cluster info dumped to |\$ |[IWE]\d{4} |={2,}(?![= ]*START logs))[^\n]*(?:\n|\Z))+"
)
_LOGS = re.compile(rb"==== START logs for [^\n]*\n.*?==== END logs for [^\n]*(?:\n|\Z)", re.S)
NOT_YAML = "is not valid YAML"
_JSON_NAME = re.compile(r"\.json(\.gz)?$", re.I)
_YAML_NAME = re.compile(r"\.(?:ya?ml|kyaml)(\.gz)?$", re.I)
# The start of a JSON document, in contrast to YAML in flow style.
_JSON_START = re.compile(rb"\{\s*[\"}]|\[\s*[\[\]{\"0-9tfn-]")

_HALF_PAIR = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])")


def documents(text: bytes, where: Where, limits: Limits, dropped: Counter[str]) -> Iterator[tuple[int, memoryview]]:
    """Yield each document as the text of one JSON value, with its number from 1. `text` is UTF-8 without a byte order
    mark. Raises IngestError with document and line for text that is neither JSON nor YAML."""
    position, number = 0, 0
    view = memoryview(text)
    while True:
        if between := _BETWEEN.match(text, position):
            position = between.end()
        if position >= len(text):
            return
        if logs := _LOGS.match(text, position):
            dropped["logs"] += 1
            position = logs.end()
            continue
        if text[position : position + 1] not in (b"{", b"["):
            break
        try:
            value, length = next_value(view[position:])
        except Malformed as error:
            if _JSON_START.match(text, position) and not _YAML_NAME.search(where.file):
                raise IngestError(where.at(document=number + 1), _malformed(text, position, error)) from None
            break
        number += 1
        yield number, value
        position += length
    try:
        for in_yaml, document in yaml_reader.documents(text[position:] if position else text, where, limits, number):
            yield in_yaml, memoryview(document)
    except IngestError as error:
        if not _JSON_NAME.search(where.file) or not error.problem.startswith(NOT_YAML):
            raise
        problem = f"is not JSON as its name says, and not YAML{error.problem.removeprefix(NOT_YAML)}"
        raise IngestError(error.where, problem) from None


def _malformed(text: bytes, start: int, error: Malformed) -> str:
    if half := _HALF_PAIR.search(text, start):
        line = text.count(b"\n", 0, half.start()) + 1
        return f"is not valid JSON in line {line}: an unpaired surrogate, {half[0].decode()}"
    if error.offset is None:
        return "is not complete JSON: it ends in the middle" if "truncated" in str(error) else str(error)
    line = text.count(b"\n", 0, start + error.offset) + 1
    return f"is not valid JSON in line {line}: {str(error).removeprefix('JSON is malformed: ')}"
