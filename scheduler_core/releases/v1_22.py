"""Kubernetes 1.22 with the default feature gates."""

from dataclasses import replace

from scheduler_core.releases import v1_23
from scheduler_core.releases.release import OLD_PLUGINS

_WEIGHTS = {"InterPodAffinity": 1, "NodeAffinity": 1, "TaintToleration": 1}
_POINTS = v1_23.RELEASE.default_points["v1beta2"]

RELEASE = replace(
    v1_23.RELEASE,
    name="1.22",
    api_versions=("v1beta2", "v1beta1"),
    default_plugins=tuple((name, _WEIGHTS.get(name, weight)) for name, weight in v1_23.RELEASE.default_plugins),
    missing_claim_fails=False,
    default_points={
        "v1beta2": _POINTS,
        "v1beta1": {
            **_POINTS,
            "score": (
                ("NodeResourcesBalancedAllocation", 1),
                ("ImageLocality", 1),
                ("InterPodAffinity", 1),
                ("NodeResourcesLeastAllocated", 1),
                ("NodeAffinity", 1),
                ("NodePreferAvoidPods", 10000),
                ("PodTopologySpread", 2),
                ("TaintToleration", 1),
            ),
        },
    },
    removed_plugins=v1_23.RELEASE.removed_plugins - OLD_PLUGINS,
)
