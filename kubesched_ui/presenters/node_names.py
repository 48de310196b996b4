"""Short node names: what all names have in common is shown once, and the characters that differ are never cut."""

from collections.abc import Sequence

LEAST = 4  # characters of a suffix that are worth removing


def shortened(names: Sequence[str], size: int) -> tuple[list[str], str]:
    """Return the names without their common end (from a dot or hyphen on), and that end.

    Names that are still longer than `size` also lose their common beginning.
    """
    suffix = _common_suffix(names)
    own = [name.removesuffix(suffix) for name in names]
    prefix = _common_prefix(own) if len(own) > 1 else ""
    longest = max((len(name) for name in own), default=0)
    if prefix and longest > size and all(len(name) > len(prefix) for name in own):
        kept = max(0, len(prefix) - (longest - size) - 1)
        own = [f"{name[:kept]}…{name[len(prefix) :]}" for name in own]
    return own, suffix


def _common_suffix(names: Sequence[str]) -> str:
    if len(names) < 2:
        return ""
    end = _common_prefix([name[::-1] for name in names])[::-1]
    begins = [place for place in (end.find("."), end.find("-")) if place >= 0]
    suffix = end[min(begins) :] if begins else ""
    return suffix if len(suffix) >= LEAST and all(len(name) > len(suffix) for name in names) else ""


def _common_prefix(names: Sequence[str]) -> str:
    first, last = min(names), max(names)  # all others are between these
    return first[: next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))]
