"""Which known word a person may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

SIMILAR = 0.6
MOST = 500  # words that are compared


def likeness(one: str, other: str) -> float:
    """0 for nothing in common, 1 for the same but for case."""
    return SequenceMatcher(None, one.lower(), other.lower(), autojunk=False).ratio()


def nearest(word: str, known: Iterable[str]) -> list[str]:
    """The known words that are like it, the most similar first."""
    words = [other for other, _ in zip(dict.fromkeys(known), range(MOST), strict=False) if other != word]
    rated = [(likeness(word, other), other) for other in words if other]
    return [other for rate, other in sorted(rated, key=lambda pair: (-pair[0], pair[1])) if rate >= SIMILAR]
