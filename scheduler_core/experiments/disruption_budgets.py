"""PodDisruptionBudgets as the eviction API counts them when a node is drained.

Source: pkg/registry/core/pod/rest/eviction.go (canIgnorePDB, checkAndDecrement),
pkg/controller/disruption/disruption.go (getExpectedPodCount, countHealthyPods, updatePdbStatus).
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from scheduler_core.api.objects import LabelSelector, PodDisruptionBudget
from scheduler_core.api.selectors import compile_selector
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.formatting import count
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.metrics.groups import workloads

Raw = Mapping[str, Any]

SCALED = ("Deployment", "ReplicaSet", "StatefulSet", "ReplicationController")
WITHOUT_SCALE = ("DaemonSet", "Job", "CronJob", "Node")  # no scale subresource, so the disruption controller fails
ALWAYS_ALLOW = "AlwaysAllow"
BETA = "policy/v1beta1"
SEVERAL = "several budgets select it, which the eviction API does not support"


class BudgetState(NamedTuple):
    """A budget before the drain. `allowed`: disruptions. `healthy`, `desired`: numbers of pods. `why`: from what
    `allowed` follows."""

    key: str
    allowed: int
    healthy: int
    desired: int
    always: bool
    why: str

    @property
    def text(self) -> str:
        return f"allows {count(self.allowed, 'disruption')} ({self.why})"


class Evictions(NamedTuple):
    """The evictions of a drain. `refused`: pod -> why the API refuses its eviction at first. `needed`: budget -> number
    of evictions that it counts; those beyond `allowed` are refused."""

    refused: dict[str, str]
    needed: dict[str, int]


class DisruptionBudgets:
    """The budgets of a cluster.

    `pending`: pods without a node; controllers count them as well. `raws`: returns the raw objects of the scenario, of
    which the budgets show whether they have a status, and workloads their replicas. A budget without
    status.disruptionsAllowed is counted from its selector, as the disruption controller does.
    """

    def __init__(self, cluster: Cluster, pending: Iterable[PodInfo], raws: Callable[[], Iterable[Raw]]) -> None:
        self._replicas: dict[str, int] = {}
        known: dict[str, Raw] = {}
        for raw in raws() if cluster.budgets else ():
            meta = raw.get("metadata") or {}
            key = f"{meta.get('namespace') or 'default'}/{meta.get('name')}"
            if raw.get("kind") == "PodDisruptionBudget":
                known[key] = raw
            elif raw.get("kind") in SCALED:
                replicas = (raw.get("spec") or {}).get("replicas")
                self._replicas[f"{raw['kind']} {key}"] = replicas if isinstance(replicas, int) else 1
        # An empty selector selects all pods of the namespace, in policy/v1beta1 none.
        self._budgets = [
            (budget, compile_selector(budget.spec.selector))
            for budget in cluster.budgets.values()
            if budget.spec.selector is not None
            and (budget.spec.selector != LabelSelector() or known.get(budget.key, {}).get("apiVersion") != BETA)
        ]
        members: list[list[PodInfo]] = [[] for _ in self._budgets]
        self._of: dict[str, list[int]] = {}  # pod -> the indices of the budgets that select it
        waiting = (pod for pod in pending if pod.key not in cluster.pods)
        for pod in (*cluster.pods.values(), *waiting) if members else ():
            self._of[pod.key] = self._selecting(pod)
            for i in self._of[pod.key]:
                members[i].append(pod)
        self.states = [
            self._state(budget, known.get(budget.key, {}), pods)
            for (budget, _), pods in zip(self._budgets, members, strict=True)
        ]

    def selecting(self, pod: str) -> set[str]:
        """Return the budgets that select a pod (namespace/name) of the cluster."""
        return {self.states[i].key for i in self._of.get(pod, ())}

    def _selecting(self, pod: PodInfo) -> list[int]:
        return [
            i
            for i, (budget, selector) in enumerate(self._budgets)
            if budget.namespace == pod.namespace and selector.matches(pod.labels)
        ]

    def _state(self, budget: PodDisruptionBudget, raw: Raw, pods: Sequence[PodInfo]) -> BudgetState:
        always = (raw.get("spec") or {}).get("unhealthyPodEvictionPolicy") == ALWAYS_ALLOW
        healthy = sum(bool(pod.node) and not pod.terminating and is_healthy(pod) for pod in pods)
        status = raw.get("status") or {}
        if "disruptionsAllowed" in status:
            healthy, desired = status.get("currentHealthy", healthy), status.get("desiredHealthy") or 0
            allowed = budget.status.disruptions_allowed
            return BudgetState(budget.key, allowed, healthy, desired, always, "status.disruptionsAllowed")
        spec, expected, desired = budget.spec, 0, 0
        if isinstance(spec.min_available, int) and spec.max_unavailable is None:
            expected, desired = len(pods), spec.min_available
        elif spec.max_unavailable is not None or spec.min_available is not None:
            owners = self._owners(pods)
            if failing := next((owner for owner in owners if owner.partition(" ")[0] in WITHOUT_SCALE), ""):
                why = f"{failing} has no scale"
                return BudgetState(budget.key, 0, 0, 0, always, why)
            # For a controller that is not in the scenario, the number of its pods.
            expected = sum(self._replicas.get(owner, size) for owner, size in owners.items())
            if spec.max_unavailable is not None:
                desired = max(0, expected - _scaled(spec.max_unavailable, expected))
            else:
                desired = _scaled(spec.min_available or 0, expected)
        allowed = max(0, healthy - desired) if expected > 0 else 0
        why = f"{healthy:,} of {count(expected, 'pod')} healthy, {desired:,} required"
        return BudgetState(budget.key, allowed, healthy, desired, always, why)

    @staticmethod
    def _owners(pods: Sequence[PodInfo]) -> Counter[str]:
        """Return the controllers of the pods and how many of the pods each has. Pods without one do not count."""
        return Counter(workloads(pod.pod for pod in pods if pod.pod.metadata.controller_ref is not None).values())

    def evict(self, pods: Iterable[PodInfo]) -> Evictions:
        """Return what the API answers if all these pods are evicted at once, in order, as `kubectl drain` does."""
        left = [state.allowed for state in self.states]
        found = Evictions({}, {})
        for pod in pods:
            if pod.terminating or pod.pod.status.phase == "Pending":
                continue
            selecting = self._of.get(pod.key, [])
            if len(selecting) > 1:
                found.refused[pod.key] = SEVERAL
            if len(selecting) != 1:
                continue
            i, state = selecting[0], self.states[selecting[0]]
            if not is_healthy(pod) and (state.always or 0 < state.desired <= state.healthy):
                continue
            found.needed[state.key] = found.needed.get(state.key, 0) + 1
            left[i] -= 1
            if left[i] < 0:
                found.refused[pod.key] = f"PodDisruptionBudget {state.key} {state.text}"
        return found


def is_healthy(pod: PodInfo) -> bool:
    """Whether a pod is ready. A pod without the condition Ready, which no kubelet has reported, counts as ready."""
    return next((one.status == "True" for one in pod.pod.status.conditions if one.type == "Ready"), True)


def _scaled(value: str | int, total: int) -> int:
    """Return a number or percentage of `total`, rounded up. Source: apimachinery/pkg/util/intstr."""
    if isinstance(value, int):
        return value
    text = value.removesuffix("%")
    return math.ceil(int(text) * total / 100) if text.isdecimal() else total
