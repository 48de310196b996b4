"""Finds the behaviours that differ between two releases, and applies some of them to one release."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from scheduler_core.releases import RELEASES, get_release
from scheduler_core.releases.behaviors.behavior import changelog_link
from scheduler_core.releases.catalog import patch_release
from scheduler_core.releases.release import BEHAVIORS, DefaultPoints, PluginWeights, Release
from scheduler_core.releases.versions import numbered

# The configuration versions that a release supports, and their meaning. They change together.
VERSIONS = ("api_versions", "default_points", "removed_plugins", "absent_points")
DEFAULTS = ("default_plugins", *VERSIONS)
PLUGIN = "default_plugins:"  # the prefix of a plugin that only one of them has, or that has another weight
PART_OF: Mapping[str, tuple[str, ...]] = {
    "DefaultPodTopologySpread": ("default_spread_constraints", f"{PLUGIN}SelectorSpread"),
    "NodeDeclaredFeatures": ("node_declared_features",),
    "NodeResourcesLeastAllocated": (f"{PLUGIN}NodeResourcesFit",),
    "SelectorSpread": ("default_spread_constraints",),
}
"""Default plugin -> the behaviours that it comes or goes with. It is part of the first one that differs."""


class BehaviorDifference(NamedTuple):
    """A behaviour in which two releases differ: what the second does (`text`), and what the first does (`before`).

    `since`: the release that changed it, "" if there are several. `expect`: the effect on a cluster. `link`: where
    upstream documents it.
    """

    name: str
    text: str
    since: str
    before: str
    expect: str
    link: str


def differences(a: Release, b: Release) -> list[BehaviorDifference]:
    """Return the behaviours that differ, in the order of the fields.

    Between a release with predicates and one with plugins there is only one difference.
    """
    if a.predicates != b.predicates:
        return [_of_field("predicates", a, b)]
    found = [] if a.default_plugins == b.default_plugins else list(_plugins(a, b))
    if _rest_differs(a, b):
        before, after = (f"the order of plugins and configuration versions are those of {r.number}" for r in (a, b))
        effect = "another plugin can be the first to reject a node; a configuration can mean something else"
        found.append(_difference("default_plugins", a, b, before, after, effect))
    return found + [_of_field(name, a, b) for name in BEHAVIORS if getattr(a, name) != getattr(b, name)]


def _of_field(name: str, a: Release, b: Release) -> BehaviorDifference:
    made, since = BEHAVIORS[name], _since(name, a, b)
    before, after = made.describe(getattr(a, name)).removesuffix(f" ({made.gate})"), made.describe(getattr(b, name))
    return BehaviorDifference(
        name, after, since, before, made.expected(getattr(b, name)), made.link(since or _newer(a, b))
    )


def _difference(name: str, a: Release, b: Release, before: str, after: str, expect: str) -> BehaviorDifference:
    since = _since(name, a, b)
    return BehaviorDifference(name, after, since, before, expect, changelog_link(since or _newer(a, b)))


def _newer(a: Release, b: Release) -> str:
    return max(a, b, key=lambda release: numbered(release.version)).number


def _since(name: str, a: Release, b: Release) -> str:
    """Return the first release between the two that behaves as the newer one.

    If a feature gate makes the difference, return the release of the field's metadata.
    """
    older, newer = sorted((a, b), key=lambda release: numbered(release.version))
    path = _path(get_release(older.number), get_release(newer.number))
    values = [_value(release, name) for release in path.values()]
    if (values[0], values[-1]) != (_value(older, name), _value(newer, name)):
        return BEHAVIORS[name].since.split(", ")[-1] if name in BEHAVIORS else ""
    changed = [number for number, (before, after) in zip([*path][1:], pairwise(values), strict=True) if before != after]
    return "" if not changed or (name in DEFAULTS and len(changed) > 1) else changed[-1]


def _path(older: Release, newer: Release) -> dict[str, Release]:
    """Return the releases from one to another: the minor releases, and the patch releases of the last minor release
    unless that ends the path itself."""
    minors = [one for one in RELEASES.values() if numbered(older.minor) < numbered(one.name) < numbered(newer.minor)]
    path = {release.number: release for release in (older, *minors)}
    if older.minor != newer.minor and newer.number == newer.minor:
        return path | {newer.number: newer}
    first = numbered(older.version)[2] + 1 if older.minor == newer.minor else 0
    for patch in range(first, numbered(newer.version)[2] + 1):
        path[f"{newer.minor}.{patch}" if patch else newer.minor] = patch_release(RELEASES[newer.minor], patch)
    return path


def _value(release: Release, name: str) -> object:
    if name in DEFAULTS:
        return tuple(getattr(release, field) for field in VERSIONS)
    if name.startswith(PLUGIN):
        return dict(release.default_plugins).get(name.removeprefix(PLUGIN))
    return getattr(release, name)


def _plugins(a: Release, b: Release) -> Iterator[BehaviorDifference]:
    """Yield each default plugin that only one of them has, or that has another weight."""
    one, other = dict(a.default_plugins), dict(b.default_plugins)
    for name in _changed_plugins(a, b):
        if _unit(name, a, b) != f"{PLUGIN}{name}":
            continue
        there, missing = f"{name} is a default plugin", f"{name} is not a default plugin"
        if name not in one:
            texts = missing, there, f"{name} also decides unless a configuration disables it"
        elif name not in other:
            texts = there, missing, f"{name} no longer decides"
        else:
            more = "more" if other[name] > one[name] else "less"
            texts = (
                _weight(name, one[name]),
                _weight(name, other[name]),
                f"the scores of {name} count {more}; pods can go to other nodes",
            )
        yield _difference(f"{PLUGIN}{name}", a, b, *texts)


def _changed_plugins(a: Release, b: Release) -> list[str]:
    """Return the default plugins that only one of them has, or that have another weight."""
    one, other = dict(a.default_plugins), dict(b.default_plugins)
    return [name for name in merged(one, other) if one.get(name) != other.get(name)]


def _unit(plugin: str, a: Release, b: Release) -> str:
    """Return the behaviour that a changed default plugin is part of."""
    one, other = dict(a.default_plugins), dict(b.default_plugins)
    for name in PART_OF.get(plugin, ()):
        whose = name.removeprefix(PLUGIN)
        if one.get(whose) != other.get(whose) if name.startswith(PLUGIN) else getattr(a, name) != getattr(b, name):
            return name
    return f"{PLUGIN}{plugin}"


def _weight(name: str, weight: int) -> str:
    return f"{name} scores with weight {weight} by default" if weight else f"{name} does not score by default"


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


def apply_differences(a: Release, b: Release, names: frozenset[str], configured: bool = True) -> Release:
    """Return release `a` with these behaviours of `b`.

    `configured`: whether a configuration chooses the version whose defaults are used; otherwise it is each release's
    newest one.
    """
    if "predicates" in names:
        return b
    changed = _changed_plugins(a, b)
    mixed = _Mixed(
        a, b, "default_plugins" in names, configured, changed, [p for p in changed if _unit(p, a, b) in names]
    )
    fields = [*(VERSIONS if mixed.in_bs_order else ()), *(name for name in names if name in BEHAVIORS)]
    values = {field: getattr(b, field) for field in fields}
    values |= {"default_plugins": mixed.plugins(a.default_plugins, b.default_plugins), "default_points": mixed.points()}
    return replace(a, **values)


class _Mixed(NamedTuple):
    """The default plugins of a release between `a` and `b`.

    `in_bs_order`: whether their order, and the meaning of configuration versions, is that of b. `changed`: the plugins
    with another weight, or that only one of the releases has. `taken`: the changed plugins that are as in b.
    """

    a: Release
    b: Release
    in_bs_order: bool
    configured: bool
    changed: Collection[str]
    taken: Collection[str]

    def plugins(self, a: PluginWeights, b: PluginWeights) -> PluginWeights:
        """Return the plugins of a list that is `a` in one release and `b` in the other."""
        kept = {name: weight for name, weight in a if not self._is_as_in_b(name)}
        kept |= {name: weight for name, weight in b if self._is_as_in_b(name)}
        one, other = dict(a), dict(b)
        order = merged(other, one) if self.in_bs_order else merged(one, other)
        return tuple((name, kept[name]) for name in order if name in kept)

    def _is_as_in_b(self, plugin: str) -> bool:
        return plugin in self.taken if plugin in self.changed else self.in_bs_order

    def points(self) -> DefaultPoints:
        """Return the defaults of each configuration version that lists them for each extension point."""
        base, other = (self.b, self.a) if self.in_bs_order else (self.a, self.b)
        found: dict[str, Mapping[str, PluginWeights]] = {}
        for version, points in base.default_points.items():
            default = version == base.api_versions[0] and not self.configured
            others = other.api_versions[0] if default or version not in other.api_versions else version
            theirs = other.default_points.get(others) or _listed(points, other)
            a, b = (theirs, points) if self.in_bs_order else (points, theirs)
            lists = {point: self.plugins(a.get(point, ()), b.get(point, ())) for point in merged(points, theirs)}
            found[version] = {point: plugins for point, plugins in lists.items() if plugins or point in points}
        return found


def _listed(points: Mapping[str, PluginWeights], release: Release) -> dict[str, PluginWeights]:
    """Return these points with the weights of a release that has no lists for them, without plugins that it lacks."""
    weights = dict(release.default_plugins)
    return {
        point: tuple((name, weights[name] if point == "score" else 0) for name, _ in plugins if name in weights)
        for point, plugins in points.items()
    }
