"""Out-of-tree plugins may explain their scores. Otherwise the recorded value is shown."""

from __future__ import annotations

from typing import Any

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework.interface import CycleState
from scheduler_core.framework.out_of_tree import enabling
from scheduler_core.framework.per_node import NodeInfo, PerNode, per_node
from scheduler_core.plugins import PLUGINS
from scheduler_core.provenance.context import View
from scheduler_core.provenance.tree import Tree, constant, count
from scheduler_core.search.provenance import DISAGREES, UNEXPLAINED, Question
from tests.scheduler_core.build import node, pod
from tests.scheduler_core.provenance.cases import explained


class Silent(PerNode):
    name = "Own"

    def score_node(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        return len(node.labels)


class Explaining(Silent):
    def explain_score(self, state: CycleState, view: View) -> Tree:
        labels = view.node.metadata.labels
        found = [view.holds(view.node, "metadata", "labels", key, label=key) for key in sorted(labels)]
        return count(found, "labels").with_text(f"{view.node.name} has {len(found)} labels")


class Wrong(Silent):
    def explain_score(self, state: CycleState, view: View) -> Tree:
        return constant(99)


def tree_of(kind: type[PerNode]) -> Tree:
    objects: list[Any] = [node("n1", labels={"a": "1", "b": "2"}), node("n2"), pod("p")]
    registry = {**PLUGINS, "Own": per_node(kind)}
    return explained(objects, Question("raw", "n1", "Own"), config=enabling(["Own"]), registry=registry)


def test_an_explanation_is_shown_if_it_is_right() -> None:
    tree = tree_of(Explaining)
    assert (tree.op, tree.text) == ("count", f"n1 has {tree.value} labels")
    silent, wrong = tree_of(Silent), tree_of(Wrong)
    assert (silent.value, silent.label) == (tree.value, UNEXPLAINED)
    assert (wrong.value, wrong.label) == (tree.value, DISAGREES)
