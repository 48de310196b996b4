"""Kubernetes 1.30 with the default feature gates."""

from dataclasses import replace

from scheduler_core.releases import v1_31
from scheduler_core.releases.release import OLD_PLUGINS

RELEASE = replace(
    v1_31.RELEASE,
    name="1.30",
    default_plugins=(
        ("SchedulingGates", 0),
        ("PrioritySort", 0),
        ("NodeUnschedulable", 0),
        ("NodeName", 0),
        ("TaintToleration", 3),
        ("NodeAffinity", 2),
        ("NodePorts", 0),
        ("NodeResourcesFit", 1),
        ("VolumeRestrictions", 0),
        ("EBSLimits", 0),
        ("GCEPDLimits", 0),
        ("NodeVolumeLimits", 0),
        ("AzureDiskLimits", 0),
        ("VolumeBinding", 0),
        ("VolumeZone", 0),
        ("PodTopologySpread", 2),
        ("InterPodAffinity", 2),
        ("DefaultPreemption", 0),
        ("NodeResourcesBalancedAllocation", 1),
        ("ImageLocality", 1),
        ("DefaultBinder", 0),
    ),
    removed_plugins=frozenset(
        {"DefaultPodTopologySpread", "GangScheduling", "NodeDeclaredFeatures", "SelectorSpread", *OLD_PLUGINS}
    ),
    affinity_label_keys=False,
    portworx_migrates=False,
    rbd_migratable=True,
    absent_nodes="node is filtered out by the prefilter result",
    prefilter_blames=False,
    hears_pod_changes=False,
    spread_hears_pods=False,
    own_update_counts=False,
    wraps_at_subset=True,
)
