"""Workload-aware preemption: evicts pods for a group as a whole, anywhere in the cluster.

All pods of lower priority are removed. If the group fits then, as many of them as possible are put back so that it
still fits, starting with those whose eviction violates a disruption budget. Source: pkg/scheduler/framework/preemption
(podgrouppreemption.go).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scheduler_core.api.workloads import WHOLE, PodGroup
from scheduler_core.cluster.change_log import BOUND
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework.interface import SUCCESS, Status
from scheduler_core.plugins.default_preemption import terminates_by_preemption
from scheduler_core.preemption.victims import compile_budgets

NO_VICTIMS = "No preemption victims found for incoming preemptor"
TERMINATING = "not eligible due to a terminating pod on the nominated node."
NEVER = "not eligible due to preemptionPolicy=Never."


@dataclass(frozen=True, slots=True)
class Victim:
    """Pods that are evicted together: a single pod, or a whole group."""

    pods: tuple[PodInfo, ...]
    priority: int

    @property
    def importance(self) -> tuple[int, bool, int, float]:
        """Sort key, most important first: priority, pods of groups, larger groups, longer running."""
        start = min(pod.start_time or float("inf") for pod in self.pods)
        single = self.pods[0].pod.spec.scheduling_group is None
        return (-self.priority, single, 0 if single else -len(self.pods), start)


Place = Callable[[], tuple[Status, dict[str, str]]]


def preempt(
    cluster: Cluster, group: PodGroup, pods: Sequence[PodInfo], place: Place
) -> tuple[list[PodInfo], dict[str, str], str]:
    """Return (the pods to evict, the nodes of the members that fit then, why there are none). The cluster is unchanged
    afterwards.

    `place`: tries the group in the current cluster, without preemption; returns the status and the members' nodes.
    """
    victims, nodes, refusal = _preempt(cluster, group, pods, place)
    if refusal and cluster.release.group_preemption_prefixes_messages:
        refusal = f"pod group preemption: {refusal}"
    return victims, nodes, refusal


def _preempt(
    cluster: Cluster, group: PodGroup, pods: Sequence[PodInfo], place: Place
) -> tuple[list[PodInfo], dict[str, str], str]:
    if any(p.pod.spec.preemption_policy == "Never" for p in pods):
        return [], {}, NEVER
    if cluster.release.group_preemption_waits and _victims_terminate(cluster, group, pods):
        return [], {}, TERMINATING
    potential = [victim for victim in victims_of(cluster) if victim.priority < group.spec.priority]
    if not potential:
        return [], {}, NO_VICTIMS
    nodes = {pod.key: pod.node for victim in potential for pod in victim.pods}
    gone = {id(victim): victim for victim in potential}
    for victim in potential:
        _take(cluster, victim)
    status, found = place()
    if status.code == SUCCESS:
        most = len(found)
        potential.sort(key=lambda victim: victim.importance)
        for victim in _budgets_first(cluster, potential):
            _put(cluster, victim, nodes)
            again, then = place()
            most = max(most, len(then)) if cluster.release.group_preemption_keeps_members else 0
            if again.code == SUCCESS and len(then) >= most:
                del gone[id(victim)]
                found = then
            else:
                _take(cluster, victim)
    chosen = list(gone.values())
    for victim in chosen:
        _put(cluster, victim, nodes)
    if status.code != SUCCESS:
        return [], {}, status.message
    return [pod for victim in sorted(chosen, key=lambda v: v.importance) for pod in victim.pods], found, ""


def _victims_terminate(cluster: Cluster, group: PodGroup, pods: Sequence[PodInfo]) -> bool:
    """Return whether pods of lower priority that preemption evicted terminate on a node of a member's nomination."""
    nominated = {pod.nominated_node for pod in pods if pod.nominated_node}
    there = (pod for pod in cluster.pods.values() if pod.node in nominated and pod.terminating)
    return any(terminates_by_preemption(pod) and _priority(cluster, pod) < group.spec.priority for pod in there)


def _priority(cluster: Cluster, pod: PodInfo) -> int:
    """Return the priority of the pod's group, or its own."""
    group = cluster.scheduling_groups.get(pod.group)
    return group.spec.priority if group is not None else pod.priority


def victims_of(cluster: Cluster) -> list[Victim]:
    """Return all possible victims in the cluster."""
    single: list[Victim] = []
    wholes: dict[str, list[PodInfo]] = {}
    for pod in cluster.pods.values():
        group = cluster.scheduling_groups.get(pod.group)
        if group is not None and group.spec.disruption_mode == WHOLE:
            wholes.setdefault(group.key, []).append(pod)
        else:
            single.append(Victim((pod,), pod.priority))
    groups = cluster.scheduling_groups
    return single + [Victim(tuple(pods), groups[key].spec.priority) for key, pods in wholes.items()]


def _take(cluster: Cluster, victim: Victim) -> None:
    for pod in victim.pods:
        cluster.remove_pod(pod)


def _put(cluster: Cluster, victim: Victim, nodes: dict[str, str]) -> None:
    for pod in victim.pods:
        cluster.add_pod(pod, nodes[pod.key])
        cluster.journal.note(BOUND, pod)  # restores the pod as bound


def _budgets_first(cluster: Cluster, potential: Sequence[Victim]) -> list[Victim]:
    """Return the victims with a pod whose eviction violates a budget, then the others, each in the given order."""
    budgets = compile_budgets(cluster)
    breaking = {pod.key for pod in budgets.split([pod for victim in potential for pod in victim.pods])[0]}
    violating = [victim for victim in potential if any(pod.key in breaking for pod in victim.pods)]
    return [*violating, *(victim for victim in potential if victim not in violating)]
