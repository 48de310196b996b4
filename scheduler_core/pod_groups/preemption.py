"""Workload-aware preemption: evicts pods for a group as a whole, anywhere in the cluster.

All pods of lower priority are removed. If the group fits then, as many of them as possible are put back so that it
still fits, starting with those whose eviction violates a disruption budget. Source: pkg/scheduler/framework/preemption
(podgrouppreemption.go).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scheduler_core.api.workloads import WHOLE, PodGroup
from scheduler_core.cluster.change_log import BOUND
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework.interface import SUCCESS, Status
from scheduler_core.preemption.victims import compile_budgets

NO_VICTIMS = "No preemption victims found for incoming preemptor"
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


def preempt(
    cluster: Cluster, group: PodGroup, pods: Sequence[PodInfo], place: Callable[[], Status]
) -> tuple[list[PodInfo], str]:
    """Return (the pods to evict, why there are none). The cluster is unchanged afterwards.

    `place`: tries the group in the current cluster, without preemption.
    """
    if any(p.pod.spec.preemption_policy == "Never" for p in pods):
        return [], NEVER
    potential = [victim for victim in victims_of(cluster) if victim.priority < group.spec.priority]
    if not potential:
        return [], NO_VICTIMS
    nodes = {pod.key: pod.node for victim in potential for pod in victim.pods}
    gone = {id(victim): victim for victim in potential}
    for victim in potential:
        _take(cluster, victim)
    status = place()
    if status.code == SUCCESS:
        potential.sort(key=lambda victim: victim.importance)
        for victim in _budgets_first(cluster, potential):
            _put(cluster, victim, nodes)
            if place().code == SUCCESS:
                del gone[id(victim)]
            else:
                _take(cluster, victim)
    chosen = list(gone.values())
    for victim in chosen:
        _put(cluster, victim, nodes)
    if status.code != SUCCESS:
        return [], status.message
    return [pod for victim in sorted(chosen, key=lambda v: v.importance) for pod in victim.pods], ""


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
