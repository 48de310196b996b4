"""Whether a pod's fit on a node depends on the pods of this node only, so that pods elsewhere cannot change it."""

from __future__ import annotations

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework.runtime import Framework

# Filter plugins whose verdict on a node depends on the pods of this node only.
_LOCAL_FILTERS = frozenset({"NodePorts"})
# Filter plugins that pass every node for a pod without volumes that count.
_VOLUME_FILTERS = frozenset(
    {
        *("VolumeBinding", "VolumeZone", "VolumeRestrictions", "NodeVolumeLimits"),
        *("EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits"),
    }
)
# Plugins of later extension points that do nothing for a pod without volumes, claims and a group.
_INERT = frozenset(
    {"VolumeBinding", "DynamicResources", "GangScheduling", "Coscheduling", "DefaultBinder", "SchedulingGates"}
)


def is_local(framework: Framework, pod: PodInfo) -> bool:
    """Return whether a node takes the pod depending only on the pods of this node, and removing pods never hurts.

    False also if it is not known, as for plugins outside the tree and in releases that have no Skip.
    """
    cluster = framework.cluster
    if cluster.release.predicates or cluster.nominator or framework.extenders is not None:
        return False
    if pod.group or pod.volumes or pod.pod.spec.resource_claims:
        return False
    later = (framework.reserve, framework.permit, framework.pre_bind, framework.bind, framework.pre_enqueue)
    if not {plugin.name for plugins in later for plugin in plugins} <= _INERT:
        return False
    equivalent = framework.equivalence.find(pod) or framework.equivalence.find(pod)
    return equivalent is not None and {one.name for one in equivalent.filter} <= _LOCAL_FILTERS | _VOLUME_FILTERS
