"""Converts a Policy to an equivalent KubeSchedulerConfiguration for a release without Policies.

The Policy is translated as kube-scheduler 1.22 does, and written with the plugins of the release.

Source: policy_plugins.py; docs of the scheduler's configuration (multiPoint, NodeAffinityArgs.addedAffinity,
NodeResourcesFitArgs.scoringStrategy).
"""

from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec
import yaml

from scheduler_core.api.profile import KnownPlugins, Profile
from scheduler_core.api.scheduler_config import DEFAULT_SCHEDULER, GROUP, KIND, POLICY
from scheduler_core.config.legacy_scores import FIT, STRATEGIES
from scheduler_core.config.policy import read_policy
from scheduler_core.config.policy_plugins import profile_of
from scheduler_core.errors import InputError
from scheduler_core.releases import RELEASES, Release

TRANSLATED_BY = "1.22"
_NO_COUNTERPART = {
    "NodeLabel": "preferring nodes with or without a label whatever its value: preferred node affinity of the pods",
    "NodePreferAvoidPods": "nodes that prefer to avoid pods: no release reads their annotation now",
    "ServiceAffinity": "keeping a service's pods on nodes with equal labels, or apart: pod (anti-)affinity of the pods",
}


class UnreadPolicy(InputError):
    """A Policy for a release that does not support Policies.

    `instead`: the equivalent configuration, "" if no release would accept the Policy.
    """

    def __init__(self, raw: Mapping[str, Any], release: Release, known: KnownPlugins) -> None:
        problem = (
            f"a scheduler Policy is read by kube-scheduler {TRANSLATED_BY} and older only, and this is {release.name}; "
            f"write its extenders under `extenders` of a {KIND} of {GROUP}/v1; plugins replace its predicates and "
            "priorities; without a Policy the default plugins run"
        )
        super().__init__(POLICY, "kind", problem)
        self.instead = ""
        with suppress(InputError):
            self.instead = configuration_of(raw, release, known)


def configuration_of(raw: Mapping[str, Any], release: Release, known: KnownPlugins) -> str:
    """Return YAML for a release without Policies. Comments at its end list what cannot be converted.

    `raw`: the Policy's document; `known`: plugin -> extension points. Raises InputError for what 1.22 would refuse.
    """
    policy = read_policy(raw, unknown_fields=True, grouped=True)
    profile = profile_of(policy, RELEASES[TRANSLATED_BY], known)
    omitted: list[str] = []
    args: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    filters = _filters(profile, release, args, omitted)
    plugins = {
        "preFilter": [],
        "filter": [{"name": name} for name in filters],
        "score": _scores(profile, args, omitted),
    }
    for point in ("preFilter", "reserve", "preBind"):
        plugins[point] = [{"name": name} for name in filters if point in known[name].points]
    _arguments(profile, args)
    if policy.always_check_all_predicates:
        omitted.append(
            "running all plugins on every node (alwaysCheckAllPredicates): Filter stops at the first rejection"
        )
    only = {point: {"disabled": [{"name": "*"}], "enabled": enabled} for point, enabled in plugins.items()}
    config = [{"name": name, "args": args[name]} for name in sorted(args)]
    extenders = [{k: v for k, v in msgspec.to_builtins(one).items() if v} for one in policy.extenders]
    written = {
        "apiVersion": f"{GROUP}/{release.api_versions[0]}",
        "kind": KIND,
        "profiles": [{"schedulerName": DEFAULT_SCHEDULER, "plugins": only, "pluginConfig": config}],
        **({"extenders": extenders} if extenders else {}),
    }
    text = yaml.safe_dump(written, default_flow_style=None, sort_keys=False, width=1000)
    heading = ["# Not expressible in a configuration of this release:"] if omitted else []
    return text + "".join(f"{line}\n" for line in [*heading, *(f"# * {line}" for line in dict.fromkeys(omitted))])


def _filters(profile: Profile, release: Release, args: dict[str, dict[str, Any]], omitted: list[str]) -> list[str]:
    """Return the Filter plugins.

    NodeVolumeLimits replaces the plugins of single volume types that the release lacks. NodeAffinity replaces the
    required labels of NodeLabel.
    """
    names: list[str] = []
    for name, _ in profile.plugins["filter"]:
        if name == "NodeLabel":
            labels = profile.args[name]
            wanted = [{"key": label, "operator": "Exists"} for label in labels.present_labels]
            wanted += [{"key": label, "operator": "DoesNotExist"} for label in labels.absent_labels]
            if wanted:
                terms = {"nodeSelectorTerms": [{"matchExpressions": wanted}]}
                args["NodeAffinity"]["addedAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
            names.append("NodeAffinity")
        elif name in dict(release.default_plugins):
            names.append(name)
        elif name in _NO_COUNTERPART:
            omitted.append(_NO_COUNTERPART[name])
        else:
            names.append("NodeVolumeLimits")
    return list(dict.fromkeys(names))


def _scores(profile: Profile, args: dict[str, dict[str, Any]], omitted: list[str]) -> list[dict[str, Any]]:
    """Return the entries of Score plugins. NodeResourcesFit can have only one scoring strategy."""
    scores: dict[str, int] = {}
    for name, weight in profile.plugins["score"]:
        if name in _NO_COUNTERPART:
            omitted.append(_NO_COUNTERPART[name])
        elif name not in STRATEGIES:
            scores[name] = weight
        elif FIT in scores:
            omitted.append(f"{STRATEGIES[name]} together with another strategy: use a second profile")
        else:
            scores[FIT] = weight
            strategy: dict[str, Any] = {"type": STRATEGIES[name]}
            if name == "RequestedToCapacityRatio" and (ratio := profile.args.get(name)):
                strategy["requestedToCapacityRatio"] = {"shape": msgspec.to_builtins(ratio.shape)}
                strategy["resources"] = msgspec.to_builtins(ratio.resources)
            args[FIT]["scoringStrategy"] = strategy
    return [{"name": name, "weight": weight} for name, weight in scores.items()]


def _arguments(profile: Profile, args: dict[str, dict[str, Any]]) -> None:
    """Convert the other arguments that differ from the defaults."""
    affinity, fit, spread = (profile.args.get(name) for name in ("InterPodAffinity", FIT, "PodTopologySpread"))
    if affinity is not None and affinity.hard_pod_affinity_weight != 1:
        args["InterPodAffinity"]["hardPodAffinityWeight"] = affinity.hard_pod_affinity_weight
    if fit is not None and fit.ignored_resources:
        args[FIT]["ignoredResources"] = list(fit.ignored_resources)
    if spread is not None and spread.defaulting_type == "List":
        args["PodTopologySpread"]["defaultingType"] = "List"
