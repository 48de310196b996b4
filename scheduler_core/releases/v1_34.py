"""Kubernetes 1.34 with the default feature gates."""

from scheduler_core.releases.release import OLD_PLUGINS, Release

RELEASE = Release(
    name="1.34",
    api_versions=("v1",),
    taint_named=True,
    image_volumes_count=False,
    balance_change=False,
    node_declared_features=False,
    incomplete_pools_serve=True,
    class_config_requests=False,
    invalid_pools_told=False,
    sub_requests_mixed_up=True,
    device_taints=False,
    shared_counters=False,
    consumable_capacity=False,
    binding_conditions=False,
    extended_resources=False,
    claim_owner_capital=False,
    opportunistic_batching=False,
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
        ("NodeVolumeLimits", 0),
        ("VolumeBinding", 0),
        ("VolumeZone", 0),
        ("PodTopologySpread", 2),
        ("InterPodAffinity", 2),
        # before preemption: freeing an idle claim is kinder than evicting a pod
        ("DynamicResources", 0),
        ("DefaultPreemption", 0),
        ("NodeResourcesBalancedAllocation", 1),
        ("ImageLocality", 1),
        ("DefaultBinder", 0),
    ),
    absent_points={"DynamicResources": frozenset({"score"})},
    removed_plugins=frozenset(
        {
            *("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"),
            *("DefaultPodTopologySpread", "GangScheduling", "NodeDeclaredFeatures", "SelectorSpread"),
            *OLD_PLUGINS,
        }
    ),
)
