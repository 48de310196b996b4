"""The page of changes by release: `python -m scheduler_core releases` prints docs/releases.md."""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from itertools import pairwise
from typing import Any, NamedTuple

from scheduler_core.releases import FRAMEWORK, RELEASES, tested_version
from scheduler_core.releases.feature_gates import numbered
from scheduler_core.releases.release import BEHAVIORS, UPSTREAM, Release

ORDER = sorted(RELEASES, key=numbered)


class Cases(NamedTuple):
    """Numbers of conformance cases. `in_time`: virtual-time scenarios, and the attempts in them.

    `differ`: the cycles whose result differs from upstream.
    """

    cases: int = 0
    cycles: int = 0
    in_time: tuple[int, int] | None = None
    differ: int = 0


CASES: Mapping[str, Cases] = {
    "1.16": Cases(175, 1262),
    "1.17": Cases(204, 1468, differ=1294),
    "1.18": Cases(210, 1498),
    "1.19": Cases(210, 1546),
    "1.20": Cases(208, 1503),
    "1.21": Cases(210, 1572),
    "1.22": Cases(210, 1548, (90, 1414)),
    "1.23": Cases(210, 1551),
    "1.24": Cases(210, 1522, (90, 1180)),
    "1.25": Cases(210, 1516),
    "1.26": Cases(210, 1501),
    "1.27": Cases(240, 1747, (128, 1759)),
    "1.28": Cases(210, 1487),
    "1.29": Cases(210, 1574),
    "1.30": Cases(208, 1603),
    "1.31": Cases(210, 1513, (96, 1321)),
    "1.32": Cases(210, 1570),
    "1.33": Cases(210, 1543),
    "1.34": Cases(239, 1769, (128, 2176)),
    "1.35": Cases(210, 1559),
    "1.36": Cases(210, 1522),
}


class FieldChange(NamedTuple):
    """A field of a release that differs from the release before."""

    release: str
    name: str
    before: Any
    after: Any


def changes(name: str) -> list[FieldChange]:
    """Return the changes of one field of a Release, oldest first."""
    order = ORDER if name == "predicates" else [release for release in ORDER if release in FRAMEWORK]
    steps = [
        (newer, getattr(RELEASES[older], name), getattr(RELEASES[newer], name)) for older, newer in pairwise(order)
    ]
    return [FieldChange(release, name, before, after) for release, before, after in steps if before != after]


def page() -> str:
    """Return the text of docs/releases.md."""
    return "\n".join([*_HEAD, *_table(), *_BETWEEN, *_changed(), ""])


_HEAD = [
    "# Releases",
    "",
    "`python -m scheduler_core releases` generates this page from `scheduler_core/releases/`; a test compares them.",
    "",
    "Each minor release is represented by the patch release in the table, with its default feature gates.",
    "Conformance cases compare every field of every cycle, and in virtual time every attempt and every queue move.",
    "*differ* counts the cycles that differ in at least one field.",
    "`tests/golden/differences.json` lists all cases that differ, and a test fails if that list changes.",
    "Bug fixes of later patch releases are not included.",
    "",
    "1.17, 1.19 and 1.21 are derived from their neighbours and from upstream's sources and change logs.",
    "Their cases come from 1.17.17, 1.19.13 and 1.21.9.",
    "In 1.17, predicates and priorities were plugins under their old names; only its feature gates and its queue",
    "differ here from 1.18.",
    "In virtual time, releases without such scenarios are derived from upstream's sources and their neighbours.",
    "",
    "| release | verified with | cases | cycles | differ | virtual-time scenarios | attempts |",
    "| --- | --- | --- | --- | --- | --- | --- |",
]

_BETWEEN = [
    "",
    "## Changes by release",
    "",
    "The name at the end is the field in `scheduler_core/releases/release.py`.",
    "[plugins.md](plugins.md) says which releases have which default plugins.",
    "[configuration.md](configuration.md#api-versions) lists the versions of configurations.",
]


def _table() -> Iterator[str]:
    for name in reversed(ORDER):
        cases, cycles, in_time, differ = CASES.get(name, Cases())
        numbers = [f"{number:,}" if number else "" for number in (cases, cycles, differ, *(in_time or (0, 0)))]
        yield f"| {' | '.join([name, tested_version(name), *numbers])} |"


def _changed() -> Iterator[str]:
    names = [field.name for field in fields(Release)]
    for release in reversed(ORDER[1:]):
        found = [(change, _words(change)) for name in names for change in changes(name) if change.release == release]
        yield from ("", f"### {release}", "")
        yield from (f"* {words} (`{change.name}`)" for change, words in found if words)


def _words(change: FieldChange) -> str:
    """Return the new behaviour as text; "" for a field that follows from another one."""
    name, before, after = change.name, change.before, change.after
    if name == "default_plugins":
        return _plugins(before, after)
    made = BEHAVIORS.get(name)
    if made is None:
        return ""
    old = made.describe(before).removesuffix(f" ({made.gate})")
    words = f"{made.describe(after)}. Before: {old}."
    if effect := made.expected(after):
        words += f" Expect: {effect}."
    links = [("KEP-", made.kep, "enhancements/issues"), ("#", made.pull, "kubernetes/pull")]
    return words + "".join(f" ([{head}{number}]({UPSTREAM}/{path}/{number}))" for head, number, path in links if number)


def _plugins(before: tuple[tuple[str, int], ...], after: tuple[tuple[str, int], ...]) -> str:
    """Return the changes of weights and of the order. plugins.md says which releases have which default plugins."""
    old, new = dict(before), dict(after)
    weighed = [(name, new[name], old.get(name, new[name])) for name in new]
    parts = [f"{name} scores with weight {b}{f', not {a}' if a else ''}" for name, b, a in weighed if a != b]
    common = [[name for name in each if name in old and name in new] for each in (old, new)]
    if common[0] != common[1]:
        moved = next(b for a, b in zip(*common, strict=True) if a != b)
        parts.append(f"{moved} runs earlier")
    return "; ".join(parts)
