"""NodeName: a pod with `spec.nodeName` fits only on that node.

Upstream: pkg/scheduler/framework/plugins/nodename.
"""

import numpy as np

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import causes, events, signers
from scheduler_core.framework import interface as fwk
from scheduler_core.framework.causes import Obstacle
from scheduler_core.framework.rejection_context import RejectionContext
from scheduler_core.provenance.context import View
from scheduler_core.provenance.tree import Tree, constant, equal, opposite, some

REJECTED = fwk.unresolvable("node(s) didn't match the requested node name")


class NodeName(fwk.FilterPlugin):
    name = "NodeName"
    cause = causes.NODE_NAME
    effort = 3.0
    pod_fields = ("nodeName",)
    kubelet_admits = True
    reads = "pod.spec.node_name"
    phrases = {REJECTED.message: "are not the node that it names"}
    rejected = REJECTED

    def filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Verdict:
        """Accept only the node named by `spec.nodeName`, or every node if the pod names none."""
        wanted = pod.pod.spec.node_name
        if not wanted:
            return fwk.PASSES
        nodes = self.cluster.nodes
        return fwk.Verdict.reject(np.array([name != wanted for name in nodes.names], np.bool_), self.rejected)

    def varies_with(self, pod: PodInfo) -> str:
        return fwk.OBJECTS

    @classmethod
    def obstacle(cls, context: RejectionContext | None, status: fwk.Status) -> Obstacle:
        name = (context.pod.pod.spec.node_name,) if context is not None else ()
        return Obstacle(cls.cause, cls.effort, cls.phrases[REJECTED.message], name)

    @staticmethod
    def rejection_detail(context: RejectionContext, row: int, status: fwk.Status) -> str:
        return f"the pod names {context.pod.pod.spec.node_name} (spec.nodeName)"

    def explain_filter(self, state: fwk.CycleState, view: View) -> Tree:
        wanted = view.field(view.pod, "spec", "nodeName", label="the node that the pod names")
        names_none = equal(wanted, constant("", "no name"), "the pod names no node")
        is_it = equal(wanted, view.field(view.node, "metadata", "name"), "it is this one")
        text = (
            "The pod names no node" if names_none.value else f"The pod names {wanted.value}; this is {view.node.name}"
        )
        return opposite(some([names_none, is_it])).with_text(text)

    def sign(self, pod: PodInfo) -> signers.Fragments:
        return {"node name": pod.pod.spec.node_name}

    def events_to_register(self) -> list[events.EventHint]:
        return [events.registered(events.NODE, events.ADD)]
