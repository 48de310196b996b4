"""Kubernetes 1.22 with the default feature gates."""

from dataclasses import replace

from scheduler_core.releases import v1_23
from scheduler_core.releases.release import OLD_PLUGINS, weighted

_POINTS = v1_23.RELEASE.default_points["v1beta2"]

RELEASE = replace(
    v1_23.RELEASE,
    name="1.22",
    patch_version="1.22.6",
    api_versions=("v1beta2", "v1beta1"),
    default_plugins=weighted(v1_23.RELEASE.default_plugins, InterPodAffinity=1, NodeAffinity=1, TaintToleration=1),
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
    missing_claim_fails=False,
)
