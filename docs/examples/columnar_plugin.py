"""PowerBudget: refuses nodes whose label `watts` is below the pod's; more to spare is better. All nodes at once."""

import numpy as np

from scheduler_core.framework.interface import FilterPlugin, ScorePlugin, Verdict, default_normalize, unresolvable

TOO_WEAK = unresolvable("node(s) had not enough watts")


class PowerBudget(FilterPlugin, ScorePlugin):
    name = "PowerBudget"

    def _spare(self, pod):
        watts = [int(node.metadata.labels.get("watts", 0)) for node in self.cluster.nodes.nodes]
        return np.array(watts, np.int64) - int(pod.labels.get("watts", 0))

    def filter(self, state, pod):
        return Verdict.reject(self._spare(pod) < 0, TOO_WEAK)

    def score(self, state, pod, rows):
        return self._spare(pod)[rows]

    def normalize(self, state, pod, scores, rows):
        return default_normalize(scores, reverse=False)
