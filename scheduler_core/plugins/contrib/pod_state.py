"""PodState: prefers nodes with terminating pods, and nodes to which no pods are nominated.

Source: sigs.k8s.io/scheduler-plugins, pkg/podstate.
"""

from functools import partial

import numpy as np

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import interface as fwk
from scheduler_core.plugins.contrib.linear_scores import LinearlyNormalized
from scheduler_core.provenance.context import View
from scheduler_core.provenance.tree import Tree, subtract


class PodState(LinearlyNormalized):
    name = "PodState"
    best = "the one with the most terminating and the fewest nominated pods"

    def score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Int64:
        """Return the number of terminating pods less the number of nominated pods, which includes this pod."""
        nodes = self.cluster.nodes
        scores = np.zeros(len(nodes), np.int64)
        for other in self.cluster.pods.values():
            if other.terminating and (row := nodes.rows.get(other.node)) is not None:
                scores[row] += 1
        for name in self.cluster.nominator.nodes():
            if (row := nodes.rows.get(name)) is not None:
                scores[row] -= len(self.cluster.nominator.on(name))
        return scores[rows]

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree:
        leaving = [pod for pod in view.pods_on(view.row) if pod.terminating]
        nominated = self.cluster.nominator.on(view.node.name)
        gone = [partial(view.holds, pod, "metadata", "deletionTimestamp", label=f"{pod.key} ends") for pod in leaving]
        to_come = [partial(view.holds, p, "metadata", "name", label=f"{p.key} is nominated") for p in nominated]
        tree = subtract(
            view.long_count(gone, "pods", "terminating pods"), view.long_count(to_come, "pods", "nominated pods")
        )
        text = f"{len(leaving)} terminating less {len(nominated)} nominated pods on {view.node.name}"
        return tree.with_text(f"{tree.value} = {text}")
