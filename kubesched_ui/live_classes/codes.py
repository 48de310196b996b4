"""The students' code of a room and the teacher's key. A code is short, so how often one may guess is limited."""

from __future__ import annotations

import secrets

from kubesched_ui.accounts.rate_limits import Limit
from kubesched_ui.live_classes.models import CODE, Room

LETTERS = "BCDFGHJKMNPQRSTVWXYZ23456789"  # nothing that looks like another, no vowels to make words of
TRIES = Limit("room-codes", 100, 300)  # wrong ones of an address; a whole school may be behind one


def new_code() -> str:
    """One of 378 thousand million, not used yet."""
    while True:
        code = "".join(secrets.choice(LETTERS) for _ in range(CODE))
        if not Room.objects.filter(code=code).exists():
            return code


def typed(text: str) -> str:
    """A code as somebody wrote it: `bcdf-ghjk`, `BCDF GHJK`. "" for what is none."""
    code = "".join(text[:40].split()).replace("-", "").upper()
    return code if len(code) == CODE and set(code) <= set(LETTERS) else ""
