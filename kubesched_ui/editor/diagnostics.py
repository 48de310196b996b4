"""What is wrong with an object, and where in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kubesched_ui.editor.yaml_documents import Path, spelled
from kubesched_ui.ingest.errors import shown

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Problem:
    """`path`: in its document. `fix`: the word that was probably meant, "" if none is known; `value`: in the place of
    the value, else of the key."""

    path: Path
    message: str
    severity: Severity = "error"
    fix: str = ""
    value: bool = False

    @property
    def sentence(self) -> str:
        """Naming the field."""
        return f"{shown(spelled(self.path))}: {self.message}" if self.path else self.message


class Found(list[Problem]):
    """Problems as they are found."""

    def error(self, path: Sequence[str | int], message: str, fix: str = "", value: bool = False) -> None:
        self.append(Problem(tuple(path), message, "error", fix, value))

    def warn(self, path: Sequence[str | int], message: str, fix: str = "", value: bool = False) -> None:
        self.append(Problem(tuple(path), message, "warning", fix, value))
