"""Which golden case notices each behaviour that changes between two releases.

    python scripts/try_switches.py [BEHAVIOUR or RELEASE ...]

For each behaviour in which two successive releases differ, cases of tests/golden are replayed with and without it,
those of the newer release first, until one is decided differently in any field. Prints a row for each behaviour with
the case; the behaviours that no case notices come last. Exit code 1: they are not those of UNNOTICED.
"""

import gzip
import sys
import time
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scheduler_core.commands import replay, replay_time  # noqa: E402
from scheduler_core.config.loader import load  # noqa: E402
from scheduler_core.errors import InputError  # noqa: E402
from scheduler_core.releases import RELEASES, Release, get_release  # noqa: E402
from scheduler_core.releases.conformance import UNNOTICED  # noqa: E402
from scheduler_core.releases.differences import apply_differences, differences  # noqa: E402
from scheduler_core.releases.release import BEHAVIORS  # noqa: E402
from tests.conformance import GOLDEN, golden_cases, golden_sets  # noqa: E402

FAR = 2  # releases away from the change, the general cases of a release are not replayed
Raw = dict[str, Any]


@cache
def sets() -> dict[str, list[str]]:
    """Return the sets of golden cases by release, those of single passes first."""
    found: dict[str, list[str]] = {}
    for name in (*golden_sets(), *golden_sets(virtual_time=True)):
        with gzip.open(GOLDEN / name / "cases.jsonl.gz") as stream:
            first = msgspec.json.decode(stream.readline())
        found.setdefault(get_release(first["kubernetes"]).number, []).append(name)
    return found


@cache
def cases(name: str) -> list[Raw]:
    """Return the cases of a set, one of each kind after another."""
    by_kind: dict[str, list[Raw]] = {}
    for case in golden_cases(name, whole=True):
        by_kind.setdefault(case["name"].partition("-")[0], []).append(case)
    return [case for row in zip_longest(*by_kind.values()) for case in row if case is not None]


def answer(case: Raw, release: Release) -> bytes:
    """Return the decisions of a case in this release; b"refused" for one that cannot be run."""
    one = replay_time.replay_case if "timeline" in case else replay.replay_case
    with patch.object(replay, "release_of", lambda _: release):
        try:
            decided = one(case)
        except InputError:
            return b"refused"
    return b"refused" if "refused" in decided else msgspec.json.encode(decided, order="sorted")


class WatchedRelease(Release):
    """A release that records which of its behaviours are read. No two are equal, so that no cache hides a read."""

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def __getattribute__(self, name: str) -> Any:
        if name in BEHAVIORS:
            READ.add(name)
        return super().__getattribute__(name)


READ: set[str] = set()


@cache
def usual(name: str, index: int) -> tuple[bytes, frozenset[str]]:
    """Return the decisions of a case of a set in its own release, and the behaviours that were read."""
    case = cases(name)[index]
    release = replay.release_of(case)
    watched = WatchedRelease(**{field.name: getattr(release, field.name) for field in fields(release)})
    READ.clear()
    return answer(case, watched), frozenset(READ)


def profiles(case: Raw, release: Release) -> object:
    """Return the profiles of a case, on which default plugins have their effect; the message if it has none."""
    try:
        return load(case.get("config"), release).profiles
    except InputError as problem:
        return str(problem)


def noticing(switch: str, older: Release, newer: Release) -> Iterator[tuple[str, str]]:
    """Yield (set, case) that decides differently with the switch: in newer releases without it, in older ones with."""
    names = list(RELEASES)
    at = names.index(newer.number)
    order = [*((name, older) for name in names[at:]), *((name, newer) for name in reversed(names[:at]))]
    for name, other in order:
        far = abs(names.index(name) - at) > FAR
        for folder in sets().get(name, ()):
            if not far or folder != f"v{name}":
                yield from ((folder, case) for case in _noticing_of(folder, switch, other))


def _noticing_of(folder: str, switch: str, other: Release) -> Iterator[str]:
    """Yield the cases of a set that decide differently if the switch is as in the other release."""
    for index, case in enumerate(cases(folder)):
        release = replay.release_of(case)
        changed = apply_differences(release, other, frozenset([switch]), bool(case.get("config")))
        if changed == release or (switch not in BEHAVIORS and profiles(case, changed) == profiles(case, release)):
            continue
        decisions, read = usual(folder, index)
        if (switch in read or switch not in BEHAVIORS) and answer(case, changed) != decisions:
            yield case["name"]


def switches() -> Iterator[tuple[str, Release, Release]]:
    """Yield (behaviour, older, newer) for each behaviour that changes between two successive releases."""
    for older, newer in pairwise(RELEASES.values()):
        for one in differences(older, newer):
            yield one.name, older, newer


def main(only: list[str]) -> int:
    began, missing = time.monotonic(), []
    for switch, older, newer in switches():
        if only and not {switch, newer.number} & set(only):
            continue
        folder, case = next(noticing(switch, older, newer), ("", ""))
        print(f"{newer.number:6}{switch:44}{folder} {case}".rstrip(), flush=True)
        if not case:
            missing.append(f"{newer.number} {switch}")
    print(f"{len(missing)} behaviours are not noticed ({time.monotonic() - began:.0f} s):")
    for one in missing:
        print(f"  {one}: {UNNOTICED.get(one, 'not listed')}")
    gone = [one for one in UNNOTICED if one not in missing and not only]
    print(*(f"  {one}: is listed, but a case notices it" for one in gone), sep="\n", end="\n" if gone else "")
    return int(bool(gone or set(missing) - UNNOTICED.keys()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
