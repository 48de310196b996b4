"""Kubernetes 1.36 with the default feature gates."""

from scheduler_core.releases.release import OLD_PLUGINS, Release, unweighted

RELEASE = Release(
    name="1.36",
    patch_version="1.36.2",
    api_versions=("v1",),
    default_plugins=(
        *unweighted("SchedulingGates", "PrioritySort", "NodeUnschedulable", "NodeName"),
        ("TaintToleration", 3),
        ("NodeAffinity", 2),
        ("NodePorts", 0),
        ("NodeResourcesFit", 1),
        *unweighted("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"),
        ("PodTopologySpread", 2),
        ("InterPodAffinity", 2),
        # before preemption: deallocating an unused claim is better than evicting a pod
        ("DynamicResources", 2),
        ("DefaultPreemption", 0),
        ("NodeResourcesBalancedAllocation", 1),
        ("ImageLocality", 1),
        ("DefaultBinder", 0),
        # its feature gate appends the plugin
        ("NodeDeclaredFeatures", 0),
    ),
    removed_plugins=frozenset(
        {
            *("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"),
            *("DefaultPodTopologySpread", "SelectorSpread"),
            *OLD_PLUGINS,
        }
    ),
)
