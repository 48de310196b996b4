"""The schema of configurations, for completion and validation in the editor.

It is derived from the classes that load configurations, so there is no second list of fields.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import NODEFAULT, inspect

from scheduler_core.api.plugin_args import PluginArgs, Strict
from scheduler_core.api.profile import POINTS, KnownPlugins
from scheduler_core.api.scheduler_config import KIND, ONLY_IN, READ_BY, File, PluginsSection, ProfileSection
from scheduler_core.config.configuration import is_inside, is_usable
from scheduler_core.releases import RELEASES, Release

VERSIONS = (*READ_BY, "v1alpha2")
"""API versions that have profiles, newest first."""

_NAMES: Mapping[type, str] = {File: KIND, ProfileSection: "KubeSchedulerProfile"}
_PLACES: Mapping[type, str] = {File: "", ProfileSection: "profiles.", PluginsSection: "profiles.plugins."}
_PLAIN = {inspect.StrType: "text", inspect.IntType: "integer", inspect.FloatType: "number", inspect.BoolType: "boolean"}

Fields = dict[str, tuple[str, str]]
"""Field -> (type, default as text).

A type is text, integer, number, boolean, any, the name of a type, [of a list] or {of a map}.
"""


@dataclass(frozen=True, slots=True)
class Described:
    """The schema of an API version.

    `types`: name -> fields. `root`: the name of the top type. `args`: plugin -> the type of its arguments. A type that
    differs from v1 has the version in its name: `Plugins of v1beta2`.
    """

    root: str
    types: Mapping[str, Fields]
    args: Mapping[str, str]


def described(version: str, known: KnownPlugins) -> Described:
    """Return the schema of one of `VERSIONS` with the arguments of the known plugins."""
    types: dict[str, Fields] = {}
    root = _named(File, version, types)
    args = {name: _named(info.args_class, version, types) for name, info in sorted(known.items()) if info.args_class}
    return Described(root, types, args)


def offered(release: Release, version: str, known: KnownPlugins) -> dict[str, list[str]]:
    """Return the plugins that a configuration of that API version may enable in a release -> their extension points.

    Plugins that only later releases enable by default are omitted, although some of them may be enabled here.
    """
    later = _came_later(release)
    return {
        name: [point for point in POINTS if point in info.points - release.absent_points.get(name, frozenset())]
        for name, info in sorted(known.items())
        if is_usable(name, release, version, known) and not is_inside(name, release) and name not in later
    }


def _came_later(release: Release) -> set[str]:
    names = list(RELEASES)
    at = names.index(release.minor) if release.minor in names else len(names)
    there = {name for one in names[: at + 1] for name, _ in RELEASES[one].default_plugins}
    return {name for one in names[at + 1 :] for name, _ in RELEASES[one].default_plugins} - there


def _named(cls: type, version: str, types: dict[str, Fields]) -> str:
    """Add a class and the classes of its fields to `types`. Return its name there."""
    now = _fields(cls, version, types)
    name = _NAMES.get(cls) or cls.__name__.removesuffix("Section").replace("_", "Added")
    if now != _fields(cls, VERSIONS[0], {}):
        name += f" of {version}"
    types[name] = now
    return name


def _fields(cls: type, version: str, types: dict[str, Fields]) -> Fields:
    found: Fields = {}
    if issubclass(cls, PluginArgs):
        found |= {"apiVersion": ("text", ""), "kind": ("text", "")}
    info = inspect.type_info(cls)
    assert isinstance(info, inspect.StructType)
    for field in info.fields:
        name = field.encode_name
        if _is_in(cls, name, version):
            own = getattr(cls, "nested_types", {}).get(name)
            found[name] = (
                _named(own, version, types) if own else _type_name(field.type, version, types),
                _default(field),
            )
    return found


def _is_in(cls: type, field: str, version: str) -> bool:
    if issubclass(cls, PluginArgs):
        return field not in cls.not_in.get(version, ())
    place = _PLACES.get(cls)
    return place is None or version in ONLY_IN.get(f"{place}{field}", (version,))


def _type_name(annotation: inspect.Type, version: str, types: dict[str, Fields]) -> str:
    match annotation:
        case inspect.UnionType():
            return _type_name(next(t for t in annotation.types if not isinstance(t, inspect.NoneType)), version, types)
        case inspect.VarTupleType() | inspect.ListType():
            return f"[{_type_name(annotation.item_type, version, types)}]"
        case inspect.DictType():
            return "{any}"
        case inspect.StructType():
            return _named(annotation.cls, version, types)
    return _PLAIN.get(type(annotation), "any")


def _default(field: Any) -> str:
    """Return the default of a field as text, "" if it has none or an empty one."""
    default = field.default
    if default is NODEFAULT or not default or isinstance(default, tuple | dict | Strict):
        return ""
    return f"{str(default).lower() if isinstance(default, bool) else default} if omitted"
