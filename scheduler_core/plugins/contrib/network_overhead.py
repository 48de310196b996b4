"""NetworkOverhead: keeps the pods of an AppGroup near the workloads that they depend on.

Source: sigs.k8s.io/scheduler-plugins, pkg/networkaware/networkoverhead.
"""

import re
from collections import Counter
from functools import partial
from typing import Any, Self

import msgspec
import numpy as np

from scheduler_core.api.plugin_args import Complain, PluginArgs
from scheduler_core.api.scheduler_plugins import AppGroup, Dependency, NetworkTopology
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import interface as fwk
from scheduler_core.framework.causes import Obstacle
from scheduler_core.framework.rejection_context import RejectionContext
from scheduler_core.plugins.contrib.app_groups import (
    APP_GROUP,
    REGION,
    WORKLOAD,
    ZONE,
    GroupMembers,
    costs_from,
    found_in,
)
from scheduler_core.plugins.contrib.linear_scores import LowestNormalized
from scheduler_core.provenance.context import View
from scheduler_core.provenance.tree import Tree, constant, less

MAX_COST = 100  # the cost where none is known
SAME_ZONE = 1  # the cost within a zone
REFUSED = (
    "Node {node} does not meet several network requirements from Workload dependencies: "
    "Satisfied: {satisfied} Violated: {violated}"
)
_COUNTS = re.compile(r"Satisfied: (\d+) Violated: (\d+)")
_UNREAD = "not eligible due to failed to read from cycleState"

Location = tuple[str, str]  # region, zone


class NetworkOverheadArgs(PluginArgs, frozen=True, kw_only=True):
    """Where AppGroups and the NetworkTopology are searched, and which of its costs count."""

    namespaces: tuple[str, ...] = ()
    weights_name: str = "UserDefined"
    network_topology_name: str = "nt-default"

    def finish(self, complain: Complain) -> Self:
        return msgspec.structs.replace(self, namespaces=self.namespaces or ("default",))


class Costs:
    """Of each node: how many dependencies it satisfies and violates, and their costs; int64 over nodes."""

    __slots__ = ("cost", "satisfied", "violated")

    def __init__(self, satisfied: fwk.Int64, violated: fwk.Int64, cost: fwk.Int64) -> None:
        self.satisfied, self.violated, self.cost = satisfied, violated, cost


class MissingError(Exception):
    """Something that the pod's group needs is missing. The text says what."""


class NetworkOverhead(fwk.PreFilterPlugin, fwk.FilterPlugin, LowestNormalized):
    name = "NetworkOverhead"
    args_class = NetworkOverheadArgs
    cost = "the network cost"
    best = "the one nearest to the workloads that the pod depends on"
    pod_fields = ("labels",)

    def __init__(self, args: Any, cluster: Cluster) -> None:
        super().__init__(args, cluster)
        found = cluster.shared.get(self.name)
        self.members: GroupMembers = found or cluster.shared.setdefault(self.name, GroupMembers(cluster))

    # ---- PreFilter, Filter

    def pre_filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Status | fwk.PreFilterResult | None:
        """Compute the costs of all nodes. Fails if a pod of the group is on a node that does not exist."""
        state[self.name] = None
        try:
            state[self.name] = self._costs(pod)
        except MissingError as problem:
            return fwk.error(str(problem))
        return None

    def varies_with(self, pod: PodInfo) -> str:
        return fwk.ANYTHING if pod.labels.get(APP_GROUP) else fwk.OBJECTS

    def sign(self, pod: PodInfo) -> dict[str, Any] | None:
        return None if pod.labels.get(APP_GROUP) else {}

    def _read(self, pod: PodInfo) -> tuple[list[Dependency], NetworkTopology] | None:
        """Return what the pod depends on; None if nothing. Raises MissingError."""
        group = pod.labels.get(APP_GROUP)
        if not group:
            return None
        namespaces = self.args.namespaces
        found = found_in(namespaces, group, self.cluster.app_groups)
        topology = found_in(namespaces, self.args.network_topology_name, self.cluster.network_topologies)
        for kind, name, one in (
            ("AppGroup", group, found), ("NetworkTopology", self.args.network_topology_name, topology)
        ):  # fmt: skip
            if one is None:
                where = ", ".join(namespaces)
                raise MissingError(f"there is no {kind} {name} in {where}: kube-scheduler would crash here")
        assert found is not None
        assert topology is not None
        dependencies = dependencies_of(found, pod)
        return (dependencies, topology) if dependencies else None

    def _placed(self, pod: PodInfo, dependencies: list[Dependency]) -> Counter[tuple[str, int]]:
        """Return (node, index of the dependency) -> number of pods that the pod depends on."""
        placed: Counter[tuple[str, int]] = Counter()
        for other in self.members.of_group(pod.labels[APP_GROUP]):
            for index, dependency in enumerate(dependencies):
                if other.labels.get(WORKLOAD, "") == dependency.workload.selector:
                    placed[other.node, index] += 1
        return placed

    def _costs(self, pod: PodInfo) -> Costs | None:
        """Return the costs of all nodes; None if the pod depends on nothing. Raises MissingError."""
        read = self._read(pod)
        if read is None or not any(True for _ in self.members.of_group(pod.labels[APP_GROUP])):
            return None
        dependencies, topology = read
        nodes = self.cluster.nodes
        locations: dict[Location, int] = {}
        place = np.array([locations.setdefault(_location(node), len(locations)) for node in nodes.nodes], np.intp)
        sums = np.zeros((3, len(locations)), np.int64)
        here: dict[int, list[tuple[int, int]]] = {}  # row -> (index of the dependency, pods on the node)
        distant: Counter[tuple[Location, int]] = Counter()
        for (name, index), number in self._placed(pod, dependencies).items():
            row = nodes.rows.get(name)
            if row is None:
                raise MissingError(f'pod hostname not found: nodeinfo not found for node name "{name}"')
            here.setdefault(row, []).append((index, number))
            distant[_location(nodes.nodes[row]), index] += number
        for own, column in locations.items():
            costs = costs_from(topology, self.args.weights_name, *own)
            for (other, index), number in distant.items():
                sums[:, column] += np.array(_outcome(own, other, costs, dependencies[index])) * number
        by_node = sums[:, place]
        for row, counted in here.items():
            own = _location(nodes.nodes[row])
            for index, number in counted:  # on the same node
                by_node[:, row] -= np.array(_outcome(own, own, {}, dependencies[index])) * number
                by_node[0, row] += number
        return Costs(*by_node)

    def filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Verdict:
        """Refuse nodes that violate more dependencies than they satisfy."""
        if self.name not in state:
            return fwk.Verdict.reject(np.ones(len(self.cluster.nodes), np.bool_), fwk.error(_UNREAD))
        costs: Costs | None = state[self.name]
        if costs is None:
            return fwk.PASSES
        rows = np.flatnonzero(costs.violated > costs.satisfied).tolist()
        statuses: list[fwk.Status | None] = [None] * len(self.cluster.nodes)
        for row in rows:
            counts = {"satisfied": int(costs.satisfied[row]), "violated": int(costs.violated[row])}
            statuses[row] = fwk.unschedulable(REFUSED.format(node=self.cluster.nodes.names[row], **counts))
        return fwk.Verdict.of_statuses(statuses) if rows else fwk.PASSES

    @classmethod
    def obstacle(cls, context: RejectionContext | None, status: fwk.Status) -> Obstacle:
        counts = _COUNTS.search(status.message)
        if counts is None:
            return super().obstacle(context, status)
        phrase = (
            f"are too far in the network from {counts[2]} of {int(counts[1]) + int(counts[2])} pods that the pod "
            "depends on"
        )
        return Obstacle(cls.cause, cls.effort, phrase)

    def explain_filter(self, state: fwk.CycleState, view: View) -> Tree:
        costs = self._costs(view.pod)
        if costs is None:
            return constant(False, "the pod depends on no placed pod").with_text("The pod depends on no placed pod")
        satisfied = constant(int(costs.satisfied[view.row]), "dependencies within their maxNetworkCost")
        violated = constant(int(costs.violated[view.row]), "dependencies beyond their maxNetworkCost")
        text = f"{view.node.name} satisfies {satisfied.value} and violates {violated.value} dependencies"
        return less(satisfied, violated, "more are violated than satisfied").with_text(text)

    # ---- Score

    def score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Int64:
        """Return the sum of the costs to the pods that the pod depends on."""
        if self.name not in state:
            raise fwk.ScoreError(_UNREAD)
        costs: Costs | None = state[self.name]
        return np.zeros(len(self.cluster.nodes), np.int64)[rows] if costs is None else costs.cost[rows]

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree:
        read, costs = self._read(view.pod), self._costs(view.pod)
        if read is None or costs is None:
            return constant(0, "the pod depends on no placed pod").with_text("0: the pod depends on no placed pod")
        dependencies, topology = read
        nodes, own = self.cluster.nodes, _location(view.node)
        prices = costs_from(topology, self.args.weights_name, *own)
        terms = []
        for other in self.members.of_group(view.pod.labels[APP_GROUP]):
            for dependency in dependencies:
                if other.labels.get(WORKLOAD, "") != dependency.workload.selector:
                    continue
                cost = 0
                if other.node != view.node.name:
                    its = _location(nodes.nodes[nodes.rows[other.node]])
                    cost = _outcome(own, its, prices, dependency)[2]
                terms.append((cost, partial(_explain_cost, view, other, cost)))
        tree = view.long_sum(terms, "pods", "network costs")
        return tree.with_text(f"{tree.value} = the network costs from {view.node.name} to {len(terms)} pods")


def dependencies_of(group: AppGroup, pod: PodInfo) -> list[Dependency]:
    """Return the dependencies of the pod's workload."""
    workload = pod.labels.get(WORKLOAD, "")
    return [
        dependency for one in group.spec.workloads if one.workload.selector == workload
        for dependency in one.dependencies
    ]  # fmt: skip


def _location(node: Any) -> Location:
    labels = node.metadata.labels
    return labels.get(REGION, ""), labels.get(ZONE, "")


def _outcome(
    own: Location, other: Location, costs: dict[tuple[str, str], int], dependency: Dependency
) -> tuple[int, int, int]:
    """Return (satisfied, violated, cost) of a dependency on a pod on another node."""
    if other == ("", ""):
        return 0, 1, MAX_COST
    if own == other:
        return 1, 0, SAME_ZONE
    cost = costs.get((own[1], other[1]) if own[0] == other[0] else (own[0], other[0]))
    if cost is None:
        return 0, 0, MAX_COST
    kept = cost <= dependency.max_network_cost
    return int(kept), int(not kept), cost


def _explain_cost(view: View, pod: PodInfo, cost: int) -> Tree:
    leaf = view.holds(pod, "metadata", "labels", WORKLOAD, label=f"cost to {pod.key} on {pod.node}")
    leaf.value = cost
    return leaf
