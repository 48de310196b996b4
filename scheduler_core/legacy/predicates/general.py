"""PodFitsResources, HostName, PodFitsHostPorts, MatchNodeSelector, and GeneralPredicates, which combines all four.

Source: pkg/scheduler/algorithm/predicates/predicates.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from scheduler_core.cluster import resources
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import interface as fwk
from scheduler_core.legacy import reasons
from scheduler_core.plugins.node_affinity import NodeAffinity
from scheduler_core.plugins.node_name import NodeName
from scheduler_core.plugins.node_ports import NodePorts
from scheduler_core.plugins.node_resources_fit import TOO_MANY_PODS, NodeResourcesFit
from scheduler_core.plugins.resource_allocation import CPU_AND_MEMORY, ScoringStrategy
from scheduler_core.provenance.context import View
from scheduler_core.provenance.tree import Tree, some

PODS = "Insufficient pods"


class PodFitsResources(NodeResourcesFit):
    name = "PodFitsResources"

    def __init__(self, args: Any, cluster: Cluster) -> None:
        strategy = ScoringStrategy(type="LeastAllocated", resources=CPU_AND_MEMORY)
        ignored = frozenset(getattr(args, "ignored", ()))
        super().__init__(
            SimpleNamespace(ignored_resources=ignored, ignored_resource_groups=(), scoring_strategy=strategy), cluster
        )

    def resources_needed(self, pod: PodInfo) -> list[tuple[str, int]]:
        """Return the pairs of the plugin, and also extended resources of which the pod requests 0."""
        wanted = super().resources_needed(pod)
        none = [(name, 0) for name, n in pod.requests.items() if not n and resources.is_scalar(name)]
        return wanted + [entry for entry in none if entry[0] not in self.ignored]

    def filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Verdict:
        verdict = super().filter(state, pod)
        return fwk.Verdict(verdict.codes, tuple(map(_with_old_pods_reason, verdict.statuses)))

    def filter_node(self, state: fwk.CycleState, pod: PodInfo, change: fwk.Change) -> fwk.Status | None:
        status = super().filter_node(state, pod, change)
        return None if status is None else _with_old_pods_reason(status)


def _with_old_pods_reason(status: fwk.Status) -> fwk.Status:
    return fwk.Status(status.code, tuple(PODS if reason == TOO_MANY_PODS else reason for reason in status.reasons))


class HostName(NodeName):
    name = "HostName"

    def filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Verdict:
        verdict = super().filter(state, pod)
        return verdict if verdict.codes is None else fwk.Verdict(verdict.codes, (reasons.refusal(reasons.HOST),))


class PodFitsHostPorts(NodePorts):
    """Behaves as NodePorts and uses its reason."""

    name = "PodFitsHostPorts"


class MatchNodeSelector(NodeAffinity):
    name = "MatchNodeSelector"


class GeneralPredicates(fwk.FilterPlugin):
    """Runs all parts; a rejected node has the reasons of all parts that reject it."""

    name = "GeneralPredicates"

    def __init__(self, args: Any, cluster: Cluster) -> None:
        super().__init__(args, cluster)
        self.parts: tuple[fwk.FilterPlugin, ...] = (
            PodFitsResources(args, cluster),
            HostName(None, cluster),
            PodFitsHostPorts(None, cluster),
            MatchNodeSelector(None, cluster),
        )

    def filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Verdict:
        refusing = [verdict for part in self.parts if (verdict := part.filter(state, pod)).codes is not None]
        return together(refusing)

    def filter_node(self, state: fwk.CycleState, pod: PodInfo, change: fwk.Change) -> fwk.Status | None:
        texts: list[str] = []
        for part in self.parts:
            judge = part.filter_node
            status = judge(state, pod, change) if judge is not None else part.filter(state, pod).at(change.row)
            texts += status.reasons if status is not None else ()
        return reasons.refusal(*texts) if texts else None

    def explain_filter(self, state: fwk.CycleState, view: View) -> Tree:
        trees = [(part.name, part.explain_filter(state, view)) for part in self.parts]
        texts = [tree for name, tree in trees if tree is not None]
        labelled = [tree.with_label(f"{name}: {tree.label or tree.text}") for name, tree in trees if tree is not None]
        refused = [tree.text.removeprefix(f"{view.node.name}: ") for tree in texts if tree.value]
        return some(labelled).with_text(f"{view.node.name}: {'; '.join(refused) or 'all general predicates pass'}")


def together(refusing: Sequence[fwk.Verdict]) -> fwk.Verdict:
    """Combine the reasons of several verdicts in their order. Each of the verdicts rejects some node."""
    if not refusing:
        return fwk.PASSES
    if len(refusing) == 1:
        return refusing[0]
    assert refusing[0].codes is not None
    keys = np.zeros(len(refusing[0].codes), np.int64)
    sizes = [len(verdict.statuses) + 1 for verdict in refusing]
    for verdict, size in zip(refusing, sizes, strict=True):
        assert verdict.codes is not None
        keys = keys * size + verdict.codes
    present, inverse = np.unique(keys, return_inverse=True)
    statuses = []
    for key in present.tolist():
        texts: list[str] = []
        for verdict, size in zip(reversed(refusing), reversed(sizes), strict=True):
            key, code = divmod(key, size)
            texts[:0] = verdict.statuses[code - 1].reasons if code else ()
        if texts:
            statuses.append(reasons.refusal(*texts))
    first = 0 if present[0] == 0 else 1  # code 0 is reserved for nodes that pass
    return fwk.Verdict((inverse + first).astype(np.uint16), tuple(statuses))
