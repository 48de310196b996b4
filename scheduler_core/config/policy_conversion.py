"""Converts a Policy to an equivalent KubeSchedulerConfiguration for a release without Policies.

The Policy is translated as kube-scheduler 1.22 does, and written with the plugins of the release.

Source: policy_plugins.py; docs of the scheduler's configuration (multiPoint, NodeAffinityArgs.addedAffinity,
NodeResourcesFitArgs.scoringStrategy).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import msgspec

from scheduler_core.config.policy import read_policy
from scheduler_core.config.policy_plugins import profile_of
from scheduler_core.config.profile import KnownPlugins, Profile
from scheduler_core.config.schema import GROUP, KIND, POLICY, Extender
from scheduler_core.errors import InputError
from scheduler_core.releases import RELEASES
from scheduler_core.releases.release import Release

TRANSLATED_BY = "1.22"
_POINTS = ("preFilter", "filter", "score", "reserve", "preBind")
_STRATEGIES = {
    "NodeResourcesLeastAllocated": "LeastAllocated",
    "NodeResourcesMostAllocated": "MostAllocated",
    "RequestedToCapacityRatio": "RequestedToCapacityRatio",
}
_NO_COUNTERPART = {
    "NodeLabel": "preferring nodes with or without a label whatever its value: preferred node affinity of the pods",
    "NodePreferAvoidPods": "nodes that prefer to avoid pods: no release reads their annotation any more",
    "ServiceAffinity": "keeping a service's pods on nodes with equal labels, or apart: pod (anti-)affinity of the pods",
}


class UnreadPolicy(InputError):
    """A Policy for a release that does not support Policies.

    `instead`: the equivalent configuration, "" if no release would accept the Policy.
    """

    def __init__(self, raw: Mapping[str, Any], release: Release, known: KnownPlugins) -> None:
        problem = (
            f"a scheduler Policy is read by kube-scheduler {TRANSLATED_BY} and older only, and this is {release.name}; "
            f"its extenders can stand under `extenders` of a {KIND} of {GROUP}/v1, what its predicates and "
            "priorities do is done by plugins there; without it the default plugins run"
        )
        super().__init__(POLICY, "kind", problem)
        self.instead = ""
        with suppress(InputError):
            self.instead = configuration_of(raw, release, known)


@dataclass
class _Written:
    """The converted configuration. `plugins`: point -> (plugin, weight); `unsaid`: parts that cannot be converted."""

    plugins: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    args: dict[str, dict[str, Any]] = field(default_factory=dict)
    unsaid: list[str] = field(default_factory=list)


def configuration_of(raw: Mapping[str, Any], release: Release, known: KnownPlugins) -> str:
    """Return YAML for a release without Policies. Comments at its end list what cannot be converted.

    `raw`: the Policy's document; `known`: plugin -> extension points. Raises InputError for what 1.22 would refuse.
    """
    policy = read_policy(raw, unknown_fields=True, grouped=True)
    profile = profile_of(policy, RELEASES[TRANSLATED_BY], known)
    written = _Written()
    _filters(written, profile, release, known)
    _scores(written, profile)
    _arguments(written, profile)
    if policy.always_check_all_predicates:
        written.unsaid.append(
            "running all plugins on every node (alwaysCheckAllPredicates): Filter stops at the first rejection"
        )
    return "\n".join([*_lines(written, release), *_extenders(policy.extenders), *_comments(written.unsaid), ""])


def _there(name: str, release: Release) -> bool:
    return any(name == plugin for plugin, _ in release.default_plugins)


def _filters(written: _Written, profile: Profile, release: Release, known: KnownPlugins) -> None:
    """Convert the Filter plugins.

    NodeVolumeLimits replaces the plugins of single volume types that the release lacks. NodeAffinity replaces the
    required labels of NodeLabel.
    """
    names: list[str] = []
    for name, _ in profile.plugins["filter"]:
        if name == "NodeLabel":
            _demand_labels(written, profile.args[name])
            names.append("NodeAffinity")
        elif _there(name, release):
            names.append(name)
        elif name in _NO_COUNTERPART:
            written.unsaid.append(_NO_COUNTERPART[name])
        else:
            names.append("NodeVolumeLimits")
    names = list(dict.fromkeys(names))
    written.plugins["filter"] = [(name, 0) for name in names]
    for point in ("preFilter", "reserve", "preBind"):
        written.plugins[point] = [(name, 0) for name in names if point in known[name].points]


def _demand_labels(written: _Written, args: Any) -> None:
    wanted = [{"key": label, "operator": "Exists"} for label in args.present_labels]
    wanted += [{"key": label, "operator": "DoesNotExist"} for label in args.absent_labels]
    if wanted:
        terms = {"nodeSelectorTerms": [{"matchExpressions": wanted}]}
        written.args["NodeAffinity"] = {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def _scores(written: _Written, profile: Profile) -> None:
    """Convert the Score plugins. NodeResourcesFit can have only one scoring strategy."""
    scores: dict[str, int] = {}
    for name, weight in profile.plugins["score"]:
        if name in _NO_COUNTERPART:
            written.unsaid.append(_NO_COUNTERPART[name])
        elif name not in _STRATEGIES:
            scores[name] = weight
        elif "NodeResourcesFit" in scores:
            written.unsaid.append(f"{_STRATEGIES[name]} together with another strategy: use a second profile")
        else:
            scores["NodeResourcesFit"] = weight
            strategy: dict[str, Any] = {"type": _STRATEGIES[name]}
            if name == "RequestedToCapacityRatio" and (args := profile.args.get(name)):
                shape = [{"utilization": point.utilization, "score": point.score} for point in args.shape]
                strategy["requestedToCapacityRatio"] = {"shape": shape}
                strategy["resources"] = [{"name": one.name, "weight": one.weight} for one in args.resources]
            written.args.setdefault("NodeResourcesFit", {})["scoringStrategy"] = strategy
    written.plugins["score"] = list(scores.items())


def _arguments(written: _Written, profile: Profile) -> None:
    hard = profile.args["InterPodAffinity"].hard_pod_affinity_weight if "InterPodAffinity" in profile.args else 1
    if hard != 1:
        written.args["InterPodAffinity"] = {"hardPodAffinityWeight": hard}
    ignored = profile.args["NodeResourcesFit"].ignored_resources if "NodeResourcesFit" in profile.args else ()
    if ignored:
        written.args.setdefault("NodeResourcesFit", {})["ignoredResources"] = list(ignored)
    spread = profile.args.get("PodTopologySpread")
    if spread is not None and spread.defaulting_type == "List":
        written.args["PodTopologySpread"] = {"defaultingType": "List"}


def _lines(written: _Written, release: Release) -> Iterator[str]:
    yield from (f"apiVersion: {GROUP}/{release.api_versions[0]}", f"kind: {KIND}", "profiles:")
    yield from ("  - schedulerName: default-scheduler", "    plugins:")
    for point in _POINTS:
        yield from (f"      {point}:", '        disabled: [{name: "*"}]')
        if written.plugins[point]:
            yield "        enabled:"
        for name, weight in written.plugins[point]:
            yield f"          - {{name: {name}, weight: {weight}}}" if weight else f"          - {{name: {name}}}"
    if written.args:
        yield "    pluginConfig:"
    for name, args in sorted(written.args.items()):
        yield from (f"      - name: {name}", f"        args: {json.dumps(args)}")


def _extenders(extenders: Iterable[Extender]) -> Iterator[str]:
    given = [msgspec.to_builtins(extender) for extender in extenders]
    if given:
        yield "extenders:"
    for extender in given:
        yield f"  - {json.dumps({name: value for name, value in extender.items() if value})}"


def _comments(unsaid: Iterable[str]) -> Iterator[str]:
    for number, line in enumerate(dict.fromkeys(unsaid)):
        yield from () if number else ("# Not expressible in a configuration of this release:",)
        yield f"# * {line}"
