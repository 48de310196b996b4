"""NodeLabel: requires, forbids or prefers certain node labels.

Upstream (until 1.22): pkg/scheduler/framework/plugins/nodelabel.
"""

from typing import Self

import numpy as np

from scheduler_core.api.plugin_args import Complain, PluginArgs
from scheduler_core.api.syntax import shown
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import events
from scheduler_core.framework import interface as fwk
from scheduler_core.provenance.context import View
from scheduler_core.provenance.scores import max_node_score
from scheduler_core.provenance.tree import Tree, constant, contains, count, divide_int, multiply, opposite, some

VIOLATED = fwk.unresolvable("node(s) didn't have the requested labels")


class NodeLabelArgs(PluginArgs, frozen=True, kw_only=True):
    present_labels: tuple[str, ...] = ()
    absent_labels: tuple[str, ...] = ()
    present_labels_preference: tuple[str, ...] = ()
    absent_labels_preference: tuple[str, ...] = ()

    def finish(self, complain: Complain) -> Self:
        check_apart(complain, "presentLabels", self.present_labels, "absentLabels", self.absent_labels)
        present, absent = self.present_labels_preference, self.absent_labels_preference
        check_apart(complain, "presentLabelsPreference", present, "absentLabelsPreference", absent)
        return self


def check_apart(complain: Complain, field: str, present: tuple[str, ...], other: str, absent: tuple[str, ...]) -> None:
    """Complain about a label that must be both present and absent."""
    for i, label in enumerate(present):
        if label in absent:
            complain(f"{field}[{i}]", f"{shown(label)} is also in {other}")


class NodeLabel(fwk.FilterPlugin, fwk.ScorePlugin):
    name = "NodeLabel"
    best = "the one with the labels that the configuration prefers"
    args_class = NodeLabelArgs
    opt_in = True
    phrases = {VIOLATED.message: "do not have the labels that the configuration requires"}

    def _has(self, label: str) -> fwk.Bool:
        """Return the nodes that have the label; bool over nodes."""
        return self.cluster.nodes.topology(label).ids >= 0

    def filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Verdict:
        """Reject nodes that lack a label of `presentLabels` or have a label of `absentLabels`, whatever its value."""
        refused = np.zeros(len(self.cluster.nodes), np.bool_)
        for label in self.args.present_labels:
            refused |= ~self._has(label)
        for label in self.args.absent_labels:
            refused |= self._has(label)
        return fwk.Verdict.reject(refused, VIOLATED)

    def score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Int64:
        """Return 100 x the share of the preferences that the node meets."""
        points = np.zeros(len(self.cluster.nodes), np.int64)
        for label in self.args.present_labels_preference:
            points += self.max_score * self._has(label)
        for label in self.args.absent_labels_preference:
            points += self.max_score * ~self._has(label)
        wanted = len(self.args.present_labels_preference) + len(self.args.absent_labels_preference)
        return (points // max(wanted, 1))[rows]

    # ---- explanations

    def _parts(self, view: View, names: list[str], wanted: bool, path: str) -> list[Tree]:
        """Return a tree for each label: whether the node has it, or lacks it."""
        held = view.field(view.node, "metadata", "labels", missing={})
        found = []
        for i, name in enumerate(names):
            has = contains(held, view.argument(self.name, path, i), f"has the label {name}")
            found.append(has if wanted else opposite(has, f"has no label {name}"))
        return found

    def explain_filter(self, state: fwk.CycleState, view: View) -> Tree:
        wrong = [
            *self._parts(view, self.args.present_labels, False, "presentLabels"),
            *self._parts(view, self.args.absent_labels, True, "absentLabels"),
        ]
        text = next((part.label for part in wrong if part.value), "has the required labels")
        return some(wrong, "a label is missing or forbidden").with_text(f"{view.node.name}: {text}")

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree:
        met = [
            *self._parts(view, self.args.present_labels_preference, True, "presentLabelsPreference"),
            *self._parts(view, self.args.absent_labels_preference, False, "absentLabelsPreference"),
        ]
        right = [part for part in met if part.value]
        points = multiply(count(right, "preferences met"), max_node_score(self.max_score))
        tree = divide_int(points, constant(max(len(met), 1), "preferences"))
        return tree.with_text(f"{tree.value} = {len(right)} of {len(met)} preferences are met by {view.node.name}")

    def events_to_register(self) -> list[events.EventHint]:
        return [events.registered(events.NODE, events.ADD, events.UPDATE_NODE_LABEL)]
