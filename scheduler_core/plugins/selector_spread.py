"""SelectorSpread: spreads the pods of a service or controller over nodes and zones; zones have twice the weight.

Upstream (until 1.24): pkg/scheduler/framework/plugins/selectorspread.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from scheduler_core.cluster.nodes import zone_key
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import interface as fwk
from scheduler_core.plugins.default_selector import default_selector, explain_counted
from scheduler_core.provenance.context import View
from scheduler_core.provenance.scores import extreme, max_node_score
from scheduler_core.provenance.tree import Tree, constant, divide, multiply, over, subtract, total_floats, truncated

_ZONE_WEIGHTING = 2.0 / 3.0


class SelectorSpread(fwk.PreScorePlugin, fwk.ScorePlugin):
    name = "SelectorSpread"
    best = "the one with the fewest pods of the same services and controllers around"

    def pre_score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Status | None:
        """Compute the default selector of the pod. PodTopologySpread handles pods that have their own spread
        constraints."""
        state[self.name] = None
        leaves = self.cluster.release.selector_spread_skips_constrained_pods
        if not (leaves and pod.pod.spec.topology_spread_constraints):
            state[self.name] = default_selector(self.cluster, pod)
        return None

    def score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Int64:
        """Return the number of pods on the node that the same services or controllers select."""
        selector = state[self.name]
        if selector is None or selector.key == ():
            return np.zeros(len(self.cluster.nodes), np.int64)[rows]
        column = self.cluster.columns.matching(frozenset((pod.namespace,)), selector, terminating=False)
        return column.counts[rows].copy()

    def _zones(self) -> npt.NDArray[np.intp]:
        """Return the zone of each node as a number, -1 for none; intp over nodes."""
        nodes = self.cluster.nodes

        def make() -> npt.NDArray[np.intp]:
            index: dict[str, int] = {}
            keys = [zone_key(node, self.cluster.release.stable_zone_labels) for node in nodes.nodes]
            return np.array([index.setdefault(key, len(index)) if key else -1 for key in keys], np.intp)

        return nodes.memo((self.name, "zones"), make)

    def normalize(self, state: fwk.CycleState, pod: PodInfo, scores: fwk.Int64, rows: fwk.Rows) -> fwk.Int64:
        """Prefer nodes with fewer such pods (one third of the score) in zones with fewer such pods (two thirds)."""
        if state[self.name] is None or not len(scores):
            return scores
        here = self._share_free(scores, int(scores.max()))
        zones = self._zones()[rows]
        zoned = zones >= 0
        if zoned.any():
            sums = np.bincount(zones[zoned], weights=scores[zoned]).astype(np.int64)
            around = self._share_free(sums, int(sums.max()))[zones]
            here = np.where(zoned, here * (1.0 - _ZONE_WEIGHTING) + _ZONE_WEIGHTING * around, here)
        return here.astype(np.int64)

    # ---- explanations

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree:
        selector = state[self.name]
        if selector is None:
            return constant(0, "the pod has spread constraints of its own").with_text(
                "0: PodTopologySpread spreads the pod"
            )
        if selector.key == ():
            return constant(0, "no service or controller selects the pod").with_text("0: nothing selects the pod")
        column = self.cluster.columns.matching(frozenset((view.pod.namespace,)), selector, terminating=False)
        members = [pod for pod in view.pods_on(view.row) if column.matches(pod)]
        counted = [partial(explain_counted, view, self.cluster, pod) for pod in members]
        tree = view.long_count(counted, "pods", "pods on the node that are also selected")
        return tree.with_text(f"{tree.value} = pods of the same service or controller on {view.node.name}")

    def explain_normalize(self, state: fwk.CycleState, view: View, raw: Tree, scores: fwk.Int64) -> Tree:
        name = view.node.name
        if state[self.name] is None:
            return multiply(raw, constant(1), "unchanged").with_text(f"{raw.value}: unchanged")
        most = extreme(view, scores, "max")
        here = self._explain_share(raw, most).with_label("fewer pods on the node score higher")
        zones = self._zones()[view.rows]
        mine = int(self._zones()[view.row])
        if mine < 0:
            tree = truncated(here)
            return tree.with_text(
                f"{tree.value}: {raw.value} of at most {most.value} pods are on {name}, without a zone"
            )
        sums = np.bincount(zones[zones >= 0], weights=scores[zones >= 0]).astype(np.int64)
        count = int((zones == mine).sum())
        around = over("sum", int(sums[mine]), count, "pods on the feasible nodes of the zone")
        fullest = over("max", int(sums.max()), len(sums), f"the most of {len(sums)} zones")
        share = constant(_ZONE_WEIGHTING, "zoneWeighting")
        zone = multiply(share, self._explain_share(around, fullest).with_label("fewer pods in the zone score higher"))
        tree = truncated(total_floats([multiply(here, subtract(constant(1.0), share)), zone]))
        return tree.with_text(
            f"{tree.value}: {raw.value} of at most {most.value} pods are on {name}, {around.value} of at most "
            f"{fullest.value} in its zone, which counts twice as much"
        )

    def _share_free(self, counts: fwk.Int64, most: int) -> npt.NDArray[np.float64]:
        """Return the highest score for a count of 0, down to 0 for the highest count; float64."""
        if most <= 0:
            return np.full(len(counts), float(self.max_score))
        return float(self.max_score) * ((most - counts) / float(most))

    def _explain_share(self, count: Tree, most: Tree) -> Tree:
        best = max_node_score(self.max_score)
        if most.value <= 0:
            return multiply(constant(1.0, "there are none"), best)
        return multiply(best, divide(subtract(most, count), most))
