"""Sets taints from node conditions, and removes the pods of deleted nodes.

The NoExecute taints, which evict pods, are added at a limited rate for each zone, and not at all while most nodes of a
small zone, or all nodes, are unhealthy.

Source: pkg/controller/nodelifecycle (node_lifecycle_controller.go, scheduler/rate_limited_queue.go),
pkg/controller/podgc,
https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/#taint-nodes-by-condition,
https://kubernetes.io/docs/concepts/architecture/nodes/#rate-limits-on-eviction.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from scheduler_core.api.objects import Node, Taint
from scheduler_core.cluster.nodes import zone_key
from scheduler_core.controllers.admission import NOT_READY, UNREACHABLE
from scheduler_core.controllers.controller import Api, Controller

UNSCHEDULABLE = "node.kubernetes.io/unschedulable"

# condition -> status -> the taint's key
CONDITION_TAINTS = {
    "Ready": {"False": NOT_READY, "Unknown": UNREACHABLE},
    "MemoryPressure": {"True": "node.kubernetes.io/memory-pressure"},
    "DiskPressure": {"True": "node.kubernetes.io/disk-pressure"},
    "PIDPressure": {"True": "node.kubernetes.io/pid-pressure"},
    "NetworkUnavailable": {"True": "node.kubernetes.io/network-unavailable"},
}
_HEALTH = (NOT_READY, UNREACHABLE)
_MANAGED = {(key, "NoSchedule") for statuses in CONDITION_TAINTS.values() for key in statuses.values()} | {
    (UNSCHEDULABLE, "NoSchedule"),
    *((key, "NoExecute") for key in _HEALTH),
}
QUARANTINE_SECONDS = 40.0  # the time between the deletion of a node and that of its pods

# The defaults of kube-controller-manager.
NODE_EVICTION_RATE = 0.1  # nodes per second and zone
SECONDARY_NODE_EVICTION_RATE = 0.01
UNHEALTHY_ZONE_THRESHOLD = 0.55
LARGE_CLUSTER_SIZE_THRESHOLD = 50
EXCLUDED = "node.kubernetes.io/exclude-disruption"  # label of nodes that do not count

ZoneState = Literal["normal", "partial", "full"]


def zone_state(ready: int, unready: int) -> ZoneState:
    """Return the disruption of a zone: `full` if no node is ready, `partial` if at least 55% and more than two are not
    (upstream ComputeZoneState)."""
    if not ready and unready:
        return "full"
    if unready > 2 and unready / (ready + unready) >= UNHEALTHY_ZONE_THRESHOLD:
        return "partial"
    return "normal"


def eviction_rate(state: ZoneState, nodes: int) -> float:
    """Return how many nodes of a zone are tainted per second, if not all zones are disrupted fully."""
    if state == "partial":
        return SECONDARY_NODE_EVICTION_RATE if nodes > LARGE_CLUSTER_SIZE_THRESHOLD else 0.0
    return NODE_EVICTION_RATE


def is_unreachable(node: Node | None) -> bool:
    """Whether the kubelet of the node is silent, so that it does not confirm deletions of pods."""
    return node is not None and any(c.type == "Ready" and c.status == "Unknown" for c in node.status.conditions)


@dataclass(slots=True)
class _Zone:
    """The nodes of a zone that wait for a NoExecute taint, and a token bucket of size one. `ready_at`: when it has a
    token; `due`: when the queue is looked at next."""

    queue: dict[str, None] = field(default_factory=dict)
    rate: float = NODE_EVICTION_RATE
    ready_at: float = 0.0
    due: float | None = None

    def limit(self, rate: float, now: float) -> None:
        """Change the rate. As upstream, a bucket without a token stays empty."""
        if rate != self.rate:
            empty = not self.rate or now < self.ready_at
            self.rate = rate
            self.ready_at = now + 1 / rate if empty and rate else now

    def take(self, now: float) -> str | None:
        """Return the next node to taint; None if there is none, or no token."""
        if not self.queue or not self.rate or now < self.ready_at:
            return None
        self.ready_at = now + 1 / self.rate
        name = next(iter(self.queue))
        del self.queue[name]
        return name


class NodeLifecycle(Controller):
    """The controller. Conditions act at once: a scenario sets them when the controller would have noticed. A node
    without the condition Ready counts as ready."""

    def __init__(self, api: Api) -> None:
        super().__init__(api)
        self._zones: dict[str, _Zone] = {}
        self._health: dict[str, tuple[str, bool]] = {}  # node that counts -> its zone, whether it is ready
        self._all_down = False
        self._planned = False  # whether the zones are checked at the end of this instant

    def node_changed(self, old: Node | None, new: Node | None) -> None:
        if new is None:
            if old is not None:
                self._forget(old)
                self.api.loop.at(self.api.loop.clock.now + QUARANTINE_SECONDS, lambda: self._collect(old.name))
            return
        if old is not None and zone_key(old) != zone_key(new):
            self._forget(old)
        self._tally(new)
        self._taint(new, granted=False)

    def _taint(self, node: Node, granted: bool) -> None:
        """Set the taints of a node. `granted`: whether it may get a new NoExecute taint."""
        conditions = node.status.conditions
        keys = [CONDITION_TAINTS[c.type][c.status] for c in conditions if c.status in CONDITION_TAINTS.get(c.type, {})]
        wanted = [(key, "NoSchedule") for key in keys]
        unhealthy = [key for key in keys if key in _HEALTH]
        # A node that has one of the two NoExecute taints gets the other at once.
        tainted = any(t.effect == "NoExecute" and t.key in _HEALTH for t in node.spec.taints)
        queue = self._zone(node).queue
        if unhealthy and not tainted and not granted:
            queue.setdefault(node.name)
        else:
            queue.pop(node.name, None)
            wanted += [(key, "NoExecute") for key in unhealthy]
        if node.spec.unschedulable:
            wanted.append((UNSCHEDULABLE, "NoSchedule"))
        # A node without conditions keeps the taints that others set.
        managed = _MANAGED if conditions else {(UNSCHEDULABLE, "NoSchedule")}
        remaining = [t for t in node.spec.taints if (t.key, t.effect) not in managed or (t.key, t.effect) in wanted]
        there = {(t.key, t.effect) for t in remaining}
        added = [Taint(key, "", effect) for key, effect in wanted if (key, effect) not in there]
        if added or len(remaining) < len(node.spec.taints):
            self._write(node, [*remaining, *added])

    def _write(self, node: Node, taints: list[Taint]) -> None:
        self.api.update(msgspec.structs.replace(node, spec=msgspec.structs.replace(node.spec, taints=taints)))

    # ---- zones

    def _zone(self, node: Node) -> _Zone:
        return self._zones.setdefault(zone_key(node), _Zone())

    def _forget(self, node: Node) -> None:
        self._zone(node).queue.pop(node.name, None)
        self._health.pop(node.name, None)
        self._plan()

    def _tally(self, node: Node) -> None:
        ready = next((c.status == "True" for c in node.status.conditions if c.type == "Ready"), True)
        health = zone_key(node), ready
        if EXCLUDED in node.metadata.labels:
            self._health.pop(node.name, None)
        elif self._health.get(node.name) != health:
            self._health[node.name] = health
        else:
            return
        self._plan()

    def _plan(self) -> None:
        """Check the zones after all changes of this instant, as upstream, which looks at all nodes at once."""
        if not self._planned:
            self._planned = True
            self.api.loop.at(self.api.loop.clock.now, self._check)

    def _check(self) -> None:
        """Set the rate of each zone from its health (upstream handleDisruption), and taint nodes."""
        self._planned = False
        now = self.api.loop.clock.now
        counts = Counter(self._health.values())
        zones = {zone for zone, _ in counts}
        states = {zone: zone_state(counts[zone, True], counts[zone, False]) for zone in zones}
        was, self._all_down = self._all_down, bool(states) and all(state == "full" for state in states.values())
        for name, zone in self._zones.items():
            size = counts[name, True] + counts[name, False]
            zone.limit(0.0 if self._all_down else eviction_rate(states.get(name, "normal"), size), now)
        if self._all_down and not was:
            self._stop_evictions()
        for zone in self._zones.values():
            self._serve(zone)

    def _stop_evictions(self) -> None:
        """Remove the NoExecute taints: if all nodes are unhealthy, the fault is taken to be elsewhere."""
        for node in list(self.api.cluster.nodes.nodes):
            taints = [t for t in node.spec.taints if t.effect != "NoExecute" or t.key not in _HEALTH]
            if len(taints) < len(node.spec.taints):
                self._write(node, taints)

    def _serve(self, zone: _Zone) -> None:
        """Taint nodes of the queue as long as there is a token, and look again when there is the next one."""
        now = self.api.loop.clock.now
        while (name := zone.take(now)) is not None:
            entry = self.api.cluster.nodes.entries.get(name)
            if entry is not None and entry.node is not None:
                self._taint(entry.node, granted=True)
        if zone.queue and zone.rate and zone.due != zone.ready_at:
            zone.due = due = zone.ready_at
            self.api.loop.at(due, lambda: self._serve(zone))

    # ---- pods of deleted nodes

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
