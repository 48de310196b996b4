"""What is wrong with a lesson, with the place."""

from __future__ import annotations

from kubesched_ui.ingest.errors import shown


class LessonError(ValueError):
    """A lesson that cannot be taken: one sentence that names file and line."""

    def __init__(self, file: str, line: int, problem: str) -> None:
        super().__init__(f"{shown(file)}, line {line}: {problem}")
        self.file, self.line, self.problem = file, line, problem


class Unknown(ValueError):
    """An expression that has no value: what is wrong with it, in words; whoever knows the place adds it."""


class Untold(Unknown):
    """An expression that would tell what is asked, before it is revealed."""
