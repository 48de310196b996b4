"""Plugins that evaluate one node at a time, as upstream's do. `per_node` adapts them to columns.

    @per_node
    class Rack(PerNode):
        name = "Rack"

        def filter_node(self, state, pod, node):
            return None if node.labels.get("rack") else "node(s) had no rack"

        def score_node(self, state, pod, node):
            return len(node.pods)

A class with `filter_node` is a Filter plugin, one with `score_node` a Score plugin. Calling Python once per node is
slow: about ten thousand nodes per second. A columnar plugin (scheduler_core.framework.interface) has no such limit.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from scheduler_core.api.objects import Node, Taint
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.errors import InputError
from scheduler_core.framework import interface as fwk
from scheduler_core.provenance.context import View
from scheduler_core.provenance.tree import Tree

Outcome = fwk.Status | str | None
_INT64 = range(-(1 << 63), 1 << 63)


class NodeInfo:
    """A read-only view of a node for a per-node plugin (upstream NodeInfo).

    `pods`: the pods on the node in order of arrival, with the changes of a preemption dry run applied. `allocatable`
    and `requested`: resource -> quantity (millicores of cpu, whole units of other resources).
    """

    def __init__(self, cluster: Cluster, row: int, change: fwk.NodePodsChange | None = None) -> None:
        self._nodes = cluster.nodes
        self._row = row
        self._change = change
        self.name: str = cluster.nodes.names[row]
        self.node: Node = cluster.nodes.nodes[row]

    @property
    def labels(self) -> Mapping[str, str]:
        return self.node.metadata.labels

    @property
    def taints(self) -> Sequence[Taint]:
        return self.node.spec.taints

    @cached_property
    def pods(self) -> list[PodInfo]:
        here = list(self._nodes.pods_of(self._row))
        if self._change is None:
            return here
        removed = {pod.key for pod in self._change.removed}
        return [pod for pod in here if pod.key not in removed] + self._change.added

    @cached_property
    def allocatable(self) -> dict[str, int]:
        return {name: int(column[self._row]) for name, column in self._nodes.allocatable.items()}

    @cached_property
    def requested(self) -> dict[str, int]:
        amounts = {name: int(column[self._row]) for name, column in self._nodes.requested.items()}
        if self._change is not None:
            for pods, step in ((self._change.added, 1), (self._change.removed, -1)):
                for pod in pods:
                    for name, amount in pod.requests.items():
                        amounts[name] = amounts.get(name, 0) + step * amount
        return amounts


class PerNode:
    """Base class of per-node plugins. `args`: the pluginConfig arguments as a dict, None without any."""

    name: ClassVar[str] = ""
    best: ClassVar[str] = ""  # the node with the highest score in words, see ScorePlugin
    args: Any = None
    cluster: Cluster

    def filter_node(self, state: fwk.CycleState, pod: PodInfo, node: NodeInfo) -> Outcome:
        """Return None if the pod may run on the node, else the reason: a text (preemption may help) or a Status."""
        raise NotImplementedError

    def score_node(self, state: fwk.CycleState, pod: PodInfo, node: NodeInfo) -> int:
        """Return the score of the node, 0..100; any int64 with `normalize` (see ScorePlugin)."""
        raise NotImplementedError

    normalize: Callable[[fwk.CycleState, PodInfo, fwk.Int64, fwk.Rows], fwk.Int64] | None = None

    def explain_filter(self, state: fwk.CycleState, view: View) -> Tree | None:
        """Explain the verdict on the view's node, as FilterPlugin does; None if the plugin has no explanation."""
        return None

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree | None:
        """Explain the score of the view's node, as ScorePlugin does; None if the plugin has no explanation."""
        return None


class _Adapter(fwk.Plugin):
    """Creates and configures the per-node plugin."""

    per_node: ClassVar[type[PerNode]]

    def __init__(self, args: Any, cluster: Cluster) -> None:
        super().__init__(args, cluster)
        self.inner = self.per_node()
        self.inner.args, self.inner.cluster = args, cluster


class _Filter(_Adapter, fwk.FilterPlugin):
    def filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Verdict:
        return fwk.Verdict.of_statuses([self._judge(state, pod, row, None) for row in range(len(self.cluster.nodes))])

    def filter_node(self, state: fwk.CycleState, pod: PodInfo, change: fwk.NodePodsChange) -> fwk.Status | None:
        return self._judge(state, pod, change.row, change)

    def explain_filter(self, state: fwk.CycleState, view: View) -> Tree | None:
        return self.inner.explain_filter(state, view)

    def _judge(
        self, state: fwk.CycleState, pod: PodInfo, row: int, change: fwk.NodePodsChange | None
    ) -> fwk.Status | None:
        try:
            status = self.inner.filter_node(state, pod, NodeInfo(self.cluster, row, change))
        except Exception as problem:  # third-party code: a failure becomes an error status, as upstream
            return fwk.error(f"{self.name} failed: {type(problem).__name__}: {problem}")
        return fwk.unschedulable(status) if isinstance(status, str) else status


class _Score(_Adapter, fwk.ScorePlugin):
    def score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Int64:
        chosen = np.arange(len(self.cluster.nodes))[rows].tolist()
        return np.array([self._points(state, pod, NodeInfo(self.cluster, row)) for row in chosen], np.int64)

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree | None:
        return self.inner.explain_score(state, view)

    def _points(self, state: fwk.CycleState, pod: PodInfo, node: NodeInfo) -> int:
        where, field = f"plugin {self.name}", f"score_node of pod {pod.key} on node {node.name}"
        try:
            points = self.inner.score_node(state, pod, node)
        except Exception as problem:
            raise InputError(where, field, f"failed: {type(problem).__name__}: {problem}") from problem
        allowed = _INT64 if self.normalize else range(fwk.MAX_NODE_SCORE + 1)
        if not isinstance(points, int) or points not in allowed:
            raise InputError(where, field, f"must be an integer in {allowed[0]}..{allowed[-1]}, got {points!r}")
        return points


def per_node(cls: type[PerNode]) -> type[fwk.Plugin]:
    """Return the columnar plugin class of a per-node plugin. Raises TypeError if it has no name or no method."""
    bases: list[type[fwk.Plugin]] = []
    if cls.filter_node is not PerNode.filter_node:
        bases.append(_Filter)
    if cls.score_node is not PerNode.score_node:
        bases.append(_Score)
    if not bases or not cls.name:
        raise TypeError(f"{cls.__name__} needs a name, and filter_node or score_node")
    members: dict[str, Any] = {"name": cls.name, "per_node": cls, "__doc__": cls.__doc__, "__module__": cls.__module__}
    if cls.best:
        members["best"] = cls.best
    if cls.normalize is not None:
        members["normalize"] = lambda self, state, pod, scores, rows: self.inner.normalize(state, pod, scores, rows)
    return type(cls.__name__, tuple(bases), members)
