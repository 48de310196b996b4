"""Priorities that use the node object: NodeAffinityPriority, TaintTolerationPriority, ImageLocalityPriority,
NodePreferAvoidPodsPriority, NodeLabelPriority, EqualPriority.

Source: pkg/scheduler/algorithm/priorities (node_affinity.go, taint_toleration.go, image_locality.go,
node_prefer_avoid_pods.go, node_label.go), pkg/scheduler/core/generic_scheduler.go.
"""

from __future__ import annotations

import msgspec
import numpy as np

from scheduler_core.api.objects import Node, PreferredSchedulingTerm
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cluster.quantity_format import amount
from scheduler_core.framework import interface as fwk
from scheduler_core.legacy.priorities.scale import MAX_PRIORITY, max_priority, normalized
from scheduler_core.plugins.image_locality import MIN_THRESHOLD, ImageLocality, normalized_image_name
from scheduler_core.plugins.node_affinity import NodeAffinity
from scheduler_core.plugins.taint_toleration import TaintToleration
from scheduler_core.provenance.context import BYTES, View
from scheduler_core.provenance.scores import by_highest
from scheduler_core.provenance.tree import (
    Tree,
    constant,
    contains,
    divide_int,
    either,
    highest,
    lowest,
    multiply,
    opposite,
    subtract,
    total,
)

MAX_THRESHOLD = 1000 * 1024 * 1024  # for all images of a pod together
AVOID = "scheduler.alpha.kubernetes.io/preferAvoidPods"


class NodeAffinityPriority(NodeAffinity):
    """Sums the weights of the preferred terms that a node matches. matchFields are ignored."""

    name = "NodeAffinityPriority"

    @staticmethod
    def _preferred(pod: PodInfo) -> list[PreferredSchedulingTerm]:
        terms = NodeAffinity._preferred(pod)
        if not any(term.preference.match_fields for term in terms):
            return terms
        plain = [msgspec.structs.replace(t.preference, match_fields=[]) for t in terms]
        return [PreferredSchedulingTerm(t.weight, without) for t, without in zip(terms, plain, strict=True)]

    def normalize(self, state: fwk.CycleState, pod: PodInfo, scores: fwk.Int64, rows: fwk.Rows) -> fwk.Int64:
        return normalized(scores, reverse=False)

    def explain_normalize(self, state: fwk.CycleState, view: View, raw: Tree, scores: fwk.Int64) -> Tree:
        if not scores.any():
            return multiply(raw, constant(1), "left as it is").with_text("0: no node meets a preferred term")
        return by_highest(view, raw, scores, reverse=False, scale=max_priority)


class TaintTolerationPriority(TaintToleration):
    """Prefers nodes with fewer PreferNoSchedule taints that the pod does not tolerate."""

    name = "TaintTolerationPriority"

    def normalize(self, state: fwk.CycleState, pod: PodInfo, scores: fwk.Int64, rows: fwk.Rows) -> fwk.Int64:
        return normalized(scores, reverse=True)

    def explain_normalize(self, state: fwk.CycleState, view: View, raw: Tree, scores: fwk.Int64) -> Tree:
        return by_highest(view, raw, scores, reverse=True, scale=max_priority)


class ImageLocalityPriority(ImageLocality):
    """Scales the size of the pod's images on the node, each times the share of nodes that have it, from 23 MB to 1000
    MB."""

    name = "ImageLocalityPriority"

    def _scores(self, images: tuple[str, ...], containers: int) -> fwk.Int64:
        nodes = self.cluster.nodes
        total = np.zeros(len(nodes), np.int64)
        for image in map(normalized_image_name, images):
            size, holders = nodes.images.get(image, (0, ()))
            for holder in holders:
                spread = nodes.entries[holder].image_spread[image]
                total[nodes.rows[holder]] += int(float(size) * (spread / len(nodes)))
        np.clip(total, MIN_THRESHOLD, MAX_THRESHOLD, out=total)
        return MAX_PRIORITY * (total - MIN_THRESHOLD) // (MAX_THRESHOLD - MIN_THRESHOLD)

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree:
        images = self._images(view.pod)
        least, most = constant(MIN_THRESHOLD, "minThreshold", BYTES), constant(MAX_THRESHOLD, "maxThreshold", BYTES)
        beyond = constant(1 << 62, "an image alone has no limit", BYTES)
        held = total([self._share(view, image, beyond) for image in images], "sizes, each by its share of nodes", BYTES)
        within = lowest([highest([held, least]), most], "kept between the thresholds", BYTES)
        tree = divide_int(multiply(max_priority(), subtract(within, least)), subtract(most, least))
        return tree.with_text(
            f"{tree.value} = what of {len(images)} images is on {view.node.name}: {amount('memory', held.value)}"
        )


def avoided(node: Node) -> list[tuple[str, str]]:
    """Return (kind, uid) of the controllers in the node's annotation; empty if it cannot be parsed."""
    text = node.metadata.annotations.get(AVOID)
    if text is None:
        return []
    try:
        entries = (msgspec.json.decode(text) or {}).get("preferAvoidPods") or []
        found = [(entry.get("podSignature") or {}).get("podController") for entry in entries]
        return [(one.get("kind", ""), one.get("uid", "")) for one in found if one is not None]
    except (msgspec.DecodeError, AttributeError, TypeError):
        return []


class NodePreferAvoidPodsPriority(fwk.ScorePlugin):
    """Scores 0 for nodes that avoid the pod's ReplicationController or ReplicaSet, otherwise 10."""

    name = "NodePreferAvoidPodsPriority"

    def score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Int64:
        nodes = self.cluster.nodes
        asking = nodes.memo(
            self.name, lambda: [(row, controllers) for row, n in enumerate(nodes.nodes) if (controllers := avoided(n))]
        )
        scores = np.full(len(nodes), MAX_PRIORITY, np.int64)
        owner = next((ref for ref in pod.pod.metadata.owner_references if ref.controller), None)
        if asking and owner is not None and owner.kind in ("ReplicationController", "ReplicaSet"):
            scores[[row for row, controllers in asking if (owner.kind, owner.uid) in controllers]] = 0
        return scores[rows]

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree:
        owner, name = (
            next((ref for ref in view.pod.pod.metadata.owner_references if ref.controller), None),
            view.node.name,
        )
        known = owner is not None and owner.kind in ("ReplicationController", "ReplicaSet")
        if known and owner is not None and (owner.kind, owner.uid) in avoided(view.node):
            away = view.holds(
                view.node, "metadata", "annotations", AVOID, label=f"asks {owner.name}'s pods to stay away"
            )
            return either(away, constant(0), max_priority()).with_text(
                f"0: {name} asks pods of {owner.name} to stay away"
            )
        none = constant(True, "no annotation of the node means the pod's controller")
        return either(none, max_priority(), constant(0)).with_text(
            f"{MAX_PRIORITY}: {name} does not ask it to stay away"
        )


class NodeLabelPriority(fwk.ScorePlugin):
    """Scores 10 for nodes that have a label or, if `presence` is false, lack it; otherwise 0."""

    name = "NodeLabelPriority"

    def score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Int64:
        there = self.cluster.nodes.topology(self.args.label).ids >= 0
        return np.where(there == self.args.presence, MAX_PRIORITY, 0)[rows]

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree:
        label = self.args.label
        there = contains(
            view.field(view.node, "metadata", "labels", missing={}), constant(label, "label of the Policy")
        )
        met = there if self.args.presence else opposite(there, f"does not have {label}")
        tree = either(met, max_priority(), constant(0))
        return tree.with_text(
            f"{tree.value}: {view.node.name} {'has' if there.value else 'does not have'} the label {label}"
        )


class EqualPriority(fwk.ScorePlugin):
    """Scores 1 for every node."""

    name = "EqualPriority"

    def score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Int64:
        return np.ones(len(self.cluster.nodes), np.int64)[rows]

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree:
        return constant(1, "the same for all").with_text("1: EqualPriority gives every node the same")
