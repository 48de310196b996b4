"""Kubernetes 1.22 with the default feature gates."""

from dataclasses import replace

from scheduler_core.releases import v1_23

_WEIGHTS = {"InterPodAffinity": 1, "NodeAffinity": 1, "TaintToleration": 1}

RELEASE = replace(
    v1_23.RELEASE,
    name="1.22",
    api_versions=("v1beta2",),
    default_plugins=tuple((name, _WEIGHTS.get(name, weight)) for name, weight in v1_23.RELEASE.default_plugins),
)
