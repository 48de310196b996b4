"""NodePreferAvoidPods: nodes with an annotation against the pod's controller score 0.

Upstream (until 1.22): pkg/scheduler/framework/plugins/nodepreferavoidpods.
"""

from collections.abc import Iterator

import msgspec
import numpy as np

from scheduler_core.api.objects import Node, OwnerReference
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import interface as fwk
from scheduler_core.provenance.context import View
from scheduler_core.provenance.scores import max_node_score
from scheduler_core.provenance.tree import Tree, constant, either, opposite

ANNOTATION = "scheduler.alpha.kubernetes.io/preferAvoidPods"
_CONTROLLERS = ("ReplicationController", "ReplicaSet")  # upstream ignores controllers of other kinds


class _Controller(msgspec.Struct, frozen=True):
    kind: str | None = None
    uid: str | None = None


class _Signature(msgspec.Struct, frozen=True, rename="camel"):
    pod_controller: _Controller | None = None


class _Entry(msgspec.Struct, frozen=True, rename="camel"):
    pod_signature: _Signature | None = None


class _Avoided(msgspec.Struct, frozen=True, rename="camel"):
    prefer_avoid_pods: list[_Entry] | None = None


def avoided(node: Node) -> Iterator[tuple[str, str]]:
    """Yield (kind, uid) of the controllers whose pods the node avoids; none if the annotation cannot be parsed."""
    text = node.metadata.annotations.get(ANNOTATION, "")
    try:
        entries = msgspec.json.decode(text, type=_Avoided).prefer_avoid_pods if text else None
    except msgspec.DecodeError:
        return
    for entry in entries or ():
        controller = entry.pod_signature.pod_controller if entry.pod_signature is not None else None
        if controller is not None:
            yield controller.kind or "", controller.uid or ""


class NodePreferAvoidPods(fwk.ScorePlugin):
    name = "NodePreferAvoidPods"
    best = "the one without an annotation against the pod's controller"

    @staticmethod
    def _owner(pod: PodInfo) -> OwnerReference | None:
        """Return the pod's controller, or None if the plugin ignores its kind."""
        owner = next((ref for ref in pod.pod.metadata.owner_references if ref.controller), None)
        return owner if owner is not None and owner.kind in _CONTROLLERS else None

    def score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Int64:
        """Return 0 where the node avoids the pod's controller, otherwise 100."""
        nodes = self.cluster.nodes
        scores = np.full(len(nodes), self.max_score, np.int64)
        if owner := self._owner(pod):
            unwanted = nodes.memo(self.name, self._unwanted).get((owner.kind, owner.uid), [])
            scores[unwanted] = 0
        return scores[rows]

    def _unwanted(self) -> dict[tuple[str, str], list[int]]:
        """Return (kind, uid) of a controller -> rows of the nodes that avoid its pods."""
        found: dict[tuple[str, str], list[int]] = {}
        for row, node in enumerate(self.cluster.nodes.nodes):
            for controller in avoided(node):
                found.setdefault(controller, []).append(row)
        return found

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree:
        owner, name = self._owner(view.pod), view.node.name
        stays_away = owner is not None and (owner.kind, owner.uid) in set(avoided(view.node))
        path = ("metadata", "annotations", ANNOTATION)
        if stays_away:
            avoids = view.holds(view.node, *path, label=f"asks the pods of {owner.name if owner else ''} to stay away")
        else:
            avoids = opposite(constant(True, "no annotation of the node names the pod's controller"))
        tree = either(avoids, constant(0), max_node_score(self.max_score))
        why = "asks the pods of its controller to stay away" if stays_away else "does not ask the pod to stay away"
        return tree.with_text(f"{tree.value}: {name} {why}")
