"""Reverts what a trial changes in a simulation: changes as in `mutations.py`, and dry cycles."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from scheduler_core.api.objects import Node, Object, Pod, decode
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.dra.claims import claims_used
from scheduler_core.forks.mutations import Change, Edit
from scheduler_core.simulation import Simulation

Undo = Callable[[], object]
_Pods = dict[str, PodInfo]


@contextmanager
def reverted(simulation: Simulation) -> Iterator[Trial]:
    """A context after which the simulation is as before: objects, pods to try, nominations and decisions, in order.

    Call `Trial.apply` for each change, and `Trial.keep_claims` for each pod that a dry cycle may place. Versions and
    caches are not restored, because what was cached in the meantime must not count afterwards.
    """
    trial = Trial(simulation)
    with simulation.cluster.nodes.reverting():
        try:
            yield trial
        finally:
            trial.revert()


class Trial:
    """Changes to a simulation that are reverted; see `reverted`."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self.cluster = cluster = simulation.cluster
        self.edit = Edit(simulation)
        self._pending, self._to_try = list(simulation.pending), list(simulation.to_try)
        self._nominations = cluster.nominator.saved()
        frameworks = simulation.scheduler.profiles.values()
        plugins = [plugin for framework in frameworks for plugin in framework.plugins]
        self._memories = [
            (plugin, name, _copied(getattr(plugin, name))) for plugin in plugins for name in plugin.memory
        ]
        waiting = [one for framework in frameworks for one in framework.waiting_pods]
        self._waiting = [(one, set(one.pending), one.rejected) for one in waiting]
        self._entries, cluster.journal.entries = cluster.journal.entries, None
        self._undo: list[Undo] = []
        self._copies: list[tuple[dict[Any, Any], dict[Any, Any]]] = []  # containers, with copies that have their order
        self._pods_of: dict[str, tuple[_Pods, _Pods]] = {}  # node -> its pods, and those that use volumes, in order
        self._nodes: tuple[list[str], dict[str, list[str]]] | None = None  # entries and zones, in order

    def apply(self, change: Change) -> None:
        """Apply a change. Raises InputError if it cannot be applied."""
        self._save(change)
        self.edit.apply([change])

    def keep_claims(self, pod: PodInfo) -> None:
        """Keep the ResourceClaims of a pod, because unreserving or deleting the pod changes them."""
        table = self.cluster.device_claims
        claims = list(claims_used(pod, table))
        if not claims:
            return
        self._copy(table)

        def claim_again() -> None:
            for claim in claims:
                if table.get(claim.key) is not claim:
                    self.cluster.apply(claim)

        self._undo.append(claim_again)

    def revert(self) -> None:
        """Revert everything."""
        simulation, cluster = self.simulation, self.cluster
        for back in reversed(self._undo):
            back()
        simulation.pending[:], simulation.to_try[:] = self._pending, self._to_try
        cluster.nominator.restore(self._nominations)
        for one, pending, rejected in self._waiting:
            one.pending, one.rejected = pending, rejected
        entries, users = cluster.nodes.entries, cluster.volume_users.by_node
        for name, (pods, using) in self._pods_of.items():
            if name in entries:
                _refill(entries[name].pods, pods)
            if name in users:
                _refill(users[name], using)
        for container, content in self._copies:
            _refill(container, {key: users[key] for key in content} if container is users else content)
        if self._nodes is not None:
            _refill(entries, {name: entries[name] for name in self._nodes[0]})
            zones = self._nodes[1]
            if list(cluster.nodes.zones().items()) != list(zones.items()):
                cluster.nodes.restore_zones(zones)
        cluster.journal.entries = self._entries
        for plugin, memory, content in self._memories:
            now = getattr(plugin, memory)
            if isinstance(now, (dict, set)):  # in place: copies of the plugin share it
                now.clear()
                now.update(content)
            else:
                setattr(plugin, memory, content)

    # ---- what a change touches

    def _save(self, change: Change) -> None:
        name, what = change.operation
        match name:
            case "skip" | "weight" | "place":
                self._keep_decisions()
            case "create":
                self._keep_absent(what)
            case "patch" | "delete":
                named = decode({"kind": what.kind, "metadata": {"name": what.name, "namespace": what.namespace}})
                if named is not None:
                    self._keep(self.edit.find(what.kind, named.key))
            case "drain":
                self._keep(self.edit.find("Node", what))
                entry = self.cluster.nodes.entries.get(what)
                for pod in list(entry.pods.values()) if entry is not None else ():
                    self._keep(pod)
            case _:
                self._keep(self.edit.find("Node", what if isinstance(what, str) else what.node))

    def _keep(self, was: Object | PodInfo | None) -> None:
        """Restore a pod or an object that a change replaces or removes."""
        if isinstance(was, PodInfo):
            self._keep_pod(was)
        elif was is not None:
            if isinstance(was, Node):
                self._keep_node_order()
            else:
                self._copy(self.cluster.container(was))
            self._undo.append(lambda: self.cluster.apply(was))

    def _keep_pod(self, was: PodInfo) -> None:
        cluster, node = self.cluster, was.node
        if node:
            self._keep_pod_order(node)

            def run_again() -> None:
                now = cluster.pods.get(was.key)
                if now is not None:
                    cluster.remove_pod(now)
                cluster.add_pod(was, node)

            self._undo.append(run_again)
        self.keep_claims(was)

    def _keep_pod_order(self, node: str) -> None:
        cluster = self.cluster
        for container in (cluster.pods, cluster.priorities, cluster.volume_users.by_node):
            self._copy(container)
        if node in self._pods_of:
            return
        entry = cluster.nodes.entries.get(node)
        users = cluster.volume_users.by_node.get(node, {})
        self._pods_of[node] = dict(entry.pods) if entry is not None else {}, dict(users)
        if entry is None or entry.node is None:  # the entry exists as long as it has pods
            self._keep_node_order()

    def _keep_absent(self, raw: dict[str, Any]) -> None:
        """Remove an object that a change creates."""
        named = decode(copy.deepcopy(raw))
        if named is None or self.edit.find(type(named).__name__, named.key) is not None:
            return
        if isinstance(named, Pod):
            self._keep_pod_order(named.spec.node_name)
        elif isinstance(named, Node):
            self._keep_node_order()
        elif self.cluster.holds(named):
            self._copy(self.cluster.container(named))

        def remove() -> None:
            found = self.edit.find(type(named).__name__, named.key)
            if not isinstance(found, PodInfo):
                if found is not None:
                    self.cluster.remove(found)
            elif found.node:
                self.cluster.remove_pod(found)

        self._undo.append(remove)

    def _keep_node_order(self) -> None:
        if self._nodes is None:
            self._nodes = list(self.cluster.nodes.entries), self.cluster.nodes.zones()

    def _keep_decisions(self) -> None:
        scheduler = self.simulation.scheduler
        self._copy(scheduler.places)
        own = dict(scheduler.own_frameworks)
        frameworks = (*scheduler.profiles.values(), *own.values())
        before = [(one, one.__dict__ | {"weights": dict(one.weights)}) for one in frameworks]

        def decide_again() -> None:
            scheduler.own_frameworks.clear()
            scheduler.own_frameworks.update(own)
            for framework, attributes in before:
                framework.__dict__.update(attributes)

        self._undo.append(decide_again)

    def _copy(self, container: dict[Any, Any]) -> None:
        """Restore the order of a container."""
        if all(known is not container for known, _ in self._copies):
            self._copies.append((container, dict(container)))


def _copied(value: Any) -> Any:
    """Return a copy of a dict and of its values."""
    return {key: copy.copy(one) for key, one in value.items()} if isinstance(value, dict) else copy.copy(value)


def _refill(container: dict[Any, Any], content: dict[Any, Any]) -> None:
    """Give a container its content in order. The watchers of a table are not notified: the values are the same."""
    dict.clear(container)
    dict.update(container, content)
