"""TaintToleration: taints keep pods away that do not tolerate them; PreferNoSchedule ones lower the score.

Upstream: pkg/scheduler/framework/plugins/tainttoleration.
"""

from scheduler_core.cluster import node_matching
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework.interface import (
    PASSES,
    CycleState,
    FilterPlugin,
    Int64,
    PreScorePlugin,
    Rows,
    ScorePlugin,
    Status,
    Verdict,
    default_normalize,
    unresolvable,
)


class TaintToleration(FilterPlugin, PreScorePlugin, ScorePlugin):
    name = "TaintToleration"

    def filter(self, state: CycleState, pod: PodInfo) -> Verdict:
        """Rejects nodes by their first NoSchedule or NoExecute taint that the pod does not tolerate."""
        return self.cluster.nodes.memo((self.name, pod.tolerations), lambda: self._verdict(pod))

    def _verdict(self, pod: PodInfo) -> Verdict:
        codes, taints = node_matching.untolerated(self.cluster.nodes, pod)
        if not taints:
            return PASSES
        statuses = [unresolvable(f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}") for taint in taints]
        return Verdict(codes, tuple(statuses))

    def pre_score(self, state: CycleState, pod: PodInfo, rows: Rows) -> Status | None:
        return None

    def score(self, state: CycleState, pod: PodInfo, rows: Rows) -> Int64:
        """The number of PreferNoSchedule taints that the pod does not tolerate."""
        return node_matching.unpreferred_taints(self.cluster.nodes, pod)[rows]

    def normalize(self, state: CycleState, pod: PodInfo, scores: Int64, rows: Rows) -> Int64:
        return default_normalize(scores, reverse=True)
