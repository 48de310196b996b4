"""Why a pending pod of a live cluster has no node now, and on which node it fits once pods that end are gone."""

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.config import Configuration
from scheduler_core.explain import explain
from scheduler_core.explain.answer import Answer
from scheduler_core.explain.ladder import shortened
from scheduler_core.explain.packed_ladder import pack
from scheduler_core.forks.mutations import Change
from scheduler_core.framework import causes
from scheduler_core.pending_pods.pending_answer import LeavingPod
from scheduler_core.releases import Release
from scheduler_core.simulation import Simulation
from scheduler_core.stations.times import seconds
from scheduler_core.suggestions.answers import answer_now
from scheduler_core.suggestions.what_if import WhatIf
from scheduler_core.virtual_time.scenario import Reference

RUNS = 60  # cycles of the search for those pods that must be gone
NODES_LISTED = 20  # nodes of a group of reasons
LISTED = 200  # pods


@dataclass(frozen=True, eq=False)
class Fit:
    """The result for a pod. Equal pods share it, and their answers share its parts.

    `answer`: why it has no node now. `node`: where it fits now, or will fit without `leaving`; "" for nowhere.
    `leaving`: pods that are being deleted. `ladder`: that of the answer with all nodes, as of `packed_ladder`.
    """

    answer: Answer
    node: str = ""
    leaving: tuple[LeavingPod, ...] = ()
    ladder: bytes = b""

    @property
    def cause(self) -> str:
        return self.answer.cause.kind if self.answer.cause is not None else causes.WAITS

    @property
    def fits(self) -> bool:
        return self.cause == causes.WAITS


class FitAnalysis:
    """Analyses pending pods in a cluster, which stays unchanged. `cluster`: followed by its owner between the calls.

    Raises InputError for a configuration that the release does not accept.
    """

    def __init__(self, cluster: Cluster, release: Release, configuration: Configuration) -> None:
        self.cluster = cluster
        self.simulation = Simulation((), release=release, config=configuration, tie_break="name", cluster=cluster)
        self._terminating: list[PodInfo] | None = None  # since the last call of set_pending

    def set_pending(self, pods: Iterable[PodInfo]) -> None:
        """Set the pending pods of all schedulers. Call it when the cluster has changed."""
        self.simulation.pending = list(pods)
        self._terminating = None

    def fit(self, pod: PodInfo, nodes_known: bool = True) -> Fit:
        """Return why one of the pending pods has no node. `nodes_known`: whether the cluster's nodes can be read."""
        what_if = WhatIf(self.simulation, pod.key)
        if nodes_known:
            answer = answer_now(self.simulation, pod, whole_ladder=True)
        else:
            answer = explain(what_if.run(()), self.simulation, pod)
        found = Fit(_stored(answer), ladder=pack(answer.ladder) if nodes_known else b"")
        if found.fits:
            return dataclasses.replace(found, node=answer.cause.nodes[0] if answer.cause is not None else "")
        if found.cause == causes.POD_GROUP or not answer.nodes or answer.result == "gated":
            return found
        node, pods = self._leaving(what_if) or ("", ())
        return dataclasses.replace(found, node=node, leaving=_described(pods, node))

    def _leaving(self, what_if: WhatIf) -> tuple[str, Sequence[PodInfo]] | None:
        """Return a node where the pod fits when all pods that are being deleted are gone, and those on this node."""
        if self._terminating is None:
            self._terminating = [pod for pod in self.cluster.pods.values() if pod.terminating]
        leaving, nominated = self._terminating, what_if.pod.nominated_node
        promised = [pod for pod in leaving if pod.node == nominated]
        if promised and what_if.run(_deletions(promised)).placed_on == nominated:
            return nominated, promised
        node = what_if.run(_deletions(leaving)).placed_on if leaving else ""
        if not node:
            return None
        there = [pod for pod in leaving if pod.node == node]
        if there and what_if.run(_deletions(there)).placed_on:
            return node, there
        return node, self._fewer(what_if, leaving)

    def _fewer(self, what_if: WhatIf, pods: list[PodInfo]) -> list[PodInfo]:
        """Return as few of the pods as possible without which the pod fits. The number of cycles is limited."""
        size = len(pods)
        while size and what_if.runs < RUNS:
            size = size // 2
            for start in range(0, len(pods), max(size, 1)):
                fewer = pods[:start] + pods[start + max(size, 1) :]
                if fewer and what_if.runs < RUNS and what_if.run(_deletions(fewer)).placed_on:
                    pods, size = fewer, len(fewer)
                    break
        return pods


def _stored(answer: Answer) -> Answer:
    """Return an answer with few nodes in each list: answers are stored for all pending pods."""
    groups = [replace(group, nodes=group.nodes[:NODES_LISTED]) for group in answer.groups]
    cause = answer.cause and replace(answer.cause, nodes=answer.cause.nodes[:NODES_LISTED])
    return replace(answer, groups=groups, cause=cause, ladder=shortened(answer.ladder))


def _described(pods: Sequence[PodInfo], node: str) -> tuple[LeavingPod, ...]:
    ordered = sorted(pods, key=lambda pod: -pod.priority)[:LISTED]
    until = [seconds(pod.pod.metadata.deletion_timestamp) for pod in ordered]
    return tuple(
        LeavingPod(pod.key, pod.node or node, pod.priority, at) for pod, at in zip(ordered, until, strict=True)
    )


def _deletions(pods: Sequence[PodInfo]) -> Sequence[Change]:
    return [Change(delete=Reference(kind="Pod", namespace=pod.namespace, name=pod.name)) for pod in pods]
