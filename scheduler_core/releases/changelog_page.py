"""The page of changes by release: `python -m scheduler_core releases` prints docs/releases.md."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from scheduler_core.releases import FRAMEWORK, RELEASES
from scheduler_core.releases.behaviors.behavior import UPSTREAM, Behavior
from scheduler_core.releases.conformance import CASES, RECORDED_WITH, UNNOTICED, Cases, state
from scheduler_core.releases.release import BEHAVIORS
from scheduler_core.releases.versions import minor_of, numbered, splits

ORDER = sorted(RELEASES, key=numbered)


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
    return "\n".join(
        [
            *(*_HEAD, *_table(), *_PATCHES, *_patches(), *_WITHOUT_EFFECT, *_without_effect()),
            *(*_UNNOTICED, *_unnoticed(), *_BETWEEN, *_changed(), ""),
        ]
    )


_HEAD = [
    "# Releases",
    "",
    "`python -m scheduler_core releases` generates this page from `scheduler_core/releases/`; a test compares them.",
    "",
    "Each minor release is represented by the patch release in the table, with its default feature gates.",
    "Conformance cases compare every field of every cycle, and in virtual time every attempt and every queue move.",
    "*verified*: all cases agree with that patch release.",
    "*by sources*: there are no cases, or some differ; the release is derived from upstream's sources and change logs.",
    "*differ* counts the cycles that differ in at least one field.",
    "`tests/golden/differences.json` lists all cases that differ, and a test fails if that list changes.",
    "The cases of 1.19 come from 1.19.13 with the balanced allocation of 1.19.16.",
    *(f"The cases of {release} come from {made}." for release, made in RECORDED_WITH.items()),
    "",
    "| release | as | single cycles | cases | cycles | differ | virtual time | scenarios | attempts |",
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
]

_PATCHES = [
    "",
    "## Changes between patch releases",
    "",
    "A minor release is simulated as the patch release in the table above, and each other patch release as itself.",
    "The release of a cluster is the patch release that it runs.",
    "If another one is chosen, the forms that start runs and upgrade previews, the runs and the previews mention the",
    "changes in between.",
    "",
    "A minor release after the last version named has the change in all its patch releases.",
    "*by cases*: recorded cases show the behaviour with and without the change.",
    "*by sources*: it is derived from upstream's sources and change logs.",
    "",
    "| what kube-scheduler does | since | until | otherwise | pull requests | shown | field |",
    "| --- | --- | --- | --- | --- | --- | --- |",
]

_WITHOUT_EFFECT = [
    "",
    "### Changes of patch releases without an effect here",
    "",
    "| change | since | pull requests | why |",
    "| --- | --- | --- | --- |",
]

WITHOUT_EFFECT = (
    (
        *("a pod whose victims are gone already is not activated at once", "1.34.2, 1.35"),
        *((133167, 134245, 134247), "the scheduler knows of a deletion at once"),
    ),
    (
        *("SchedulerAsyncAPICalls is off by default", "1.34.2, 1.35.1", (134400, 134401, 135904)),
        "writes take no time",
    ),
    (
        *("a pod that replaces one of the same name during its attempt is not put back twice", "1.34.8, 1.35.5"),
        *((138435, 138434), "attempts take no time"),
    ),
    (
        *("a device is not allocated twice by attempts at the same time", "1.32.12, 1.33.8, 1.34.4, 1.35.1"),
        *((136564, 136565, 136566, 136567), "there is one attempt at a time"),
    ),
    (
        *(
            "events reach pods that a plugin other than SchedulingGates gates",
            "1.28.12, 1.29.7, 1.30.3, 1.31",
        ),
        (124618, 124848, 124849, 124851, 124866, 125527, 125643),
        "only 1.27.15, 1.28.11, 1.29.6 and 1.30.2 lack them, where no other plugin has PreEnqueue by default",
    ),
    (
        *("PreEnqueue also runs when a backoff ends", "1.27.1", (117194,)),
        "SchedulingGates, the only plugin of 1.27 with PreEnqueue, gates no pod that has been tried",
    ),
    (
        *("events during an attempt are not lost if other attempts end", "1.28.2", (120413, 120445)),
        "no plugin of 1.28 lets an attempt wait",
    ),
    (
        *("expressions of device classes have no limit of estimated cost", "1.32.3, 1.33", (129690,)),
        "device claims are simulated from 1.34 on",
    ),
    (
        *("256 pods can use a claim instead of 32", "1.32.1", (129544,)),
        "device claims are simulated from 1.34 on",
    ),
    (
        *("a claim can have 32 devices again instead of 16", "1.33.1", (131679,)),
        "device claims are simulated from 1.34 on",
    ),
)
"""Changes of patch releases that decide nothing here: (change, first releases with it, pull requests, why)."""

_UNNOTICED = [
    "",
    "## Behaviours that no case shows",
    "",
    "At least one recorded case decides differently with and without each other behaviour.",
    "`python scripts/try_switches.py` prints which.",
    "",
]

_BETWEEN = [
    "",
    "## Changes by release",
    "",
    "The name at the end is the field in `scheduler_core/releases/behaviors/`.",
    "[plugins.md](plugins.md) says which releases have which default plugins.",
    "[configuration.md](configuration.md#api-versions) lists the versions of configurations.",
]


def _table() -> Iterator[str]:
    for name in reversed(ORDER):
        of = CASES.get(name, Cases())
        numbers = [f"{number:,}" if number else "" for number in (of.cases, of.cycles, of.differ, *of.in_time)]
        row = [name, RELEASES[name].patch_version, state(name), *numbers[:3], state(name, in_time=True), *numbers[3:]]
        yield f"| {' | '.join(row)} |"


def patch_changes() -> list[str]:
    """Return the behaviours that patch releases change, newest first."""
    found = [name for name, made in BEHAVIORS.items() if any(splits(r, made.since, made.until) for r in RELEASES)]
    return sorted(found, key=lambda name: numbered(_last(BEHAVIORS[name])), reverse=True)


def _last(made: Behavior) -> str:
    """Return the newest minor release that a behaviour names."""
    return minor_of((made.until or made.since).split(", ")[-1])


def _patches() -> Iterator[str]:
    for name in patch_changes():
        made = BEHAVIORS[name]
        links = ", ".join(f"[{text}]({address})" for text, address in _links(made, made.picks))
        row = made.text, made.since, made.until, made.without, links, by_cases(name), f"`{name}`"
        yield f"| {' | '.join(row)} |"


def _without_effect() -> Iterator[str]:
    for change, since, pulls, why in WITHOUT_EFFECT:
        links = ", ".join(f"[#{pull}]({UPSTREAM}/kubernetes/pull/{pull})" for pull in pulls)
        yield f"| {change} | {since} | {links} | {why} |"


def by_cases(name: str) -> str:
    """Return "by cases" if recorded cases show every change of a behaviour between minor releases, else "by sources".

    The cases of each come from one patch release.
    """
    found = changes(name)
    return "by cases" if found and all(f"{one.release} {name}" not in UNNOTICED for one in found) else "by sources"


def _unnoticed() -> Iterator[str]:
    for one in reversed(list(UNNOTICED)):
        release, _, name = one.partition(" ")
        yield f"* {release}, `{name}`: {UNNOTICED[one]}."


def _changed() -> Iterator[str]:
    names = ["default_plugins", *BEHAVIORS]
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
    return words + "".join(f" ([{text}]({address}))" for text, address in _links(made))


def _links(made: Behavior, picks: tuple[int, ...] = ()) -> list[tuple[str, str]]:
    """Return text and address of the enhancement proposal and of the pull requests."""
    links = [("KEP-", made.kep, "enhancements/issues"), *(("#", n, "kubernetes/pull") for n in (made.pull, *picks))]
    return [(f"{head}{number}", f"{UPSTREAM}/{path}/{number}") for head, number, path in links if number]


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
