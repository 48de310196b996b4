"""Kubernetes 1.18 with the default feature gates.

In this release preemption and volume binding are parts of the scheduler, and configurations cannot name them. Here
DefaultPreemption implements preemption, and VolumeBinding implements volume binding at PreFilter, Reserve and PreBind.
"""

from dataclasses import replace

from scheduler_core.releases import v1_19
from scheduler_core.releases.release import unweighted, without

_POINTS = {
    "queueSort": unweighted("PrioritySort"),
    # Some plugins prepare at PreFilter what this release computes for each node.
    "preFilter": unweighted(
        *("NodeResourcesFit", "NodePorts", "InterPodAffinity", "PodTopologySpread"),
        *("VolumeRestrictions", "VolumeBinding", "VolumeZone", "NodeAffinity"),
    ),
    "filter": unweighted(
        *("NodeUnschedulable", "NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity", "VolumeRestrictions"),
        *("TaintToleration", "EBSLimits", "GCEPDLimits", "NodeVolumeLimits", "AzureDiskLimits", "VolumeBinding"),
        *("VolumeZone", "InterPodAffinity", "PodTopologySpread"),
    ),
    "postFilter": unweighted("DefaultPreemption"),
    "preScore": unweighted(
        *("InterPodAffinity", "DefaultPodTopologySpread", "TaintToleration", "PodTopologySpread", "NodeAffinity"),
    ),
    "score": (
        ("NodeResourcesBalancedAllocation", 1),
        ("ImageLocality", 1),
        ("InterPodAffinity", 1),
        ("NodeResourcesLeastAllocated", 1),
        ("NodeAffinity", 1),
        ("NodePreferAvoidPods", 10000),
        ("DefaultPodTopologySpread", 1),
        ("TaintToleration", 1),
        ("PodTopologySpread", 1),
    ),
    "reserve": unweighted("VolumeBinding"),
    "preBind": unweighted("VolumeBinding"),
    "bind": unweighted("DefaultBinder"),
}

RELEASE = replace(
    v1_19.RELEASE,
    name="1.18",
    patch_version="",
    api_versions=("v1alpha2", "v1alpha1"),
    default_plugins=(
        *without(v1_19.RELEASE.default_plugins, "SelectorSpread", "PodTopologySpread"),
        *(("DefaultPodTopologySpread", 1), ("PodTopologySpread", 1)),
    ),
    default_points=dict.fromkeys(("v1alpha2", "v1alpha1", "v1beta1"), _POINTS),
    removed_plugins=v1_19.RELEASE.removed_plugins - {"DefaultPodTopologySpread"} | {"SelectorSpread"},
    unusable_claim_fails_cycle=True,
    existing_anti_affinity_first=True,
    spread_counts_excluded_nodes=False,
    spread_scores_by_share=True,
    reports_missing_topology_label=False,
    filter_errors_name_pod=True,
    preemption_is_plugin=False,
    honors_disrupted_pods=False,
    preemption_policy_never=False,
    preempts_again_if_nominated_node_unresolvable=False,
)
