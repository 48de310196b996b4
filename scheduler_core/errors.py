"""The exception for invalid input."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager


class InputError(ValueError):
    """A user's input is invalid.

    `where` names the object (`Pod default/web-1`, `profiles[0] "default-scheduler"`). `field` is the path inside it
    (empty for the object as a whole). `problem` describes the error. `str()` is a message for users.
    """

    def __init__(self, where: str, field: str, problem: str) -> None:
        super().__init__(where, field, problem)
        self.where = where
        self.field = field
        self.problem = problem

    def __str__(self) -> str:
        return ": ".join(part for part in (self.where, self.field, self.problem) if part)


def refuse(wrong: bool, path: str, problem: str) -> None:
    """Raise InputError for a field of a document if it is wrong."""
    if wrong:
        raise InputError("", path, problem)


@contextmanager
def damaged(what: str) -> Iterator[None]:
    """Raise InputError that `what` is damaged for any error of reading inside: the bytes are not what was written."""
    try:
        yield
    except InputError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, StopIteration, zlib.error) as problem:
        raise InputError(what, "", f"is damaged ({type(problem).__name__})") from None
