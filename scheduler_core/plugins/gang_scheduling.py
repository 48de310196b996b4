"""GangScheduling: pods of a gang wait until enough of them exist, and are bound only if enough of them have a node.

Upstream: pkg/scheduler/framework/plugins/gangscheduling.
"""

from itertools import islice

from scheduler_core.api.workloads import PodGroup
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import causes, events
from scheduler_core.framework import interface as fwk

TOO_FEW = fwk.unresolvable("waiting for minCount pods from a gang to appear in scheduling queue")
INCOMPLETE = fwk.Status(fwk.WAIT, ("waiting for minCount pods from a gang to be scheduled",))
TIMEOUT_SECONDS = 300.0


class GangScheduling(fwk.PreEnqueuePlugin, fwk.PermitPlugin):
    name = "GangScheduling"
    cause = causes.POD_GROUP
    pod_fields = ("schedulingGroup",)

    def pre_enqueue(self, pod: PodInfo) -> fwk.Status | None:
        """Hold the pod back until its group exists and, for a gang, until `minCount` pods exist."""
        named = pod.pod.spec.scheduling_group
        if named is None or not self.cluster.release.gang_scheduling:
            return None
        group = self.cluster.scheduling_groups.get(pod.group)
        if group is None:
            return fwk.unresolvable(
                f'waiting for pods\'s pod group "{named.pod_group_name}" to appear in scheduling queue'
            )
        gang = group.spec.scheduling_policy.gang
        return TOO_FEW if gang is not None and not self._exist(group, gang.min_count) else None

    def permit(self, state: fwk.CycleState, pod: PodInfo, node: str) -> tuple[fwk.Status | None, float]:
        """Wait until enough pods of the gang are bound or assumed; then let all of them be bound."""
        named = pod.pod.spec.scheduling_group
        if named is None or not self.cluster.release.gang_scheduling:
            return None, 0.0
        group = self.cluster.scheduling_groups.get(pod.group)
        if group is None:
            missing = f'podgroup.scheduling.k8s.io "{named.pod_group_name}" not found'
            return fwk.error(f"failed to get podGroup {pod.group}: {missing}"), 0.0
        gang = group.spec.scheduling_policy.gang
        if gang is None:
            return None, 0.0
        if self.cluster.group_members[pod.group] < gang.min_count:
            members = (other for other in self.handle.list_pods() if is_member(other, group))
            state.to_activate = [other.key for other in members if other.key not in self.cluster.pods]
            return INCOMPLETE, TIMEOUT_SECONDS
        for waiting in self.handle.waiting_pods:
            if is_member(waiting.pod, group):
                waiting.allow(self.name)
        return None, 0.0

    def placement_feasible(self, group: PodGroup, remaining: int) -> fwk.Status | None:
        """Return whether the gang can be scheduled: Wait if it depends on the `remaining` members, which have not been
        tried, None for a group without a minimum."""
        gang = group.spec.scheduling_policy.gang
        scheduled = self.cluster.group_members[group.key]
        if gang is None or scheduled >= gang.min_count:
            return None
        counts = f"{scheduled} scheduled, {remaining} remaining"
        if scheduled + remaining < gang.min_count:
            return fwk.unschedulable(f"minCount ({gang.min_count}) cannot be satisfied: {counts}")
        return fwk.Status(fwk.WAIT, (f"minCount ({gang.min_count}) is not yet satisfied: {counts}",))

    def events_to_register(self) -> list[events.EventHint]:
        return [
            events.registered(events.POD, events.ADD, hint=self._after_pod_added),
            events.registered(events.POD_GROUP, events.ADD, hint=self._after_group_added),
            *(
                [events.registered(events.POD_GROUP, events.UPDATE, hint=self._after_group_updated)]
                if self.cluster.release.groups_are_queued
                else []
            ),
        ]

    def _after_pod_added(self, pod: PodInfo, old: PodInfo | None, new: PodInfo) -> bool:
        """Return whether the new pod is in the same group."""
        return pod.pod.spec.scheduling_group is not None and new.group == pod.group

    def _after_group_added(self, pod: PodInfo, old: PodGroup | None, new: PodGroup) -> bool:
        """Return whether it is the pod's group."""
        return is_member(pod, new)

    def _after_group_updated(self, pod: PodInfo, old: PodGroup, new: PodGroup) -> bool:
        """Return whether the pod's gang needs fewer pods than before."""
        if not is_member(pod, new):
            return False
        before, now = old.spec.scheduling_policy.gang, new.spec.scheduling_policy.gang
        return before is None or now is None or now.min_count < before.min_count

    def _exist(self, group: PodGroup, number: int) -> bool:
        """Return whether the group has at least `number` pods, placed or pending."""
        if self.cluster.group_members[group.key] >= number:
            return True
        members = (pod for pod in self.handle.list_pods() if is_member(pod, group))
        return sum(1 for _ in islice(members, number)) == number


def is_member(pod: PodInfo, group: PodGroup) -> bool:
    return pod.pod.spec.scheduling_group is not None and pod.group == group.key
