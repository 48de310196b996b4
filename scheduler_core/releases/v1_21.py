"""Kubernetes 1.21 with the default feature gates."""

from dataclasses import replace

from scheduler_core.releases import v1_22

_OLD = (("NodeResourcesLeastAllocated", 1), ("NodePreferAvoidPods", 10000))

RELEASE = replace(
    v1_22.RELEASE,
    name="1.21",
    api_versions=("v1beta1",),
    default_plugins=(
        *((name, 0 if name == "NodeResourcesFit" else weight) for name, weight in v1_22.RELEASE.default_plugins),
        *_OLD,
    ),
    default_points={"v1beta1": v1_22.RELEASE.default_points["v1beta1"]},
    nominated_first=False,
    affinity_namespace_selectors=False,
    overhead_not_scored=False,
    absent_resources_count=True,
    two_resource_balance=True,
    every_event_wakes=True,
    affinity_reason="node(s) didn't match pod affinity/anti-affinity rules",
)
