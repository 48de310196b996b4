"""Temporary failures: a locked, unreachable or full database, and a full disk."""

from __future__ import annotations

import errno
from typing import NamedTuple

from django.db import InterfaceError, InternalError, OperationalError


class Trouble(NamedTuple):
    """`said`: the message for users, one or two sentences. `retry_after`: seconds until a new attempt makes sense."""

    said: str
    retry_after: int


class Troubled(Exception):
    """Raised by code that detects a failure itself."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.said)
        self.trouble = trouble


FULL = Trouble("The disk is full: nothing can be stored until there is room again. What was recorded is safe.", 60)
LOCKED = Trouble("The database is busy with other writes, and nothing was changed. Try again in a moment.", 5)
READ_ONLY = Trouble("The database can only be read at present, so nothing was changed.", 60)
AWAY = Trouble("The database cannot be reached at present. Try again in a moment; what was recorded is safe.", 10)

# Part of a message of SQLite or PostgreSQL -> its meaning.
WORDS = {
    "disk is full": FULL,
    "disk full": FULL,
    "no space left": FULL,
    "could not extend file": FULL,
    "is locked": LOCKED,
    "lock timeout": LOCKED,
    "deadlock detected": LOCKED,
    "readonly database": READ_ONLY,
    "read-only": READ_ONLY,
    "connect": AWAY,
    "server closed": AWAY,
    "shutting down": AWAY,
    "starting up": AWAY,
    "terminating": AWAY,
    "unable to open": AWAY,
    "disk i/o error": AWAY,
}
# Exceptions of a failing database. PostgreSQL reports a read-only database as an internal error.
DATABASE = (OperationalError, InterfaceError, InternalError)
CODES = {errno.ENOSPC: FULL, errno.EDQUOT: FULL, errno.EROFS: READ_ONLY}


def trouble_of(error: BaseException | None) -> Trouble | None:
    """Return the failure behind an exception or one of its causes; None for any other error."""
    for _ in range(10):  # the process that reads an upload wraps its exceptions several times
        if error is None:
            return None
        if isinstance(error, Troubled):
            return error.trouble
        if isinstance(error, OSError) and error.errno in CODES:
            return CODES[error.errno]
        # The schemas of the API read rows during serialization and keep only the message of an error.
        if isinstance(error, DATABASE) or "attribute: OperationalError" in str(error):
            text = str(error).lower()
            if found := next((trouble for words, trouble in WORDS.items() if words in text), None):
                return found
        error = error.__cause__ or error.__context__
    return None
