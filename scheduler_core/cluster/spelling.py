"""Similar words: what a person may have meant."""

from difflib import SequenceMatcher

SIMILAR = 0.6  # minimum likeness of a word that the user may have meant


def likeness(one: str, other: str) -> float:
    """Return the similarity of two words: 0 for nothing in common, 1 for equal words ignoring case."""
    return SequenceMatcher(None, one.lower(), other.lower(), autojunk=False).ratio()


def alike(one: str, other: str) -> bool:
    """Return whether one word may be a typing error of the other."""
    return bool(one) and bool(other) and likeness(one, other) >= SIMILAR
