"""Whether a pending pod fits on a node now, would fit without other pods, or fits on no node even without any pods."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from scheduler_core.api.devices import ResourceClaim, ResourceClaimStatus
from scheduler_core.api.objects import Node, Object
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.config import Configuration
from scheduler_core.config.policy_plugins import successor
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.debugger.mutations import Change
from scheduler_core.debugger.suggestions.evict_pods import delete
from scheduler_core.debugger.suggestions.search import LEAST_RUNS, FixSearch
from scheduler_core.debugger.suggestions.steps import EVICT, Combination, Remedy
from scheduler_core.debugger.suggestions.what_if import WhatIf, dry_cycles
from scheduler_core.explain import Answer
from scheduler_core.explain.explain import explainer
from scheduler_core.explain.failure_details import lacks
from scheduler_core.framework.interface import UNRESOLVABLE, Bool, CycleState, NodePodsChange
from scheduler_core.framework.rejection_context import RejectionContext
from scheduler_core.pending_pods.pending_answer import InTheWay
from scheduler_core.pending_pods.times import seconds
from scheduler_core.preemption.pick_one_node import choose
from scheduler_core.preemption.victims import Candidate, compile_budgets, select_victims
from scheduler_core.releases import Release
from scheduler_core.simulation import Simulation

ABOVE_ALL = 1 << 40  # a priority above that of every pod
NODES_TRIED = 64  # nodes that are emptied one by one before all nodes are emptied at once
CANDIDATES = 12  # nodes among which the one with the least important pods is chosen
TARGETS = 6  # nodes for which pods on several nodes are searched
RUNS = 60  # cycles of this search
EVERYTHING = 2_000  # pods that are removed at once, if the search for fewer finds none
FEW_NODES = 1_000  # in larger clusters, less is searched and explained
OF_OTHER_PODS = frozenset(("InterPodAffinity", "GangScheduling", "Coscheduling"))
"""Plugins that find no pod in a cluster without pods: those that an affinity names, or the others of a group."""
NODES_LISTED = 20  # nodes of a group of reasons
MOST_KEPT = 8  # pods of which one may have to stay for the pod's affinity
FIT_PLUGINS = ("NodeResourcesFit", "GeneralPredicates", "PodFitsResources")
AFFINITY_RULES = "node(s) didn't match pod affinity rules"


@dataclass(frozen=True, eq=False)
class Fit:
    """The result for a pod. Equal pods share it, and their answers share its parts.

    `trace`: its cycle, without columns over nodes. `node`: where it fits now, or would fit without `pods`; "" for
    nowhere. `pods`: the pods in the way, most important first; empty if it fits now or never. `never`: no node takes it
    even without its pods. `answer`: why it does not fit now. `even_empty`: why it does not fit in the cluster without
    pods.
    """

    trace: CycleTrace
    answer: Answer
    node: str = ""
    pods: tuple[PodInfo, ...] = ()
    never: bool = False
    even_empty: Answer | None = None

    @property
    def fits(self) -> bool:
        return bool(self.trace.placed_on)

    @cached_property
    def in_the_way(self) -> list[InTheWay]:
        """The pods in the way, as answers show them."""
        return [
            InTheWay(
                pod.key,
                pod.node or self.node,
                pod.priority,
                seconds(pod.pod.metadata.deletion_timestamp),
                pod.pod.stays_in_drain,
                not pod.node,
            )
            for pod in self.pods
        ]


class FitAnalysis:
    """Analyses pending pods in a cluster, which stays unchanged. `cluster`: followed by its owner between the calls.

    Raises InputError for a configuration that the release does not accept.
    """

    def __init__(self, cluster: Cluster, release: Release, configuration: Configuration) -> None:
        self.cluster = cluster
        self.simulation = Simulation((), release=release, config=configuration, tie_break="name", cluster=cluster)
        self._empty = _EmptyCluster(cluster, release, configuration)
        self._terminating: list[PodInfo] | None = None  # since the last call of set_pending

    @property
    def schedulers(self) -> frozenset[str]:
        """The names of the profiles."""
        return frozenset(self.simulation.scheduler.profiles)

    def set_pending(self, pods: Iterable[PodInfo]) -> None:
        """Set the pending pods of all schedulers. Call it when the cluster has changed."""
        self.simulation.pending = list(pods)
        self._terminating = None

    def fit(self, pod: PodInfo, previous: Fit | None = None) -> Fit:
        """Return whether one of the pending pods fits, and which pods are in the way.

        `previous`: the result before other pods came or went; it is kept if it still holds.
        """
        what_if = WhatIf(self.simulation, pod.key)
        trace = what_if.run(())
        answer = _explained(trace, self.simulation, pod)
        if trace.placed_on:
            return Fit(_result(trace), answer, trace.placed_on)
        if trace.preenqueue is not None or trace.error or not len(self.cluster.nodes):
            return Fit(_result(trace), answer)
        if found := self._leaving(what_if) or self._still(what_if, previous) or self._on_one_node(what_if, trace):
            return Fit(_result(trace), answer, *found)
        empty = self._empty.run(pod, trace)
        if not empty.rows:
            return Fit(_result(trace), answer, never=True, even_empty=empty.answer)
        if found := self._on_several_nodes(what_if, empty.rows):
            return Fit(_result(trace), answer, *found)
        # What is left are pods that must be near others, which leave them too little.
        never = bool(pod.required_affinity) and len(self.cluster.pods) <= EVERYTHING
        return Fit(_result(trace), answer, never=never)

    def best_fix(self, pod: PodInfo, limit: float) -> Remedy | None:
        """Return the smallest verified change with which the pod fits. `limit`: of the search, in seconds.

        Pages and commands suggest the same: they differ in the limit alone, which only large clusters reach.
        """
        found = _ShortSearch(WhatIf(self.simulation, pod.key), limit).run()
        return found[0] if found else None

    # ---- pods in the way

    def _still(self, what_if: WhatIf, previous: Fit | None) -> tuple[str, tuple[PodInfo, ...]] | None:
        """Return the previous node and pods if the pod would still fit there without them."""
        if previous is None or not previous.pods:
            return None
        if any(self._pod(pod.key) is not pod for pod in previous.pods):
            return None
        node = what_if.run(_deletions(previous.pods)).placed_on
        return (node, previous.pods) if node == previous.node else None

    def _leaving(self, what_if: WhatIf) -> tuple[str, tuple[PodInfo, ...]] | None:
        """Return a node where the pod fits when all pods that are being deleted are gone, and those on this node."""
        if self._terminating is None:
            self._terminating = [pod for pod in self.cluster.pods.values() if pod.terminating]
        leaving = self._terminating
        if not leaving:
            return None
        promised = [pod for pod in leaving if pod.node == what_if.pod.nominated_node]
        if promised and what_if.run(_deletions(promised)).placed_on == what_if.pod.nominated_node:
            return what_if.pod.nominated_node, tuple(promised)
        node = what_if.run(_deletions(leaving)).placed_on
        if not node:
            return None
        there = [pod for pod in leaving if pod.node == node]
        if there and what_if.run(_deletions(there)).placed_on:
            return node, tuple(there)
        return node, tuple(self._fewer(what_if, leaving))

    def _fewer(self, what_if: WhatIf, pods: list[PodInfo]) -> list[PodInfo]:
        """Return as few of the pods as possible without which the pod fits. The number of cycles is limited."""
        size = len(pods)
        while size and what_if.runs < RUNS:
            size = size // 2
            for start in range(0, len(pods), max(size, 1)):
                fewer = pods[:start] + pods[start + max(size, 1) :]
                if fewer and what_if.runs < RUNS and what_if.run(_deletions(fewer)).placed_on:
                    pods, size = fewer, len(fewer)
                    break
        return pods

    def _on_one_node(self, what_if: WhatIf, trace: CycleTrace) -> tuple[str, tuple[PodInfo, ...]] | None:
        """Return a node where the pod fits without some of the node's pods, and these pods."""
        if trace.prefilter is not None:
            return None
        pod, framework = what_if.pod, what_if.framework
        rows = self._promising(framework.filter, pod, trace)
        if not rows:
            return None
        state = CycleState()
        framework.run_pre_filter(state, pod)
        verdicts = framework.run_filter(state, pod)
        above_all = copy.copy(pod)
        above_all.priority = ABOVE_ALL
        budgets, candidates = compile_budgets(self.cluster), list[Candidate]()

        def fits(change: NodePodsChange) -> Any:
            return framework.check_node(state, pod, verdicts, change)

        nominated: dict[str, list[PodInfo]] = {}
        for row in rows[:NODES_TRIED]:
            name, pods = self.cluster.nodes.names[row], list(self.cluster.nodes.pods_of(row))
            if (ahead := framework.nominated_ahead(pod, name)) and fits(NodePodsChange(row)) is None:
                nominated[name] = ahead
                continue
            for removable in self._removable(pod, pods):
                found = select_victims(above_all, name, row, removable, budgets, fits)
                if isinstance(found, Candidate) and found.victims:
                    candidates.append(found)
                    nominated[name] = ahead
                    break
            if len(candidates) >= CANDIDATES:
                break
        return self._verified(what_if, candidates, nominated)

    def _removable(self, pod: PodInfo, pods: Sequence[PodInfo]) -> Iterator[list[PodInfo]]:
        """Yield sets of pods to remove: those that do not return, all, and all but those that the pod must be near."""
        yield [one for one in pods if not _returns(one)]
        yield list(pods)
        if pod.required_affinity:
            wanted = [one for one in pods if self._is_wanted(pod, one)]
            yield [one for one in pods if one not in wanted]
            for kept in wanted[:MOST_KEPT] if len(wanted) > 1 else ():
                yield [one for one in pods if one is not kept]

    def _is_wanted(self, pod: PodInfo, other: PodInfo) -> bool:
        """Return whether the pod must be near the other one."""
        labels = self.cluster.namespaces.get(other.namespace, {})
        return any(term.matches(other.namespace, labels, other.labels) for term in pod.required_affinity)

    def _verified(
        self, what_if: WhatIf, candidates: list[Candidate], nominated: dict[str, list[PodInfo]]
    ) -> tuple[str, tuple[PodInfo, ...]] | None:
        """Return the node with the least important pods for which a cycle confirms that they are in the way."""
        for node, ahead in nominated.items():
            alone = all(candidate.node != node for candidate in candidates)
            if alone and what_if.run(_deletions(ahead)).placed_on:
                return node, tuple(ahead)
        while candidates:
            staying = [c for c in candidates if not any(map(_returns, c.victims))] or candidates
            nodes, _ = choose(staying)
            best = next(c for c in staying if c.node == nodes[0])
            for more in ([], nominated[best.node]):
                pods = [*best.victims, *more]
                if (node := what_if.run(_deletions(pods)).placed_on) and (not more or node == best.node):
                    return node, tuple(pods)
            candidates = [c for c in candidates if c is not best]
        return None

    def _promising(self, filters: Sequence[Any], pod: PodInfo, trace: CycleTrace) -> list[int]:
        """Return the nodes where removing the node's pods may help, those with the fewest obstacles first."""
        nodes = self.cluster.nodes
        mask = nodes.allowed_pods > 0
        for name, requested in pod.requests.items():
            if requested > 0:
                column = nodes.allocatable.get(name)
                mask = mask & (column >= requested) if column is not None else mask & False
        refusals = np.zeros(len(nodes), np.int64)
        for plugin, verdict in trace.verdicts.items():
            if verdict.codes is None:
                continue
            refusals += verdict.codes > 0
            if plugin in FIT_PLUGINS or successor(plugin) in FIT_PLUGINS:
                continue
            hopeless = [0, *(status.code == UNRESOLVABLE for status in verdict.statuses)]
            mask = mask & ~np.array(hopeless, np.bool_)[verdict.codes]
        if trace.subset is not None:
            inside = np.zeros(len(nodes), np.bool_)
            inside[trace.subset] = True
            mask = mask & inside
        missing = lacks(RejectionContext(self.cluster, pod, nodes.names, filters, {}))
        order: list[int] = np.lexsort((missing, refusals)).tolist()
        return [row for row in order if mask[row]]

    def _on_several_nodes(self, what_if: WhatIf, rows: list[int]) -> tuple[str, tuple[PodInfo, ...]] | None:
        """Return a node where the pod fits without pods on several nodes, and these pods."""
        large = len(self.cluster.nodes) > FEW_NODES
        if found := self._apart(what_if, rows[0]):
            return found
        names = [self.cluster.nodes.names[row] for row in rows[: 1 if large else TARGETS]]
        search = _EvictionSearch(what_if, what_if.runs + RUNS)
        for remedy in search.evictions(names):
            keys = [f"{c['delete']['namespace']}/{c['delete']['name']}" for c in remedy.changes]
            pods = [pod for key in keys if (pod := self._pod(key)) is not None]
            if len(pods) == len(keys):
                return remedy.node, tuple(sorted(pods, key=lambda pod: -pod.priority))
        if len(self.cluster.pods) > EVERYTHING:
            return None
        everyone = [pod for pod in self.cluster.pods.values() if not _returns(pod)]
        for pods in (everyone, [pod for pod in everyone if not self._is_wanted(what_if.pod, pod)]):
            if pods and (node := what_if.run(_deletions(pods)).placed_on):
                return node, tuple(self._fewer(what_if, pods))
        return None

    def _apart(self, what_if: WhatIf, row: int) -> tuple[str, tuple[PodInfo, ...]] | None:
        """Return the pods from which the pod's anti-affinity keeps a node, and those that hold its resources."""
        pod, nodes, namespaces = what_if.pod, self.cluster.nodes, self.cluster.namespaces
        apart: dict[str, PodInfo] = {}
        for term in pod.required_anti_affinity:
            domain = nodes.topology(term.topology_key).ids
            for other in np.flatnonzero(domain == domain[row]).tolist() if domain[row] >= 0 else ():
                for one in nodes.pods_of(other):
                    if term.matches(one.namespace, namespaces.get(one.namespace, {}), one.labels):
                        apart[one.key] = one
        if not apart or len(apart) > EVERYTHING:
            return None
        there = [one for one in nodes.pods_of(row) if one.key not in apart and not _returns(one)]
        there = sorted(there, key=lambda one: one.priority)
        pods = list(apart.values())
        for more in range(len(there) + 1):
            if what_if.runs > RUNS:
                return None
            node = what_if.run(_deletions([*pods, *there[:more]])).placed_on
            if node:
                return node, (*pods, *there[:more])
        return None

    def _pod(self, key: str) -> PodInfo | None:
        return self.cluster.pods.get(key) or next((p for p in self.simulation.pending if p.key == key), None)


class _EvictionSearch(FixSearch):
    """Searches for pods whose deletion lets the pod fit."""

    def evictions(self, names: Sequence[str]) -> list[Remedy]:
        for name in names:
            if self._over(self.budget):
                break
            self._solve(Combination(), name, frozenset({EVICT}), 3, self.budget)
            if self.found:
                break
        return [remedy for remedy in self.ranked() if all("delete" in change for change in remedy.changes)]


class _ShortSearch(FixSearch):
    """A search for fixes that ends after some seconds, also if it has found nothing."""

    def __init__(self, what_if: WhatIf, limit: float) -> None:
        super().__init__(what_if, LEAST_RUNS)
        self._end = self._timer() + int(limit * 1e9)

    def _over(self, end: int) -> bool:
        return self.what_if.runs >= end or self._timer() > self._end


class _Empty(NamedTuple):
    """The nodes that take a pod if there are no other pods, as rows of the cluster with pods; and why others do not."""

    rows: list[int]
    answer: Answer


class _EmptyCluster:
    """The same cluster without pods. It is brought up to date when it is needed."""

    def __init__(self, cluster: Cluster, release: Release, configuration: Configuration) -> None:
        self._full = cluster
        self._cluster = Cluster(release)
        self._simulation = Simulation(
            (), release=release, config=configuration, tie_break="name", cluster=self._cluster
        )
        self._known: dict[tuple[type[Object], str], Object] = {}
        for framework in self._simulation.scheduler.profiles.values():
            for plugin in framework.plugin_names:
                if successor(plugin) in OF_OTHER_PODS:
                    framework.leave_out(plugin)

    def run(self, pod: PodInfo, trace: CycleTrace) -> _Empty:
        """Run the pod's cycle. `trace`: that in the cluster with pods."""
        self._update()
        alone = PodInfo(pod.pod, self._cluster.release)
        alone.node, alone.nominated_node, alone.priority = "", "", pod.priority
        scheduler = self._simulation.scheduler
        self._simulation.pending = [alone]
        with dry_cycles(scheduler):
            framework, state, found = scheduler.try_pod(alone)
            answer = _explained(found, self._simulation, alone)
            if found.placed_on:
                scheduler.forget(framework, state, alone, found.node)
        rows = self._full.nodes.rows
        if not found.placed_on:
            return _Empty([], answer)
        names = [self._cluster.nodes.names[row] for row in found.feasible_rows().tolist()]
        near = self._near(trace, alone)
        taking = [rows[name] for name in names if name in rows and (near is None or near[rows[name]])]
        if not taking:
            return _Empty([], _explained(trace, self._full, pod))
        missing = lacks(RejectionContext(self._full, pod, self._full.nodes.names, framework.filter, {}))
        return _Empty(sorted(taking, key=lambda row: float(missing[row])), answer)

    def _near(self, trace: CycleTrace, pod: PodInfo) -> Bool | None:
        """Return the nodes near the pods that the pod's affinity names; None if it names none but its own like."""
        terms = pod.required_affinity
        namespace = self._full.namespaces.get(pod.namespace, {})
        if not terms or all(term.matches(pod.namespace, namespace, pod.labels) for term in terms):
            return None
        for plugin, verdict in trace.verdicts.items():
            if successor(plugin) == "InterPodAffinity" and verdict.codes is not None:
                far = [False, *(AFFINITY_RULES in status.reasons for status in verdict.statuses)]
                near: Bool = ~np.array(far, np.bool_)[verdict.codes]
                return near
        return None

    def _update(self) -> None:
        """Apply the changes of all objects but pods since the last call."""
        full, empty = self._full, self._cluster
        now: dict[tuple[type[Object], str], Object] = {(type(obj), obj.key): obj for obj in full.others()}
        now |= {(Node, node.name): node for node in full.nodes.nodes}
        for key, obj in self._known.items():
            if key not in now:
                empty.remove(obj)
        changed = [obj for key, obj in now.items() if self._known.get(key) is not obj]
        for obj in changed:
            if not isinstance(obj, Node):
                empty.apply(_unallocated(obj))
        if nodes := [obj for obj in changed if isinstance(obj, Node)]:
            empty.apply_nodes(nodes)
        empty.namespaces.clear()
        empty.namespaces.update(full.namespaces)
        empty.nodes.refresh()
        self._known = now


def _explained(trace: CycleTrace, where: Simulation | Cluster, pod: PodInfo) -> Answer:
    """Return the reasons of a cycle; the closest nodes of small clusters alone, because they can take a second."""
    found = explainer(trace, where, pod, None)
    if trace.nodes <= FEW_NODES:
        answer = found.answer()
    else:
        answer = Answer(trace.pod, trace.result, "", nodes=trace.nodes)
        if trace.preenqueue is None and trace.prefilter is None and not trace.error:
            answer.groups = found.groups()
    answer.groups = [replace(group, nodes=group.nodes[:NODES_LISTED]) for group in answer.groups]
    return answer


def _result(trace: CycleTrace) -> CycleTrace:
    """Return the result of a cycle without its columns over nodes: results are kept for all pending pods."""
    kept = ("result", "message", "error", "preenqueue", "prefilter", "node")
    return CycleTrace(trace.pod, nodes=trace.nodes, **{name: getattr(trace, name) for name in kept})


def _unallocated(obj: Object) -> Object:
    """Return a claim for devices without its allocation, and any other object unchanged."""
    if isinstance(obj, ResourceClaim) and obj.status.allocation is not None:
        return replace(obj, status=ResourceClaimStatus())
    return obj


def _deletions(pods: Sequence[PodInfo]) -> Sequence[Change]:
    return delete(list(pods)).changes


def _returns(pod: PodInfo) -> bool:
    """Return whether the pod comes back to its node at once when it is deleted."""
    return pod.pod.stays_in_drain
