"""Whether pods elsewhere can change if a node takes a pod, and so whether the order of placements matters."""

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework.interface import CycleState
from scheduler_core.framework.runtime import Framework
from scheduler_core.plugins.pod_topology_spread import HardConstraint

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


# Filter plugins whose verdict on a node depends on pods elsewhere.
_DOMAIN_FILTERS = frozenset({"PodTopologySpread", "InterPodAffinity"})


def is_local(framework: Framework, pod: PodInfo) -> bool:
    """Return whether a node takes the pod depending only on the pods of this node, and removing pods never hurts.

    False also if it is not known, as for plugins outside the tree and in releases that have no Skip.
    """
    varying = _varying_filters(framework, pod)
    return varying is not None and varying <= _LOCAL_FILTERS | _VOLUME_FILTERS


def nodes_are_independent(framework: Framework, pod: PodInfo) -> bool:
    """Return whether pods equal to this one never keep each other off other nodes.

    Then a node that takes such a pod still does after other nodes have taken one, so in whatever order the pods are
    placed, each node has the same number of them in the end. This holds for local pods, and for pods that spread over
    hostnames (DoNotSchedule) or repel their equals on the same hostname: a pod on one node never lowers the global
    minimum of the others. With a label that several nodes share, the node that takes the domain's pod matters. False
    also if it is not known.
    """
    varying, nodes = _varying_filters(framework, pod), framework.cluster.nodes
    if varying is None or pod.required_affinity:
        return False
    if not varying - _DOMAIN_FILTERS <= _LOCAL_FILTERS | _VOLUME_FILTERS:
        return False
    state = CycleState()
    framework.run_pre_filter(state, pod)
    spread = state.get("PodTopologySpread") or ()
    if not all(isinstance(one, HardConstraint) for one in spread):
        return False
    if spread and not {"NodeAffinity", "TaintToleration"} <= {plugin.name for plugin in framework.filter}:
        return False  # pods may run on nodes that do not count
    labels = framework.cluster.namespaces.get(pod.namespace, {})
    keys = {one.constraint.topology_key for one in spread if one.own}
    keys |= {
        term.topology_key for term in pod.required_anti_affinity if term.matches(pod.namespace, labels, pod.labels)
    }
    columns = [nodes.topology(key) for key in keys]
    return all(len(column.values) == int((column.ids >= 0).sum()) for column in columns)


def _varying_filters(framework: Framework, pod: PodInfo) -> set[str] | None:
    """Return the Filter plugins whose verdict depends on more than objects and the usage of the node; None if other
    plugins, nominated pods or the pod's group also matter."""
    cluster = framework.cluster
    if not len(cluster.nodes) or cluster.release.predicates or cluster.nominator or framework.extenders is not None:
        return None
    if pod.group or pod.volumes or pod.pod.spec.resource_claims:
        return None
    later = (framework.reserve, framework.permit, framework.pre_bind, framework.bind, framework.pre_enqueue)
    if not {plugin.name for plugins in later for plugin in plugins} <= _INERT:
        return None
    equivalent = framework.equivalence.find(pod)
    return None if equivalent is None else {*equivalent.plugins.filter_names}
