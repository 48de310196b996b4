"""TaintToleration: rejects nodes with taints that the pod does not tolerate; PreferNoSchedule taints lower the score.

Upstream: pkg/scheduler/framework/plugins/tainttoleration.
"""

import re
from collections.abc import Sequence

from scheduler_core.api import selectors
from scheduler_core.api.objects import Node, Taint
from scheduler_core.api.selector_text import taint_text
from scheduler_core.cluster import formatting, node_matching, system_taints
from scheduler_core.cluster.node_labels import GIVEN_LABELS
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import causes, events, signers
from scheduler_core.framework import interface as fwk
from scheduler_core.framework.causes import Obstacle
from scheduler_core.framework.rejection_context import RejectionContext
from scheduler_core.provenance.context import View
from scheduler_core.provenance.matching import untolerated
from scheduler_core.provenance.tree import Tree, count, some

UNTOLERATED = fwk.unresolvable("node(s) had untolerated taint(s)")
NAMED = "node(s) had untolerated taint {}"
OLD_UNTOLERATED = fwk.unresolvable("node(s) had taints that the pod didn't tolerate")
OLD_NAMED = "node(s) had taint {}, that the pod didn't tolerate"
UNNAMED = "have an untolerated taint"
DEDICATED = 1.3  # more than an amount: the taint reserves nodes for others
_TAINT = re.compile(r"taint \{(.*?): ?(.*?)\}")


def taint_obstacle(key: str, name: str, effort: float) -> Obstacle:
    """Return the obstacle of a taint: what it says of a node if Kubernetes sets it, else that it is not tolerated."""
    if key == system_taints.UNSCHEDULABLE:
        return Obstacle(causes.CORDONED, 1.0, "are cordoned")
    if key in system_taints.NOT_READY:
        return Obstacle(causes.NODE_NOT_READY, 1.1, system_taints.NOT_READY[key])
    if key in system_taints.NEVER:
        return Obstacle(causes.UNTOLERATED_TAINT, causes.NEVER, system_taints.NEVER[key], (name,))
    phrase = f"have the untolerated taint {name}"
    return Obstacle(causes.UNTOLERATED_TAINT, effort, phrase, (name,))


def _is_meant(context: RejectionContext, row: int, taint: Taint) -> bool:
    """Return whether the pod seems meant for the node: it selects such nodes by a label of theirs, or pods that run
    there do not tolerate the taint either, so that it does not reserve the node for them."""
    spec, labels = context.pod.pod.spec, context.nodes.nodes[row].metadata.labels
    if any(key not in GIVEN_LABELS and labels.get(key) == value for key, value in (spec.node_selector or {}).items()):
        return True
    affinity = spec.affinity.node_affinity if spec.affinity else None
    for term in affinity.required.node_selector_terms if affinity and affinity.required else ():
        if any(r.key not in GIVEN_LABELS and r.operator in ("In", "Exists") for r in term.match_expressions):
            return True
    return any(selectors.untolerated([taint], other.pod.spec.tolerations) for other in context.pods_on(row))


class TaintToleration(fwk.FilterPlugin, fwk.PreScorePlugin, fwk.HighestNormalized):
    name = "TaintToleration"
    cause = causes.UNTOLERATED_TAINT
    effort = 1.0
    best = "the one with the fewest PreferNoSchedule taints that the pod does not tolerate"
    pod_fields = ("tolerations",)
    precise_node_updates = "once"
    reads = "tolerations"
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

    @classmethod
    def obstacle(cls, context: RejectionContext | None, status: fwk.Status) -> Obstacle:
        taint = _TAINT.search(status.message)
        name = (f"{taint[1]}={taint[2]}" if taint[2] else taint[1]) if taint else ""
        return taint_obstacle(taint[1], name, cls.effort) if taint else Obstacle(cls.cause, cls.effort, UNNAMED)

    @classmethod
    def obstacles(
        cls, context: RejectionContext | None, rows: Sequence[int], status: fwk.Status
    ) -> list[tuple[Obstacle, ...]]:
        known: dict[tuple[tuple[str, str, str], ...], tuple[Obstacle, ...]] = {}
        found = []
        for row in rows:
            taints = context.nodes.nodes[row].spec.taints if context is not None and row >= 0 else ()
            key = tuple((taint.key, taint.value, taint.effect) for taint in taints)
            if key not in known:
                mine = cls._untolerated(context, row, taints) if context is not None else ()
                known[key] = mine or (cls.obstacle(context, status),)
            found.append(known[key])
        return found

    @classmethod
    def _untolerated(cls, context: RejectionContext, row: int, taints: Sequence[Taint]) -> tuple[Obstacle, ...]:
        found: dict[str, Obstacle] = {}
        for taint in selectors.untolerated(taints, context.pod.pod.spec.tolerations):
            obstacle = taint_obstacle(
                taint.key, taint_text(taint), 1.0 if _is_meant(context, row, taint) else DEDICATED
            )
            if obstacle.effort == causes.NEVER:
                return (obstacle,)
            found.setdefault(obstacle.phrase, obstacle)
        return tuple(found.values())

    @staticmethod
    def rejection_detail(context: RejectionContext, row: int, status: fwk.Status) -> str:
        taints = selectors.untolerated(context.nodes.nodes[row].spec.taints, context.pod.pod.spec.tolerations)
        return f"taint {formatting.listing(list(map(taint_text, taints)))}" if taints else ""

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
