"""Loads a KubeSchedulerConfiguration from a file into profiles.

Upstream: pkg/scheduler/apis/config (types, conversion, defaults) and its `validation`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import structs

from scheduler_core.api.plugin_args import PluginArgs, check_range, complain_at, convert_problem
from scheduler_core.api.profile import POINTS, KnownPlugins, Profile, Repeated, points_of
from scheduler_core.api.scheduler_config import (
    ALPHA,
    DEFAULT_SCHEDULER,
    GROUP,
    KIND,
    ONLY_IN,
    POLICY,
    READ_BY,
    SINCE,
    TOO_OLD,
    Extender,
    File,
    Plugin,
    PluginSet,
    ProfileSection,
)
from scheduler_core.api.syntax import shown
from scheduler_core.config.discovery import find
from scheduler_core.config.known_out_of_tree import FOREIGN, OUT_OF_TREE, WASM_GUEST, is_wasm_guest, what_is
from scheduler_core.config.legacy_scores import translate_legacy_scores
from scheduler_core.config.policy import is_policy, read_policy
from scheduler_core.config.policy_conversion import UnreadPolicy
from scheduler_core.config.policy_plugins import profile_of, reads_policies
from scheduler_core.config.profile import default_plugins, expand, expand_point, lists_all, merge, times_loaded
from scheduler_core.config.unknown_plugins import Unknown, UnknownPlugins, named_once
from scheduler_core.config.v1alpha1 import with_profile
from scheduler_core.config.validation import (
    check_extenders,
    check_file,
    check_together,
    extender_warnings,
    ignored_resources,
)
from scheduler_core.errors import InputError
from scheduler_core.releases import Release
from scheduler_core.releases.release import BEHAVIORS, OLD_PLUGINS, PluginWeights
from scheduler_core.releases.versions import numbered

MAX_WARNINGS = 100
MAX_WEIGHT = 2**31 - 1
PREEMPTION = "DefaultPreemption"
APPENDING = ("v1beta1", "v1alpha2")
"""API versions that have the old plugins and refuse a default plugin that is enabled again."""
PLACEMENT_POINTS = ("placementGenerate", "placementScore")
PLACEMENT_PLUGINS = ("TopologyPlacementGenerator", "PodGroupPodsCount")
"""Plugins that gates enable, and that cannot be configured: they represent a part of the cycle of a pod group."""


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """A scheduler configuration with all defaults applied.

    `percentage_of_nodes_to_score`: 0 or None is upstream's adaptive rule; a profile's own value overrides it.
    `warnings`: notes for the user, such as what was left out. `given`: the top-level fields that the file sets.
    """

    profiles: list[Profile]
    percentage_of_nodes_to_score: int | None = None
    pod_initial_backoff_seconds: int = 1
    pod_max_backoff_seconds: int = 10
    extenders: list[Extender] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    given: frozenset[str] = frozenset()

    @property
    def schedulers(self) -> list[str]:
        """The scheduler names of the profiles."""
        return [profile.scheduler_name for profile in self.profiles]


def load_configuration(
    source: str | bytes | Mapping[str, Any] | None, release: Release, *, known: KnownPlugins, unknown: Unknown = "error"
) -> Configuration:
    """Load a scheduler configuration; None gives the release's default.

    `source`: JSON or YAML text, or the object itself. It can also be a ConfigMap, a List or several documents that
    contain one, or an object without apiVersion and kind, which counts as v1. `known`: the available plugins;
    other default plugins are left out. `unknown`: whether enabled plugins that are not known are an
    error or left out with a warning.

    Raises InputError that names profile, plugin and field. Its subclass UnknownPlugins names all unknown plugins.
    """
    if source is None:
        return _load({"apiVersion": f"{GROUP}/{release.api_versions[0]}", "kind": KIND}, release, known, unknown, [])
    found, warnings = find(source)
    try:
        return _load(found.raw, release, known, unknown, warnings)
    except InputError as error:
        if found.place:
            error.where = f"{found.place}: {error.where}"
        raise


def _load(
    raw: dict[str, Any], release: Release, known: KnownPlugins, unknown: Unknown, warnings: list[str]
) -> Configuration:
    known = {
        name: info._replace(points=info.points - release.absent_points.get(name, frozenset()))
        for name, info in known.items()
    }
    if is_policy(raw) and not reads_policies(release):
        raise UnreadPolicy(raw, release, known)
    if is_policy(raw):
        policy = read_policy(raw, unknown_fields=False, grouped=True)
        return Configuration(
            profiles=[profile_of(policy, release, known)],
            extenders=[structs.replace(extender, tls_config=None) for extender in policy.extenders],
            warnings=_shortened([*warnings, *extender_warnings(policy.extenders)]),
            given=frozenset((POLICY,)),
        )
    version = _version(raw, release, warnings)
    if version == "v1alpha1":
        raw, version = with_profile(raw, warnings), "v1alpha2"
    _check_version_fields(raw, version, release)
    try:
        config = msgspec.convert(raw, File)
    except msgspec.ValidationError as error:
        problem, path = convert_problem(error)
        raise InputError(*_locate(raw, path), problem) from error
    check_file(complain_at(KIND), config, version, as_upstream=version in release.api_versions)
    check_extenders(config.extenders)
    reader = _ProfileReader(release, version, known, warnings, ignored_resources(config.extenders))
    given = config.profiles or (ProfileSection(),)
    if len(given) == 1 and given[0].scheduler_name is None:
        given = (structs.replace(given[0], scheduler_name=DEFAULT_SCHEDULER),)
    drafts = [reader.draft(i, profile) for i, profile in enumerate(given)]
    missing = [place for draft in drafts for place in draft.missing] if unknown == "error" else []
    foreign = {name: what for draft in drafts for name, what in draft.foreign.items()}
    try:
        profiles = [reader.read(draft) for draft in drafts]
        check_together([None if draft.left_out else draft.custom["queueSort"] for draft in drafts], profiles)
    except InputError as error:
        if missing:
            raise UnknownPlugins(release.name, named_once(missing, known, foreign), error) from error
        raise
    if missing:
        raise UnknownPlugins(release.name, named_once(missing, known, foreign), None)
    warnings += extender_warnings(config.extenders)
    if config.disable_preemption:
        warnings.append("disablePreemption is ignored: disable preemption in the settings of the run")
    return Configuration(
        profiles=profiles,
        percentage_of_nodes_to_score=config.percentage_of_nodes_to_score,
        pod_initial_backoff_seconds=config.pod_initial_backoff_seconds,
        pod_max_backoff_seconds=config.pod_max_backoff_seconds,
        extenders=[structs.replace(extender, tls_config=None) for extender in config.extenders],
        warnings=_shortened(warnings),
        given=frozenset(raw),
    )


def _shortened(warnings: list[str]) -> list[str]:
    rest = len(warnings) - MAX_WARNINGS
    return [*warnings[:MAX_WARNINGS], f"and {rest} more"] if rest > 0 else warnings


# --- the API version ---


def _version(raw: dict[str, Any], release: Release, warnings: list[str]) -> str:
    api_version = raw.get("apiVersion")
    if not isinstance(api_version, str) or not api_version:
        raise InputError(KIND, "apiVersion", f"must be given, for example {GROUP}/v1")
    group, _, version = api_version.rpartition("/")
    if group == GROUP and version in ALPHA and version in release.api_versions:
        return version
    if api_version in TOO_OLD:
        releases, instead = TOO_OLD[api_version]
        problem = f"{api_version} is read by kube-scheduler {releases} only; there are {', '.join(READ_BY)}; {instead}"
        raise InputError(KIND, "apiVersion", problem)
    if group != GROUP or version not in READ_BY:
        problem = f"must be {GROUP}/ and one of {', '.join(READ_BY)}, got {shown(api_version)}"
        unfilled = "" if re.fullmatch(r"v\d+((alpha|beta)\d+)?", version) else " (a template without values?)"
        raise InputError(KIND, "apiVersion", problem + unfilled)
    if version not in release.api_versions:
        warnings.append(
            f"{version} is read by kube-scheduler {READ_BY[version]}, not by {release.name}: "
            f"its rules are applied to the plugins of {release.name}"
        )
    return version


def _check_version_fields(raw: dict[str, Any], version: str, release: Release) -> None:
    """Refuse fields that another API version or a later release has but this one does not, as unknown fields."""
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
            since = SINCE.get(f"{prefix}{name}")
            if since and numbered(release.number) < numbered(since):
                problem = f"unknown field in {release.number}; kube-scheduler {since} and newer read it"
                raise InputError(*_locate(raw, f"{path}{name}"), problem)


def _locate(raw: dict[str, Any], path: str) -> tuple[str, str]:
    """Return (where, field) of a path such as `profiles[0].pluginConfig[2].args`.

    `where` contains the names of profile and plugin.
    """
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


# --- a profile ---


@dataclass(frozen=True)
class _Draft:
    """A profile without the unknown plugins.

    `missing`: (plugin, where, field) of each place to report as an error. `left_out`: plugin -> the points from which
    it was removed. `foreign`: plugins that are not those of their name here, with what they are.
    """

    where: str
    given: ProfileSection
    custom: dict[str, PluginSet]
    raw_args: dict[str, Any]
    missing: list[tuple[str, str, str]]
    left_out: dict[str, list[str]]
    foreign: Mapping[str, str]


@dataclass(frozen=True)
class _ProfileReader:
    release: Release
    version: str
    known: KnownPlugins
    warnings: list[str]
    ignored_resources: tuple[str, ...]

    def draft(self, index: int, given: ProfileSection) -> _Draft:
        where = _profile_label(index, given.scheduler_name)
        if not given.scheduler_name:
            raise InputError(where, "schedulerName", "must be given and not empty")
        if given.percentage_of_nodes_to_score is not None:
            check_range(complain_at(where), "percentageOfNodesToScore", given.percentage_of_nodes_to_score, 0, 100)
        custom = given.plugins.by_point()
        if custom.pop("unreserve").enabled:
            self.warnings.append(f"{where}: plugins.unreserve is ignored: plugins of reserve also run Unreserve")
        if self.version == "v1beta2":
            self._ignore_unmerged(where, custom)
        custom = self._without_placement(where, custom)
        raw_args = self._raw_args(where, given)
        if self.version == "v1beta1" and self.release.removed_plugins >= OLD_PLUGINS:
            custom["score"], raw_args, notes = translate_legacy_scores(where, custom["score"], raw_args)
            self.warnings.extend(notes)
        draft = _Draft(where, given, {}, raw_args, [], {}, dict(self._foreign(custom, raw_args)))
        for point, plugins in custom.items():
            draft.custom[point] = self._only_known(draft, point, plugins)
        for i, entry in enumerate(given.plugin_config):
            gone = entry.name in self.release.removed_plugins or is_inside(entry.name, self.release)
            gone = gone or entry.name in draft.foreign
            if gone and entry.name in raw_args:
                draft.missing.append((entry.name, _config_label(where, i, entry.name), "name"))
        return draft

    def _ignore_unmerged(self, where: str, custom: dict[str, PluginSet]) -> None:
        """Remove the points that v1beta2 has but does not merge with its defaults.

        Source: 1.23 to 1.27, pkg/scheduler/apis/config/v1beta2/default_plugins.go (mergePlugins).
        """
        for point, since in (("multiPoint", (1, 23)), ("preEnqueue", (1, 26))):
            if custom[point] == PluginSet():
                continue
            if numbered(self.release.number) < since:
                raise InputError(where, f"plugins.{point}", f"unknown field in {self.release.number}")
            custom[point] = PluginSet()
            self.warnings.append(f"{where}: plugins.{point} is ignored, as kube-scheduler ignores it in v1beta2")

    def _without_placement(self, where: str, custom: dict[str, PluginSet]) -> dict[str, PluginSet]:
        """Return the plugins without those that place pod groups. Add a warning if they differ from the defaults."""
        changed = [point for point in PLACEMENT_POINTS if custom[point] != PluginSet()]
        kept = {point: plugins for point, plugins in custom.items() if point not in PLACEMENT_POINTS}
        if numbered(self.release.number) >= numbered(SINCE["profiles.plugins.placementScore"]):
            multi_point = kept["multiPoint"]
            enabled = tuple(plugin for plugin in multi_point.enabled if plugin.name not in PLACEMENT_PLUGINS)
            disabled = tuple(plugin for plugin in multi_point.disabled if plugin.name not in PLACEMENT_PLUGINS)
            if disabled != multi_point.disabled or any(
                plugin.weight > 1 for plugin in multi_point.enabled if plugin.name in PLACEMENT_PLUGINS
            ):
                changed.append("multiPoint")
            kept["multiPoint"] = PluginSet(enabled=enabled, disabled=disabled)
        if changed:
            points = " and ".join(f"plugins.{point}" for point in changed)
            self.warnings.append(f"{where}: {points}: the default plugins generate and score placements of pod groups")
        return kept

    def read(self, draft: _Draft) -> Profile:
        where, given, raw_args, left_out = draft.where, draft.given, draft.raw_args, draft.left_out
        labels = {entry.name: _config_label(where, i, entry.name) for i, entry in enumerate(given.plugin_config)}
        defaults = default_plugins(self.release, self.version, self.known)
        in_place = self.version not in APPENDING
        if not in_place and lists_all(defaults, draft.custom):
            in_place = True
            self.warnings.append(
                f"{where}: all default plugins are listed, as --write-config-to writes them; "
                f"kube-scheduler refuses such a file in {self.version}"
            )
        merged = merge(defaults, draft.custom, in_place=in_place)
        if left_out:
            self._fill(where, merged)
        plugins = expand(where, merged, self.known)
        repeated: dict[str, Repeated] = {}
        if self.release.override_repeats_score_plugins:
            repeated = self._repeat(where, times_loaded(merged, self.known), plugins)
        enabled = {name for entries in plugins.values() for name, _ in entries}
        args = {
            name: self._args(
                labels.get(name, f"{where}: {name}"), name, raw_args.get(name, {}) if self._usable(draft, name) else {}
            )
            for name in sorted(enabled | raw_args.keys())
            # a comparison's mixed release may have a default plugin that its API versions do not know
            if (self._usable(draft, name) or name in enabled) and (name in raw_args or self._args_class(name))
        }
        for name in raw_args:
            if not self._usable(draft, name):
                left_out.setdefault(name, []).append("pluginConfig")
        for name, places in left_out.items():
            self.warnings.append(f"{where}: {self._missing(draft, name)}: left out of {', '.join(places)}")
        return Profile(
            scheduler_name=given.scheduler_name or "",
            percentage_of_nodes_to_score=given.percentage_of_nodes_to_score,
            plugins=plugins,
            args=args,
            given=raw_args,
            given_weights=_given_weights(given.plugins.by_point()),
            repeated=repeated,
        )

    def _repeat(self, where: str, times: Mapping[str, int], plugins: dict[str, PluginWeights]) -> dict[str, Repeated]:
        """Set the effective weights of Score plugins that are loaded several times, and add warnings."""
        weights = dict(plugins["score"])
        repeated = {name: Repeated(number, weights[name]) for name, number in times.items()}
        again = self.release.repeated_scores_weighted_again
        for name, (number, weight) in repeated.items():
            weights[name] = min(weight**number if again else weight * number, MAX_WEIGHT)
            effect = f"its score counts {number} times"
            if again:
                effect = "pods fail if its score is greater than 100 after it was multiplied by the weight"
            self.warnings.append(
                f"{where}: kube-scheduler {self.release.number} loads {name} {number} times, because plugins.score "
                f"enables several plugins of multiPoint again (kubernetes/kubernetes#122066): {effect}"
            )
        plugins["score"] = tuple(weights.items())
        return repeated

    def _raw_args(self, where: str, given: ProfileSection) -> dict[str, Any]:
        raw: dict[str, Any] = {}
        for i, entry in enumerate(given.plugin_config):
            label = _config_label(where, i, entry.name)
            if entry.name in raw:
                raise InputError(label, "name", "this plugin is configured twice")
            args_class = self._args_class(entry.name)
            for name in args_class.not_in.get(self.version, ()) if args_class else ():
                if name in entry.args:
                    raise InputError(label, f"args.{name}", f"unknown field in {self.version}")
            for name, since in args_class.since.items() if args_class else ():
                if name in entry.args and numbered(self.release.number) < numbered(since):
                    problem = f"unknown field in {self.release.number}; kube-scheduler {since} and newer read it"
                    raise InputError(label, f"args.{name}", problem)
            raw[entry.name] = entry.args
            if entry.args.get("defaultConstraints") and not self.release.spread_defaulting_type:
                raw[entry.name] = {**entry.args, "defaultingType": "List"}  # a given one is ignored
        return raw

    def _only_known(self, draft: _Draft, point: str, plugins: PluginSet) -> PluginSet:
        enabled = []
        for i, plugin in enumerate(plugins.enabled):
            if self._usable(draft, plugin.name) and not is_inside(plugin.name, self.release):
                enabled.append(plugin)
            else:
                draft.missing.append((plugin.name, draft.where, f"plugins.{point}.enabled[{i}]"))
                draft.left_out.setdefault(plugin.name, []).append(point)
        return structs.replace(plugins, enabled=tuple(enabled))

    def _fill(self, where: str, plugins: dict[str, PluginSet]) -> None:
        """Enable the default queueSort and bind plugins if removals left none: a scheduler needs both."""
        for point in ("queueSort", "bind"):
            if not expand_point(where, point, plugins, self.known):
                default = next(name for name, _ in self.release.default_plugins if point in points_of(self.known, name))
                plugins[point] = structs.replace(plugins[point], enabled=(Plugin(name=default),))
                self.warnings.append(f"{where}: plugins.{point}: {default} replaces the omitted plugins")

    def _foreign(self, custom: Mapping[str, PluginSet], raw_args: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield (name, what it is) of guests in WebAssembly, and of out-of-tree plugins that are enabled at a point
        that the available plugin of that name lacks."""
        for point, plugins in custom.items():
            for name in (plugin.name for plugin in plugins.enabled):
                if (
                    point in POINTS
                    and name in OUT_OF_TREE
                    and name in self.known
                    and point not in self.known[name].points
                ):
                    yield name, FOREIGN
        yield from ((name, WASM_GUEST) for name, args in raw_args.items() if is_wasm_guest(args))

    def _usable(self, draft: _Draft, name: str) -> bool:
        return name not in draft.foreign and is_usable(name, self.release, self.version, self.known)

    def _args_class(self, name: str) -> type[PluginArgs] | None:
        return self.known[name].args_class if name in self.known else None

    def _missing(self, draft: _Draft, name: str) -> str:
        what = draft.foreign.get(name) or what_is(name, self.known)
        hint = f" ({what})" if what else ""
        return f"plugin {shown(name)} is not part of kube-scheduler {self.release.name}{hint}"

    def _args(self, where: str, name: str, raw: dict[str, Any]) -> PluginArgs | dict[str, Any]:
        args_class = self._args_class(name)
        if args_class is None:
            return raw
        complain = complain_at(where, "args.")
        given = dict(raw)
        kind, api_version = given.pop("kind", f"{name}Args"), given.pop("apiVersion", f"{GROUP}/{self.version}")
        if kind != f"{name}Args":
            complain("kind", f"must be {name}Args, got {shown(str(kind))}")
        if api_version not in {f"{GROUP}/{version}" for version in (*READ_BY, *ALPHA)}:
            complain("apiVersion", f"must be {GROUP}/{self.version}, got {shown(str(api_version))}")
        if name == "NodeResourcesFit" and self.ignored_resources:
            given["ignoredResources"] = list(self.ignored_resources)
        try:
            args = msgspec.convert(given, args_class)
        except msgspec.ValidationError as error:
            problem, path = convert_problem(error)
            raise InputError(where, f"args.{path}".rstrip("."), problem) from error
        for needed, behavior in args_class.needs.items():
            if given.get(needed) is not None and not getattr(self.release, behavior):
                complain(needed, f"unexpected: remove it or turn on the feature gate {BEHAVIORS[behavior].gate}")
        return args.finish(complain)


def is_usable(name: str, release: Release, version: str, known: KnownPlugins) -> bool:
    """Whether a configuration of that API version may name the plugin in that release."""
    gone = name in OLD_PLUGINS and version not in APPENDING
    return name in known and name not in release.removed_plugins and not gone


def is_inside(name: str, release: Release) -> bool:
    """Whether the plugin represents a part of the scheduler that cannot be configured in that release."""
    return name == PREEMPTION and not release.preemption_is_plugin


def _given_weights(points: Mapping[str, PluginSet]) -> dict[str, str]:
    """Return plugin -> the path of its effective weight: score has precedence over multiPoint."""
    found: dict[str, str] = {}
    for point in ("score", "multiPoint"):
        for i, plugin in enumerate(points[point].enabled):
            if plugin.weight:
                found.setdefault(plugin.name, f"plugins.{point}.enabled[{i}].weight")
    return found
