"""Sets taints from node conditions, and removes the pods of deleted nodes.

Source: pkg/controller/nodelifecycle (node_lifecycle_controller.go), pkg/controller/podgc,
https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/#taint-nodes-by-condition.
"""

import msgspec

from scheduler_core.api.objects import Node, Taint
from scheduler_core.controllers.admission import NOT_READY, UNREACHABLE
from scheduler_core.controllers.controller import Controller

UNSCHEDULABLE = "node.kubernetes.io/unschedulable"

# condition -> status -> the taint's key
CONDITION_TAINTS = {
    "Ready": {"False": NOT_READY, "Unknown": UNREACHABLE},
    "MemoryPressure": {"True": "node.kubernetes.io/memory-pressure"},
    "DiskPressure": {"True": "node.kubernetes.io/disk-pressure"},
    "PIDPressure": {"True": "node.kubernetes.io/pid-pressure"},
    "NetworkUnavailable": {"True": "node.kubernetes.io/network-unavailable"},
}
_MANAGED = {(key, "NoSchedule") for statuses in CONDITION_TAINTS.values() for key in statuses.values()} | {
    (UNSCHEDULABLE, "NoSchedule"),
    (NOT_READY, "NoExecute"),
    (UNREACHABLE, "NoExecute"),
}
QUARANTINE_SECONDS = 40.0  # the time between the deletion of a node and that of its pods


def wanted_taints(node: Node) -> list[tuple[str, str]]:
    """Return (key, effect) of the taints that a node's conditions and cordon require."""
    conditions = node.status.conditions
    keys = [CONDITION_TAINTS[c.type][c.status] for c in conditions if c.status in CONDITION_TAINTS.get(c.type, {})]
    wanted = [(key, "NoSchedule") for key in keys]
    wanted += [(key, "NoExecute") for key in keys if key in (NOT_READY, UNREACHABLE)]
    if node.spec.unschedulable:
        wanted.append((UNSCHEDULABLE, "NoSchedule"))
    return wanted


class NodeLifecycle(Controller):
    """The controller. It acts at once; upstream waits a minute for a silent node and limits the rate of evictions."""

    def node_changed(self, old: Node | None, new: Node | None) -> None:
        if new is None:
            if old is not None:
                self.api.loop.at(self.api.loop.clock.now + QUARANTINE_SECONDS, lambda: self._collect(old.name))
            return
        wanted = wanted_taints(new)
        # A node without conditions keeps the taints that others set.
        managed = _MANAGED if new.status.conditions else {(UNSCHEDULABLE, "NoSchedule")}
        remaining = [t for t in new.spec.taints if (t.key, t.effect) not in managed or (t.key, t.effect) in wanted]
        there = {(t.key, t.effect) for t in remaining}
        added = [Taint(key, "", effect) for key, effect in wanted if (key, effect) not in there]
        if added or len(remaining) < len(new.spec.taints):
            spec = msgspec.structs.replace(new.spec, taints=[*remaining, *added])
            self.api.update(msgspec.structs.replace(new, spec=spec))

    def _collect(self, name: str) -> None:
        entry = self.api.cluster.nodes.entries.get(name)
        if entry is None or entry.node is not None:
            return
        for pod in list(entry.pods.values()):
            if not self.api.lifecycle.is_assumed(pod.key):
                reason = "its node is gone"
                seq = self.api.loop.record("pod.evicted", pod=pod.key, node=name, reason=reason, by="")
                with self.api.loop.caused(seq):
                    self.api.remove(self.api.pods[pod.key], reason)
