"""Differences between the settings and initial objects of two runs, field by field."""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

import msgspec
from msgspec import to_builtins

from scheduler_core.api.profile import Profile
from scheduler_core.compare.run_side import RunSide
from scheduler_core.config import Configuration
from scheduler_core.recording.objects import objects_at

MOST = 1000  # differing fields that are returned
LONGEST = 2000  # bytes of a value as JSON; longer values are described by their size or truncated
MISSING = object()


def settings(a: RunSide, b: RunSide) -> list[dict[str, Any]]:
    """Return [{path, a, b}] of the settings that differ; null for a missing one."""
    return [
        {"path": path, "a": _shown(a.settings.get(path)), "b": _shown(b.settings.get(path))}
        for path in {**a.settings, **b.settings}
        if a.settings.get(path) != b.settings.get(path) and not (_usual(a, path) and _usual(b, path))
    ]


def _usual(side: RunSide, path: str) -> bool:
    """Return whether a setting has its default value, which other settings determine."""
    return bool(side.usual.get(path) == side.settings.get(path))


def _shown(value: Any) -> Any:
    size = len(msgspec.json.encode(value))
    if size <= LONGEST:
        return value
    return f"{len(value):,} entries" if isinstance(value, list | dict) else f"{value[:LONGEST]}…"


def objects(a: RunSide, b: RunSide) -> tuple[list[dict[str, Any]], int]:
    """Return differences of the initial objects as [{kind, namespace, name, path, a, b}], and the number of further
    ones.

    If only one run has an object, `path` is "" and the other side is null.
    """
    one, other = _beginning(a), _beginning(b)
    found: list[dict[str, Any]] = []
    more = 0
    for kind, key in {**one, **other}:
        texts = one.get((kind, key)), other.get((kind, key))
        if texts[0] == texts[1]:
            continue
        namespace, _, name = key.rpartition("/")
        for path, value_a, value_b in _object(*texts):
            if len(found) < MOST:
                head = {"kind": kind, "namespace": namespace, "name": name, "path": path}
                found.append(head | {"a": _shown(value_a), "b": _shown(value_b)})
            else:
                more += 1
    return found, more


def _beginning(side: RunSide) -> dict[tuple[str, str], tuple[bytes, str]]:
    """Map (kind, key) to (JSON, node) of each initial object."""
    at = objects_at(side.recording, 0)
    return {(found.kind, found.key): (side.fetch(found.number)[1], found.node) for found in at}


def _object(a: tuple[bytes, str] | None, b: tuple[bytes, str] | None) -> Iterator[tuple[str, Any, Any]]:
    if a is None or b is None:
        yield ("", "is there", None) if b is None else ("", None, "is there")
        return
    if a[1] != b[1]:
        yield "spec.nodeName", a[1] or None, b[1] or None
    yield from fields_that_differ(msgspec.json.decode(a[0]), msgspec.json.decode(b[0]))


def fields_that_differ(a: Any, b: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield (path, a's value, b's value) of each leaf that differs; None for a missing value."""
    if a == b:
        return
    if isinstance(a, dict) and isinstance(b, dict):
        for key in {**a, **b}:
            inner = f"{path}.{key}" if path else str(key)
            yield from fields_that_differ(a.get(key, MISSING), b.get(key, MISSING), inner)
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for i, (one, other) in enumerate(zip(a, b, strict=True)):
            yield from fields_that_differ(one, other, f"{path}[{i}]")
    else:
        yield path, None if a is MISSING else a, None if b is MISSING else b


def configuration_settings(configuration: Configuration) -> dict[str, Any]:
    """Map each path to its value in an effective configuration: plugins by extension point, weights, arguments."""
    found: dict[str, Any] = {}
    for field in fields(configuration):
        if field.name not in ("profiles", "warnings", "extenders"):
            found[f"config.{_camel(field.name)}"] = to_builtins(getattr(configuration, field.name), enc_hook=str)
    for extender in configuration.extenders:
        found[f"config.extenders[{len(found)}]"] = to_builtins(extender, enc_hook=str)
    for profile in configuration.profiles:
        where = f"config.{profile.scheduler_name}" if len(configuration.profiles) > 1 else "config"
        found |= {f"{where}.{path}": value for path, value in _profile(profile)}
    return found


def _profile(profile: Profile) -> Iterator[tuple[str, Any]]:
    yield "percentageOfNodesToScore", profile.percentage_of_nodes_to_score
    for point, plugins in profile.plugins.items():
        yield f"plugins.{point}", [name for name, _ in plugins]
        if point == "score":
            yield from ((f"plugins.score.{name}.weight", weight) for name, weight in plugins)
    for plugin, args in profile.args.items():
        yield from leaves(to_builtins(args, enc_hook=str), f"args.{plugin}")


def leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield (path, value) of all leaves of nested mappings."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{_camel(key)}" if isinstance(key, str) else f"{path}.{key}")
    else:
        yield path, value


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(part.title() for part in others)
