"""Temporary failures: a locked, unreachable or full database, and a full disk."""

import errno
from typing import NamedTuple

from django.db import InterfaceError, InternalError, OperationalError


class Outage(NamedTuple):
    """`message`: one or two sentences for users. `retry_after`: seconds until a new attempt makes sense."""

    message: str
    retry_after: int


class ServiceUnavailable(Exception):
    """Raised by code that detects a failure itself."""

    def __init__(self, outage: Outage) -> None:
        super().__init__(outage.message)
        self.outage = outage


FULL = Outage("The disk is full: nothing can be stored until space is freed. Existing recordings are safe.", 60)
LOCKED = Outage("The database is busy with other writes. Nothing was changed. Try again in a few seconds.", 5)
READ_ONLY = Outage("The database is read-only. Nothing was changed. Try again later.", 60)
AWAY = Outage("The database is not reachable. Try again in a few seconds. Existing recordings are safe.", 10)

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


def outage_of(error: BaseException | None) -> Outage | None:
    """Return the failure behind an exception or one of its causes; None for any other error."""
    for _ in range(10):  # the process that reads an upload wraps its exceptions several times
        if error is None:
            return None
        if isinstance(error, ServiceUnavailable):
            return error.outage
        if isinstance(error, OSError) and error.errno in CODES:
            return CODES[error.errno]
        # The schemas of the API read rows during serialization and keep only the message of an error.
        if isinstance(error, DATABASE) or "attribute: OperationalError" in str(error):
            text = str(error).lower()
            if found := next((outage for words, outage in WORDS.items() if words in text), None):
                return found
        error = error.__cause__ or error.__context__
    return None
