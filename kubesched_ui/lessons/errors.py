"""Errors in lessons, with their positions."""

from kubesched_ui.ingest.errors import shown


class LessonError(ValueError):
    """An invalid lesson. The message is one sentence with file and line."""

    def __init__(self, file: str, line: int, problem: str) -> None:
        super().__init__(f"{shown(file)}, line {line}: {problem}")
        self.file, self.line, self.problem = file, line, problem


class Unknown(ValueError):
    """An expression without a value. The message says why; the caller adds the position."""


class NotYetRevealed(Unknown):
    """An expression that would reveal the answer before the step is revealed."""
