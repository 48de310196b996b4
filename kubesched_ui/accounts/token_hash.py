"""What is told once and stored as its hash: links, invitations, tokens."""

from __future__ import annotations

import hashlib
import secrets

PREFIX = "ks_"  # of tokens, by which programs that look for leaked secrets know them


def new(prefix: str = "") -> str:
    """256 random bits as text that an address may hold."""
    return prefix + secrets.token_urlsafe(32)


def digest(secret: str) -> str:
    """What is stored of it. No salt and no slow hash: nobody guesses 256 bits, and it is looked up by this."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
