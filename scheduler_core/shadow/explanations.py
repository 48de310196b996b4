"""States that the real scheduler may have decided on instead of the one right before its decision became visible.

It learns of changes a little later than they happen, and counts pods from its decision on, while they become visible
when they are bound. So a few of the last changes may not have happened for it, pods bound shortly after may count
already, and pods bound shortly before may not. The states are tried in the order of how much they assume.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, NamedTuple

from scheduler_core.api.objects import Object, PersistentVolume, Pod
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.live.cluster_mirror import ClusterMirror, MirrorChange
from scheduler_core.live.watch_events import DELETED, MODIFIED, Item, WatchEvent
from scheduler_core.shadow.judgement import ASSUMED, EARLIER, NOMINATED

BURST_COST = 20_000  # nodes times states between the changes of a burst
MAX_QUEUED = 16  # pods whose bindings may be written in another order than they were tried


class Bounds(NamedTuple):
    """How far other states may be away. `seconds`: time. `changes`: changes that have not happened. `bindings`: pods
    that count already, or do not count yet, in another order than the queue's. `burst`: like `changes`, but with all
    pods where they were bound."""

    seconds: float
    changes: int
    bindings: int
    burst: int = 0


class Elsewhere(NamedTuple):
    """`enter`: a context in which the pod counts on the node."""

    pod: str
    node: str
    enter: Callable[[], AbstractContextManager[PodInfo | None]]


class State(NamedTuple):
    """Another state. `outcome`: the class of a decision on it. `details`: what differs. `enter`: sets the state; its
    value is the pod there, None if the pod is the same."""

    outcome: str
    details: dict[str, Any]
    enter: Callable[[], AbstractContextManager[PodInfo | None]]


class States:
    """The other states at a decision about a pod. `ahead`: the items after the decision, in order.

    `added`: pod -> resourceVersion at which it was created, if it was created while the cluster was followed.
    `elsewhere`: contexts that count a pod whose binding is not explained on another node, each with pod and node.
    """

    def __init__(
        self,
        mirror: ClusterMirror,
        pod: PodInfo,
        time: float,
        ahead: Iterable[Item],
        bounds: Bounds,
        added: Mapping[str, int],
        elsewhere: Sequence[Elsewhere],
    ) -> None:
        self._added = added
        self._elsewhere = elsewhere
        self._mirror = mirror
        self._pod = pod
        self._key = pod.key
        self._time = time
        self._ahead = ahead
        self._bounds = bounds

    def __iter__(self) -> Iterator[State]:
        """Yield the states, those that assume least first."""
        for one in self._elsewhere:
            yield State(ASSUMED, {"elsewhere": {one.pod: one.node}}, one.enter)
        yield from self._same_places()
        yield from self._burst()
        for one in self._elsewhere:
            with one.enter():
                states = list(self._same_places())
            for state in states:
                details = {**state.details, "elsewhere": {one.pod: one.node}}
                yield State(ASSUMED, details, lambda one=one, state=state: _both(one.enter, state.enter))  # type: ignore[misc]

    def _same_places(self) -> Iterator[State]:
        """Yield the states in which all pods are where they were bound."""
        yield from self._in_queue_order()
        steps = self._steps(self._bounds.changes)
        later = [one for one in self._later_bindings() if self._in_any_order(one[0])][: self._bounds.bindings]
        bound = self._mirror.cluster.pods
        recent = [key for key in self._recent_bindings() if self._in_any_order(bound[key])][: self._bounds.bindings]
        for count in range(1, max(len(steps), len(later), len(recent)) + 1):
            if count <= len(steps):
                undone = steps[count - 1]
                details = {"changes": count, "first": _named(self._mirror.changes[-undone])}
                yield State(EARLIER, details, lambda undone=undone: self._earlier(undone, ()))  # type: ignore[misc]
            if count <= len(later):
                pods = later[:count]
                yield State(ASSUMED, {"counted": _pods(pods)}, lambda pods=pods: self._placed(pods))  # type: ignore[misc]
                if count > 1:
                    last = later[count - 1 : count]
                    yield State(ASSUMED, {"counted": _pods(last)}, lambda pods=last: self._placed(pods))  # type: ignore[misc]
            if count <= len(recent):
                keys = recent[:count]
                yield State(ASSUMED, {"not_counted": keys}, lambda keys=keys: self._without(keys))  # type: ignore[misc]
                if count > 1:
                    keys = recent[count - 1 : count]
                    yield State(ASSUMED, {"not_counted": keys}, lambda keys=keys: self._without(keys))  # type: ignore[misc]
        if self._pod.nominated_node:
            yield State(NOMINATED, {"nominated": []}, self._not_nominated)
        for pods in ([one] for one in self._later_nominations()):
            yield State(NOMINATED, {"nominated": _pods(pods)}, lambda pods=pods: self._nominated(pods))  # type: ignore[misc]
        for undone in steps:
            for count in range(1, len(later) + 1):
                pods = later[:count]
                details = {"first": _named(self._mirror.changes[-undone]), "counted": _pods(pods)}
                yield State(ASSUMED, details, lambda undone=undone, pods=pods: self._earlier(undone, pods))  # type: ignore[misc]

    # ---- what can differ

    @property
    def beyond(self) -> bool:
        """Whether there are more changes within the time than were tried."""
        return len(self._steps(self._most + 1)) > self._most

    @property
    def _most(self) -> int:
        """How many changes are undone at most. Larger clusters have fewer tries."""
        bounds, nodes = self._bounds, max(len(self._mirror.cluster.nodes), 1)
        return max(bounds.changes, min(bounds.burst, BURST_COST // nodes))

    def _burst(self) -> Iterator[State]:
        """Yield the states between many changes at once."""
        for count, undone in enumerate(self._steps(self._most), 1):
            if count > self._bounds.changes:
                details = {"changes": count, "first": _named(self._mirror.changes[-undone])}
                yield State(EARLIER, details, lambda undone=undone: self._earlier(undone, ()))  # type: ignore[misc]

    def _steps(self, most: int) -> list[int]:
        """Return the numbers of last changes to undo, each with one more change that the scheduler may not know."""
        steps: list[int] = []
        for number, change in enumerate(reversed(self._mirror.changes), 1):
            if self._time - change.time > self._bounds.seconds or len(steps) == most:
                break
            own = change.binds or change.claims_volume  # the scheduler knows what it does itself
            if change.matters and not own and change.key != self._key and not _arrives(change):
                steps.append(number)
        return steps

    def _later_bindings(self) -> list[tuple[PodInfo, str]]:
        """Return the pods bound next, with their nodes."""
        found: dict[str, tuple[PodInfo, str]] = {}
        for event in self._later():
            pod, node = self._mirror.pending.get(event.key), event.object.spec.node_name
            if pod is not None and node and event.key not in found:
                found[event.key] = (pod, node)
                if len(found) == MAX_QUEUED:
                    break
        return list(found.values())

    def _in_queue_order(self) -> Iterator[State]:
        """Yield the state in which all pods created before this one count, and none created after it.

        New pods of equal priority are tried in the order of their creation, but bindings are written in any order.
        """
        mine = self._added.get(self._key)
        if mine is None:
            return
        first = [
            (pod, node)
            for pod, node in self._later_bindings()
            if self._added.get(pod.key, mine) < mine and pod.priority >= self._pod.priority
        ]
        cluster = self._mirror.cluster
        last = [
            key
            for key in self._recent_bindings()
            if self._added.get(key, mine) > mine and cluster.pods[key].priority <= self._pod.priority
        ]
        if first or last:
            details = {"counted": _pods(first), "not_counted": last}
            yield State(ASSUMED, details, lambda: self._swapped(first, last))

    def _in_any_order(self, other: PodInfo) -> bool:
        """Whether it is not known which of two pods was tried first. Of two new pods it is the one created first."""
        known = self._key in self._added and other.key in self._added
        return not known or other.priority != self._pod.priority or _failed(self._pod) or _failed(other)

    def _later_nominations(self) -> list[tuple[PodInfo, str]]:
        """Return the pods nominated next, with their nodes."""
        found: dict[str, tuple[PodInfo, str]] = {}
        for event in self._later():
            pod, node = self._mirror.pending.get(event.key), event.object.status.nominated_node_name
            if pod is not None and node and node != pod.nominated_node and event.key not in found:
                found[event.key] = (pod, node)
        return list(found.values())[: self._bounds.bindings]

    def _later(self) -> Iterator[Any]:
        for item in self._ahead:
            if item.kind != "Pod":
                continue
            if item.time - self._time > self._bounds.seconds:
                return
            if isinstance(item, WatchEvent) and item.type != DELETED and item.key != self._key:
                yield item

    def _recent_bindings(self) -> list[str]:
        """Return the pods bound last, the latest first."""
        found: list[str] = []
        for change in reversed(self._mirror.changes):
            if self._time - change.time > self._bounds.seconds or len(found) == MAX_QUEUED:
                break
            if change.binds and change.key in self._mirror.cluster.pods and change.key != self._key:
                found.append(change.key)
        return found

    # ---- setting a state

    @contextmanager
    def _earlier(self, undone: int, pods: Sequence[tuple[PodInfo, str]]) -> Iterator[None]:
        """Undo the last changes, but keep the pods that they bound: the scheduler counts these from its decision on."""
        mirror = self._mirror
        with mirror.cluster.nodes.keep_image_counts(), mirror.without(undone) as changes, ExitStack() as stack:
            bound = [
                (PodInfo(change.new, mirror.release), change.new.spec.node_name)
                for change in reversed(changes)
                if change.binds and isinstance(change.new, Pod) and change.key != self._key
            ]
            claimed = [change.new for change in changes if change.claims_volume and change.new is not None]
            stack.enter_context(self._counted([*bound, *pods], claimed))
            yield

    @contextmanager
    def _placed(self, pods: Sequence[tuple[PodInfo, str]]) -> Iterator[None]:
        with self._mirror.cluster.nodes.keep_image_counts(), self._counted(pods):
            yield

    @contextmanager
    def _counted(self, pods: Sequence[tuple[PodInfo, str]], volumes: Sequence[Object] = ()) -> Iterator[None]:
        """A context in which pods are on nodes and have the volumes that they get there. `volumes`: further ones that
        are claimed."""
        cluster = self._mirror.cluster
        claimed = [*volumes, *volumes_of([pod for pod, _ in pods], self._ahead)]
        before = [(volume, cluster.find(volume)) for volume in claimed]
        for volume in claimed:
            cluster.apply(volume)
        try:
            with placed(cluster, pods):
                yield
        finally:
            for volume, old in before:
                if old is None:
                    cluster.remove(volume)
                else:
                    cluster.apply(old)

    @contextmanager
    def _without(self, keys: Sequence[str]) -> Iterator[None]:
        cluster = self._mirror.cluster
        removed = [(cluster.pods[key], cluster.pods[key].node) for key in keys]
        with cluster.nodes.keep_image_counts():
            for pod, _ in removed:
                cluster.remove_pod(pod)
            try:
                yield
            finally:
                for pod, node in removed:
                    cluster.add_pod(pod, node)

    @contextmanager
    def _swapped(self, counted: Sequence[tuple[PodInfo, str]], keys: Sequence[str]) -> Iterator[None]:
        with self._without(keys), self._counted(counted):
            yield

    @contextmanager
    def _not_nominated(self) -> Iterator[PodInfo]:
        """The pod itself without its nomination."""
        pod = PodInfo(self._pod.pod, self._mirror.release)
        pod.nominated_node = ""
        yield pod

    @contextmanager
    def _nominated(self, pods: Sequence[tuple[PodInfo, str]]) -> Iterator[None]:
        nominator = self._mirror.cluster.nominator
        before = [(pod, nominator.node_of(pod)) for pod, _ in pods]
        for pod, node in pods:
            nominator.nominate(pod, node)
        try:
            with self._counted((), volumes_of([pod for pod, _ in pods], self._ahead)):
                yield
        finally:
            for pod, node in before:
                nominator.forget(pod)
                if node:
                    nominator.nominate(pod, node)


def volumes_of(pods: Iterable[PodInfo], ahead: Iterable[Item]) -> list[PersistentVolume]:
    """Return the volumes that claims of the pods get in the items ahead, each as it is then."""
    claims = {(pod.namespace, name) for pod in pods for name in _claims(pod)}
    if not claims:
        return []
    found: dict[str, PersistentVolume] = {}
    for item in ahead:
        if isinstance(item, WatchEvent) and item.type == MODIFIED and isinstance(item.object, PersistentVolume):
            reference = item.object.spec.claim_ref
            if reference is not None and (reference.namespace, reference.name) in claims:
                found.setdefault(item.key, item.object)
    return list(found.values())


def _claims(pod: PodInfo) -> Iterator[str]:
    for volume in pod.volumes:
        if volume.persistent_volume_claim is not None:
            yield volume.persistent_volume_claim.claim_name
        elif volume.ephemeral is not None:
            yield f"{pod.name}-{volume.name}"


@contextmanager
def placed(cluster: Cluster, pods: Sequence[tuple[PodInfo, str]]) -> Iterator[None]:
    """A context in which pods are on nodes; those that are on a node already stay there."""
    added, nominations = [], []
    for pod, node in pods:
        if pod.key in cluster.pods:
            continue
        nominations.append((pod, cluster.nominator.node_of(pod)))
        cluster.nominator.forget(pod)
        cluster.add_pod(pod, node)
        added.append(pod)
    try:
        yield
    finally:
        for pod in added:
            cluster.remove_pod(pod)
        for pod, node in nominations:
            if node:
                cluster.nominator.nominate(pod, node)


@contextmanager
def _both(
    first: Callable[[], AbstractContextManager[PodInfo | None]],
    second: Callable[[], AbstractContextManager[PodInfo | None]],
) -> Iterator[PodInfo | None]:
    with first(), second() as pod:
        yield pod


def _failed(pod: PodInfo) -> bool:
    """Whether the pod was tried before without success."""
    return any(one.type == "PodScheduled" and one.status == "False" for one in pod.pod.status.conditions)


def _arrives(change: MirrorChange) -> bool:
    """Whether the change only adds a pod without a node, or removes or updates one: no other pod depends on it."""
    return all(not isinstance(obj, Pod) or _waits(obj) for obj in (change.old, change.new) if obj is not None) and (
        isinstance(change.old, Pod) or isinstance(change.new, Pod)
    )


def _waits(pod: Pod) -> bool:
    return not pod.spec.node_name and not pod.status.nominated_node_name


def _named(change: MirrorChange) -> dict[str, Any]:
    what = "added" if change.old is None else "deleted" if change.new is None else "changed"
    return {"kind": change.kind, "key": change.key, "what": what, "resourceVersion": change.resource_version}


def _pods(pods: Sequence[tuple[PodInfo, str]]) -> list[str]:
    return [pod.key for pod, _ in pods]
