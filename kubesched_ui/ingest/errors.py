"""Errors (IngestError) and warnings (Warn) of an upload. Both include the position."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

MAX_SHOWN = 120  # maximum number of characters of uploaded text in a message


def printable(text: str, also: str = "") -> str:
    """Return `text` with control characters replaced, except those in `also`, so that databases and pages accept it."""
    return "".join(c if c.isprintable() or c in also else "\N{REPLACEMENT CHARACTER}" for c in text)


def shown(text: object) -> str:
    """Return uploaded text for a message: on one line, without control characters, shortened."""
    clean = printable(str(text)[: MAX_SHOWN + 1])
    return clean if len(clean) <= MAX_SHOWN else clean[: MAX_SHOWN - 1] + "…"


class Where(NamedTuple):
    """A position in an upload. Documents and items count from 1; 0 means that there is only one."""

    file: str
    document: int = 0
    item: int = 0
    kind: str = ""
    namespace: str = ""
    name: str = ""

    def at(self, **changes: Any) -> Where:
        """Return this position with more detail."""
        return self._replace(**changes)

    @property
    def object(self) -> str:
        """`Kind namespace/name`, as far as known."""
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
    """A refused upload. `str()` is a sentence with file, document, object and field."""

    def __init__(self, where: Where, problem: str, field: str = "") -> None:
        super().__init__(where, problem, field)
        self.where = where
        self.problem = problem
        self.field = field

    def __str__(self) -> str:
        return ": ".join(part for part in (str(self.where), self.field, self.problem) if part)


class NoObjectError(IngestError):
    """A value that is no Kubernetes object. In an archive it is a part of another file."""


class LimitError(IngestError):
    """A limit was exceeded. This refuses the upload even inside an archive."""


@dataclass(frozen=True, slots=True)
class Warn:
    """A warning about an accepted upload. `message` is a sentence; the other fields are for tables and filters.
    `second`: that of the scenario's timeline which it is about, such as "3.25"; "" if none.

    Similar warnings are merged into one, which is the first with their number (`warnings.py`).

    Codes: `broken` (object left out), `cleaned` (part of an object left out or replaced), `duplicate`, `skipped-file`,
    `unreadable-member`, `config`, `missing-node`, `no-nodes`, `unknown-field`, `decisions` (what the check of
    recorded decisions finds), `more` (further warnings were left out).
    """

    code: str
    message: str
    file: str = ""
    document: int = 0
    kind: str = ""
    namespace: str = ""
    name: str = ""
    field: str = ""
    second: str = ""

    @classmethod
    def from_error(cls, code: str, error: IngestError) -> Warn:
        """Return a warning with the same sentence as the error."""
        message, where = printable(str(error)), error.where
        kind, namespace, name = shown(where.kind), shown(where.namespace), printable(where.name[:253])
        return cls(code, message, shown(where.file), where.document, kind, namespace, name, printable(error.field))

    def as_dict(self) -> dict[str, Any]:
        """Return the nonempty fields as plain values for JSON."""
        return {key: value for key, value in asdict(self).items() if value}
