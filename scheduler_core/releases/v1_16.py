"""Kubernetes 1.16 with the default feature gates: predicates and priorities of the default algorithm provider."""

from dataclasses import replace

from scheduler_core.releases import v1_22

RELEASE = replace(
    v1_22.RELEASE,
    name="1.16",
    api_versions=("v1alpha1",),
    predicates=True,
    affinity_namespace_selectors=False,
    pod_overhead=False,
    nodes_hold_peaks=False,
    zone_labels_stable=False,
    every_event_wakes=True,
    old_queue=True,
    default_points={},
    removed_plugins=frozenset(),
    default_plugins=(
        ("CheckNodeUnschedulable", 0),
        ("GeneralPredicates", 0),
        ("NoDiskConflict", 0),
        ("PodToleratesNodeTaints", 0),
        ("MaxEBSVolumeCount", 0),
        ("MaxGCEPDVolumeCount", 0),
        ("MaxCSIVolumeCountPred", 0),
        ("MaxAzureDiskVolumeCount", 0),
        ("CheckVolumeBinding", 0),
        ("NoVolumeZoneConflict", 0),
        ("MatchInterPodAffinity", 0),
        ("SelectorSpreadPriority", 1),
        ("InterPodAffinityPriority", 1),
        ("LeastRequestedPriority", 1),
        ("BalancedResourceAllocation", 1),
        ("NodePreferAvoidPodsPriority", 10000),
        ("NodeAffinityPriority", 1),
        ("TaintTolerationPriority", 1),
        ("ImageLocalityPriority", 1),
    ),
)
