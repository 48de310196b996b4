"""The nominated nodes of pending pods that preempted others.

Source: pkg/scheduler/backend/queue/nominator.go.
"""

from scheduler_core.cluster.change_log import NOMINATED, Journal
from scheduler_core.cluster.pod_info import PodInfo


class Nominator:
    """Nominated pods by node, in order of nomination. `journal`: records every change."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._by_node: dict[str, dict[str, PodInfo]] = {}
        self._node_of: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self._node_of)

    def nominate(self, pod: PodInfo, node: str) -> None:
        """Nominate a pod and forget its previous nomination."""
        self.forget(pod)
        self._by_node.setdefault(node, {})[pod.key] = pod
        self._node_of[pod.key] = node
        self._journal.note(NOMINATED, pod.key, node)

    def forget(self, pod: PodInfo) -> None:
        node = self._node_of.pop(pod.key, None)
        if node is not None:
            self._journal.note(NOMINATED, pod.key)
            del self._by_node[node][pod.key]
            if not self._by_node[node]:
                del self._by_node[node]

    def node_of(self, pod: PodInfo) -> str:
        """Return the nominated node of a pod, or ""."""
        return self._node_of.get(pod.key, "")

    def saved(self) -> list[tuple[str, list[PodInfo]]]:
        """Return the nominated pods of each node in their order, for `restore`."""
        return [(node, list(pods.values())) for node, pods in self._by_node.items()]

    def restore(self, saved: list[tuple[str, list[PodInfo]]]) -> None:
        """Restore what `saved` returned. The journal does not record it."""
        self._by_node = {node: {pod.key: pod for pod in pods} for node, pods in saved}
        self._node_of = {pod.key: node for node, pods in saved for pod in pods}

    def nominations(self) -> dict[str, str]:
        """Return pod -> nominated node."""
        return dict(self._node_of)

    def on(self, node: str) -> list[PodInfo]:
        """Return the pods nominated to a node."""
        return list(self._by_node.get(node, {}).values())

    def nodes(self) -> list[str]:
        """Return the nodes that have nominated pods."""
        return list(self._by_node)
