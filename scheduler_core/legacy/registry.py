"""All predicates and priorities by name.

Source: pkg/scheduler/algorithm/predicates/predicates.go (predicatesOrdering), pkg/scheduler/algorithmprovider/defaults.
"""

from collections.abc import Mapping

from scheduler_core.framework import interface as fwk
from scheduler_core.legacy import predicates, priorities
from scheduler_core.plugins.default_binder import DefaultBinder
from scheduler_core.plugins.priority_sort import PrioritySort

_PREDICATES: tuple[type[fwk.Plugin], ...] = (
    predicates.CheckNodeCondition,
    predicates.CheckNodeUnschedulable,
    predicates.GeneralPredicates,
    predicates.HostName,
    predicates.PodFitsHostPorts,
    predicates.MatchNodeSelector,
    predicates.PodFitsResources,
    predicates.NoDiskConflict,
    predicates.PodToleratesNodeTaints,
    predicates.CheckNodeLabelPresence,
    predicates.CheckServiceAffinity,
    predicates.MaxEBSVolumeCount,
    predicates.MaxGCEPDVolumeCount,
    predicates.MaxCSIVolumeCountPred,
    predicates.MaxAzureDiskVolumeCount,
    predicates.MaxCinderVolumeCount,
    predicates.CheckVolumeBinding,
    predicates.NoVolumeZoneConflict,
    predicates.CheckNodeMemoryPressure,
    predicates.CheckNodePIDPressure,
    predicates.CheckNodeDiskPressure,
    predicates.EvenPodsSpread,
    predicates.MatchInterPodAffinity,
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
