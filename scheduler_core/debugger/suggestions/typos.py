"""Finds the known word that a user may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

SIMILAR = 0.6
MOST = 500  # words that are compared at most


def likeness(one: str, other: str) -> float:
    """Return the similarity of two words: 0 for nothing in common, 1 for equal words ignoring case."""
    return SequenceMatcher(None, one.lower(), other.lower(), autojunk=False).ratio()


def nearest(word: str, known: Iterable[str]) -> list[str]:
    """Return similar known words, the most similar first."""
    words = [other for other, _ in zip(dict.fromkeys(known), range(MOST), strict=False) if other != word]
    rated = [(likeness(word, other), other) for other in words if other]
    return [other for rate, other in sorted(rated, key=lambda pair: (-pair[0], pair[1])) if rate >= SIMILAR]
