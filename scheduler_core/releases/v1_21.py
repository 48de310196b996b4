"""Kubernetes 1.21 with the default feature gates."""

from dataclasses import replace

from scheduler_core.releases import v1_22
from scheduler_core.releases.release import weighted

RELEASE = replace(
    v1_22.RELEASE,
    name="1.21",
    patch_version="",
    api_versions=("v1beta1",),
    default_plugins=(
        *weighted(v1_22.RELEASE.default_plugins, NodeResourcesFit=0),
        *(("NodeResourcesLeastAllocated", 1), ("NodePreferAvoidPods", 10000)),
    ),
    default_points={"v1beta1": v1_22.RELEASE.default_points["v1beta1"]},
    fit_score_ignores_overhead=False,
    affinity_namespace_selectors=False,
    scores_absent_resources=True,
    two_resource_balance=True,
    evaluates_nominated_node_first=False,
    inter_pod_affinity_reason_prefix="node(s) didn't match pod affinity/anti-affinity rules",
    every_event_requeues=True,
)
