"""What differs between two releases, one behaviour at a time."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Sequence
from dataclasses import fields, replace
from functools import cache
from typing import Any, NamedTuple

from scheduler_core.releases.release import PluginWeights, Release

# In which versions a configuration may be, and what they mean where it says nothing: these belong together.
VERSIONS = ("api_versions", "default_points", "removed_plugins", "absent_points")
DEFAULTS = ("default_plugins", *VERSIONS)
PLUGIN = "default_plugins:"  # and the name of one that is there in one alone, or weighs otherwise
_LINE = re.compile(r"^ {4}(\w+): (?:bool|str) = [^#\n]*# (.+)$", re.M)
_ONLY_VERSION = re.compile(r" \(1\.\d+\)$")  # which `since` tells
_VERSION = re.compile(r"\b1\.\d+\b")


class Switch(NamedTuple):
    """A behaviour that two releases differ in. `since`: the release that changed it, "" where it is not known."""

    name: str
    since: str
    text: str


@cache
def told() -> dict[str, str]:
    """Field -> what the release's page says of it."""
    return dict(_LINE.findall(inspect.getsource(Release)))


def between(a: Release, b: Release) -> list[Switch]:
    """The behaviours that differ, in the order of the page. Where one has predicates and the other plugins, that is all
    there is to say."""
    if a.predicates != b.predicates:
        return [Switch("predicates", "1.17", _ONLY_VERSION.sub("", told()["predicates"]))]
    found: list[Switch] = []
    for field in fields(Release):
        if field.name in ("name", "feature_gates") or getattr(a, field.name) == getattr(b, field.name):
            continue
        if field.name in DEFAULTS:
            if field.name == "default_plugins":
                found += _plugins(a.default_plugins, b.default_plugins)
            if not any(switch.name == "default_plugins" for switch in found) and _rest_differs(a, b):
                found.append(
                    Switch("default_plugins", "", "the order of plugins, and what versions of a configuration mean")
                )
            continue
        text = told().get(field.name, field.name.replace("_", " "))
        found.append(Switch(field.name, _since(text), _ONLY_VERSION.sub("", text)))
    return found


def _since(text: str) -> str:
    """The release that a comment names: the one that brought the change, or the one after the last without it."""
    versions = _VERSION.findall(text)
    if not versions:
        return ""
    major, _, minor = versions[0].partition(".")
    if f"{versions[0]} to 1." in text:
        return f"{major}.{int(versions[1].partition('.')[2]) + 1}"
    last = re.search(rf"until {re.escape(versions[0])}|{re.escape(versions[0])} alone", text)
    return f"{major}.{int(minor) + 1}" if last else versions[0]


def _plugins(a: PluginWeights, b: PluginWeights) -> list[Switch]:
    """A switch for each default plugin that is there in one alone, or weighs otherwise."""
    one, other = dict(a), dict(b)
    found = []
    for name in _merged(list(one), list(other)):
        if name not in one:
            text = f"{name} is a default plugin"
        elif name not in other:
            text = f"{name} is no default plugin any more"
        elif one[name] != other[name]:
            text = f"{name} weighs {other[name] or 1} by default, not {one[name] or 1}"
        else:
            continue
        found.append(Switch(f"{PLUGIN}{name}", "", text))
    return found


def _rest_differs(a: Release, b: Release) -> bool:
    """Whether anything else differs in the defaults: the order of the plugins that both have, or what versions of a
    configuration mean."""
    one, other = ([name for name, _ in release.default_plugins] for release in (a, b))
    both = [name for name in one if name in other], [name for name in other if name in one]
    return both[0] != both[1] or any(getattr(a, field) != getattr(b, field) for field in VERSIONS)


def _merged(a: Sequence[str], b: Sequence[str]) -> list[str]:
    """Both lists in one: a's order, what only b has after what it stands after there."""
    found = list(a)
    for i, name in enumerate(b):
        if name not in found:
            after = next((other for other in reversed(b[:i]) if other in found), None)
            found.insert(found.index(after) + 1 if after is not None else 0, name)
    return found


def switched(a: Release, b: Release, names: frozenset[str]) -> Release:
    """Release `a` with these behaviours of `b`."""
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
    """a's default plugins, those `taken` as they are in b, or are not."""
    one, other = dict(a.default_plugins), dict(b.default_plugins)
    kept = {name: weight for name, weight in one.items() if name not in taken}
    kept |= {name: other[name] for name in taken if name in other}
    order = _merged(list(other), list(one)) if in_bs_order else _merged(list(one), list(other))
    return tuple((name, kept[name]) for name in order if name in kept)
