"""Translates the predicates and priorities of a Policy into plugins, as kube-scheduler 1.18 to 1.22 does.

* Predicates become Filter plugins in a fixed order. Tolerations and cordons are always checked.
* Priorities become Score plugins, ordered by name. If two become one plugin, the first by name gives the weight.
* An argument counts under a custom name. Under the name of a built-in predicate or priority it is ignored.

Source: pkg/scheduler/factory.go (createFromPolicy), pkg/scheduler/framework/plugins/legacy_registry.go,
pkg/scheduler/apis/config/validation (ValidatePolicy).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scheduler_core.api.plugin_args import ResourceSpec, UtilizationShapePoint, complain_at
from scheduler_core.api.profile import POINTS, KnownPlugins, Profile, points_of
from scheduler_core.api.scheduler_config import DEFAULT_SCHEDULER, POLICY
from scheduler_core.config.policy import (
    Policy,
    Predicate,
    Priority,
    Ratio,
    check_one_argument,
    check_shape,
    predicate_label,
    priority_label,
    unknown_problem,
)
from scheduler_core.config.validation import ignored_resources
from scheduler_core.errors import InputError
from scheduler_core.releases.release import OLD_PLUGINS, PluginWeights, Release

_PREDICATES: Mapping[str, tuple[str, ...]] = {
    "CheckNodeUnschedulable": ("NodeUnschedulable",),
    "GeneralPredicates": ("NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity"),
    "HostName": ("NodeName",),
    "PodFitsHostPorts": ("NodePorts",),
    "MatchNodeSelector": ("NodeAffinity",),
    "PodFitsResources": ("NodeResourcesFit",),
    "NoDiskConflict": ("VolumeRestrictions",),
    "PodToleratesNodeTaints": ("TaintToleration",),
    "CheckNodeLabelPresence": ("NodeLabel",),
    "CheckServiceAffinity": ("ServiceAffinity",),
    "MaxEBSVolumeCount": ("EBSLimits",),
    "MaxGCEPDVolumeCount": ("GCEPDLimits",),
    "MaxCSIVolumeCountPred": ("NodeVolumeLimits",),
    "MaxAzureDiskVolumeCount": ("AzureDiskLimits",),
    "MaxCinderVolumeCount": ("CinderLimits",),
    "CheckVolumeBinding": ("VolumeBinding",),
    "NoVolumeZoneConflict": ("VolumeZone",),
    "EvenPodsSpread": ("PodTopologySpread",),
    "MatchInterPodAffinity": ("InterPodAffinity",),
}
"""Predicate -> its Filter plugins, in the order in which predicates run."""

_MANDATORY = ("PodToleratesNodeTaints", "CheckNodeUnschedulable")
_NO_DEFAULT = ("HostName", "PodFitsHostPorts", "MatchNodeSelector", "PodFitsResources", "MaxCinderVolumeCount")
_BY_ARGUMENT = ("CheckNodeLabelPresence", "CheckServiceAffinity")
_RENAMED = {"PodFitsPorts": "PodFitsHostPorts", "ServiceSpreadingPriority": "SelectorSpreadPriority"}

_PRIORITIES: Mapping[str, str] = {
    "BalancedResourceAllocation": "NodeResourcesBalancedAllocation",
    "EvenPodsSpreadPriority": "PodTopologySpread",
    "ImageLocalityPriority": "ImageLocality",
    "InterPodAffinityPriority": "InterPodAffinity",
    "LeastRequestedPriority": "NodeResourcesLeastAllocated",
    "MostRequestedPriority": "NodeResourcesMostAllocated",
    "NodeAffinityPriority": "NodeAffinity",
    "NodeLabel": "NodeLabel",
    "NodePreferAvoidPodsPriority": "NodePreferAvoidPods",
    "RequestedToCapacityRatio": "RequestedToCapacityRatio",
    "SelectorSpreadPriority": "PodTopologySpread",  # in 1.19 SelectorSpread, in 1.18 DefaultPodTopologySpread
    "ServiceAffinity": "ServiceAffinity",
    "TaintTolerationPriority": "TaintToleration",
}
"""Priority -> its Score plugin. Keys that are plugin names stand for priorities with an argument."""

_DEFAULT_PRIORITIES = (
    *("SelectorSpreadPriority", "InterPodAffinityPriority", "LeastRequestedPriority", "BalancedResourceAllocation"),
    *("NodeAffinityPriority", "TaintTolerationPriority", "ImageLocalityPriority"),
)
_DEFAULT_WEIGHTS = {**dict.fromkeys(_DEFAULT_PRIORITIES, 1), "NodePreferAvoidPodsPriority": 10000}
_SPREADING = ("SelectorSpread", "DefaultPodTopologySpread")
_IGNORED = "EqualPriority"


def successor(name: str) -> str:
    """Return the plugin that replaced a predicate for most of its rejections; a plugin name is returned unchanged."""
    return name if name in _BY_ARGUMENT else _PREDICATES.get(name, (name,))[0]


def reads_policies(release: Release) -> bool:
    """Whether the release translates Policies into plugins."""
    return not release.predicates and not release.removed_plugins >= OLD_PLUGINS


@dataclass
class _Translated:
    """The translated predicates and priorities.

    `predicates`: their names. `weights`: priority -> (weight, its path in the file). `labels`, `services`: the
    arguments of NodeLabel and ServiceAffinity; empty if no predicate or priority has any.
    """

    predicates: set[str] = field(default_factory=set)
    weights: dict[str, tuple[int, str]] = field(default_factory=dict)
    labels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    services: dict[str, tuple[str, ...]] = field(default_factory=dict)
    ratio: dict[str, Any] | None = None


def profile_of(policy: Policy, release: Release, known: KnownPlugins) -> Profile:
    """Return the profile that a Policy describes. Raises InputError if upstream would not start."""
    found = _Translated()
    _check_alike(policy.priorities or ())
    even = dict(release.default_plugins).get("PodTopologySpread")  # in 1.17 its gate is off
    if policy.predicates is None:
        left_out = {*_NO_DEFAULT, *_BY_ARGUMENT, *(() if even else ("EvenPodsSpread",))}
        found.predicates = _PREDICATES.keys() - left_out
    for i, predicate in enumerate(policy.predicates or ()):
        _take_predicate(found, predicate_label(i, predicate), predicate)
    if policy.priorities is None:
        found.weights = {name: (weight, "") for name, weight in _DEFAULT_WEIGHTS.items()}
        if even:
            found.weights["EvenPodsSpreadPriority"] = even, ""
    for i, priority in enumerate(policy.priorities or ()):
        if priority.name != _IGNORED:
            name = _take_priority(found, priority_label(i, priority), priority)
            found.weights[name] = priority.weight, f"priorities[{i}].weight"
    _check_arguments(found, release)
    filters = _filters(found.predicates | set(_MANDATORY))
    scores, weight_paths = _scores(found, release)
    args = _args(found, policy, {*filters, *(name for name, _ in scores)}, known)
    return Profile(
        scheduler_name=DEFAULT_SCHEDULER,
        plugins=_points(filters, scores, known),
        args=args,
        given_weights=weight_paths,
        always_check_all=policy.always_check_all_predicates,
    )


def _check_alike(priorities: Iterable[Priority]) -> None:
    """Check priorities with arguments of one kind, which become one plugin: equal weights, and at most one ratio."""
    first: dict[str, Priority] = {}
    for i, priority in enumerate(priorities):
        where = priority_label(i, priority)
        kind = check_one_argument(where, priority.argument)
        before = first.setdefault(kind, priority)
        if not kind or before is priority:
            continue
        if kind == "requestedToCapacityRatioArguments":
            raise InputError(where, f"argument.{kind}", f"is given by {before.name!r} as well; only one is allowed")
        if before.weight != priority.weight:
            text = f"must be that of {before.name!r}, {before.weight}, since both become one plugin"
            raise InputError(where, "weight", f"{text}; got {priority.weight}")


def _add(arguments: dict[str, tuple[str, ...]], name: str, labels: Sequence[str]) -> None:
    arguments[name] = (*arguments.get(name, ()), *labels)


def _take_predicate(found: _Translated, where: str, predicate: Predicate) -> None:
    check_one_argument(where, predicate.argument)
    name = _RENAMED.get(predicate.name, predicate.name)
    given = predicate.argument
    if name not in _PREDICATES:
        if given is None:
            raise InputError(where, "name", unknown_problem(name, _PREDICATES, "predicate"))
        if given.service_affinity is not None:
            name = "CheckServiceAffinity"
            _add(found.services, "affinity_labels", given.service_affinity.labels)
        elif given.labels_presence is not None:
            name = "CheckNodeLabelPresence"
            presence = "present" if given.labels_presence.presence else "absent"
            _add(found.labels, f"{presence}_labels", given.labels_presence.labels)
    found.predicates.add(name)


def _take_priority(found: _Translated, where: str, priority: Priority) -> str:
    """Record a priority. Return its name in `_PRIORITIES`."""
    name = _RENAMED.get(priority.name, priority.name)
    if name in _PRIORITIES:
        return name
    given = priority.argument
    if given is None:
        raise InputError(where, "name", unknown_problem(name, _PRIORITIES, "priority"))
    if given.service_anti_affinity is not None:
        _add(found.services, "anti_affinity_labels_preference", [given.service_anti_affinity.label])
        return "ServiceAffinity"
    if given.label_preference is not None:
        presence = "present" if given.label_preference.presence else "absent"
        _add(found.labels, f"{presence}_labels_preference", [given.label_preference.label])
        return "NodeLabel"
    assert given.requested_to_capacity_ratio is not None
    found.ratio = _ratio(where, given.requested_to_capacity_ratio)
    return "RequestedToCapacityRatio"


def _ratio(where: str, ratio: Ratio) -> dict[str, Any]:
    check_shape(where, ratio.shape)
    path = "argument.requestedToCapacityRatioArguments"
    for i, resource in enumerate(ratio.resources):
        if not 1 <= resource.weight <= 100:
            raise InputError(where, f"{path}.resources[{i}].weight", f"must be in 1..100, got {resource.weight}")
    return {
        "shape": tuple(UtilizationShapePoint(utilization=p.utilization, score=p.score) for p in ratio.shape),
        "resources": tuple(ResourceSpec(name=resource.name, weight=resource.weight) for resource in ratio.resources),
    }


def _check_arguments(found: _Translated, release: Release) -> None:
    """Check that plugins that need arguments have some."""
    strict = "v1beta2" in release.api_versions  # in this version these plugins have no default arguments
    label = "NodeLabel" in found.weights or "CheckNodeLabelPresence" in found.predicates
    service = "ServiceAffinity" in found.weights or "CheckServiceAffinity" in found.predicates
    for plugin, lacks in (
        ("NodeLabel", label and not found.labels),
        ("ServiceAffinity", service and not found.services),
    ):
        if lacks and (strict or plugin in found.weights):
            text = f"plugin {plugin} has no arguments: those of a predicate or priority with this name are ignored"
            raise InputError(POLICY, "", f"{text}; give it another name")
    if "RequestedToCapacityRatio" in found.weights and found.ratio is None:
        raise InputError(POLICY, "priorities", "RequestedToCapacityRatio has no shape: give it another name")


def _filters(predicates: set[str]) -> list[str]:
    names = [plugin for predicate in _PREDICATES if predicate in predicates for plugin in _PREDICATES[predicate]]
    return list(dict.fromkeys(names))


def _scores(found: _Translated, release: Release) -> tuple[PluginWeights, dict[str, str]]:
    """Return ((plugin, weight) in running order; plugin -> the path of its weight)."""
    scores: dict[str, int] = {}
    weight_paths: dict[str, str] = {}
    arguments = {"NodeLabel": found.labels, "ServiceAffinity": found.services}
    times = {
        plugin: sum(len(labels) for name, labels in given.items() if name.endswith("_preference"))
        for plugin, given in arguments.items()
    }
    for name in sorted(found.weights):
        plugin, (weight, where) = _PRIORITIES[name], found.weights[name]
        if name == "SelectorSpreadPriority" and not release.default_spread_constraints:
            plugin = next(name for name in _SPREADING if name not in release.removed_plugins)
        if plugin in scores:
            continue
        scores[plugin] = _int32(weight * times.get(plugin, 1))
        if not scores[plugin]:
            raise InputError(POLICY, where, f"the weight of plugin {plugin} would be 0")
        if where:
            weight_paths[plugin] = where
    return tuple(scores.items()), weight_paths


def _int32(number: int) -> int:
    """Convert to int32 with overflow, as Go does."""
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)


def _args(found: _Translated, policy: Policy, enabled: set[str], known: KnownPlugins) -> dict[str, Any]:
    """Return plugin -> its arguments, for plugins that have any."""
    only_even = "EvenPodsSpreadPriority" in found.weights and "SelectorSpreadPriority" not in found.weights
    own: dict[str, dict[str, Any]] = {
        "InterPodAffinity": {"hard_pod_affinity_weight": policy.hard_pod_affinity_weight},
        "NodeLabel": found.labels,
        "NodeResourcesFit": {"ignored_resources": ignored_resources(policy.extenders)},
        "PodTopologySpread": {"defaulting_type": "List" if only_even else "System"},
        "RequestedToCapacityRatio": found.ratio or {},
        "ServiceAffinity": found.services,
    }
    finished = {}
    for name in sorted({*enabled, "DefaultPreemption"} & known.keys()):
        if args_class := known[name].args_class:
            args = args_class(**own.get(name, {}))
            # empty resources of a ratio stay empty: there is no default here
            finished[name] = (
                args if name == "RequestedToCapacityRatio" else args.finish(complain_at(POLICY, f"{name}."))
            )
    return finished


def _points(filters: list[str], scores: PluginWeights, known: KnownPlugins) -> dict[str, PluginWeights]:
    """Return extension point -> plugins, with the other points that the Filter and Score plugins implement."""
    plugins: dict[str, PluginWeights] = dict.fromkeys(POINTS, ())
    plugins |= {"queueSort": (("PrioritySort", 0),), "bind": (("DefaultBinder", 0),), "score": scores}
    plugins["postFilter"] = (("DefaultPreemption", 0),)
    plugins["filter"] = tuple((name, 0) for name in filters)
    for point in ("preFilter", "reserve", "preBind"):
        plugins[point] = tuple((name, 0) for name in filters if point in points_of(known, name))
    plugins["preScore"] = tuple((name, 0) for name, _ in scores if "preScore" in points_of(known, name))
    return plugins
