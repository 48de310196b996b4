"""Pods whose binding is not explained: the real scheduler may count them on other nodes than the recording says.

Without this, one wrong line of a recording would make all decisions after it look wrong.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.live.cluster_mirror import ClusterMirror
from scheduler_core.shadow.explanations import Elsewhere

MAX_PODS = 8  # the last ones are tried on other nodes
MAX_NODES = 8  # of each


@dataclass(slots=True)
class _Displaced:
    """A pod. `recorded`: its node. `nodes`: those that we would have chosen. `node`: where later decisions count it, ""
    if they do not say. `images`, `others`: image counts and pods of the recorded node before the binding."""

    recorded: str
    nodes: list[str]
    node: str = ""
    images: Mapping[str, int] = field(default_factory=dict)
    others: frozenset[str] = frozenset()


class DisplacedPods:
    """The pods of a mirror whose binding is not explained."""

    def __init__(self, mirror: ClusterMirror) -> None:
        self._mirror = mirror
        self._pods: dict[str, _Displaced] = {}

    def add(self, pod: str, recorded: str, nodes: Sequence[str]) -> None:
        """Add a pod before it is bound. `nodes`: those that we would have chosen."""
        table = self._mirror.cluster.nodes
        found = _Displaced(recorded, list(nodes)[:MAX_NODES])
        if recorded in table.rows:
            found.images, found.others = table.image_counts(recorded), frozenset(table.entries[recorded].pods)
        self._pods[pod] = found

    def update(self, pod: str, node: str) -> None:
        """Forget a pod if a change said that it is on another node, or deleted (""). Call it after the change."""
        known = self._pods.get(pod)
        if known is not None and known.recorded != node:
            del self._pods[pod]
            if node:
                self._restore_images(pod, known)

    def clear(self) -> None:
        """Forget all pods, because they were compared by another configuration; each counts where it was bound."""
        for key, one in self._pods.items():
            pod = self._mirror.cluster.pods.get(key)
            if pod is not None and pod.node != one.recorded:
                self._move(pod, one.recorded)
        self._pods.clear()

    def places(self) -> list[Elsewhere]:
        """Return the nodes on which the pods may be."""
        found = []
        for key, one in list(self._pods.items())[-MAX_PODS:]:
            now = one.node or one.recorded
            if key in self._mirror.cluster.pods:
                nodes = [node for node in (one.recorded, *one.nodes) if node != now]
                found += [Elsewhere(key, node, lambda key=key, node=node: self._moved(key, node)) for node in nodes]  # type: ignore[misc]
        return found

    def settle(self, details: Mapping[str, Any]) -> None:
        """Count pods elsewhere from now on. `details`: of a state with which a decision agrees."""
        for key, node in details.get("elsewhere", {}).items():
            self._pods[key].node = node
        self.move()
        for key, node in details.get("elsewhere", {}).items():
            if node != self._pods[key].recorded:
                self._restore_images(key, self._pods[key])

    def move(self) -> None:
        """Move the pods to where later decisions count them."""
        for key, one in self._pods.items():
            pod = self._mirror.cluster.pods.get(key)
            if pod is not None and one.node and pod.node != one.node:
                self._move(pod, one.node)

    def _move(self, pod: PodInfo, node: str) -> None:
        cluster, before = self._mirror.cluster, pod.node
        cluster.remove_pod(pod)
        cluster.nodes.restore_host_ports(before)  # the pod may have been there although its port was in use
        cluster.add_pod(pod, node)

    def _restore_images(self, key: str, one: _Displaced) -> None:
        """Restore the image counts of the recorded node, if only the pod changed it."""
        table = self._mirror.cluster.nodes
        if one.recorded in table.rows and one.others == table.entries[one.recorded].pods.keys() - {key}:
            table.set_image_counts(one.recorded, one.images)

    @contextmanager
    def _moved(self, key: str, node: str) -> Iterator[None]:
        cluster, one = self._mirror.cluster, self._pods[key]
        pod = cluster.pods[key]
        before, known = pod.node, one.recorded in cluster.nodes.rows
        counts = cluster.nodes.image_counts(one.recorded) if known else {}
        with cluster.nodes.keep_image_counts():
            if before == one.recorded:
                self._restore_images(key, one)
            self._move(pod, node)
            try:
                yield
            finally:
                pod = cluster.pods[key]  # another one, if a change of the pod was undone meanwhile
                if pod.node != before:
                    self._move(pod, before)
                if known:
                    cluster.nodes.set_image_counts(one.recorded, counts)
