"""CapacityScheduling: quotas of namespaces that lend to each other what they do not use.

An ElasticQuota guarantees `min` to the pods of its namespace; they may use up to `max` while other quotas leave
something of their `min`. A pod within the guarantee of its quota may evict pods of quotas that exceed theirs.

Source: sigs.k8s.io/scheduler-plugins, pkg/capacityscheduling.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from scheduler_core.api import quantity
from scheduler_core.api.objects import Pod, Quantities
from scheduler_core.api.scheduler_plugins import ElasticQuota
from scheduler_core.cluster import formatting
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cluster.resources import CPU, EPHEMERAL, MEMORY, is_scalar
from scheduler_core.framework import causes, events
from scheduler_core.framework import interface as fwk
from scheduler_core.framework.causes import Obstacle
from scheduler_core.framework.rejection_context import RejectionContext
from scheduler_core.plugins.default_preemption import DefaultPreemption
from scheduler_core.preemption.victims import Budgets, Candidate, Fits, by_importance, old_no_victims
from scheduler_core.provenance.context import BYTES, MILLI, View
from scheduler_core.provenance.tree import Tree, constant, less, some, total

Amounts = dict[str, int]  # resource -> millicores of cpu, whole units of other resources

NATIVE = (CPU, MEMORY, EPHEMERAL)
UNBOUNDED = (1 << 63) - 1
OVER_MAX = "Pod {pod} is rejected in PreFilter because ElasticQuota {namespace} is more than Max"
OVER_MIN = "Pod {pod} is rejected in PreFilter because total ElasticQuota used is more than min"
STILL_OVER = fwk.unschedulable("global quota max exceeded")
WITHOUT_STATE = "not eligible due to failed to read from cycleState"


def _amounts(quantities: Quantities) -> Amounts:
    return {
        name: quantity.milli_value(text) if name == CPU else quantity.value(text)
        for name, text in quantities.items()
        if name in NATIVE or is_scalar(name)
    }


def request_of(pod: Pod) -> Amounts:
    """Return what a pod counts in its quota: the sum of its containers, at least each init container, plus overhead."""
    needed: Amounts = {}
    for container in pod.spec.containers:
        _add(needed, _amounts(container.resources.requests), 1)
    for container in pod.spec.init_containers:
        for name, amount in _amounts(container.resources.requests).items():
            needed[name] = max(amount, needed.get(name, 0))
    _add(needed, _amounts(pod.spec.overhead), 1)
    return needed


def _add(amounts: Amounts, more: Mapping[str, int], sign: int) -> None:
    for name, amount in more.items():
        amounts[name] = amounts.get(name, 0) + sign * amount


def _over(requested: Amounts, used: Amounts, limit: Amounts, otherwise: int) -> str:
    """Return the first resource of which more than the limit is requested and used; "" if there is none.

    `otherwise`: the limit of scalar resources that have none. Only requested scalar resources count.
    """
    for name in NATIVE:
        if requested.get(name, 0) + used.get(name, 0) > limit.get(name, 0):
            return name
    for name, amount in requested.items():
        if name not in NATIVE and amount + used.get(name, 0) > limit.get(name, otherwise):
            return name
    return ""


class Quota:
    """The quota of a namespace. `used`: the requests of its pods that have a node."""

    def __init__(self, quota: ElasticQuota) -> None:
        self.object = quota
        self.min = _amounts(quota.spec.min or {})
        self.max = dict.fromkeys(NATIVE, UNBOUNDED) if quota.spec.max is None else _amounts(quota.spec.max)
        self.pods: dict[str, Amounts] = {}
        self.used: Amounts = {}

    def count(self, pod: PodInfo, placed: bool) -> None:
        """Add a pod that has a node now, or remove one."""
        if placed:
            request = self.pods[pod.key] = request_of(pod.pod)
            _add(self.used, request, 1)
        elif (known := self.pods.pop(pod.key, None)) is not None:
            _add(self.used, known, -1)


class Quotas(dict[str, Quota]):
    """The quotas by namespace, kept up to date with the pods of the cluster."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__()
        self._cluster, self._version = cluster, -1
        self.min: Amounts = {}  # the sum over all quotas
        cluster.watch_pods(self._count)

    def refresh(self) -> Quotas:
        """Read the quotas again if one changed. Of several in a namespace, the first one counts."""
        table = self._cluster.elastic_quotas
        if self._version == table.version:
            return self
        self._version = table.version
        self.clear()
        self.min.clear()
        for quota in table.values():
            self.setdefault(quota.namespace, Quota(quota))
        for one in self.values():
            _add(self.min, one.min, 1)
        for pod in self._cluster.pods.values():
            self._count(pod, True)
        return self

    def _count(self, pod: PodInfo, placed: bool) -> None:
        if (quota := self.get(pod.namespace)) is not None:
            quota.count(pod, placed)


def quotas_of(cluster: Cluster) -> Quotas:
    """Return the quotas of a cluster, which the plugins of all profiles share."""
    found: Quotas | None = cluster.shared.get(CapacityScheduling.name)
    return (found if found is not None else Quotas(cluster)).refresh()


class QuotaUsage:
    """What the quotas use, with pods hypothetically evicted from one node."""

    def __init__(self, quotas: Quotas) -> None:
        self.quotas = quotas
        self._own: dict[str, Amounts] = {}  # namespace -> its use, if it differs
        self._gone: set[str] = set()
        self.total: Amounts = {}  # of all quotas
        for quota in quotas.values():
            _add(self.total, quota.used, 1)

    def fresh(self) -> QuotaUsage:
        """Return the same without evicted pods."""
        other = QuotaUsage.__new__(QuotaUsage)
        other.quotas, other._own, other._gone, other.total = self.quotas, {}, set(), dict(self.total)
        return other

    def used(self, namespace: str) -> Amounts:
        return self._own.get(namespace) or self.quotas[namespace].used

    def change(self, pod: PodInfo, sign: int) -> None:
        """Evict a pod (-1) or put it back (1)."""
        quota = self.quotas.get(pod.namespace)
        request = quota.pods.get(pod.key) if quota is not None else None
        if quota is None or request is None or (pod.key in self._gone) == (sign < 0):
            return
        (self._gone.add if sign < 0 else self._gone.discard)(pod.key)
        _add(self._own.setdefault(pod.namespace, dict(quota.used)), request, sign)
        _add(self.total, request, sign)

    def count_evicted(self, pods: Iterable[PodInfo]) -> None:
        """Count pods that are no longer on a node."""
        for pod in pods:
            if (quota := self.quotas.get(pod.namespace)) is not None:
                request = request_of(pod.pod)
                _add(self._own.setdefault(pod.namespace, dict(quota.used)), request, 1)
                _add(self.total, request, 1)

    def over_max(self, namespace: str, requested: Amounts) -> str:
        return _over(requested, self.used(namespace), self.quotas[namespace].max, UNBOUNDED)

    def over_min(self, namespace: str, requested: Amounts | None = None) -> str:
        """Return a resource of which the quota uses more than its guarantee, with a request if there is one."""
        used, limit = self.used(namespace), self.quotas[namespace].min
        return _over(used, {}, limit, 0) if requested is None else _over(requested, used, limit, 0)

    def over_all(self, requested: Amounts) -> str:
        """Return a resource of which all quotas and the request use more than all quotas guarantee."""
        used = dict(self.total)
        _add(used, requested, 1)
        return _over(used, {}, self.quotas.min, 0)


class Needs:
    """The state of a cycle. `own`: the request of the pod; `in_quota`: with that of nominated pods of its quota that
    are at least as important; `in_all`: with that of nominated pods of other quotas within their guarantee as well."""

    __slots__ = ("in_all", "in_quota", "own", "snapshot")

    def __init__(self, pod: PodInfo, snapshot: QuotaUsage, cluster: Cluster) -> None:
        self.snapshot = snapshot
        self.own = request_of(pod.pod)
        self.in_quota, self.in_all = dict(self.own), dict(self.own)
        if pod.namespace not in snapshot.quotas:
            return
        for node in cluster.nominator.nodes():
            for other in cluster.nominator.on(node) if node in cluster.nodes.rows else ():
                if other.key == pod.key or other.namespace not in snapshot.quotas:
                    continue
                if other.namespace == pod.namespace:
                    if other.priority >= pod.priority:
                        _add(self.in_quota, request_of(other.pod), 1)
                        _add(self.in_all, request_of(other.pod), 1)
                elif not snapshot.over_min(other.namespace):
                    _add(self.in_all, request_of(other.pod), 1)


def _may_have_evicted(pod: PodInfo, other: PodInfo, needs: Needs) -> bool:
    """Return whether the rules of PostFilter allow the pod to evict another one."""
    quotas, own = needs.snapshot.quotas, pod.namespace
    if (other.namespace in quotas) != (own in quotas):
        return False
    if own not in quotas or other.namespace == own:
        return other.priority < pod.priority
    return bool(needs.snapshot.over_min(other.namespace)) and not needs.snapshot.over_min(own, needs.in_quota)


class CapacityScheduling(DefaultPreemption, fwk.PreFilterPlugin, fwk.ReservePlugin):
    """It has no arguments."""

    name = "CapacityScheduling"
    args_class = None
    in_tree = False
    cause = causes.PLUGIN
    prefix = ""
    evicts_lower_priority = False

    def __init__(self, args: Any, cluster: Cluster) -> None:
        super().__init__(args, cluster)
        found = cluster.shared.get(self.name)
        self.quotas: Quotas = found if found is not None else cluster.shared.setdefault(self.name, Quotas(cluster))

    # ---- PreFilter

    def pre_filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Status | fwk.PreFilterResult | None:
        """Reject the pod if its quota would exceed `max`, or all quotas together would exceed the sum of `min`."""
        needs = state[self.name] = Needs(pod, QuotaUsage(self.quotas.refresh()), self.cluster)
        if pod.namespace not in self.quotas:
            return None
        if needs.snapshot.over_max(pod.namespace, needs.in_quota):
            return fwk.unschedulable(OVER_MAX.format(pod=pod.key, namespace=pod.namespace))
        if needs.snapshot.over_all(needs.in_all):
            return fwk.unschedulable(OVER_MIN.format(pod=pod.key))
        return None

    def explain_pre_filter(self, state: fwk.CycleState, view: View) -> Tree:
        """True if the quota of the pod exceeds `max` with it, or all quotas together exceed the sum of `min`."""
        quotas, namespace = self.quotas.refresh(), view.pod.namespace
        quota = quotas.get(namespace)
        if quota is None:
            return constant(False, "the namespace has no ElasticQuota").with_text("The namespace has no ElasticQuota")
        needs = Needs(view.pod, QuotaUsage(quotas), self.cluster)
        parts = []
        for name in dict.fromkeys((*NATIVE, *needs.in_quota)):
            unit = {CPU: MILLI, MEMORY: BYTES, EPHEMERAL: BYTES}.get(name, "")
            if name in NATIVE or name in needs.in_quota:
                limit = UNBOUNDED if quota.object.spec.max is None else quota.max.get(name)
                if limit is None:
                    limit = 0 if name in NATIVE else UNBOUNDED
                most = constant(limit, f"max of {name}", unit)
                if quota.object.spec.max is not None and name in quota.max:
                    most = view.field(quota.object, "spec", "max", name, unit=unit)
                used = [constant(needs.in_quota.get(name, 0), f"{name} of this pod and nominated pods", unit)]
                used.append(self._explain_used(view, quota, name, unit))
                parts.append(less(most, total(used, f"{name} used with this pod", unit), f"max of {name} is exceeded"))
            terms = [
                (one.used.get(name, 0), partial(self._explain_used, view, one, name, unit)) for one in quotas.values()
            ]
            wanted = constant(needs.in_all.get(name, 0), f"{name} of this pod and nominated pods", unit)
            used_by_all = total([view.long_sum(terms, "quotas", f"{name} used by all quotas", unit), wanted], "", unit)
            bounds = [(one.min.get(name, 0), partial(_explain_min, view, one, name, unit)) for one in quotas.values()]
            guaranteed = view.long_sum(bounds, "quotas", f"sum of min of {name}", unit)
            parts.append(less(guaranteed, used_by_all, f"all quotas together use more {name} than they guarantee"))
        text = next((part.label for part in parts if part.value), "the quotas leave enough")
        return some(parts).with_text(f"ElasticQuota of {namespace}: {text}")

    def _explain_used(self, view: View, quota: Quota, name: str, unit: str) -> Tree:
        """Return the sum of the requests of the pods of a quota."""
        terms = []
        for key, request in quota.pods.items():
            if amount := request.get(name, 0):
                pod = self.cluster.pods[key]
                terms.append((amount, partial(_explain_request, view, pod, amount, unit)))
        return view.long_sum(terms, "pods", f"{name} used in {quota.object.namespace}", unit)

    @classmethod
    def pod_obstacle(cls, context: RejectionContext | None, status: fwk.Status) -> Obstacle:
        """Return what the quota allows, what is used and what the pod requests."""
        text = "The quota of the pod's namespace has too little left for it."
        if status.message.endswith(OVER_MIN.partition("{pod}")[2]):
            text = "All quotas together have too little of their guarantees left for the pod."
        unknown = Obstacle(cls.cause, cls.effort, text)
        if context is None:
            return unknown
        quotas = quotas_of(context.cluster)
        pod, quota = context.pod, quotas.get(context.pod.namespace)
        if quota is None:
            return unknown
        usage = QuotaUsage(quotas)
        usage.count_evicted(one for pods in context.further.values() for one in pods)
        needs = Needs(pod, usage, context.cluster)
        names = (f"ElasticQuota {quota.object.key}",)
        if name := usage.over_max(pod.namespace, needs.in_quota):
            used, most = usage.used(pod.namespace).get(name, 0), quota.max.get(name, 0)
            text = (
                f"The quota of {pod.namespace} allows {_shown(name, most)}, of which {_shown(name, used)} are used; "
                f"the pod requests {_shown(name, needs.own.get(name, 0))}."
            )
            return Obstacle(cls.cause, cls.effort, text, names)
        if name := usage.over_all(needs.in_all):
            used = usage.total.get(name, 0)
            borrowers = [
                one.object.namespace
                for namespace, one in quotas.items()
                if usage.used(namespace).get(name, 0) > one.min.get(name, 0)
            ]
            text = (
                f"All quotas together guarantee {_shown(name, quotas.min.get(name, 0))}, of which {_shown(name, used)} "
                f"are used; the pod requests {_shown(name, needs.own.get(name, 0))}."
            )
            if borrowers:
                whose = formatting.some([f"quota {one}" for one in borrowers], 3)
                text += f" More than their guarantee use: {whose}."
            return Obstacle(cls.cause, cls.effort, text, names)
        return unknown

    # ---- PostFilter

    def _not_eligible(self, pod: PodInfo, filtered: fwk.Filtered, state: fwk.CycleState) -> str:
        if pod.pod.spec.preemption_policy == "Never":
            return "not eligible due to preemptionPolicy=Never."
        needs: Needs | None = state.get(self.name)
        if needs is None:
            return WITHOUT_STATE
        row = self.cluster.nodes.rows.get(pod.nominated_node) if pod.nominated_node else None
        status = filtered.status_at(row) if row is not None else None
        if row is None or (status is not None and status.code == fwk.UNRESOLVABLE):
            return ""
        terminating = (other for other in self.cluster.nodes.pods_of(row) if other.terminating)
        if any(_may_have_evicted(pod, other, needs) for other in terminating):
            return "not eligible due to a terminating pod on the nominated node."
        return ""

    def victims_of(self, pod: PodInfo, terminating: Sequence[PodInfo]) -> list[PodInfo]:
        needs = Needs(pod, QuotaUsage(self.quotas.refresh()), self.cluster)
        return [other for other in terminating if _may_have_evicted(pod, other, needs)]

    def sample(self, rows: npt.NDArray[np.intp]) -> tuple[int, int]:
        return 0, len(rows)

    def may_evict(self, pod: PodInfo) -> bool:
        return bool(self.cluster.pods)

    def select_victims(
        self, state: fwk.CycleState, pod: PodInfo, row: int, budgets: Budgets, fits: Fits
    ) -> Candidate | fwk.Status:
        """Return the candidate for a node. Each pod that is put back must fit, and keep the quotas."""
        needs: Needs = state[self.name]
        node, own = self.cluster.nodes.names[row], pod.namespace
        snapshot = needs.snapshot.fresh()
        with_quota = own in snapshot.quotas
        potential = by_importance(self._potential_victims(pod, row, needs, snapshot))
        if not potential:
            return old_no_victims(pod, node)
        gone = {victim.key: victim for victim in potential}
        history = [(victim, -1) for victim in potential]
        status = fits(fwk.NodePodsChange(row, removed=potential, history=history))
        if status is not None:
            return status
        if with_quota and (snapshot.over_max(own, needs.own) or snapshot.over_all(needs.own)):
            return STILL_OVER
        chosen: list[PodInfo] = []
        violations = 0
        violating, others = budgets.split(potential)
        for group in (violating, others):
            for victim in group:
                del gone[victim.key]
                history.append((victim, 1))
                snapshot.change(victim, 1)
                stays = fits(fwk.NodePodsChange(row, removed=list(gone.values()), history=history)) is None
                if not stays:
                    snapshot.change(victim, -1)
                    violations += group is violating
                over = with_quota and (snapshot.over_max(own, needs.in_quota) or snapshot.over_all(needs.in_all))
                if over and not stays:  # upstream removes the pod a second time, which fails
                    return fwk.error(f"no corresponding pod {victim.name} in pods of node {node}")
                if over:
                    snapshot.change(victim, -1)
                if over or not stays:
                    gone[victim.key] = victim
                    history.append((victim, -1))
                    chosen.append(victim)
        if violating and others:
            chosen = by_importance(chosen)
        return Candidate(node, tuple(chosen), violations)

    def _potential_victims(self, pod: PodInfo, row: int, needs: Needs, snapshot: QuotaUsage) -> list[PodInfo]:
        """Return the pods on the node that may be evicted, and evict them from the snapshot.

        Within the guarantee of its quota, the pod may evict pods of quotas that exceed theirs, until they do not.
        """
        quotas, own = snapshot.quotas, pod.namespace
        borrows = own in quotas and bool(snapshot.over_min(own, needs.in_quota))
        found = []
        least_important_first = by_importance(self.cluster.nodes.pods_of(row))[::-1]
        for other in least_important_first:
            if (other.namespace in quotas) != (own in quotas):
                continue
            if own not in quotas:
                evictable = other.priority < pod.priority
            elif borrows:
                evictable = other.namespace == own and other.priority < pod.priority
            else:
                evictable = other.namespace != own and bool(snapshot.over_min(other.namespace))
            if evictable:
                found.append(other)
                snapshot.change(other, -1)
        return found

    # ---- Reserve

    def reserve(self, state: fwk.CycleState, pod: PodInfo, node: str) -> fwk.Status | None:
        return None  # the quotas count assumed pods

    def unreserve(self, state: fwk.CycleState, pod: PodInfo, node: str) -> None:
        """Do nothing: the quotas count the pods that have a node."""

    def explain_reserve(self, state: fwk.CycleState, view: View) -> Tree:
        return constant(False, "it refuses nothing").with_text("CapacityScheduling counts the pod in its quota")

    def events_to_register(self) -> list[events.EventHint]:
        return [
            events.registered(events.POD, events.DELETE),
            events.registered("ElasticQuota", events.ADD, events.DELETE, events.UPDATE),
        ]


def _explain_request(view: View, pod: PodInfo, amount: int, unit: str) -> Tree:
    leaf = view.holds(pod, "spec", "containers", label=f"requests of {pod.key}")
    leaf.value, leaf.unit = amount, unit
    return leaf


def _explain_min(view: View, quota: Quota, name: str, unit: str) -> Tree:
    if name not in quota.min:
        return constant(0, f"min of {quota.object.namespace}: none", unit)
    return view.field(quota.object, "spec", "min", name, unit=unit, label=f"min of {quota.object.namespace}")


def _shown(name: str, amount: int) -> str:
    return f"{formatting.amount(name, amount)} of {name}"
