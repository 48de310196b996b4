"""Kubernetes 1.27 with the default feature gates."""

from dataclasses import replace

from scheduler_core.releases import v1_28
from scheduler_core.releases.release import unweighted

RELEASE = replace(
    v1_28.RELEASE,
    name="1.27",
    patch_version="1.27.1",
    api_versions=("v1", "v1beta3", "v1beta2"),
    default_points={
        "v1beta2": {
            "preEnqueue": unweighted("SchedulingGates"),
            "queueSort": unweighted("PrioritySort"),
            "preFilter": unweighted(
                *("NodeResourcesFit", "NodePorts", "VolumeRestrictions", "PodTopologySpread", "InterPodAffinity"),
                *("VolumeBinding", "VolumeZone", "NodeAffinity"),
            ),
            "filter": unweighted(
                *("NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit"),
                *("VolumeRestrictions", "EBSLimits", "GCEPDLimits", "NodeVolumeLimits", "AzureDiskLimits"),
                *("VolumeBinding", "VolumeZone", "PodTopologySpread", "InterPodAffinity"),
            ),
            "postFilter": unweighted("DefaultPreemption"),
            "preScore": unweighted("InterPodAffinity", "PodTopologySpread", "TaintToleration", "NodeAffinity"),
            "score": (
                ("NodeResourcesBalancedAllocation", 1),
                ("ImageLocality", 1),
                ("InterPodAffinity", 1),
                ("NodeResourcesFit", 1),
                ("NodeAffinity", 1),
                ("PodTopologySpread", 2),
                ("TaintToleration", 1),
            ),
            "reserve": unweighted("VolumeBinding"),
            "preBind": unweighted("VolumeBinding"),
            "bind": unweighted("DefaultBinder"),
        }
    },
    absent_points={},
    sidecar_containers=False,
    rejects_sidecars=False,
    gce_pd_is_csi=False,
    prefilter_skips=False,
    prescore_skips=False,
    fit_skips_zero_requests=False,
    prefilter_continues_after_rejection=False,
    queueing_hint_node_annotations=False,
)
