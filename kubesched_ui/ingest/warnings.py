"""Remarks on an upload: what many objects have in common is said once, with their number."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace

from kubesched_ui.ingest.errors import IngestError, Warn

EACH = 3  # of the same problem, so many are listed one by one
MAX_FILES = 10_000  # whose names are kept to be counted
_INDEX = re.compile(r"\[[0-9]+\]")


@dataclass(slots=True)
class _Same:
    first: list[Warn] = field(default_factory=list)
    number: int = 0
    files: set[str] = field(default_factory=set)


class Warnings:
    """What was said so far. `most`: different problems; further ones are only counted."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._said: dict[tuple[str, str, str], _Same] = {}
        self._unsaid: Counter[str] = Counter()

    def add(self, code: str, error: IngestError) -> None:
        """A problem of one object or file."""
        key = (code, error.problem, _INDEX.sub("[]", error.field))
        same = self._said.get(key)
        if same is None:
            if len(self._said) >= self.most:
                self._unsaid[code] += 1
                return
            same = self._said[key] = _Same()
        same.number += 1
        if len(same.files) < MAX_FILES:
            same.files.add(error.where.file)
        if len(same.first) < EACH:
            same.first.append(Warn.of(code, error.where, error.problem, error.field))

    def say(self, warn: Warn) -> None:
        """A remark on the whole."""
        self._said[warn.code, warn.message, ""] = _Same([warn], 1)

    def listed(self) -> list[Warn]:
        """One by one where few have a problem; else the first, and how many more there are in how many files."""
        found = []
        for same in self._said.values():
            if same.number <= EACH:
                found += same.first
                continue
            files = f" in {len(same.files):,} files" if len(same.files) > 1 else ""
            first = same.first[0]
            found.append(replace(first, message=f"{first.message} (and {same.number - 1:,} more like it{files})"))
        if unsaid := sum(self._unsaid.values()):
            found.append(Warn("more", f"{unsaid:,} further warnings are not listed"))
        return found
