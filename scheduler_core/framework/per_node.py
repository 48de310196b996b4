"""Plugins that look at one node at a time, as upstream's do: `per_node` turns them into columns.

    @per_node
    class Rack(PerNode):
        name = "Rack"

        def filter_node(self, state, pod, node):
            return None if node.labels.get("rack") else "node(s) had no rack"

        def score_node(self, state, pod, node):
            return len(node.pods)

Defining `filter_node` makes it a Filter plugin, `score_node` a Score plugin. Calling Python once per node is slow: some
ten thousand nodes a second. A columnar plugin (scheduler_core.framework.interface) has no such limit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from scheduler_core.api.objects import Node, Taint
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.errors import InputError
from scheduler_core.framework.interface import (
    MAX_NODE_SCORE,
    Change,
    CycleState,
    FilterPlugin,
    Int64,
    Plugin,
    Rows,
    ScorePlugin,
    Status,
    Verdict,
    error,
    unschedulable,
)
from scheduler_core.provenance.context import View
from scheduler_core.provenance.tree import Tree

Said = Status | str | None
_INT64 = range(-(1 << 63), 1 << 63)


class NodeInfo:
    """A node as a per-node plugin sees it (upstream's NodeInfo); read it, do not write to it.

    `pods`: those that run there, in order of arrival, as a preemption under trial leaves them. `allocatable` and
    `requested`: resource -> amount (millicores of cpu, else whole units).
    """

    def __init__(self, cluster: Cluster, row: int, change: Change | None = None) -> None:
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
    """What a per-node plugin extends. `args`: its pluginConfig arguments as a dict, None without any."""

    name: ClassVar[str] = ""
    args: Any = None
    cluster: Cluster

    def filter_node(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Said:
        """None if the pod may run on the node, else why not: a text (preemption may help) or a Status."""
        raise NotImplementedError

    def score_node(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        """How good the node is for the pod, 0..100; any int64 with `normalize` (see ScorePlugin)."""
        raise NotImplementedError

    normalize: Callable[[CycleState, PodInfo, Int64, Rows], Int64] | None = None

    def explain_filter(self, state: CycleState, view: View) -> Tree | None:
        """Where the verdict on the view's node comes from, as of FilterPlugin; None if the plugin does not say."""
        return None

    def explain_score(self, state: CycleState, view: View) -> Tree | None:
        """Where the score of the view's node comes from, as of ScorePlugin; None if the plugin does not say."""
        return None


class _Adapter(Plugin):
    """Holds the per-node plugin and sets it up."""

    per_node: ClassVar[type[PerNode]]

    def __init__(self, args: Any, cluster: Cluster) -> None:
        super().__init__(args, cluster)
        self.inner = self.per_node()
        self.inner.args, self.inner.cluster = args, cluster


class _Filter(_Adapter, FilterPlugin):
    def filter(self, state: CycleState, pod: PodInfo) -> Verdict:
        return Verdict.of_statuses([self._judge(state, pod, row, None) for row in range(len(self.cluster.nodes))])

    def filter_node(self, state: CycleState, pod: PodInfo, change: Change) -> Status | None:
        return self._judge(state, pod, change.row, change)

    def explain_filter(self, state: CycleState, view: View) -> Tree | None:
        return self.inner.explain_filter(state, view)

    def _judge(self, state: CycleState, pod: PodInfo, row: int, change: Change | None) -> Status | None:
        try:
            said = self.inner.filter_node(state, pod, NodeInfo(self.cluster, row, change))
        except Exception as problem:  # a stranger's code: its failure is a status, as an error is upstream
            return error(f"{self.name} failed: {type(problem).__name__}: {problem}")
        return unschedulable(said) if isinstance(said, str) else said


class _Score(_Adapter, ScorePlugin):
    def score(self, state: CycleState, pod: PodInfo, rows: Rows) -> Int64:
        chosen = np.arange(len(self.cluster.nodes))[rows].tolist()
        return np.array([self._points(state, pod, NodeInfo(self.cluster, row)) for row in chosen], np.int64)

    def explain_score(self, state: CycleState, view: View) -> Tree | None:
        return self.inner.explain_score(state, view)

    def _points(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        where, field = f"plugin {self.name}", f"score_node of pod {pod.key} on node {node.name}"
        try:
            points = self.inner.score_node(state, pod, node)
        except Exception as problem:
            raise InputError(where, field, f"failed: {type(problem).__name__}: {problem}") from problem
        allowed = _INT64 if self.normalize else range(MAX_NODE_SCORE + 1)
        if not isinstance(points, int) or points not in allowed:
            raise InputError(where, field, f"must be an integer in {allowed[0]}..{allowed[-1]}, got {points!r}")
        return points


def per_node(cls: type[PerNode]) -> type[Plugin]:
    """The columnar plugin class that asks a per-node one about every node. Raises TypeError if it answers nothing."""
    bases: list[type[Plugin]] = []
    if cls.filter_node is not PerNode.filter_node:
        bases.append(_Filter)
    if cls.score_node is not PerNode.score_node:
        bases.append(_Score)
    if not bases or not cls.name:
        raise TypeError(f"{cls.__name__} needs a name, and filter_node or score_node")
    members: dict[str, Any] = {"name": cls.name, "per_node": cls, "__doc__": cls.__doc__, "__module__": cls.__module__}
    if cls.normalize is not None:
        members["normalize"] = lambda self, state, pod, scores, rows: self.inner.normalize(state, pod, scores, rows)
    return type(cls.__name__, tuple(bases), members)
