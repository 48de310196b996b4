"""Similar words: what a person may have meant."""

from collections.abc import Iterable
from difflib import SequenceMatcher

SIMILAR = 0.6  # minimum likeness of a word that the user may have meant
MOST_WORDS = 500  # maximum number of compared words


def likeness(one: str, other: str) -> float:
    """Return the similarity of two words: 0 for nothing in common, 1 for equal words ignoring case."""
    return SequenceMatcher(None, one.lower(), other.lower(), autojunk=False).ratio()


def alike(one: str, other: str) -> bool:
    """Return whether one word may be a typing error of the other."""
    return bool(one) and bool(other) and likeness(one, other) >= SIMILAR


def nearest(word: str, known: Iterable[str]) -> list[str]:
    """Return similar known words, the most similar first."""
    words = [other for other, _ in zip(dict.fromkeys(known), range(MOST_WORDS), strict=False) if other != word]
    rated = [(likeness(word, other), other) for other in words if other]
    return [other for rate, other in sorted(rated, key=lambda pair: (-pair[0], pair[1])) if rate >= SIMILAR]
