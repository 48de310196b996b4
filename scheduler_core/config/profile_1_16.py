"""Predicates and priorities of a scheduler, from the default algorithm provider or a Policy.

Source: pkg/scheduler/algorithmprovider/defaults, pkg/scheduler/factory.
"""

from collections.abc import Mapping
from typing import Any

from scheduler_core.api.profile import POINTS, Profile
from scheduler_core.api.scheduler_config import DEFAULT_SCHEDULER
from scheduler_core.framework import interface as fwk
from scheduler_core.legacy.algorithms import ALGORITHMS
from scheduler_core.legacy.predicates import PREDICATES
from scheduler_core.legacy.priorities import PRIORITIES
from scheduler_core.plugins.default_binder import DefaultBinder
from scheduler_core.plugins.inter_pod_affinity import InterPodAffinityArgs
from scheduler_core.plugins.priority_sort import PrioritySort
from scheduler_core.releases import Release
from scheduler_core.releases.release import PluginWeights

_PREPARING = ("preFilter", "preScore", "reserve", "preBind")
# With TaintNodesByCondition, the first group replaces the second. The first predicate of each group is mandatory; of
# the taint predicates both are.
_BY_TAINTS = ("CheckNodeUnschedulable", "PodToleratesNodeTaints")
_BY_CONDITIONS = ("CheckNodeCondition", "CheckNodeMemoryPressure", "CheckNodePIDPressure", "CheckNodeDiskPressure")
_BY_ARGUMENT = ("CheckNodeLabelPresence", "CheckServiceAffinity", "NodeLabelPriority", "ServiceAntiAffinityPriority")
EVEN_PODS_SPREAD, RESOURCE_LIMITS = "EvenPodsSpread", "ResourceLimitsPriority"


def default_profile(
    release: Release, scheduler: str = DEFAULT_SCHEDULER, hard_pod_affinity_weight: int = 1, packs: bool = False
) -> Profile:
    """Return the profile of the default provider, or if `packs` of ClusterAutoscalerProvider, which fills nodes."""
    predicates = {*default_predicates(release), *mandatory_predicates(release)}
    ordered = [name for name in PREDICATES if name in predicates]
    renamed = {"LeastRequestedPriority": "MostRequestedPriority"} if packs else {}
    priorities = tuple((renamed.get(name, name), weight) for name, weight in default_priorities(release))
    args = {"InterPodAffinityPriority": InterPodAffinityArgs(hard_pod_affinity_weight=hard_pod_affinity_weight)}
    return profile_of(scheduler, ordered, priorities, args)


def mandatory_predicates(release: Release) -> list[str]:
    """Return the predicates that run with any Policy."""
    return list(_BY_TAINTS if release.conditions_taint else _BY_CONDITIONS[:1])


def default_predicates(release: Release) -> list[str]:
    """Return the predicates of the default provider."""
    names = [name for name, _ in release.default_plugins if name in PREDICATES]
    if not release.conditions_taint:
        names = [*(name for name in names if name != _BY_TAINTS[0]), *_BY_CONDITIONS]
    return [*names, *((EVEN_PODS_SPREAD,) if release.even_pods_spread else ())]


def default_priorities(release: Release) -> PluginWeights:
    """Return the priorities of the default provider."""
    more = [(RESOURCE_LIMITS, 1)] * release.resource_limits_score
    more += [(f"{EVEN_PODS_SPREAD}Priority", 1)] * release.even_pods_spread
    return (*((name, weight) for name, weight in release.default_plugins if name in PRIORITIES), *more)


def known_predicates(release: Release) -> frozenset[str]:
    """Return the predicates that a Policy may name without an argument. PodFitsPorts is accepted, but never runs."""
    absent = {*_BY_ARGUMENT, *(_BY_CONDITIONS if release.conditions_taint else _BY_TAINTS[:1])}
    absent |= set() if release.even_pods_spread else {EVEN_PODS_SPREAD}
    return frozenset({*PREDICATES, "PodFitsPorts"} - absent)


def known_priorities(release: Release) -> frozenset[str]:
    """Return the priorities that a Policy may name without an argument."""
    absent = set(_BY_ARGUMENT) | (set() if release.resource_limits_score else {RESOURCE_LIMITS})
    absent |= set() if release.even_pods_spread else {f"{EVEN_PODS_SPREAD}Priority"}
    return frozenset(PRIORITIES.keys() - absent)


def profile_of(
    scheduler: str,
    predicates: list[str],
    priorities: PluginWeights,
    args: Mapping[str, Any],
    kinds: Mapping[str, str] | None = None,
    always_check_all: bool = False,
) -> Profile:
    """Return the profile with these predicates, priorities and arguments.

    `kinds`: name -> algorithm, for those that have a different name.
    """
    kinds = kinds or {}
    plugins: dict[str, PluginWeights] = dict.fromkeys(POINTS, ())
    plugins["queueSort"] = ((PrioritySort.name, 0),)
    plugins["filter"] = tuple((name, 0) for name in predicates)
    plugins["score"] = priorities
    plugins["bind"] = ((DefaultBinder.name, 0),)
    for point in _PREPARING:
        names = [name for name, _ in (plugins["score"] if point == "preScore" else plugins["filter"])]
        taking_part = [name for name in names if issubclass(ALGORITHMS[kinds.get(name, name)], fwk.POINTS[point])]
        plugins[point] = tuple((name, 0) for name in taking_part)
    return Profile(scheduler_name=scheduler, plugins=plugins, args=args, kinds=kinds, always_check_all=always_check_all)
