"""What a scheduler of before the framework is made of: what the default algorithm provider gives, or a Policy.

Source: pkg/scheduler/algorithmprovider/defaults, pkg/scheduler/factory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler_core.config.configuration import Configuration
from scheduler_core.config.profile import POINTS, Profile
from scheduler_core.config.schema import DEFAULT_SCHEDULER
from scheduler_core.framework import interface as api
from scheduler_core.legacy.registry import PREDICATES, PRIORITIES
from scheduler_core.plugins.default_binder import DefaultBinder
from scheduler_core.plugins.priority_sort import PrioritySort
from scheduler_core.releases import Release
from scheduler_core.releases.release import PluginWeights

_PREPARING = ("preFilter", "preScore", "reserve", "preBind")


def default_configuration(release: Release) -> Configuration:
    """The default provider's predicates and priorities."""
    given = dict(release.default_plugins)
    predicates = [name for name in PREDICATES if name in given]
    priorities = [(name, weight) for name, weight in release.default_plugins if name in PRIORITIES]
    return configuration(profile_of(DEFAULT_SCHEDULER, predicates, tuple(priorities), {}))


def configuration(profile: Profile, warnings: list[str] | None = None, **given: Any) -> Configuration:
    """A configuration of one scheduler, with the defaults for all else."""
    rest: dict[str, Any] = {
        "percentage_of_nodes_to_score": None,
        "pod_initial_backoff_seconds": 1,
        "pod_max_backoff_seconds": 10,
        "extenders": [],
        **given,
    }
    return Configuration(profiles=[profile], warnings=warnings or [], **rest)


def profile_of(
    scheduler: str,
    predicates: list[str],
    priorities: PluginWeights,
    args: Mapping[str, Any],
    kinds: Mapping[str, str] | None = None,
) -> Profile:
    """The profile of these predicates and priorities, each with its arguments. `kinds`: name -> the algorithm it is, of
    priorities under names of their own."""
    kinds = kinds or {}
    plugins: dict[str, PluginWeights] = dict.fromkeys(POINTS, ())
    plugins["queueSort"] = ((PrioritySort.name, 0),)
    plugins["filter"] = tuple((name, 0) for name in predicates)
    plugins["score"] = priorities
    plugins["bind"] = ((DefaultBinder.name, 0),)
    for point in _PREPARING:
        among = PRIORITIES if point == "preScore" else PREDICATES
        names = [name for name, _ in (plugins["score"] if point == "preScore" else plugins["filter"])]
        taking_part = [n for n in names if issubclass(among[kinds.get(n, n)], api.POINTS[point])]
        plugins[point] = tuple((name, 0) for name in taking_part)
    return Profile(scheduler_name=scheduler, plugins=plugins, args=args)
