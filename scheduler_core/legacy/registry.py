"""All predicates and priorities by name.

Source: pkg/scheduler/algorithm/predicates/predicates.go (predicatesOrdering), pkg/scheduler/algorithmprovider/defaults.
"""

from collections.abc import Mapping

from scheduler_core.framework import interface as fwk
from scheduler_core.legacy import priorities
from scheduler_core.legacy.predicates import (
    even_pods_spread,
    general,
    inter_pod_affinity,
    nodes,
    volume_counts,
    volumes,
)
from scheduler_core.plugins.default_binder import DefaultBinder
from scheduler_core.plugins.priority_sort import PrioritySort

_PREDICATES: tuple[type[fwk.Plugin], ...] = (
    nodes.CheckNodeCondition,
    nodes.CheckNodeUnschedulable,
    general.GeneralPredicates,
    general.HostName,
    general.PodFitsHostPorts,
    general.MatchNodeSelector,
    general.PodFitsResources,
    volumes.NoDiskConflict,
    nodes.PodToleratesNodeTaints,
    nodes.CheckNodeLabelPresence,
    nodes.CheckServiceAffinity,
    volume_counts.MaxEBSVolumeCount,
    volume_counts.MaxGCEPDVolumeCount,
    volume_counts.MaxCSIVolumeCountPred,
    volume_counts.MaxAzureDiskVolumeCount,
    volume_counts.MaxCinderVolumeCount,
    volumes.CheckVolumeBinding,
    volumes.NoVolumeZoneConflict,
    nodes.CheckNodeMemoryPressure,
    nodes.CheckNodePIDPressure,
    nodes.CheckNodeDiskPressure,
    even_pods_spread.EvenPodsSpread,
    inter_pod_affinity.MatchInterPodAffinity,
)
_PRIORITIES: tuple[type[fwk.Plugin], ...] = (
    priorities.SelectorSpreadPriority,
    priorities.InterPodAffinityPriority,
    priorities.LeastRequestedPriority,
    priorities.BalancedResourceAllocation,
    priorities.NodePreferAvoidPodsPriority,
    priorities.NodeAffinityPriority,
    priorities.TaintTolerationPriority,
    priorities.ImageLocalityPriority,
    priorities.EqualPriority,
    priorities.MostRequestedPriority,
    priorities.RequestedToCapacityRatioPriority,
    priorities.ResourceLimitsPriority,
    priorities.ServiceSpreadingPriority,
    priorities.ServiceAntiAffinityPriority,
    priorities.NodeLabelPriority,
    priorities.EvenPodsSpreadPriority,
)

PREDICATES: Mapping[str, type[fwk.Plugin]] = {cls.name: cls for cls in _PREDICATES}
"""All predicates, in the order in which they run, regardless of the order in a Policy."""

PRIORITIES: Mapping[str, type[fwk.Plugin]] = {cls.name: cls for cls in _PRIORITIES}

ALGORITHMS: dict[str, type[fwk.Plugin]] = {
    **PREDICATES,
    **PRIORITIES,
    PrioritySort.name: PrioritySort,
    DefaultBinder.name: DefaultBinder,
}
"""All algorithms of a profile by name. Queue sort and bind are neither predicates nor priorities, but work as in later
releases."""
