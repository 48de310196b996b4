"""What can be said against an upload: a refusal (IngestError) or a remark (Warn), both naming where."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

MAX_SHOWN = 120  # characters of uploaded text repeated in a message


def printable(text: str, also: str = "") -> str:
    """`text` with control characters, save those in `also`, replaced: databases and pages take it as it is."""
    return "".join(c if c.isprintable() or c in also else "\N{REPLACEMENT CHARACTER}" for c in text)


def shown(text: object) -> str:
    """Uploaded text as messages repeat it: on one line, without control characters, shortened."""
    clean = printable(str(text)[: MAX_SHOWN + 1])
    return clean if len(clean) <= MAX_SHOWN else clean[: MAX_SHOWN - 1] + "…"


@dataclass(frozen=True, slots=True)
class Where:
    """A place in an upload. Documents and items count from 1; 0 means that there is only one."""

    file: str
    document: int = 0
    item: int = 0
    kind: str = ""
    namespace: str = ""
    name: str = ""

    def at(self, **changes: Any) -> Where:
        """The same place, seen more closely."""
        return replace(self, **changes)

    @property
    def object(self) -> str:
        """`Kind namespace/name` as far as known."""
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return shown(" ".join(part for part in (self.kind, name) if part))

    def __str__(self) -> str:
        parts = [shown(self.file)]
        if self.document:
            parts.append(f"document {self.document}")
        if self.item:
            parts.append(f"item {self.item}")
        return ", ".join(parts) + (f" ({self.object})" if self.object else "")


class IngestError(ValueError):
    """An upload that cannot be taken. `str()` is a sentence naming file, document, object and field."""

    def __init__(self, where: Where, problem: str, field: str = "") -> None:
        super().__init__(where, problem, field)
        self.where = where
        self.problem = problem
        self.field = field

    def __str__(self) -> str:
        return ": ".join(part for part in (str(self.where), self.field, self.problem) if part)


class LimitError(IngestError):
    """A limit was passed: refused wherever it happens, also inside an archive."""


@dataclass(frozen=True, slots=True)
class Warn:
    """A remark on an upload that was taken. `message` is a sentence; the other fields are for tables and filters.

    What many have in common is one remark, the first one's with their number (`warnings.py`).
    Codes: `broken` (object left out), `cleaned` (a part of one left out or replaced), `duplicate`, `skipped-file`,
    `unreadable-member`, `config`, `missing-node`, `no-nodes`, `unknown-field`, `more` (further remarks were left out).
    """

    code: str
    message: str
    file: str = ""
    document: int = 0
    kind: str = ""
    namespace: str = ""
    name: str = ""
    field: str = ""

    @classmethod
    def of(cls, code: str, where: Where, problem: str, field: str = "") -> Warn:
        """A remark whose sentence is made as an IngestError's."""
        return cls(
            code,
            printable(str(IngestError(where, problem, field))),
            shown(where.file),
            where.document,
            shown(where.kind),
            shown(where.namespace),
            printable(where.name[:253]),
            printable(field),
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without what is empty."""
        return {key: value for key, value in asdict(self).items() if value}
