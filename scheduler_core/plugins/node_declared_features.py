"""NodeDeclaredFeatures: a pod that needs a feature of the node software is placed only on nodes that declare it.

Upstream: pkg/scheduler/framework/plugins/nodedeclaredfeatures. The features that a pod needs: k8s.io/component-helpers
(nodedeclaredfeatures/features).
"""

import numpy as np

from scheduler_core.api.objects import Node, PodSpec
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import events, signers
from scheduler_core.framework import interface as fwk
from scheduler_core.provenance.context import View
from scheduler_core.provenance.tree import Tree, constant, contains, every, opposite, some

REJECTED = fwk.unresolvable("node(s) didn't match Pod's required features")
RESTART_ALL = "RestartAllContainersOnContainerExits"
HOST_NETWORK_USERS = "UserNamespacesHostNetworkSupport"


def required_features(spec: PodSpec) -> frozenset[str]:
    """Return the features that a node must declare to run the pod."""
    found = set()
    if spec.host_network and spec.host_users is False:
        found.add(HOST_NETWORK_USERS)
    for container in (*spec.containers, *spec.init_containers):
        if any(rule.action == "RestartAllContainers" for rule in container.restart_policy_rules):
            found.add(RESTART_ALL)
    return frozenset(found)


class NodeDeclaredFeatures(fwk.PreFilterPlugin, fwk.FilterPlugin):
    name = "NodeDeclaredFeatures"
    phrases = {REJECTED.message: "lack a feature that it needs"}

    def pre_filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Status | fwk.PreFilterResult | None:
        """Skip pods that need no features."""
        needed = required_features(pod.pod.spec) if self.cluster.release.node_declared_features else None
        if not needed:
            return fwk.SKIPPED
        state[self.name] = needed
        return None

    def filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Verdict:
        needed: frozenset[str] = state.get(self.name, frozenset())  # empty if PreFilter ended earlier
        return self.cluster.nodes.memo((self.name, needed), lambda: fwk.Verdict.reject(self._lacks(needed), REJECTED))

    def varies_with(self, pod: PodInfo) -> str:
        return fwk.OBJECTS

    def _lacks(self, needed: frozenset[str]) -> fwk.Bool:
        declared = [node.status.declared_features for node in self.cluster.nodes.nodes]
        return np.array([not needed.issubset(features) for features in declared], np.bool_)

    def explain_filter(self, state: fwk.CycleState, view: View) -> Tree:
        declared = view.field(view.node, "status", "declaredFeatures", missing=[])
        needed = sorted(state.get(self.name, ()))
        parts = [contains(declared, constant(name, "needed by the pod"), f"declares {name}") for name in needed]
        lacking = [name for name, part in zip(needed, parts, strict=True) if not part.value]
        tree = some([opposite(part) for part in parts], "a feature that the pod needs is not declared")
        return tree.with_text(f"{view.node.name} {f'lacks {lacking[0]}' if lacking else 'declares what the pod needs'}")

    def explain_pre_filter(self, state: fwk.CycleState, view: View) -> Tree:
        return every([constant(False, "PreFilter rejects no pod")]).with_text(
            "NodeDeclaredFeatures rejects no pod here"
        )

    # ---- events that may make a pod schedulable

    def sign(self, pod: PodInfo) -> signers.Fragments:
        return {"features": sorted(required_features(pod.pod.spec))}

    def events_to_register(self) -> list[events.EventHint]:
        return [
            events.registered(events.NODE, events.ADD, events.UPDATE_NODE_FEATURES, hint=self._after_node_change),
            events.registered(events.POD, events.UPDATE, hint=self._after_pod_change),
        ]

    def _after_node_change(self, pod: PodInfo, old: Node | None, new: Node) -> bool:
        return old is None or old.status.declared_features != new.status.declared_features

    def _after_pod_change(self, pod: PodInfo, old: PodInfo, new: PodInfo) -> bool:
        return required_features(old.pod.spec) != required_features(new.pod.spec)
