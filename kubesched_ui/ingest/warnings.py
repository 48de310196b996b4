"""Warnings about an upload. Many similar ones are merged into one, with their number."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from kubesched_ui.ingest.errors import IngestError, Warn, Where, shown
from kubesched_ui.ingest.result import Record
from scheduler_core.api.fields import types, unknown_fields
from scheduler_core.api.newer_fields import UNKNOWN, collapsed, newer_fields

EACH = 3  # up to this number, equal problems are listed one by one
MAX_FILES = 10_000  # maximum number of file names that are stored for counting
MAX_FIELDS = 50  # unknown fields per object, and different ones per upload
UNKNOWN_FIELD = "unknown-field"
_INDEX = re.compile(r"\[[0-9]+\]")


@dataclass(slots=True)
class _Group:
    first: list[Warn] = field(default_factory=list)
    number: int = 0
    files: set[str] = field(default_factory=set)


class Warnings:
    """Collects warnings. `most`: maximum number of different problems; further ones are only counted."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._groups: dict[tuple[str, str, str], _Group] = {}
        self._unlisted: Counter[str] = Counter()

    def add(self, code: str, error: IngestError) -> None:
        """Add a problem of one object or file."""
        key = (code, error.problem, _INDEX.sub("[]", error.field))
        same = self._groups.get(key)
        if same is None:
            if len(self._groups) >= self.most:
                self._unlisted[code] += 1
                return
            same = self._groups[key] = _Group()
        same.number += 1
        if len(same.files) < MAX_FILES:
            same.files.add(error.where.file)
        if len(same.first) < EACH:
            same.first.append(Warn.from_error(code, error))

    def say(self, warn: Warn) -> None:
        """Add a warning about the upload as a whole."""
        self._groups[warn.code, warn.message, ""] = _Group([warn], 1)

    def listed(self) -> list[Warn]:
        """Return up to EACH equal warnings one by one; for more, return the first with the number of the others and of
        their files."""
        found = []
        for same in self._groups.values():
            if same.number <= EACH:
                found += same.first
                continue
            files = f" in {len(same.files):,} files" if len(same.files) > 1 else ""
            first = same.first[0]
            found.append(replace(first, message=f"{first.message} (and {same.number - 1:,} more like it{files})"))
        if unlisted := sum(self._unlisted.values()):
            found.append(Warn("more", f"{unlisted:,} more warnings are not listed"))
        return found


class UnknownFields:
    """Collects fields that the API does not define, and fields that are not simulated. Objects with the same field
    share a warning. Objects with a uid have no unknown fields, unless their API server is newer than the newest
    release: it has removed what it does not know."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, str, str], tuple[Where, int]] = {}

    def look(self, kind: str, obj: dict[str, Any], where: Where) -> bool:
        """Return whether the object has such a field."""
        found = [(newer.path, newer.problem) for newer in islice(newer_fields(obj, kind), MAX_FIELDS)]
        if kind in types() and not (obj.get("metadata") or {}).get("uid"):
            found += [(unknown.path, unknown.problem) for unknown in islice(unknown_fields(obj, kind), MAX_FIELDS)]
        for path, problem in found:
            self._add(kind, path, problem, where)
        return bool(found)

    def look_at_newer(self, records: Iterable[Record]) -> None:
        """Look for unknown fields in the objects of an API server that is newer than the newest release."""
        for record in records:
            where = Where("the cluster", kind=record.kind, namespace=record.namespace, name=record.name)
            obj = record.object() if record.kind in types() else {}
            if (obj.get("metadata") or {}).get("uid"):
                for unknown in islice(unknown_fields(obj, record.kind), MAX_FIELDS):
                    self._add(record.kind, unknown.path, UNKNOWN, where)

    def _add(self, kind: str, path: str, problem: str, where: Where) -> None:
        key = (kind, collapsed(path), problem)
        if key in self.found or len(self.found) < MAX_FIELDS:
            first, number = self.found.get(key, (where.at(kind=kind), 0))
            self.found[key] = (first, number + 1)

    def remarks(self) -> Iterator[IngestError]:
        """Yield one warning per field."""
        for (_, path, problem), (where, number) in self.found.items():
            others = f" ({number:,} objects have it)" if number > 1 else ""
            yield IngestError(where, f"{shown(problem)}{others}", shown(path))
