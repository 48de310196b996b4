"""Members that are assumed while the rest of their group is tried.

Upstream determines the nodes that have pods with (anti-)affinity when it takes its snapshot, and does not update this
when it assumes a member (1.36). Therefore the terms of an assumed member count only on nodes that already had pods with
such terms.

Source: pkg/scheduler/backend/cache/snapshot.go (AssumePod), pkg/scheduler/framework/plugins/interpodaffinity.
"""

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_counts import Term
from scheduler_core.cluster.pod_info import PodInfo

Terms = tuple[tuple[Term, ...], ...]


class Assumed:
    """The members assumed so far. Created when the snapshot is taken."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._with_anti = {pod.node for pod in cluster.pods.values() if pod.required_anti_affinity}
        self._with_terms = {pod.node for pod in cluster.pods.values() if any(pod.terms())}
        self._there: list[tuple[PodInfo, str]] = []  # members with affinity terms
        self._own: dict[str, Terms] = {}

    def add(self, pod: PodInfo, node: str) -> None:
        terms = pod.terms()
        if not any(terms):
            self._cluster.add_pod(pod, node)
            return
        self._own[pod.key] = terms
        self._there.append((pod, node))
        self._put(pod, node, scored=node in self._with_terms)

    def regard(self, pod: PodInfo) -> None:
        """Prepare the assumed members for trying another one. If it has preferred terms, scoring sees the pods of all
        nodes."""
        all_nodes = bool(pod.preferred_affinity or pod.preferred_anti_affinity)
        for other, node in self._there:
            if node not in self._with_terms:
                self._cluster.remove_pod(other)
                self._put(other, node, scored=all_nodes)

    def _put(self, pod: PodInfo, node: str, scored: bool) -> None:
        near, far, *preferred = self._own[pod.key]
        shown = (near if scored else (), far if node in self._with_anti else ())
        pod.show_terms((*shown, *(preferred if scored else ((), ()))))
        self._cluster.add_pod(pod, node)

    def remove(self, pod: PodInfo) -> None:
        self._cluster.remove_pod(pod)
        if pod.key in self._own:
            self._there = [(other, node) for other, node in self._there if other is not pod]
            pod.show_terms(self._own.pop(pod.key))
