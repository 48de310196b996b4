"""The feature gates without which a cluster could not have its PodGroups of scheduling.k8s.io."""

from collections.abc import Iterable

from scheduler_core.api.workloads import PodGroup
from scheduler_core.releases import RELEASES, Release, get_release
from scheduler_core.releases.feature_gates import gates_of, with_known_gates
from scheduler_core.releases.versions import numbered

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


def release_for(name: str, gates: dict[str, bool], version: str) -> Release:
    """Return the release with the gates that PodGroups need, as far as it has them. If the cluster's `version` is not
    known, the newest release that simulates pod groups replaces one that does not."""
    if gates and not version and FIRST[0] not in gates_of(get_release(name)):
        name = max((one for one in RELEASES if FIRST[0] in gates_of(RELEASES[one])), key=numbered)
    return with_known_gates(get_release(name), gates)
