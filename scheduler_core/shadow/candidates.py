"""Named configurations that a cluster may have: the scoring strategies, and what providers publish.

Source: https://kubernetes.io/docs/concepts/scheduling-eviction/resource-bin-packing/.
"""

from collections.abc import Mapping
from dataclasses import replace

from msgspec import structs

from scheduler_core.api.plugin_args import UtilizationShapePoint
from scheduler_core.api.profile import Profile
from scheduler_core.config import Configuration
from scheduler_core.config.loader import load
from scheduler_core.live.published_configurations import choices, published
from scheduler_core.plugins.node_resources_fit import NodeResourcesFit, NodeResourcesFitArgs
from scheduler_core.plugins.resource_allocation import CPU_AND_MEMORY, RequestedToCapacityRatioParam, ScoringStrategy
from scheduler_core.releases import Release

DEFAULT, GIVEN = "default", "given"
_FULLEST = (UtilizationShapePoint(utilization=0, score=0), UtilizationShapePoint(utilization=100, score=10))
_STRATEGIES: Mapping[str, ScoringStrategy] = {
    DEFAULT: ScoringStrategy(type="LeastAllocated", resources=CPU_AND_MEMORY),
    "MostAllocated": ScoringStrategy(type="MostAllocated", resources=CPU_AND_MEMORY),
    "RequestedToCapacityRatio": ScoringStrategy(
        type="RequestedToCapacityRatio",
        resources=CPU_AND_MEMORY,
        requested_to_capacity_ratio=RequestedToCapacityRatioParam(shape=_FULLEST),
    ),
}


def candidates(configuration: Configuration, release: Release, given: bool) -> dict[str, Configuration]:
    """Return name -> configuration of all candidates, first that of the cluster.

    The others have its profiles with another scoring strategy, or with the plugins of a published configuration. Those
    that score like an earlier one are left out. `given`: the configuration is not only the release's default.
    """
    found = {GIVEN if given else DEFAULT: configuration}
    for name, strategy in _STRATEGIES.items():
        scored = [_with_strategy(profile, strategy) for profile in configuration.profiles]
        profiles = [profile for profile in scored if profile is not None]
        if len(profiles) == len(scored):
            found.setdefault(name, replace(configuration, profiles=profiles))
    for name in choices("", release):
        last = load(published(name, release), release).profiles[-1]
        if not last.plugins["score"]:
            continue  # any node is the best one, so it would explain every decision a little
        profiles = [
            replace(
                last,
                scheduler_name=profile.scheduler_name,
                percentage_of_nodes_to_score=profile.percentage_of_nodes_to_score,
            )
            for profile in configuration.profiles
        ]
        found.setdefault(name, replace(configuration, profiles=profiles))
    kept: dict[str, Configuration] = {}
    for name, made in found.items():
        same = next((other for other, known in kept.items() if _scoring(known) == _scoring(made)), None)
        if same == GIVEN and name in _STRATEGIES:  # it has a name
            kept = {name if other == GIVEN else other: known for other, known in kept.items()}
        elif same is None:
            kept[name] = made
    return kept


def reductions(configurations: Mapping[str, Configuration]) -> dict[str, tuple[str, str]]:
    """Return name -> (candidate, plugin) of further candidates: a candidate without one of its score plugins.

    Published configurations are used as they are, so they have none. A profile keeps at least one score plugin.
    """
    found = {}
    for name in [name for name in configurations if name in (GIVEN, *_STRATEGIES)]:
        profiles = configurations[name].profiles
        plugins = [plugin for plugin, _ in profiles[0].plugins["score"]]
        if all(len(profile.plugins["score"]) > 1 for profile in profiles):
            found.update({f"{name} without {plugin}": (name, plugin) for plugin in plugins})
    return found


def _scoring(configuration: Configuration) -> list[object]:
    return [(profile.plugins, profile.args.get(NodeResourcesFit.name)) for profile in configuration.profiles]


def _with_strategy(profile: Profile, strategy: ScoringStrategy) -> Profile | None:
    args = profile.args.get(NodeResourcesFit.name)
    scores = any(name == NodeResourcesFit.name for name, _ in profile.plugins["score"])
    if not isinstance(args, NodeResourcesFitArgs) or not scores:
        return None
    args = structs.replace(args, scoring_strategy=strategy)
    return replace(profile, args={**profile.args, NodeResourcesFit.name: args})
