"""What differs between two releases, one behaviour at a time."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields, replace
from functools import cache
from typing import Any, NamedTuple

from scheduler_core.releases.release import Release

# What belongs together: which plugins there are by default, and in which versions of a configuration.
DEFAULTS = ("default_plugins", "default_points", "removed_plugins", "absent_points", "api_versions")
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
    """The behaviours that differ, in the order of the page."""
    found: list[Switch] = []
    for field in fields(Release):
        if field.name in ("name", "feature_gates") or getattr(a, field.name) == getattr(b, field.name):
            continue
        if field.name in DEFAULTS:
            if all(switch.name != "default_plugins" for switch in found):
                found.append(Switch("default_plugins", "", _plugins(a, b)))
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


def _plugins(a: Release, b: Release) -> str:
    """What differs between the default plugins, in words."""
    one, other = dict(a.default_plugins), dict(b.default_plugins)
    new, gone = ([name for name in of if name not in than] for of, than in ((other, one), (one, other)))
    weights = [f"{n} weighs {other[n]}" for n in one if n in other and one[n] != other[n]]
    parts = [", ".join(names) + end for names, end in ((new, " new"), (gone, " gone"), (weights, "")) if names]
    return f"which plugins there are by default{': ' if parts else ', in which order'}{'; '.join(parts)}"


def switched(a: Release, b: Release, names: frozenset[str]) -> Release:
    """Release `a` with these behaviours of `b`."""
    values: dict[str, Any] = {}
    for name in names:
        for field in DEFAULTS if name == "default_plugins" else (name,):
            values[field] = getattr(b, field)
    return replace(a, **values)
