"""The feature gates without which a cluster could not have its PodGroups of scheduling.k8s.io."""

from collections.abc import Iterable

from scheduler_core.api.workloads import PodGroup

FIRST = ("GenericWorkload", "GangScheduling")


def needed_gates(groups: Iterable[PodGroup]) -> dict[str, bool]:
    """Return the gates that the cluster must have enabled; {} without groups."""
    wanted: set[str] = set()
    for group in groups:
        wanted.update(FIRST)
        if group.spec.topology_key:
            wanted.add("TopologyAwareWorkloadScheduling")
        if group.spec.disruption_mode or group.spec.priority:
            wanted.add("WorkloadAwarePreemption")
    return dict.fromkeys(sorted(wanted), True)
