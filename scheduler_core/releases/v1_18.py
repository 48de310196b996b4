"""Kubernetes 1.18 with the default feature gates.

Preemption and the binding of volumes are parts of the scheduler there. DefaultPreemption stands for the one, and
VolumeBinding at PreFilter, Reserve and PreBind for the other: no configuration names them there.
"""

from dataclasses import replace

from scheduler_core.releases import v1_19

_OTHERWISE = ("SelectorSpread", "PodTopologySpread")
_FILTERS = (
    *("NodeUnschedulable", "NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity", "VolumeRestrictions"),
    *("TaintToleration", "EBSLimits", "GCEPDLimits", "NodeVolumeLimits", "AzureDiskLimits", "VolumeBinding"),
    *("VolumeZone", "InterPodAffinity", "PodTopologySpread"),
)
_PREPARED = (
    *("NodeResourcesFit", "NodePorts", "InterPodAffinity", "PodTopologySpread"),
    *("VolumeRestrictions", "VolumeBinding", "VolumeZone", "NodeAffinity"),
)
_PREPARED_TO_SCORE = (
    *("InterPodAffinity", "DefaultPodTopologySpread", "TaintToleration", "PodTopologySpread", "NodeAffinity"),
)
_POINTS = {
    "queueSort": (("PrioritySort", 0),),
    # with those that prepare here what they found node by node there
    "preFilter": tuple((name, 0) for name in _PREPARED),
    "filter": tuple((name, 0) for name in _FILTERS),
    "postFilter": (("DefaultPreemption", 0),),
    "preScore": tuple((name, 0) for name in _PREPARED_TO_SCORE),
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
    "reserve": (("VolumeBinding", 0),),
    "preBind": (("VolumeBinding", 0),),
    "bind": (("DefaultBinder", 0),),
}

RELEASE = replace(
    v1_19.RELEASE,
    name="1.18",
    api_versions=("v1alpha2", "v1alpha1"),
    default_plugins=(
        *((name, weight) for name, weight in v1_19.RELEASE.default_plugins if name not in _OTHERWISE),
        ("DefaultPodTopologySpread", 1),
        ("PodTopologySpread", 1),
    ),
    default_points=dict.fromkeys(("v1alpha2", "v1alpha1", "v1beta1"), _POINTS),
    removed_plugins=v1_19.RELEASE.removed_plugins - {"DefaultPodTopologySpread"} | {"SelectorSpread"},
    existing_anti_affinity_first=True,
    spread_counts_all=False,
    spread_shares=True,
    missing_label_told=False,
    claims_fail_cycles=True,
    filter_errors_name_pod=True,
    preemption_is_plugin=False,
    disrupted_pods_spared=False,
    never_preempts=False,
    preempts_past_unresolvable=False,
)
