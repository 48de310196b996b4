"""TaintToleration: rejects nodes with taints that the pod does not tolerate; PreferNoSchedule taints lower the score.

Upstream: pkg/scheduler/framework/plugins/tainttoleration.
"""

from scheduler_core.api import selectors
from scheduler_core.api.objects import Node
from scheduler_core.cluster import formatting, node_matching
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import events, signers
from scheduler_core.framework import interface as fwk
from scheduler_core.framework.rejection_context import RejectionContext
from scheduler_core.provenance.context import View
from scheduler_core.provenance.matching import untolerated
from scheduler_core.provenance.tree import Tree, count, some

UNTOLERATED = fwk.unresolvable("node(s) had untolerated taint(s)")
NAMED = "node(s) had untolerated taint {}"
OLD_UNTOLERATED = fwk.unresolvable("node(s) had taints that the pod didn't tolerate")
OLD_NAMED = "node(s) had taint {}, that the pod didn't tolerate"


class TaintToleration(fwk.FilterPlugin, fwk.PreScorePlugin, fwk.HighestNormalized):
    name = "TaintToleration"
    pod_fields = ("tolerations",)
    fixes = ("taints",)
    precise_node_updates = "once"
    ignores_labels = True
    reverse = True

    def filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Verdict:
        """Reject nodes by their first NoSchedule or NoExecute taint that the pod does not tolerate."""
        return self.cluster.nodes.memo((self.name, pod.tolerations), lambda: self._verdict(pod))

    def varies_with(self, pod: PodInfo) -> str:
        return fwk.OBJECTS

    def _verdict(self, pod: PodInfo) -> fwk.Verdict:
        codes, taints = node_matching.untolerated(self.cluster.nodes, pod)
        if not taints:
            return fwk.PASSES
        reworded = self.cluster.release.taint_reason_reworded
        if not self.cluster.release.taint_reason_names_taint:
            return fwk.Verdict.reject(codes > 0, UNTOLERATED if reworded else OLD_UNTOLERATED)
        words = NAMED if reworded else OLD_NAMED
        named = [f"{{{taint.key}: {taint.value}}}" for taint in taints]
        return fwk.Verdict(codes, tuple(fwk.unresolvable(words.format(taint)) for taint in named))

    def pre_score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Status | None:
        return None

    def score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Int64:
        """Return the number of PreferNoSchedule taints that the pod does not tolerate."""
        return node_matching.unpreferred_taints(self.cluster.nodes, pod)[rows]

    # ---- explanations

    @staticmethod
    def rejection_detail(context: RejectionContext, row: int, status: fwk.Status) -> str:
        tolerations = context.pod.pod.spec.tolerations
        taints = [
            f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
            for taint in context.nodes.nodes[row].spec.taints
            if selectors.first_untolerated([taint], tolerations, selectors.NO_SCHEDULE) is not None
        ]
        return f"taint {formatting.listing(taints)}" if taints else ""

    def explain_filter(self, state: fwk.CycleState, view: View) -> Tree:
        taints = range(len(view.node.spec.taints))
        found = [untolerated(view, i, sorted(selectors.NO_SCHEDULE)) for i in taints]
        refused = some(found, "any taint that is not tolerated" if found else "the node has no taints")
        first = next((part.label for part in found if part.value), "")
        kept = "every taint that keeps pods away is tolerated" if found else "it has no taints"
        return refused.with_text(f"{view.node.name}: {first or kept}")

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree:
        found = [untolerated(view, i, sorted(selectors.PREFER_NO_SCHEDULE)) for i in range(len(view.node.spec.taints))]
        tree = count([part for part in found if part.value], "PreferNoSchedule taints that the pod does not tolerate")
        return tree.with_text(
            f"{tree.value} = the PreferNoSchedule taints of {view.node.name} that the pod does not tolerate"
        )

    sign = staticmethod(signers.tolerations)

    def events_to_register(self) -> list[events.EventHint]:
        return [
            events.registered(events.NODE, events.ADD, events.UPDATE_NODE_TAINT, hint=self._after_node_change),
            events.registered(events.POD, events.UPDATE_POD_TOLERATION, hint=self._after_toleration_change),
        ]

    def _after_node_change(self, pod: PodInfo, old: Node | None, new: Node) -> bool:
        """Return whether the pod tolerates the node's taints now and did not before."""
        return (old is None or self._refuses(old, pod)) and not self._refuses(new, pod)

    @staticmethod
    def _refuses(node: Node, pod: PodInfo) -> bool:
        tolerations = pod.pod.spec.tolerations
        return selectors.first_untolerated(node.spec.taints, tolerations, selectors.NO_SCHEDULE) is not None

    def _after_toleration_change(self, pod: PodInfo, old: PodInfo, new: PodInfo) -> bool:
        return pod.key == new.key
