"""Finds the behaviours that differ between two releases, and applies some of them to one release."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

from scheduler_core.releases import RELEASES
from scheduler_core.releases.feature_gates import numbered
from scheduler_core.releases.release import BEHAVIORS, PluginWeights, Release

# The configuration versions that a release supports, and their meaning. They change together.
VERSIONS = ("api_versions", "default_points", "removed_plugins", "absent_points")
DEFAULTS = ("default_plugins", *VERSIONS)
PLUGIN = "default_plugins:"  # the prefix of a plugin that only one of them has, or that has another weight


class BehaviorDifference(NamedTuple):
    """A behaviour in which two releases differ. `since`: the release that changed it, "" if there are several."""

    name: str
    text: str
    since: str


def differences(a: Release, b: Release) -> list[BehaviorDifference]:
    """Return the behaviours that differ, in the order of the fields.

    Between a release with predicates and one with plugins there is only one difference.
    """
    if a.predicates != b.predicates:
        return [BehaviorDifference("predicates", BEHAVIORS["predicates"].describe(), _since("predicates", a, b))]
    found: list[tuple[str, str]] = []
    if a.default_plugins != b.default_plugins:
        found += _plugins(a.default_plugins, b.default_plugins)
    if _rest_differs(a, b):
        found.append(("default_plugins", "the order of plugins, and what versions of a configuration mean"))
    found += [(name, made.describe()) for name, made in BEHAVIORS.items() if getattr(a, name) != getattr(b, name)]
    return [BehaviorDifference(name, text, _since(name, a, b)) for name, text in found]


def _since(name: str, a: Release, b: Release) -> str:
    """Return the first release between the two that behaves as the newer one.

    If a feature gate makes the difference, return the release of the field's metadata.
    """
    older, newer = sorted((a, b), key=lambda release: numbered(release.number))
    names = [n for n in RELEASES if numbered(older.number) <= numbered(n) <= numbered(newer.number)]
    values = [_value(RELEASES[release], name) for release in names]
    if (values[0], values[-1]) != (_value(older, name), _value(newer, name)):
        return BEHAVIORS[name].since if name in BEHAVIORS else ""
    changed = [i for i in range(1, len(names)) if values[i] != values[i - 1]]
    return "" if not changed or (name in DEFAULTS and len(changed) > 1) else names[changed[-1]]


def _value(release: Release, name: str) -> object:
    if name in DEFAULTS:
        return tuple(getattr(release, field) for field in VERSIONS)
    if name.startswith(PLUGIN):
        return dict(release.default_plugins).get(name.removeprefix(PLUGIN))
    return getattr(release, name)


def _plugins(a: PluginWeights, b: PluginWeights) -> list[tuple[str, str]]:
    """Return each default plugin that only one of them has, or that has another weight, with its text."""
    one, other = dict(a), dict(b)
    found = []
    for name in merged(one, other):
        if name not in one:
            text = f"{name} is a default plugin"
        elif name not in other:
            text = f"{name} is no longer a default plugin"
        elif one[name] != other[name]:
            text = f"the default weight of {name} is {other[name] or 1} instead of {one[name] or 1}"
        else:
            continue
        found.append((f"{PLUGIN}{name}", text))
    return found


def _rest_differs(a: Release, b: Release) -> bool:
    """Return whether the order of common default plugins, or the meaning of configuration versions, differs."""
    one, other = ([name for name, _ in release.default_plugins] for release in (a, b))
    both = [name for name in one if name in other], [name for name in other if name in one]
    return both[0] != both[1] or any(getattr(a, field) != getattr(b, field) for field in VERSIONS)


def merged(a: Iterable[str], b: Iterable[str]) -> list[str]:
    """Return both merged: in the order of a, and each name that only b has after its predecessor in b."""
    found, others = list(a), list(b)
    for i, name in enumerate(others):
        if name not in found:
            after = next((other for other in reversed(others[:i]) if other in found), None)
            found.insert(found.index(after) + 1 if after is not None else 0, name)
    return found


def apply_differences(a: Release, b: Release, names: frozenset[str]) -> Release:
    """Return release `a` with these behaviours of `b`."""
    if "predicates" in names:
        return b
    values: dict[str, Any] = {}
    for name in names:
        if not name.startswith(PLUGIN):
            for field in VERSIONS if name == "default_plugins" else (name,):
                values[field] = getattr(b, field)
    taken = [name.removeprefix(PLUGIN) for name in names if name.startswith(PLUGIN)]
    return replace(a, default_plugins=_with_plugins(a, b, taken, "default_plugins" in names), **values)


def _with_plugins(a: Release, b: Release, taken: Collection[str], in_bs_order: bool) -> PluginWeights:
    """Return a's default plugins, with those of `taken` as in b."""
    one, other = dict(a.default_plugins), dict(b.default_plugins)
    kept = {name: weight for name, weight in one.items() if name not in taken}
    kept |= {name: other[name] for name in taken if name in other}
    order = merged(other, one) if in_bs_order else merged(one, other)
    return tuple((name, kept[name]) for name in order if name in kept)
