"""NodeUnschedulable: cordoned nodes accept only pods with a matching toleration.

Upstream: pkg/scheduler/framework/plugins/nodeunschedulable.
"""

from scheduler_core.api import selectors
from scheduler_core.api.objects import Node, Taint
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import causes, events, signers
from scheduler_core.framework import interface as fwk
from scheduler_core.framework.rejection_context import RejectionContext
from scheduler_core.provenance.context import View
from scheduler_core.provenance.matching import tolerated
from scheduler_core.provenance.tree import Tree, constant, every, opposite

REJECTED = fwk.unresolvable("node(s) were unschedulable")
TAINT = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class NodeUnschedulable(fwk.FilterPlugin):
    name = "NodeUnschedulable"
    cause = causes.CORDONED
    effort = 1.0
    pod_fields = ("tolerations",)
    precise_node_updates = "once"
    reads = "tolerations"
    phrases = {REJECTED.message: "are cordoned"}

    def filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Verdict:
        if self._tolerates(pod):
            return fwk.PASSES
        nodes = self.cluster.nodes
        return nodes.memo(self.name, lambda: fwk.Verdict.reject(nodes.unschedulable, REJECTED))

    def varies_with(self, pod: PodInfo) -> str:
        return fwk.OBJECTS

    @staticmethod
    def _tolerates(pod: PodInfo) -> bool:
        return any(selectors.tolerates(toleration, TAINT) for toleration in pod.pod.spec.tolerations)

    @staticmethod
    def rejection_detail(context: RejectionContext, row: int, status: fwk.Status) -> str:
        return "the node is cordoned (spec.unschedulable)"

    def explain_filter(self, state: fwk.CycleState, view: View) -> Tree:
        cordoned = view.field(view.node, "spec", "unschedulable", missing=False)
        covered = tolerated(view, lambda name: constant(getattr(TAINT, name), f"{name} of TaintNodeUnschedulable"))
        refuses = every([cordoned, opposite(covered, "not tolerated by the pod")])
        is_ = "is cordoned" if cordoned.value else "is not cordoned"
        return refuses.with_text(f"{view.node.name} {is_}" + (", which the pod tolerates" if covered.value else ""))

    sign = staticmethod(signers.tolerations)

    def events_to_register(self) -> list[events.EventHint]:
        return [
            events.registered(events.NODE, events.ADD, events.UPDATE_NODE_TAINT, hint=self._after_node_change),
            events.registered(events.POD, events.UPDATE_POD_TOLERATION, hint=self._after_toleration_change),
        ]

    def _after_node_change(self, pod: PodInfo, old: Node | None, new: Node) -> bool:
        return not new.spec.unschedulable and (old is None or old.spec.unschedulable)

    def _after_toleration_change(self, pod: PodInfo, old: PodInfo, new: PodInfo) -> bool:
        return pod.key == new.key and self._tolerates(new)
