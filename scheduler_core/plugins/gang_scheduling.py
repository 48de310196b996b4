"""GangScheduling: the pods of a gang wait until enough of them exist, and are bound only if enough find a place.

Upstream: pkg/scheduler/framework/plugins/gangscheduling.
"""

from scheduler_core.api.workloads import PodGroup
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework.interface import (
    WAIT,
    CycleState,
    PermitPlugin,
    PreEnqueuePlugin,
    Status,
    unresolvable,
)

TOO_FEW = unresolvable("waiting for minCount pods from a gang to appear in scheduling queue")
INCOMPLETE = Status(WAIT, ("waiting for minCount pods from a gang to be scheduled",))
TIMEOUT_SECONDS = 300.0


class GangScheduling(PreEnqueuePlugin, PermitPlugin):
    name = "GangScheduling"

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """Holds the pod back until its group exists and, of a gang, as many pods as it takes."""
        named = pod.pod.spec.scheduling_group
        if named is None or not self.cluster.release.gang_scheduling:
            return None
        group = self.cluster.scheduling_groups.get(f"{pod.namespace}/{named.pod_group_name}")
        if group is None:
            return unresolvable(f'waiting for pods\'s pod group "{named.pod_group_name}" to appear in scheduling queue')
        gang = group.spec.scheduling_policy.gang
        return TOO_FEW if gang is not None and self._count(group) < gang.min_count else None

    def permit(self, state: CycleState, pod: PodInfo, node: str) -> tuple[Status | None, float]:
        """Waits until enough pods of the gang have a node, bound or assumed."""
        named = pod.pod.spec.scheduling_group
        group = self.cluster.scheduling_groups.get(f"{pod.namespace}/{named.pod_group_name}") if named else None
        gang = group.spec.scheduling_policy.gang if group is not None else None
        if group is None or gang is None or self._count(group, placed=True) >= gang.min_count:
            return None, 0.0
        return INCOMPLETE, TIMEOUT_SECONDS

    def _count(self, group: PodGroup, placed: bool = False) -> int:
        """How many pods the group has; `placed`: that are on a node."""
        pods = self.cluster.pods.values() if placed else self.handle.list_pods()
        return sum(is_member(pod, group) for pod in pods)


def is_member(pod: PodInfo, group: PodGroup) -> bool:
    named = pod.pod.spec.scheduling_group
    return named is not None and (pod.namespace, named.pod_group_name) == (group.namespace, group.name)
