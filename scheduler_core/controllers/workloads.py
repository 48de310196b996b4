"""The workload controllers: Deployments, ReplicaSets, StatefulSets, Jobs, DaemonSets and ReplicationControllers.

They create and replace their pods. Pods are ready when they are bound. Rollouts are not simulated: a changed
template applies to pods created later.

Source: pkg/controller/replicaset, pkg/controller/statefulset, pkg/controller/job, pkg/controller/daemon.
"""

import math
import random
from collections.abc import Iterator
from typing import Any

from scheduler_core.api.objects import Node
from scheduler_core.cluster.change_log import OBJECT, REMOVED
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.controllers.controller import Api, Controller
from scheduler_core.controllers.pod_template import Workload, read, waits_for_a_pod

PAUSE_SECONDS = 1.0


class Workloads(Controller):
    """The workload controllers. `seed`: for the suffixes of pod names."""

    def __init__(self, api: Api, seed: int) -> None:
        super().__init__(api)
        self._random = random.Random(f"{seed}/workloads")
        self._workloads: dict[tuple[str, str, str], Workload] = {}
        self._made: dict[str, Workload] = {}  # pod -> its workload

    # ---- changes of workloads

    def apply(self, workload: Workload) -> None:
        """Create or update a workload."""
        known = self._workloads.get(workload.key)
        if known is None:
            self._workloads[workload.key] = workload
        else:
            known.raw, known.spec, known.base, known.owner = workload.raw, workload.spec, workload.base, workload.owner
            known.claims = workload.claims
        if workload.set is not None:
            self.api.create(workload.set)
        change = "created" if known is None else "updated"
        seq = self.api.loop.record("object.changed", object=workload.title, change=change)
        with self.api.loop.caused(seq):
            self.api.cluster.journal.note(OBJECT, workload.raw)
            self._schedule(known or workload)

    def patch(self, kind: str, namespace: str, name: str, patch: dict[str, Any]) -> bool:
        """Merge a patch into a workload's spec. Return False if there is no such workload. Raises InputError."""
        workload = self._workloads.get((kind, namespace or "default", name))
        if workload is None:
            return False
        raw = {**workload.raw, "spec": {**workload.raw["spec"], **patch.get("spec", {})}}
        self.apply(read(raw))
        return True

    def delete(self, kind: str, namespace: str, name: str) -> bool:
        """Delete a workload and its pods. Return False if there is no such workload."""
        workload = self._workloads.pop((kind, namespace or "default", name), None)
        if workload is None:
            return False
        seq = self.api.loop.record("object.changed", object=workload.title, change="deleted")
        with self.api.loop.caused(seq):
            self.api.cluster.journal.note(REMOVED, workload.raw)
            for key in list(workload.pods):
                self.api.end(self.api.pods[key], "its owner was deleted")
        return True

    # ---- notifications

    def pod_changed(self, old: PodInfo | None, new: PodInfo) -> None:
        workload = self._made.get(new.key)
        if workload is not None and old is not None:
            self._schedule(workload)

    def pod_gone(self, pod: PodInfo, finished: bool) -> None:
        workload = self._made.pop(pod.key, None)
        if workload is None:
            return
        del workload.pods[pod.key]
        workload.nodes.pop(pod.key, None)
        workload.succeeded += finished
        workload.failed += not finished
        self._schedule(workload)

    def node_changed(self, old: Node | None, new: Node | None) -> None:
        for workload in self._workloads.values():
            if workload.kind == "DaemonSet":
                self._schedule(workload)

    def _schedule(self, workload: Workload) -> None:
        """Schedule a reconciliation after all events of the current time.

        If the workload has just created pods, it is reconciled a second later. Otherwise a workload whose pods are
        evicted when they are placed would create pods forever.
        """
        now = self.api.loop.clock.now
        due = now + PAUSE_SECONDS if workload.made_at == now else now
        if due < workload.due:
            workload.due = due
            self.api.loop.at(due, lambda: self._reconcile(workload, due))

    def _reconcile(self, workload: Workload, due: float) -> None:
        if workload.due == due and self._workloads.get(workload.key) is workload:
            workload.due = math.inf
            _RECONCILE[workload.kind](self, workload)

    # ---- one per kind

    def _replicas(self, workload: Workload) -> None:
        """Keep the wanted number of pods; terminating pods do not count.

        Scaling down deletes pods without a node first, then the youngest.
        """
        self._scale(workload, workload.spec.replicas)

    def _job(self, workload: Workload) -> None:
        """Keep at most `parallelism` pods, until `completions` have finished or too many have failed."""
        spec = workload.spec
        left = spec.parallelism if spec.completions is None else spec.completions - workload.succeeded
        if spec.completions is None and workload.succeeded:
            left = 0
        if workload.failed > spec.backoff_limit or spec.suspend:
            left = 0
        self._scale(workload, max(0, min(spec.parallelism, left)))

    def _scale(self, workload: Workload, wanted: int) -> None:
        living = list(self._living(workload))
        for _ in range(wanted - len(living)):
            self._make(workload, workload.suffixed(self._random), workload.made)
        surplus = sorted(living, key=lambda pod: (bool(pod.node), -workload.pods[pod.key]))[: len(living) - wanted]
        for pod in surplus if len(living) > wanted else ():
            self.api.end(pod, "scaled down")

    def _stateful(self, workload: Workload) -> None:
        """Create ordinals in order, each after the previous pod runs, unless the policy is Parallel."""
        ordered = workload.spec.pod_management_policy != "Parallel"
        for ordinal in workload.spec.ordinals_wanted:
            pod = self.api.pods.get(f"{workload.namespace}/{workload.name}-{ordinal}")
            if pod is None:
                self._make(workload, f"{workload.name}-{ordinal}", ordinal)
            if ordered and (pod is None or not pod.node or pod.terminating):
                return
        surplus = sorted((n for n in workload.pods.values() if n not in workload.spec.ordinals_wanted), reverse=True)
        for ordinal in surplus[: 1 if ordered else None]:
            self.api.end(self.api.pods[f"{workload.namespace}/{workload.name}-{ordinal}"], "scaled down")

    def _daemon(self, workload: Workload) -> None:
        """Create a pod on every node that matches."""
        served = set(workload.nodes.values())
        for node in list(self.api.cluster.nodes.entries):
            stored = self.api.cluster.nodes.entries[node].node
            if stored is not None and node not in served and workload.takes(stored, self.api.cluster.release):
                key = self._make(workload, workload.suffixed(self._random), workload.made, node)
                workload.nodes[key] = node

    def _living(self, workload: Workload) -> Iterator[PodInfo]:
        return (pod for key in workload.pods if not (pod := self.api.pods[key]).terminating)

    def _make(self, workload: Workload, name: str, number: int, node: str = "") -> str:
        for claim in workload.claims_of(name):
            if waits_for_a_pod(claim, self.api.cluster.storage_classes):
                self.api.create(claim)  # an existing claim stays unchanged
        pod = workload.pod(name, node)
        workload.made_at = self.api.loop.clock.now
        workload.pods[pod.key] = number
        self._made[pod.key] = workload
        self.api.create(pod)
        if pod.key not in self.api.pods:  # admission refused it and would do so again
            del workload.pods[pod.key], self._made[pod.key]
        return pod.key


_RECONCILE = {
    "Deployment": Workloads._replicas,
    "ReplicaSet": Workloads._replicas,
    "ReplicationController": Workloads._replicas,
    "StatefulSet": Workloads._stateful,
    "Job": Workloads._job,
    "DaemonSet": Workloads._daemon,
}
