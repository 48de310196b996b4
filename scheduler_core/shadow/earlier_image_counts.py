"""Numbers of nodes with an image that the scheduler took before the cluster was followed.

The scheduler counts the nodes that have an image when it copies a node into its snapshot, and copies a node only in a
cycle after the node or its pods changed. So for nodes that have not changed since, a list of the cluster does not show
the numbers, but times in it bound them: nodes that were created after the copy are not counted.

Source: pkg/scheduler/framework/types.go (ImageStateSummary.Snapshot), pkg/scheduler/backend/cache/cache.go.
"""

from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from scheduler_core.api.objects import Pod, timestamp
from scheduler_core.errors import InputError
from scheduler_core.live.cluster_mirror import ClusterMirror
from scheduler_core.shadow.explanations import State
from scheduler_core.shadow.judgement import EARLIER

SHOWN = 3  # nodes that the details of a judgement name


class EarlierImageCounts:
    """The numbers of nodes with an image that nodes may still have since before they were listed."""

    def __init__(self, mirror: ClusterMirror) -> None:
        self._mirror = mirror
        self._counts: dict[str, dict[str, int]] = {}  # node -> image -> least number

    def begin(self) -> None:
        """Derive the numbers from the listed nodes and pods."""
        self._counts = {}
        table, store = self._mirror.cluster.nodes, self._mirror.store
        created = {obj.metadata.name: _seconds(obj.metadata.creation_timestamp) for obj in store.objects("Node")}
        changed, cycles = dict(created), []
        for pod in store.objects("Pod"):
            if not isinstance(pod, Pod):
                continue
            times = [_seconds(pod.metadata.creation_timestamp), *map(_seconds, _scheduled(pod))]
            cycles += times
            node = pod.spec.node_name
            if node in changed:
                changed[node] = max(changed[node], *times, _seconds(pod.status.start_time))
        cycles.sort()
        for node, last in changed.items():
            place = bisect_left(cycles, last)
            if place == len(cycles) or node not in table.entries:
                continue  # no cycle since: the next one copies it
            copied = cycles[place]
            least = {
                image: sum(created.get(holder, 0.0) <= copied for holder in table.images[image][1])
                for image in table.image_counts(node)
            }
            if least != table.image_counts(node):
                self._counts[node] = least

    def forget(self, node: str) -> None:
        """The node or its pods have changed: its numbers are known from now on."""
        self._counts.pop(node, None)

    def states(self, chosen: str) -> Iterator[State]:
        """Yield the state in which all nodes but the chosen one have their least numbers, if there are any."""
        others = [node for node in self._counts if node != chosen and node in self._mirror.cluster.nodes.rows]
        if others:
            details: dict[str, Any] = {"image_counts": others[:SHOWN], "nodes": len(others)}
            yield State(EARLIER, details, lambda: self._least(others))

    @contextmanager
    def _least(self, nodes: list[str]) -> Iterator[None]:
        table = self._mirror.cluster.nodes
        before = {node: table.image_counts(node) for node in nodes}
        for node in nodes:
            table.set_image_counts(node, self._counts[node])
        try:
            yield
        finally:
            for node, counts in before.items():
                table.set_image_counts(node, counts)


def _scheduled(pod: Pod) -> list[str]:
    """Return the time of the condition PodScheduled."""
    return [one.last_transition_time or "" for one in pod.status.conditions if one.type == "PodScheduled"]


def _seconds(text: str) -> float:
    """Return a time as Unix seconds; 0 if there is none."""
    try:
        return timestamp(text) if text else 0.0
    except InputError:
        return 0.0
