"""KubeSchedulerConfiguration v1alpha1: selects the algorithm provider or Policy and a few settings.

Source: pkg/scheduler/apis/config (types.go of 1.16), cmd/kube-scheduler/app/options.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from scheduler_core.api.plugin_args import convert_problem
from scheduler_core.api.scheduler_config import DEFAULT_SCHEDULER, GROUP, KIND
from scheduler_core.api.syntax import shown
from scheduler_core.config.configuration import Configuration
from scheduler_core.config.profile_1_16 import default_profile
from scheduler_core.errors import InputError
from scheduler_core.releases import Release

VERSION = f"{GROUP}/v1alpha1"
PROVIDERS = ("DefaultProvider", "ClusterAutoscalerProvider")


class _Source(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    provider: str | None = None
    policy: dict[str, Any] | None = None


class _File(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    scheduler_name: str = ""
    algorithm_source: _Source = _Source()
    hard_pod_affinity_symmetric_weight: int | None = None
    disable_preemption: bool = False
    percentage_of_nodes_to_score: int | None = None
    plugins: dict[str, Any] = {}


def read_component(raw: Mapping[str, Any], release: Release) -> Configuration:
    """Return the configuration that a v1alpha1 file describes. Raises InputError with the field."""
    if raw.get("apiVersion") != VERSION:
        problem = f"{release.number} reads {VERSION}, or a Policy, got {shown(str(raw.get('apiVersion')))}"
        raise InputError(KIND, "apiVersion", problem)
    try:
        file = msgspec.convert(raw, _File)
    except msgspec.ValidationError as wrong:
        message, path = convert_problem(wrong)
        raise InputError(KIND, path, message) from wrong
    provider = file.algorithm_source.provider or PROVIDERS[0]
    if provider not in PROVIDERS:
        problem = f"must be {' or '.join(PROVIDERS)}, got {shown(provider)}"
        raise InputError(KIND, "algorithmSource.provider", problem)
    hard, share = file.hard_pod_affinity_symmetric_weight, file.percentage_of_nodes_to_score
    if hard is not None and not 0 <= hard <= 100:
        raise InputError(KIND, "hardPodAffinitySymmetricWeight", f"must be in 0..100, got {hard}")
    if share is not None and not 0 <= share <= 100:
        raise InputError(KIND, "percentageOfNodesToScore", f"must be in 0..100, got {share}")
    weight = 1 if hard is None else hard
    profile = default_profile(release, file.scheduler_name or DEFAULT_SCHEDULER, weight, provider == PROVIDERS[1])
    warnings, given = _left_out(file), frozenset(raw)
    return Configuration(profiles=[profile], warnings=warnings, percentage_of_nodes_to_score=share, given=given)


def _left_out(file: _File) -> list[str]:
    """Return warnings about settings that have no effect here."""
    texts = []
    if file.algorithm_source.policy is not None:
        texts.append(
            "the Policy that algorithmSource names is a separate document: the default provider is used without it"
        )
    if file.disable_preemption:
        texts.append("disablePreemption is ignored: disable preemption in the settings of the run")
    if file.plugins:
        texts.append("plugins of the early framework are ignored")
    return texts
