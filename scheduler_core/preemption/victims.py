"""Selects the victims on one node: all pods of lower priority, minus as many as possible that are reprieved.

Source: pkg/scheduler/framework/plugins/defaultpreemption (SelectVictimsOnNode), pkg/scheduler/util (MoreImportantPod).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from scheduler_core.api import selectors
from scheduler_core.api.objects import PodDisruptionBudget
from scheduler_core.api.selectors import Selector
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_counts import LabelClass
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework.interface import NodePodsChange, Status, unresolvable
from scheduler_core.releases import Release

NO_VICTIMS = unresolvable("No preemption victims found for incoming pod")
OLD_NO_VICTIMS = "No victims found on node {node} for preemptor pod {pod}"

Fits = Callable[[NodePodsChange], Status | None]


class Candidate(NamedTuple):
    """A node where preemption makes the pod fit: its victims (most important first) and budget violations. `costs`: see
    `pick_one_node.costs_of`; () if they are not computed yet."""

    node: str
    victims: tuple[PodInfo, ...]
    pdb_violations: int
    costs: tuple[float, ...] = ()


NOW = float("inf")
_KEY = "Budgets"  # in `Cluster.shared`


def start_of(pod: PodInfo) -> float:
    """Return the start time that the scheduler knows; NOW if it knows none."""
    return pod.start_time if pod.start_time > 0 else NOW


def by_importance(pods: Iterable[PodInfo]) -> list[PodInfo]:
    """Sort pods: higher priority first, then longer running.

    Upstream compares a pod without a start time by the time of the comparison, so its insertion sort reverses the order
    of such pods.
    """
    pods = list(pods)
    if unknown := [pod for pod in pods if pod.start_time <= 0]:
        pods = [pod for pod in pods if pod.start_time > 0] + unknown[::-1]
    return sorted(pods, key=lambda pod: (-pod.priority, pod.start_time if pod.start_time > 0 else NOW))


class Budgets:
    """The PodDisruptionBudgets, compiled until one changes."""

    def __init__(self, budgets: Sequence[PodDisruptionBudget]) -> None:
        self.compiled = [(b, selectors.compile_selector(b.spec.selector)) for b in budgets]
        self._in_namespace: dict[str, list[int]] = {}
        for i, budget in enumerate(budgets):
            self._in_namespace.setdefault(budget.namespace, []).append(i)
        self._of_class: dict[LabelClass, list[int]] = {}

    def split(self, pods: Sequence[PodInfo]) -> tuple[list[PodInfo], list[PodInfo]]:
        """Return (pods whose eviction would violate a budget, the others), each in the given order."""
        if not self.compiled:
            return [], list(pods)
        left = _Allowed(self.compiled)
        violating: list[PodInfo] = []
        others: list[PodInfo] = []
        for pod in pods:
            (violating if self._breaks(pod, left) else others).append(pod)
        return violating, others

    def _breaks(self, pod: PodInfo, left: _Allowed) -> bool:
        """Whether evicting the pod violates a budget. `left`: allowed disruptions by budget; reduced by the pod."""
        broken = False
        for i in self._of(pod):
            if pod.name not in self.compiled[i][0].status.disrupted_pods:
                left[i] -= 1
                broken = broken or left[i] < 0
        return broken

    def _of(self, pod: PodInfo) -> list[int]:
        """Return the indices of the budgets that select the pod."""
        alike = pod.label_class
        found = self._of_class.get(alike) if alike is not None else None
        if found is None:
            selecting = [(i, self.compiled[i][1]) for i in self._in_namespace.get(pod.namespace, ())]
            found = [i for i, selector in selecting if pod.labels and selector.key and selector.matches(pod.labels)]
            if alike is not None:
                self._of_class[alike] = found
        return found


class _Allowed(dict[int, int]):
    """The allowed disruptions that are left, by the index of the budget."""

    def __init__(self, compiled: Sequence[tuple[PodDisruptionBudget, Selector]]) -> None:
        self._compiled = compiled

    def __missing__(self, i: int) -> int:
        return self._compiled[i][0].status.disruptions_allowed


class FirstBudgets(Budgets):
    """The budget rules of 1.18: a pod violates the first exhausted budget and does not reduce later ones.

    Pods that are already disrupted count as others do.
    """

    def _breaks(self, pod: PodInfo, left: _Allowed) -> bool:
        for i in self._of(pod):
            if left[i] <= 0:
                return True
            left[i] -= 1
        return False


class UncountedBudgets(Budgets):
    """The budget rules until 1.17: evicting any pod of a budget that allows no disruption violates it.

    Allowed disruptions are not counted down.
    """

    def _breaks(self, pod: PodInfo, left: _Allowed) -> bool:
        return any(left[i] <= 0 for i in self._of(pod))


def compile_budgets(cluster: Cluster) -> Budgets:
    """Return the budgets of the cluster with the rules of its release."""
    known: tuple[int, Budgets] | None = cluster.shared.get(_KEY)
    if known is None or known[0] != cluster.budgets.version:
        made = Budgets if cluster.release.honors_disrupted_pods else FirstBudgets
        if not cluster.release.victims_use_up_budgets:
            made = UncountedBudgets
        known = cluster.shared[_KEY] = cluster.budgets.version, made(list(cluster.budgets.values()))
    return known[1]


def clears_nominations(release: Release, victims: Iterable[PodInfo]) -> bool:
    """Whether the preemption of these victims clears the nominations of lower priority on the node.

    Source: pkg/scheduler/framework/preemption/executor.go (prepareCandidateAsync, prepareCandidate).
    """
    skips = release.preempts_asynchronously and release.skips_terminating_victims
    return not skips or not all(victim.terminating for victim in victims)


def no_victims(pod: PodInfo, node: str) -> Status:
    """Return the status of a node where every pod is at least as important."""
    return NO_VICTIMS if pod.release.no_victims_message_reworded else old_no_victims(pod, node)


def old_no_victims(pod: PodInfo, node: str) -> Status:
    """Return that status in the words of older releases, which plugins outside of the tree keep."""
    return unresolvable(OLD_NO_VICTIMS.format(node=node, pod=pod.name))


def select_victims(
    pod: PodInfo, node: str, row: int, pods: Iterable[PodInfo], budgets: Budgets, fits: Fits
) -> Candidate | Status:
    """Return the candidate for this node, or the status with the reason why preemption does not help.

    `fits(change)` checks the node with pods removed. Pods that violate a budget are reprieved first, then the others,
    each from the most important to the least.
    """
    potential = by_importance(p for p in pods if p.priority < pod.priority)
    if not potential:
        return no_victims(pod, node)
    gone = {p.key: p for p in potential}
    history = [(p, -1) for p in potential]
    freed: dict[str, int] = {}
    for victim in potential:
        _add(freed, victim, 1)
    status = fits(NodePodsChange(row, removed=potential, history=history, freed=freed))
    if status is not None:
        return status
    violating, others = budgets.split(potential)
    violations = 0
    for group in (violating, others):
        for candidate in group:
            del gone[candidate.key]
            history.append((candidate, 1))
            _add(freed, candidate, -1)
            if fits(NodePodsChange(row, removed=list(gone.values()), history=history, freed=freed)) is not None:
                gone[candidate.key] = candidate
                history.append((candidate, -1))
                _add(freed, candidate, 1)
                violations += group is violating
    victims = in_recorded_order(list(gone.values()), violations, pod.release)
    return Candidate(node, tuple(victims), violations)


def in_recorded_order(victims: list[PodInfo], violations: int, release: Release) -> list[PodInfo]:
    """Return the victims in the order of a Candidate. They are given in the order in which they were tried; the first
    `violations` of them violate a budget."""
    return by_importance(victims) if release.victims_by_importance and 0 < violations < len(victims) else victims


def _add(freed: dict[str, int], pod: PodInfo, step: int) -> None:
    for name, amount in pod.held.items():
        freed[name] = freed.get(name, 0) + step * amount
