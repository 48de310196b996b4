"""Trouble that passes by itself or that an operator ends: a database that is locked, away or full, a full disk."""

from __future__ import annotations

import errno
from typing import NamedTuple

from django.db import InterfaceError, InternalError, OperationalError


class Trouble(NamedTuple):
    """`said`: in plain words, a sentence or two. `retry_after`: seconds after which it makes sense to try again."""

    said: str
    retry_after: int


class Troubled(Exception):
    """Raised where we know the trouble ourselves."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.said)
        self.trouble = trouble


FULL = Trouble("The disk is full: nothing can be stored until there is room again. What was recorded is safe.", 60)
LOCKED = Trouble("The database is busy with other writes, and nothing was changed. Try again in a moment.", 5)
READ_ONLY = Trouble("The database can only be read at present, so nothing was changed.", 60)
AWAY = Trouble("The database cannot be reached at present. Try again in a moment; what was recorded is safe.", 10)

# What SQLite and PostgreSQL say -> what it means.
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
# What a database in trouble raises; PostgreSQL calls it an internal error that it can only be read.
DATABASE = (OperationalError, InterfaceError, InternalError)
CODES = {errno.ENOSPC: FULL, errno.EDQUOT: FULL, errno.EROFS: READ_ONLY}


def trouble_of(error: BaseException | None) -> Trouble | None:
    """The trouble that an exception stands for, or one that it was raised from; None where something else broke."""
    for _ in range(10):  # an upload's reader hands its own on, several deep
        if error is None:
            return None
        if isinstance(error, Troubled):
            return error.trouble
        if isinstance(error, OSError) and error.errno in CODES:
            return CODES[error.errno]
        # The API's schemas read rows as they answer, and keep only the words of what goes wrong then.
        if isinstance(error, DATABASE) or "attribute: OperationalError" in str(error):
            text = str(error).lower()
            if found := next((trouble for words, trouble in WORDS.items() if words in text), None):
                return found
        error = error.__cause__ or error.__context__
    return None
