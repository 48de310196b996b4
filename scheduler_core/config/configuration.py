"""KubeSchedulerConfiguration: from a file to the profiles that run.

Upstream: pkg/scheduler/apis/config (types, conversion, defaults) and its `validation`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

import msgspec
from msgspec import structs

from scheduler_core.config.args import ARGS, Complain, PluginArgs, check_range, convert_problem
from scheduler_core.config.document import read_documents, without_nulls
from scheduler_core.config.legacy_scores import translate_legacy_scores
from scheduler_core.config.names import shown
from scheduler_core.config.profile import KnownPlugins, PluginSet, Profile, default_plugins, expand, merge
from scheduler_core.config.schema import (
    DEFAULT_SCHEDULER,
    GONE,
    GROUP,
    KIND,
    ONLY_IN,
    READ_BY,
    TOO_OLD,
    Extender,
    File,
    ProfileSection,
)
from scheduler_core.config.validation import (
    check_extenders,
    check_file,
    check_together,
    extender_label,
    ignored_resources,
)
from scheduler_core.errors import InputError
from scheduler_core.releases import Release

MAX_WARNINGS = 100


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """A scheduler's configuration with all defaults applied.

    `percentage_of_nodes_to_score`: 0 or None is upstream's adaptive rule; a profile's own value goes before it.
    `warnings`: what the reader should know, such as what was left out.
    """

    profiles: list[Profile]
    percentage_of_nodes_to_score: int | None
    pod_initial_backoff_seconds: int
    pod_max_backoff_seconds: int
    extenders: list[Extender]
    warnings: list[str]


def load_configuration(
    source: str | bytes | Mapping[str, Any] | None,
    release: Release,
    *,
    known: KnownPlugins,
    unknown: Literal["error", "warn"] = "error",
) -> Configuration:
    """Reads a scheduler configuration; None gives the release's default.

    `source`: JSON or YAML text, or the object itself. A ConfigMap that holds one configuration is accepted, and so is
    a bare object without apiVersion and kind (it is read as v1). `known`: plugin name -> extension points it
    implements; default plugins that are not in it are left out. `unknown`: what to do with plugins that are enabled
    but not known; "warn" leaves them out.

    Raises InputError that names profile, plugin and field.
    """
    if source is None:
        return _load({"apiVersion": f"{GROUP}/v1", "kind": KIND}, release, known, unknown, [])
    raw, place = _find(source)
    if not place:
        return _load(raw, release, known, unknown, [])
    try:
        return _load(raw, release, known, unknown, [f"the configuration was read from {place}"])
    except InputError as error:
        raise InputError(f"{place}: {error.where}", error.field, error.problem) from error


def _load(
    raw: dict[str, Any],
    release: Release,
    known: KnownPlugins,
    unknown: Literal["error", "warn"],
    warnings: list[str],
) -> Configuration:
    version = _version(raw, release, warnings)
    _check_version_fields(raw, version)
    try:
        config = msgspec.convert(raw, File)
    except msgspec.ValidationError as error:
        problem, path = convert_problem(error)
        raise InputError(*_locate(raw, path), problem) from error
    check_file(_complain(KIND), config, version, as_upstream=version in release.api_versions)
    check_extenders(config.extenders)
    reader = _ProfileReader(release, version, known, unknown, warnings, ignored_resources(config.extenders))
    given = config.profiles or (ProfileSection(),)
    if len(given) == 1 and given[0].scheduler_name is None:
        given = (structs.replace(given[0], scheduler_name=DEFAULT_SCHEDULER),)
    profiles = [reader.read(i, profile) for i, profile in enumerate(given)]
    check_together(given, profiles)
    for i, extender in enumerate(config.extenders):
        warnings.append(
            f"{extender_label(i, extender)}: extenders are programs outside the scheduler and are not called; "
            "what this one would filter, score or bind is left out"
        )
    return Configuration(
        profiles=profiles,
        percentage_of_nodes_to_score=config.percentage_of_nodes_to_score,
        pod_initial_backoff_seconds=config.pod_initial_backoff_seconds,
        pod_max_backoff_seconds=config.pod_max_backoff_seconds,
        extenders=[structs.replace(extender, tls_config=None) for extender in config.extenders],
        warnings=_shortened(warnings),
    )


def _shortened(warnings: list[str]) -> list[str]:
    rest = len(warnings) - MAX_WARNINGS
    return [*warnings[:MAX_WARNINGS], f"and {rest} more"] if rest > 0 else warnings


# --- finding the configuration in what was given ---


def _find(source: str | bytes | Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """The configuration's object, and the place inside `source` where it was, if that needs telling."""
    if isinstance(source, Mapping):
        documents = [without_nulls(dict(source), KIND)]
        if "apiVersion" not in source and "kind" not in source:
            documents[0] |= {"apiVersion": f"{GROUP}/v1", "kind": KIND}
    else:
        documents = read_documents(source, KIND)
    found: list[tuple[dict[str, Any], str]] = []
    for document in documents:
        if isinstance(document, dict) and document.get("kind") == "ConfigMap":
            found.extend(_in_config_map(document))
        elif isinstance(document, dict) and document.get("kind") in (KIND, "Policy"):
            found.append((document, ""))
    if not found:
        raise InputError(KIND, "", _what_instead(documents))
    if len(found) > 1:
        places = ", ".join(note or "a document of its own" for _, note in found)
        raise InputError(KIND, "", f"there are {len(found)} of them where one is expected: {places}")
    return found[0]


def _in_config_map(config_map: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    metadata, data = config_map.get("metadata"), config_map.get("data")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    found = []
    for key, text in data.items() if isinstance(data, dict) else ():
        note = f"ConfigMap {shown(str(name or ''))} key {shown(str(key))}"
        if isinstance(text, str) and (KIND in text or "Policy" in text):
            for document in read_documents(text, note):
                if isinstance(document, dict) and document.get("kind") in (KIND, "Policy"):
                    found.append((document, note))
    return found


def _what_instead(documents: list[Any]) -> str:
    if not documents:
        return "the text is empty"
    first = documents[0]
    if not isinstance(first, dict):
        return f"must be an object of kind {KIND}, got a {'list' if isinstance(first, list) else 'plain value'}"
    if "kind" not in first:
        return f"must be an object of kind {KIND}, got one without a kind"
    what = f"a {shown(str(first['kind']))}"
    return f"must be an object of kind {KIND}, got {what}" + (
        " without such an object in its data" if first["kind"] == "ConfigMap" else ""
    )


def _version(raw: dict[str, Any], release: Release, warnings: list[str]) -> str:
    if raw["kind"] == "Policy":
        problem = "a scheduler Policy is read by kube-scheduler 1.22 and older only; write a " + KIND
        raise InputError("Policy", "kind", problem)
    api_version = raw.get("apiVersion")
    if not isinstance(api_version, str) or not api_version:
        raise InputError(KIND, "apiVersion", f"must be given, for example {GROUP}/v1")
    if api_version in TOO_OLD:
        problem = f"{api_version} is read by kube-scheduler {TOO_OLD[api_version]} only; there are {', '.join(READ_BY)}"
        raise InputError(KIND, "apiVersion", problem)
    group, _, version = api_version.rpartition("/")
    if group != GROUP or version not in READ_BY:
        problem = f"must be {GROUP}/ and one of {', '.join(READ_BY)}, got {shown(api_version)}"
        raise InputError(KIND, "apiVersion", problem)
    if version not in release.api_versions:
        warnings.append(
            f"{version} is read by kube-scheduler {READ_BY[version]}, not by {release.name}: "
            f"its rules are applied to the plugins of {release.name}"
        )
    return version


def _check_version_fields(raw: dict[str, Any], version: str) -> None:
    """Fields that another API version has but this one does not are unknown fields."""
    profiles = raw.get("profiles")
    places: list[tuple[str, str, Any]] = [("", "", raw)]
    for i, profile in enumerate(profiles if isinstance(profiles, list) else ()):
        if isinstance(profile, dict):
            places.append(("profiles.", f"profiles[{i}].", profile))
            places.append(("profiles.plugins.", f"profiles[{i}].plugins.", profile.get("plugins")))
    for prefix, path, mapping in places:
        for name in mapping if isinstance(mapping, dict) else ():
            versions = ONLY_IN.get(f"{prefix}{name}")
            if versions and version not in versions:
                raise InputError(*_locate(raw, f"{path}{name}"), f"unknown field in {version}")


def _locate(raw: dict[str, Any], path: str) -> tuple[str, str]:
    """(where, field) of a path such as `profiles[0].pluginConfig[2].args`, with the names of profile and plugin."""
    match = re.fullmatch(r"profiles\[(\d+)\]\.?(.*)", path)
    if not match:
        return KIND, path
    profile = raw["profiles"][int(match[1])]
    name = profile.get("schedulerName") if isinstance(profile, dict) else None
    where, rest = _profile_label(int(match[1]), name), match[2]
    inner = re.fullmatch(r"pluginConfig\[(\d+)\]\.?(.*)", rest)
    if not inner:
        return where, rest
    entry = profile["pluginConfig"][int(inner[1])]
    plugin = entry.get("name") if isinstance(entry, dict) else None
    return _config_label(where, int(inner[1]), plugin), inner[2]


def _profile_label(index: int, name: Any) -> str:
    return f"profiles[{index}]" + (f' "{shown(name)[1:-1]}"' if isinstance(name, str) else "")


def _config_label(where: str, index: int, plugin: Any) -> str:
    return f"{where}: pluginConfig[{index}]" + (f" {shown(plugin)[1:-1]}" if isinstance(plugin, str) else "")


# --- one profile ---


@dataclass(frozen=True)
class _ProfileReader:
    release: Release
    version: str
    known: KnownPlugins
    unknown: Literal["error", "warn"]
    warnings: list[str]
    ignored_resources: tuple[str, ...]

    def read(self, index: int, given: ProfileSection) -> Profile:
        where = _profile_label(index, given.scheduler_name)
        if not given.scheduler_name:
            raise InputError(where, "schedulerName", "must be given and not empty")
        if given.percentage_of_nodes_to_score is not None:
            check_range(_complain(where), "percentageOfNodesToScore", given.percentage_of_nodes_to_score, 0, 100)
        custom = given.plugins.by_point()
        if custom.pop("unreserve").enabled:
            self.warnings.append(f"{where}: plugins.unreserve is left out: plugins of reserve are told to unreserve")
        labels = {entry.name: _config_label(where, i, entry.name) for i, entry in enumerate(given.plugin_config)}
        raw_args = self._raw_args(where, given)
        if self.version == "v1beta1":
            custom["score"], raw_args, notes = translate_legacy_scores(where, custom["score"], raw_args)
            self.warnings.extend(notes)
        left_out: dict[str, list[str]] = {}
        custom = {point: self._only_known(where, point, plugins, left_out) for point, plugins in custom.items()}
        defaults = default_plugins(self.release, self.version, self.known)
        plugins = expand(where, merge(defaults, custom, in_place=self.version != "v1beta1"), self.known)
        enabled = {name for entries in plugins.values() for name, _ in entries}
        args = {
            name: self._args(labels.get(name, f"{where}: {name}"), name, raw_args.get(name, {}))
            for name in sorted(enabled | raw_args.keys())
            if self._usable(name) and (name in raw_args or name in ARGS)
        }
        for name in raw_args:
            if not self._usable(name):
                left_out.setdefault(name, []).append("pluginConfig")
        for name, places in left_out.items():
            self.warnings.append(f"{where}: {self._missing(name)}: left out of {', '.join(places)}")
        return Profile(
            scheduler_name=given.scheduler_name,
            percentage_of_nodes_to_score=given.percentage_of_nodes_to_score,
            plugins=plugins,
            args=args,
        )

    def _raw_args(self, where: str, given: ProfileSection) -> dict[str, Any]:
        raw: dict[str, Any] = {}
        for i, entry in enumerate(given.plugin_config):
            label = _config_label(where, i, entry.name)
            if entry.name in raw:
                raise InputError(label, "name", "this plugin is configured twice")
            if entry.name in self.release.removed_plugins and self.unknown == "error":
                raise InputError(label, "name", self._missing(entry.name))
            for name in ARGS[entry.name].not_in.get(self.version, ()) if entry.name in ARGS else ():
                if name in entry.args:
                    raise InputError(label, f"args.{name}", f"unknown field in {self.version}")
            raw[entry.name] = entry.args
        return raw

    def _only_known(self, where: str, point: str, plugins: PluginSet, left_out: dict[str, list[str]]) -> PluginSet:
        enabled = []
        for i, plugin in enumerate(plugins.enabled):
            if self._usable(plugin.name):
                enabled.append(plugin)
            elif self.unknown == "error":
                raise InputError(where, f"plugins.{point}.enabled[{i}]", self._missing(plugin.name))
            else:
                left_out.setdefault(plugin.name, []).append(point)
        if point in ("queueSort", "bind") and plugins.enabled and not enabled:
            # a scheduler cannot do without one
            self.warnings.append(f"{where}: plugins.{point}: the default plugin takes the place of what is left out")
            return PluginSet()
        return structs.replace(plugins, enabled=tuple(enabled))

    def _usable(self, name: str) -> bool:
        return name in self.known and name not in self.release.removed_plugins

    def _missing(self, name: str) -> str:
        hint = f" ({GONE[name]})" if name in GONE else ""
        return f"plugin {shown(name)} is not part of kube-scheduler {self.release.name}{hint}"

    def _args(self, where: str, name: str, raw: dict[str, Any]) -> PluginArgs | dict[str, Any]:
        in_tree = {plugin for plugin, _ in self.release.default_plugins}
        if name not in ARGS or name not in in_tree:
            return raw
        complain = _complain(where, "args.")
        given = dict(raw)
        kind, api_version = given.pop("kind", f"{name}Args"), given.pop("apiVersion", f"{GROUP}/{self.version}")
        if kind != f"{name}Args":
            complain("kind", f"must be {name}Args, got {shown(str(kind))}")
        if api_version not in {f"{GROUP}/{version}" for version in READ_BY}:
            complain("apiVersion", f"must be {GROUP}/{self.version}, got {shown(str(api_version))}")
        if name == "NodeResourcesFit" and self.ignored_resources:
            given["ignoredResources"] = list(self.ignored_resources)
        try:
            args = msgspec.convert(given, ARGS[name])
        except msgspec.ValidationError as error:
            problem, path = convert_problem(error)
            raise InputError(where, f"args.{path}".rstrip("."), problem) from error
        return args.finish(complain)


def _complain(where: str, prefix: str = "") -> Complain:
    def complain(field: str, problem: str) -> NoReturn:
        raise InputError(where, f"{prefix}{field}", problem)

    return complain
