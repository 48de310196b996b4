"""Join codes of live classes. Codes are short, so wrong guesses are rate-limited."""

from __future__ import annotations

import secrets

from kubesched_ui.accounts.rate_limits import Limit
from kubesched_ui.live_classes.models import CODE, LiveClass

LETTERS = "BCDFGHJKMNPQRSTVWXYZ23456789"  # no letters that look alike, and no vowels, so that a code is never a word
TRIES = Limit("room-codes", 100, 300)  # wrong codes per client IP; a whole school may share one


def new_code() -> str:
    """Return a random unused code, one of 378 thousand million."""
    while True:
        code = "".join(secrets.choice(LETTERS) for _ in range(CODE))
        if not LiveClass.objects.filter(code=code).exists():
            return code


def typed(text: str) -> str:
    """Normalise a typed code such as `bcdf-ghjk` or `BCDF GHJK`. Return "" if it is not a code."""
    code = "".join(text[:40].split()).replace("-", "").upper()
    return code if len(code) == CODE and set(code) <= set(LETTERS) else ""
