"""Warnings about an upload. Many similar ones are merged into one, with their number."""

import re
from collections import Counter
from dataclasses import dataclass, field, replace

from kubesched_ui.ingest.errors import IngestError, Warn

EACH = 3  # up to this number, equal problems are listed one by one
MAX_FILES = 10_000  # maximum number of file names that are stored for counting
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
