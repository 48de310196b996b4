"""The in-tree plugins, one file for each, named as upstream names them. `PLUGINS` maps names to plugin classes."""

from collections.abc import Iterable, Mapping

from scheduler_core.framework.interface import POINTS, Plugin
from scheduler_core.plugins.coscheduling import Coscheduling
from scheduler_core.plugins.default_binder import DefaultBinder
from scheduler_core.plugins.default_pod_topology_spread import DefaultPodTopologySpread
from scheduler_core.plugins.default_preemption import DefaultPreemption
from scheduler_core.plugins.dynamic_resources import DynamicResources
from scheduler_core.plugins.gang_scheduling import GangScheduling
from scheduler_core.plugins.image_locality import ImageLocality
from scheduler_core.plugins.inter_pod_affinity import InterPodAffinity
from scheduler_core.plugins.node_affinity import NodeAffinity
from scheduler_core.plugins.node_declared_features import NodeDeclaredFeatures
from scheduler_core.plugins.node_label import NodeLabel
from scheduler_core.plugins.node_name import NodeName
from scheduler_core.plugins.node_ports import NodePorts
from scheduler_core.plugins.node_prefer_avoid_pods import NodePreferAvoidPods
from scheduler_core.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from scheduler_core.plugins.node_resources_fit import NodeResourcesFit
from scheduler_core.plugins.node_resources_least_allocated import NodeResourcesLeastAllocated
from scheduler_core.plugins.node_resources_most_allocated import NodeResourcesMostAllocated
from scheduler_core.plugins.node_unschedulable import NodeUnschedulable
from scheduler_core.plugins.node_volume_limits import NodeVolumeLimits
from scheduler_core.plugins.non_csi_limits import AzureDiskLimits, CinderLimits, EBSLimits, GCEPDLimits
from scheduler_core.plugins.pod_topology_spread import PodTopologySpread
from scheduler_core.plugins.priority_sort import PrioritySort
from scheduler_core.plugins.requested_to_capacity_ratio import RequestedToCapacityRatio
from scheduler_core.plugins.scheduling_gates import SchedulingGates
from scheduler_core.plugins.selector_spread import SelectorSpread
from scheduler_core.plugins.service_affinity import ServiceAffinity
from scheduler_core.plugins.taint_toleration import TaintToleration
from scheduler_core.plugins.volume_binding import VolumeBinding
from scheduler_core.plugins.volume_restrictions import VolumeRestrictions
from scheduler_core.plugins.volume_zone import VolumeZone

_IN_TREE: tuple[type[Plugin], ...] = (
    SchedulingGates,
    PrioritySort,
    NodeUnschedulable,
    NodeName,
    TaintToleration,
    NodeAffinity,
    NodePorts,
    NodeResourcesFit,
    VolumeRestrictions,
    EBSLimits,
    GCEPDLimits,
    NodeVolumeLimits,
    AzureDiskLimits,
    VolumeBinding,
    VolumeZone,
    PodTopologySpread,
    InterPodAffinity,
    DynamicResources,
    DefaultPreemption,
    NodeResourcesBalancedAllocation,
    ImageLocality,
    DefaultBinder,
    NodeDeclaredFeatures,
    GangScheduling,
    CinderLimits,
    NodeLabel,
    NodePreferAvoidPods,
    NodeResourcesLeastAllocated,
    NodeResourcesMostAllocated,
    RequestedToCapacityRatio,
    SelectorSpread,
    DefaultPodTopologySpread,
    ServiceAffinity,
)
REGISTRY: dict[str, type[Plugin]] = {plugin.name: plugin for plugin in _IN_TREE}

PLUGINS: dict[str, type[Plugin]] = {**REGISTRY, Coscheduling.name: Coscheduling}
"""All plugins that a configuration may enable: the in-tree plugins and Coscheduling, an out-of-tree plugin that is
built in."""


def known_plugins(registry: Mapping[str, type[Plugin]]) -> dict[str, frozenset[str]]:
    """Return the extension points of each plugin, by plugin name. Configurations are validated against this."""
    return {name: frozenset(_points(cls)) for name, cls in registry.items()}


def _points(cls: type[Plugin]) -> Iterable[str]:
    return (point for point, base in POINTS.items() if issubclass(cls, base))
