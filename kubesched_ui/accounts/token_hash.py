"""Secrets that are shown once and stored as hashes: links, invitations and tokens."""

import hashlib
import secrets

PREFIX = "ks_"  # prefix of tokens, by which scanners for leaked secrets recognize them


def new(prefix: str = "") -> str:
    """Return 256 random bits as URL-safe text."""
    return prefix + secrets.token_urlsafe(32)


def digest(secret: str) -> str:
    """Return the hash that is stored for lookups. A random secret of 256 bits needs neither a salt nor a slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
