"""Diagnostic records: what is wrong with an object, and where."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kubesched_ui.editor.yaml_documents import path_text
from kubesched_ui.ingest.errors import shown
from kubesched_ui.ingest.values import Path

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A problem at `path` of its document. `fix`: the probably intended word, or "". `value`: whether the fix replaces
    the value and not the key."""

    path: Path
    message: str
    severity: Severity = "error"
    fix: str = ""
    value: bool = False

    @property
    def sentence(self) -> str:
        """The message with the path of the field."""
        return f"{shown(path_text(self.path))}: {self.message}" if self.path else self.message


class Diagnostics(list[Diagnostic]):
    """A list of problems."""

    def error(self, path: Sequence[str | int], message: str, fix: str = "", value: bool = False) -> None:
        self.append(Diagnostic(tuple(path), message, "error", fix, value))

    def warn(self, path: Sequence[str | int], message: str, fix: str = "", value: bool = False) -> None:
        self.append(Diagnostic(tuple(path), message, "warning", fix, value))
