"""Converts a KubeSchedulerConfiguration v1alpha1, which has no profiles, to v1alpha2 with one profile, as 1.18 does.

Upstream: staging/src/k8s.io/kube-scheduler/config/v1alpha1, pkg/scheduler/apis/config/v1alpha1 (conversion.go).
"""

from collections.abc import Mapping
from typing import Any

from scheduler_core.api.scheduler_config import GROUP, KIND
from scheduler_core.api.syntax import shown
from scheduler_core.errors import InputError

PROVIDERS = ("DefaultProvider", "ClusterAutoscalerProvider")
_OF_PROFILE = ("schedulerName", "plugins", "pluginConfig", "algorithmSource", "hardPodAffinitySymmetricWeight")


def with_profile(raw: Mapping[str, Any], warnings: list[str]) -> dict[str, Any]:
    """Return the configuration as v1alpha2. Raises InputError that names the field.

    `postFilter` of v1alpha1 is `preScore` in v1alpha2. The Policy that an algorithmSource names is another document:
    the default provider runs without it, and a warning is added to `warnings`.
    """
    for name in ("profiles", "extenders"):
        if name in raw:
            raise InputError(KIND, name, "unknown field in v1alpha1")
    profile: dict[str, Any] = {}
    if raw.get("schedulerName"):
        profile["schedulerName"] = raw["schedulerName"]
    plugins, config = raw.get("plugins", {}), raw.get("pluginConfig", [])
    if not isinstance(plugins, Mapping):
        raise InputError(KIND, "plugins", "must be an object")
    if not isinstance(config, list):
        raise InputError(KIND, "pluginConfig", "must be a list")
    if "preScore" in plugins:
        raise InputError(KIND, "plugins.preScore", "unknown field in v1alpha1; there it is postFilter")
    points = {"preScore" if point == "postFilter" else point: chosen for point, chosen in plugins.items()}
    if _provider(raw, warnings) == PROVIDERS[1]:
        score = points.get("score") or {}
        if not isinstance(score, Mapping):
            raise InputError(KIND, "plugins.score", "must be an object")
        points["score"] = _packing(score)
    hard = raw.get("hardPodAffinitySymmetricWeight")
    if hard is not None:
        if not isinstance(hard, int) or isinstance(hard, bool) or not 0 <= hard <= 100:
            raise InputError(KIND, "hardPodAffinitySymmetricWeight", f"must be in 0..100, got {shown(str(hard))}")
        config = [*config, {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": hard}}]
    if points:
        profile["plugins"] = points
    if config:
        profile["pluginConfig"] = config
    if isinstance(election := raw.get("leaderElection"), Mapping):
        raw = {**raw, "leaderElection": {k: v for k, v in election.items() if not k.startswith("lockObject")}}
    kept = {name: value for name, value in raw.items() if name not in _OF_PROFILE}
    return {**kept, "apiVersion": f"{GROUP}/v1alpha2", **({"profiles": [profile]} if profile else {})}


def _packing(score: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plugins of `score` as changes to the default provider: ClusterAutoscalerProvider fills nodes."""
    enabled, disabled = list(score.get("enabled") or ()), list(score.get("disabled") or ())
    names = {plugin.get("name") for plugin in disabled if isinstance(plugin, Mapping)}
    if not names & {"*", "NodeResourcesMostAllocated"}:
        enabled.insert(0, {"name": "NodeResourcesMostAllocated", "weight": 1})
    return {**score, "enabled": enabled, "disabled": [{"name": "NodeResourcesLeastAllocated"}, *disabled]}


def _provider(raw: Mapping[str, Any], warnings: list[str]) -> str:
    source = raw.get("algorithmSource", {})
    if not isinstance(source, Mapping):
        raise InputError(KIND, "algorithmSource", "must be an object")
    for name in source:
        if name not in ("provider", "policy"):
            raise InputError(KIND, f"algorithmSource.{shown(str(name))[1:-1]}", "unknown field")
    if source.get("policy") is not None:
        warnings.append(
            "the Policy that algorithmSource names is a separate document: the default provider is used without it"
        )
    provider = source.get("provider") or PROVIDERS[0]
    if provider not in PROVIDERS:
        raise InputError(
            KIND, "algorithmSource.provider", f"must be {' or '.join(PROVIDERS)}, got {shown(str(provider))}"
        )
    return str(provider)
