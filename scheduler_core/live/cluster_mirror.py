"""A cluster of the scheduler that follows a live one, change by change.

Source: pkg/scheduler/eventhandlers.go, pkg/scheduler/backend/cache/cache.go.
"""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import msgspec

from scheduler_core.api.objects import Node, Object, PersistentVolume, Pod
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.nodes import zone_key
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.live.store import Store
from scheduler_core.live.watch_events import DELETED, Item, Listed, WatchEvent
from scheduler_core.releases import Release

Zones = dict[str, list[str]]


@dataclass(slots=True, eq=False)
class MirrorChange:
    """A change that was applied and can be undone.

    `old`, `new`: the object before and after it, None if it did not exist. `zones`: the order of nodes before it, if it
    changed that. `matters`: whether the state of the scheduler changed, not only what it does not read.
    """

    resource_version: int
    time: float
    kind: str
    key: str
    old: Object | None
    new: Object | None
    matters: bool = True
    zones: Zones | None = None

    @property
    def binds(self) -> bool:
        """Whether the change gave a pod its node."""
        return (
            isinstance(self.old, Pod)
            and isinstance(self.new, Pod)
            and bool(self.new.spec.node_name)
            and not self.old.spec.node_name
        )

    @property
    def claims_volume(self) -> bool:
        """Whether the change gave an existing volume to a claim. The scheduler does this before it binds the pod."""
        old, new = self.old, self.new
        if not isinstance(old, PersistentVolume) or not isinstance(new, PersistentVolume):
            return False
        return old.spec.claim_ref is None and new.spec.claim_ref is not None


class ClusterMirror:
    """The state of a live cluster as the scheduler's columns, and as the objects of a Store.

    Bound pods count on their nodes, pods with status.nominatedNodeName are in the nominator. `pods`: all pods that have
    not terminated; `pending`: those without a node; `assumed`: those of the pending pods that count on a node already,
    as copies. `undoable`: how many of the last changes `undo` can take back.
    """

    def __init__(self, release: Release, store: Store | None = None, undoable: int = 0) -> None:
        self.release = release
        self.cluster = Cluster(release)
        self.store = store if store is not None else Store()
        self.pods: dict[str, PodInfo] = {}
        self.pending: dict[str, PodInfo] = {}
        self.assumed: dict[str, PodInfo] = {}
        self.resource_version = 0
        self.time = 0.0
        self.changes: deque[MirrorChange] = deque(maxlen=undoable)

    # ---- items

    def apply(self, item: Item) -> MirrorChange | None:
        """Apply an item. Return the change if it is one of an object."""
        change = None
        if isinstance(item, Listed):
            self._apply_list(item)
        elif isinstance(item, WatchEvent):
            old = self.store.get(item.kind, item.key)
            new = None if item.type == DELETED else item.object
            change = MirrorChange(item.resource_version, item.time, item.kind, item.key, old, new)
            self._put(change, new)
            self.resource_version = max(self.resource_version, item.resource_version)
            self.changes.append(change)
        self.time = max(self.time, item.time)
        self.store.apply(item)
        return change

    def undo(self) -> MirrorChange | None:
        """Take back the last change in the columns and the store and return it; None if there is none to take back."""
        if not self.changes:
            return None
        change = self.changes.pop()
        self._put(change, change.old)
        self._store(change, change.old)
        return change

    def redo(self, change: MirrorChange) -> None:
        """Apply a change again that `undo` returned. The last one undone comes first."""
        self._put(change, change.new)
        self._store(change, change.new)
        self.changes.append(change)

    @contextmanager
    def without(self, count: int) -> Iterator[list[MirrorChange]]:
        """A context in which the last `count` changes have not happened; they are the context's value, newest first."""
        undone: list[MirrorChange] = []
        try:
            while len(undone) < count and (change := self.undo()) is not None:
                undone.append(change)
            yield undone
        finally:
            for change in reversed(undone):
                self.redo(change)

    # ---- pods that are not bound yet

    def assume(self, key: str, node: str) -> None:
        """Count a pending pod on a node, and no longer as nominated."""
        self.assumed[key] = pod = PodInfo(self.pending[key].pod, self.release)
        self.cluster.nominator.forget(pod)
        self.cluster.add_pod(pod, node)

    def take_back(self, key: str) -> None:
        """Count a pod as its status says again, if it was assumed."""
        pod = self.assumed.pop(key, None)
        if pod is None:
            return
        self.cluster.remove_pod(pod)
        waiting = self.pending.get(key)
        if waiting is not None and waiting.nominated_node:
            self.cluster.nominator.nominate(waiting, waiting.nominated_node)

    # ---- the columns

    def _store(self, change: MirrorChange, obj: Object | None) -> None:
        objects = self.store.by_key(change.kind)
        assert isinstance(objects, dict)
        if obj is None:
            objects.pop(change.key, None)
        else:
            objects[change.key] = obj

    def _put(self, change: MirrorChange, to: Object | None) -> None:
        """Bring the columns to one side of a change."""
        forward = to is change.new
        old, new = (change.old, change.new) if forward else (change.new, change.old)
        if isinstance(old, Pod) or isinstance(new, Pod):
            change.matters = self._put_pod(change.key, old, new)
            return
        obj = old if old is not None else new
        if obj is None or not self.cluster.holds(obj) or (old and new and same_for_scheduler(old, new)):
            change.matters = False
            return
        nodes = self.cluster.nodes
        if isinstance(old, Node) or isinstance(new, Node):
            if forward and change.zones is None and _moves(change.old, change.new):
                change.zones = nodes.zones()
            if isinstance(new, Node):
                self.cluster.apply_nodes([new])
            elif isinstance(old, Node):
                self.cluster.remove(old)
            if not forward and change.zones is not None:
                nodes.restore_zones(change.zones)
            return
        if new is not None:
            self.cluster.apply(new)
        elif old is not None:
            self.cluster.remove(old)

    def _put_pod(self, key: str, old: Object | None, new: Object | None) -> bool:
        known = self.pods.get(key)
        alive = isinstance(new, Pod) and not new.terminated
        if known is not None and alive and isinstance(old, Pod) and isinstance(new, Pod) and same_pod(old, new):
            known.pod = new
            return False
        if known is not None:
            self._leave(known)
        if alive and isinstance(new, Pod):
            self._enter(PodInfo(new, self.release))
        return known is not None or alive

    def _enter(self, pod: PodInfo) -> None:
        self.pods[pod.key] = pod
        if pod.node:
            self.cluster.add_pod(pod, pod.node)
            return
        self.pending[pod.key] = pod
        if pod.nominated_node and pod.key not in self.assumed:
            self.cluster.nominator.nominate(pod, pod.nominated_node)

    def _leave(self, pod: PodInfo) -> None:
        del self.pods[pod.key]
        if self.pending.pop(pod.key, None) is None:
            self.cluster.remove_pod(pod)
        self.cluster.nominator.forget(pod)

    def _apply_list(self, item: Listed) -> None:
        """Replace the objects of a kind."""
        before = self.store.by_key(item.kind)
        listed = {obj.key: obj for obj in item.objects}
        for key, old in before.items():
            if key not in listed:
                self._put(MirrorChange(item.resource_version, item.time, item.kind, key, old, None), None)
        fresh = []
        for key, new in listed.items():
            if key in before:
                self._put(MirrorChange(item.resource_version, item.time, item.kind, key, before[key], new), new)
            else:
                fresh.append(new)
        self._load(fresh)
        self.resource_version = max(self.resource_version, item.resource_version)
        self.changes.clear()

    def _load(self, objects: list[Object]) -> None:
        """Add many objects that did not exist."""
        nodes = [obj for obj in objects if isinstance(obj, Node)]
        if nodes:
            self.cluster.apply_nodes(nodes)
        pods = [PodInfo(obj, self.release) for obj in objects if isinstance(obj, Pod) and not obj.terminated]
        bound = [pod for pod in pods if pod.node]
        self.pods.update({pod.key: pod for pod in bound})
        self.cluster.nodes.refresh()
        self.cluster.add_pods(bound)
        for pod in pods:
            if not pod.node:
                self._enter(pod)
        for obj in objects:
            if not isinstance(obj, Node | Pod):
                self.cluster.apply(obj)


def _moves(old: Object | None, new: Object | None) -> bool:
    """Whether undoing the change of a node must restore the order of nodes."""
    return isinstance(old, Node) and (not isinstance(new, Node) or zone_key(old) != zone_key(new))


def same_for_scheduler(old: Object, new: Object) -> bool:
    """Whether two versions of an object differ in nothing but their resourceVersion."""
    if old.metadata.resource_version == new.metadata.resource_version:
        return old == new
    metadata = msgspec.structs.replace(old.metadata, resource_version=new.metadata.resource_version)
    return bool(msgspec.structs.replace(old, metadata=metadata) == new)


def same_pod(old: Pod, new: Pod) -> bool:
    """Whether two versions of a pod, neither terminated, count alike: they may differ in phase and conditions.

    The condition PodResizePending changes what a pod requests.
    """
    if old.status.phase != new.status.phase or old.status.conditions != new.status.conditions:
        if _resizing(old) != _resizing(new):
            return False
        status = msgspec.structs.replace(old.status, phase=new.status.phase, conditions=new.status.conditions)
        old = msgspec.structs.replace(old, status=status)
    return same_for_scheduler(old, new)


def _resizing(pod: Pod) -> list[str]:
    return [condition.reason for condition in pod.status.conditions if condition.type == "PodResizePending"]
