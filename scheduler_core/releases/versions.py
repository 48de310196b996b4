"""Versions of Kubernetes: their order, and ranges that begin or end in patch releases of several minor releases."""

from functools import lru_cache

Minor = tuple[int, ...]
Range = tuple[int, int]  # the first and the last patch release

_LAST = 1 << 30  # no patch release is later
_NONE = (_LAST,)  # no minor release is later


def numbered(name: str) -> tuple[int, ...]:
    """Return the sort key of a release: 1.9 is before 1.10."""
    return tuple(int(part) for part in name.split("."))


def minor_of(version: str) -> str:
    """Return the minor release of a version: `1.31` of `1.31.8`."""
    return ".".join(version.split(".")[:2])


def is_within(version: str, since: str = "", until: str = "") -> bool:
    """Return whether a version, such as `1.31.8`, is in a range. `1.31` stands for 1.31.0.

    `since`: the first version, or the first patch release of each of several minor releases, as in `1.29.11, 1.30.7,
    1.31.3, 1.32`; the last one counts for all later minor releases. `1.28.0 to 1.28.4` stands for these patch releases
    alone. `until`: the last version or versions; a minor release stands for all its patch releases. "" is no limit.
    """
    *minor, patch = (*numbered(version), 0)[:3]
    key = tuple(minor)
    return (not since or _follows(since, key, patch)) and (not until or _precedes(until, key, patch))


def splits(name: str, since: str, until: str) -> bool:
    """Return whether the range includes only some patch releases of the minor release `name`."""
    at, every = numbered(name), (0, _LAST)
    (first, end), (begin, last) = _starts(since).get(at, every), _ends(until).get(at, every)
    return (max(first, begin), min(end, last)) != every


def _follows(since: str, minor: Minor, patch: int) -> bool:
    """Return whether a patch release is not before the start of a range."""
    starts = _starts(since)
    if minor in starts:
        return starts[minor][0] <= patch <= starts[minor][1]
    return minor > max((at for at, (_, last) in starts.items() if last == _LAST), default=_NONE)


def _precedes(until: str, minor: Minor, patch: int) -> bool:
    """Return whether a patch release is not after the end of a range."""
    ends = _ends(until)
    return patch <= ends[minor][1] if minor in ends else minor < max(ends)


@lru_cache(maxsize=1_000)
def _starts(since: str) -> dict[Minor, Range]:
    found = {}
    for part in since.split(", ") if since else ():
        first, _, last = part.partition(" to ")
        *minor, patch = (*numbered(first), 0)[:3]
        found[tuple(minor)] = (patch, numbered(last)[2] if last else _LAST)
    return found


@lru_cache(maxsize=1_000)
def _ends(until: str) -> dict[Minor, Range]:
    parts = [(*numbered(part), _LAST) for part in until.split(", ")] if until else ()
    return {part[:2]: (0, part[2]) for part in parts}
