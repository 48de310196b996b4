"""A KubeSchedulerConfiguration with other weights and another scoring strategy: what tune varies."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec
import yaml

from scheduler_core.config.discovery import find
from scheduler_core.config.loader import load
from scheduler_core.config.unknown_plugins import Unknown
from scheduler_core.errors import InputError
from scheduler_core.experiments.parameters import TuneParameters
from scheduler_core.releases import Release, get_release

FIT = "NodeResourcesFit"
GROUP, KIND = "kubescheduler.config.k8s.io", "KubeSchedulerConfiguration"
UTILIZATIONS = (0, 50, 100)  # of the shape of RequestedToCapacityRatio
MAX_RESOURCE_WEIGHT, MAX_SCORE = 10, 10
RATIO = "RequestedToCapacityRatio"

Choices = dict[str, int | str]
"""What a trial chooses, by name: `weight:NodeAffinity`, `strategy`, `resource:cpu`, `shape:50`, `percentage`."""


@dataclass(frozen=True)
class SearchSpace:
    """The choices of a tune. `base`: the configuration that they change; `weights`: score plugin -> its weight there,
    of those that vary; `fixed`: of the others."""

    parameters: TuneParameters
    base: Mapping[str, Any]
    weights: Mapping[str, int]
    fixed: Mapping[str, int] = field(default_factory=dict)
    base_strategy: str = "LeastAllocated"

    @staticmethod
    def create(
        parameters: TuneParameters, configuration: str, release_name: str, unknown: Unknown = "error"
    ) -> SearchSpace:
        """Return the space of a configuration ("" for the default of the release). Raises InputError."""
        release = get_release(release_name)
        base = _raw(configuration, release)
        loaded = load(configuration or None, release, unknown=unknown)
        weights: dict[str, int] = {}
        for profile in loaded.profiles:
            weights |= dict(profile.plugins["score"])
        known = ", ".join(weights)
        for number, name in enumerate(parameters.plugins):
            if name not in weights:
                raise InputError("", f"spec.tune.plugins[{number}]", f"{name[:63]!r} does not score; there are {known}")
        varied = {
            name: weight for name, weight in weights.items() if not parameters.plugins or name in parameters.plugins
        }
        fixed = {name: weight for name, weight in weights.items() if name not in varied}
        given = loaded.profiles[0].args.get(FIT)
        strategy = given.scoring_strategy.type if given is not None else "LeastAllocated"
        return SearchSpace(parameters, base, varied, fixed, strategy)

    def dimensions(self) -> dict[str, range | Sequence[str]]:
        """Return what can be chosen, by name, in the order of the choices. A shape is only chosen for RATIO."""
        found: dict[str, range | Sequence[str]] = {}
        found |= {f"weight:{name}": range(self.parameters.max_weight + 1) for name in self.weights}
        if self.parameters.strategies:
            found["strategy"] = self.parameters.strategies
            found |= {f"resource:{name}": range(1, MAX_RESOURCE_WEIGHT + 1) for name in self.parameters.resources}
            found |= {f"shape:{at}": range(MAX_SCORE + 1) for at in UTILIZATIONS}
        if self.parameters.percentage:
            found["percentage"] = range(5, 101, 5)
        return found

    def first_choices(self) -> list[Choices]:
        """Return the choices to try first: the weights of the given configuration with each strategy."""
        return [self._given(strategy) for strategy in self.parameters.strategies if strategy != self.base_strategy]

    def _given(self, strategy: str) -> Choices:
        most = self.parameters.max_weight
        found: Choices = {f"weight:{name}": min(weight, most) for name, weight in self.weights.items()}
        found |= {"strategy": strategy, **{f"resource:{name}": 1 for name in self.parameters.resources}}
        if strategy == RATIO:
            found |= {"shape:0": 0, "shape:50": MAX_SCORE // 2, "shape:100": MAX_SCORE}
        if self.parameters.percentage:
            found["percentage"] = 100
        return found

    def configuration(self, choices: Choices) -> str:
        """Return the configuration with these choices, as YAML."""
        made = copy.deepcopy(dict(self.base))
        for profile in made.setdefault("profiles", [{}]):
            profile.setdefault("plugins", {})["score"] = self._score(choices)
            if "strategy" in choices:
                _set_strategy(profile, self._strategy(choices))
            if "percentage" in choices:
                profile.pop("percentageOfNodesToScore", None)
        if "percentage" in choices:
            made["percentageOfNodesToScore"] = int(choices["percentage"])
        return _yaml(made)

    def default_text(self) -> str:
        """Return the default configuration of the release with its weights written out."""
        return _yaml({**self.base, "profiles": [{"plugins": {"score": self._score({})}}]})

    def _score(self, choices: Choices) -> dict[str, Any]:
        weights = {name: int(choices.get(f"weight:{name}", weight)) for name, weight in self.weights.items()}
        enabled = [{"name": name, "weight": weight} for name, weight in {**self.fixed, **weights}.items() if weight]
        return {"disabled": [{"name": "*"}], "enabled": enabled}

    def _strategy(self, choices: Choices) -> dict[str, Any]:
        weights = [{"name": name, "weight": int(choices[f"resource:{name}"])} for name in self.parameters.resources]
        strategy: dict[str, Any] = {"type": choices["strategy"], "resources": weights}
        if choices["strategy"] == RATIO:
            shape = [{"utilization": at, "score": int(choices[f"shape:{at}"])} for at in UTILIZATIONS]
            strategy["requestedToCapacityRatio"] = {"shape": shape}
        return strategy


def _yaml(configuration: Mapping[str, Any]) -> str:
    return str(yaml.dump(dict(configuration), Dumper=yaml.CSafeDumper, sort_keys=False))


def _raw(configuration: str, release: Release) -> dict[str, Any]:
    versions = [version for version in release.api_versions if version in ("v1", "v1beta3", "v1beta2")]
    if not versions:
        problem = f"Kubernetes {release.name} has no scoring strategies; tune needs 1.22 or newer"
        raise InputError("", "spec.releases[0]", problem)
    if not configuration:
        return {"apiVersion": f"{GROUP}/{versions[0]}", "kind": KIND}
    raw = cast("dict[str, Any]", msgspec.to_builtins(find(configuration)[0].raw))
    if raw.get("kind") != KIND or str(raw.get("apiVersion")).rpartition("/")[2] not in versions:
        allowed = ", ".join(f"{GROUP}/{version}" for version in versions)
        raise InputError("", "spec.configurations[0].config", f"tune needs a {KIND} of {allowed}")
    if not raw.get("profiles"):
        raw["profiles"] = [{}]
    return raw


def _set_strategy(profile: dict[str, Any], strategy: dict[str, Any]) -> None:
    """Set the scoring strategy of NodeResourcesFit; its other arguments stay."""
    arguments = profile.setdefault("pluginConfig", [])
    for one in arguments:
        if one.get("name") == FIT:
            one["args"] = {**(one.get("args") or {}), "scoringStrategy": strategy}
            return
    arguments.append({"name": FIT, "args": {"scoringStrategy": strategy}})


def choices_of(configuration: str, space: SearchSpace) -> Choices:
    """Return the choices with which `SearchSpace.configuration` made this text."""
    made = yaml.load(configuration, yaml.CSafeLoader)
    profile = made["profiles"][0]
    weights = {one["name"]: one["weight"] for one in profile["plugins"]["score"]["enabled"]}
    found: Choices = {f"weight:{name}": weights.get(name, 0) for name in space.weights}
    if space.parameters.strategies:
        strategy = next(one["args"]["scoringStrategy"] for one in profile["pluginConfig"] if one["name"] == FIT)
        found["strategy"] = strategy["type"]
        found |= {f"resource:{one['name']}": one["weight"] for one in strategy["resources"]}
        ratio = strategy.get("requestedToCapacityRatio")
        found |= {f"shape:{one['utilization']}": one["score"] for one in ratio["shape"]} if ratio else {}
    if space.parameters.percentage:
        found["percentage"] = made["percentageOfNodesToScore"]
    return found
