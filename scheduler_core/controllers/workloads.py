"""Deployments, ReplicaSets, StatefulSets, Jobs and DaemonSets, as far as they make pods and replace them.

Pods are ready as soon as they are bound. Rollouts are not played: a changed template holds for pods made from then on.

Source: pkg/controller/replicaset, pkg/controller/statefulset, pkg/controller/job, pkg/controller/daemon.
"""

from __future__ import annotations

import math
import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from scheduler_core import selectors
from scheduler_core.cluster import node_matching
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.controllers.admission import NOT_READY, UNREACHABLE
from scheduler_core.controllers.controller import Controller
from scheduler_core.controllers.node_lifecycle import CONDITION_TAINTS, UNSCHEDULABLE
from scheduler_core.errors import InputError
from scheduler_core.objects import (
    Affinity,
    LabelSelector,
    Metadata,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    OwnerReference,
    Pod,
    ReplicaSet,
    Requirement,
    Toleration,
    WorkloadSpec,
    convert,
    decode,
    describe,
)

if TYPE_CHECKING:
    from scheduler_core.api_server import ApiServer

KINDS = {
    "Deployment": "apps/v1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "Job": "batch/v1",
}
MAX_PODS = 100_000
PAUSE_SECONDS = 1.0
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


class Template(msgspec.Struct, rename="camel"):
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: dict[str, Any] = {}


class Spec(msgspec.Struct, rename="camel"):
    """What is looked at of a workload's spec, of whatever kind."""

    replicas: int = 1
    selector: LabelSelector | None = None
    template: Template | None = None
    pod_management_policy: str = "OrderedReady"
    completions: int | None = None
    parallelism: int = 1
    backoff_limit: int = 6


class Raw(msgspec.Struct, rename="camel"):
    metadata: Metadata
    spec: Spec


@dataclass(slots=True)
class Workload:
    """`pods`: the pods that it made and that exist -> their number, counted from 0 in the order they were made (of a
    StatefulSet, the ordinal). `nodes`: of a DaemonSet, the node each pod is for. `made_at`: when it made one last.
    `due`: when it is to be looked at next."""

    kind: str
    namespace: str
    name: str
    raw: dict[str, Any]
    spec: Spec
    base: Pod
    owner: OwnerReference
    pods: dict[str, int] = field(default_factory=dict)
    nodes: dict[str, str] = field(default_factory=dict)
    made: int = 0
    made_at: float = -1.0
    due: float = math.inf
    succeeded: int = 0
    failed: int = 0

    @property
    def key(self) -> tuple[str, str, str]:
        return (self.kind, self.namespace, self.name)


class Workloads(Controller):
    """`seed`: for the letters at the end of the pods' names."""

    def __init__(self, api: ApiServer, seed: int) -> None:
        super().__init__(api)
        self._chance = random.Random(f"{seed}/workloads")
        self._workloads: dict[tuple[str, str, str], Workload] = {}
        self._made: dict[str, Workload] = {}  # pod -> what made it

    @staticmethod
    def handles(raw: Any) -> bool:
        """Whether an object is a workload that makes pods: one without a template does not."""
        if not isinstance(raw, dict) or raw.get("kind") not in KINDS:
            return False
        return isinstance(raw.get("spec"), dict) and "template" in raw["spec"]

    # ---- workloads come, change and go

    def read(self, raw: dict[str, Any]) -> Workload:
        """Checks a workload and its template. Raises InputError."""
        where, kind = describe(raw), str(raw["kind"])
        read = convert(raw, Raw, where)
        if not read.metadata.name:
            raise InputError(where, "metadata.name", "is missing")
        template = read.spec.template or Template()
        wanted = read.spec.completions or read.spec.parallelism if kind == "Job" else read.spec.replicas
        if not 0 <= wanted <= MAX_PODS:
            raise InputError(where, "spec", f"would be {wanted} pods, which is not in 0..{MAX_PODS}")
        namespace, name = read.metadata.namespace or "default", read.metadata.name
        metadata = {
            "name": name,
            "namespace": namespace,
            "labels": template.metadata.labels,
            "annotations": template.metadata.annotations,
        }
        try:
            base = decode({"kind": "Pod", "metadata": metadata, "spec": template.spec})
        except InputError as error:
            raise InputError(where, f"spec.template.{error.field}", error.problem) from None
        assert isinstance(base, Pod)
        owner = OwnerReference(KINDS[kind], kind, name, f"{kind}-{namespace}-{name}".lower(), True)
        if kind == "Deployment":
            name_of_set = f"{name}-{_hash(template)}"
            owner = OwnerReference("apps/v1", "ReplicaSet", name_of_set, f"{namespace}-{name_of_set}", True)
        return Workload(kind, namespace, name, raw, read.spec, base, owner)

    def apply(self, workload: Workload) -> None:
        """A workload came or changed."""
        known = self._workloads.get(workload.key)
        if known is None:
            self._workloads[workload.key] = workload
        else:
            known.raw, known.spec, known.base, known.owner = workload.raw, workload.spec, workload.base, workload.owner
        if workload.kind == "Deployment":
            metadata = Metadata(workload.owner.name, workload.namespace)
            self.api.create(ReplicaSet(metadata=metadata, spec=WorkloadSpec(workload.spec.selector)))
        change = "created" if known is None else "updated"
        self.api.loop.record("object.changed", object=_title(workload), change=change)
        self._look_at(known or workload)

    def patch(self, kind: str, namespace: str, name: str, patch: dict[str, Any]) -> bool:
        """Merges into a workload's spec; False for what is none. Raises InputError."""
        workload = self._workloads.get((kind, namespace or "default", name))
        if workload is None:
            return False
        raw = {**workload.raw, "spec": {**workload.raw["spec"], **patch.get("spec", {})}}
        self.apply(self.read(raw))
        return True

    def delete(self, kind: str, namespace: str, name: str) -> bool:
        """Deletes a workload and its pods; False for what is none."""
        workload = self._workloads.pop((kind, namespace or "default", name), None)
        if workload is None:
            return False
        self.api.loop.record("object.changed", object=_title(workload), change="deleted")
        for key in list(workload.pods):
            self.api.end(self.api.pods[key], "its owner was deleted")
        return True

    # ---- what happens

    def pod_changed(self, old: PodInfo | None, new: PodInfo) -> None:
        workload = self._made.get(new.key)
        if workload is not None and old is not None:
            self._look_at(workload)

    def pod_gone(self, pod: PodInfo, finished: bool) -> None:
        workload = self._made.pop(pod.key, None)
        if workload is None:
            return
        del workload.pods[pod.key]
        workload.nodes.pop(pod.key, None)
        workload.succeeded += finished
        workload.failed += not finished
        self._look_at(workload)

    def node_changed(self, old: Node | None, new: Node | None) -> None:
        for workload in self._workloads.values():
            if workload.kind == "DaemonSet":
                self._look_at(workload)

    def _look_at(self, workload: Workload) -> None:
        """Has a workload looked at when all that happens now has happened; if it has just made pods, a second later:
        else one whose pods are evicted as soon as they are placed would make them for ever."""
        now = self.api.loop.clock.now
        due = now + PAUSE_SECONDS if workload.made_at == now else now
        if due < workload.due:
            workload.due = due
            self.api.loop.at(due, lambda: self._look(workload, due))

    def _look(self, workload: Workload, due: float) -> None:
        if workload.due == due and self._workloads.get(workload.key) is workload:
            workload.due = math.inf
            _RECONCILE[workload.kind](self, workload)

    # ---- one per kind

    def _replicas(self, workload: Workload) -> None:
        """As many as asked for; those that are terminating do not count. The youngest go first, before them those that
        do not run."""
        self._keep(workload, workload.spec.replicas)

    def _job(self, workload: Workload) -> None:
        """At most `parallelism` at a time, until `completions` have finished or too many have failed."""
        spec = workload.spec
        left = spec.parallelism if spec.completions is None else spec.completions - workload.succeeded
        if spec.completions is None and workload.succeeded:
            left = 0
        if workload.failed > spec.backoff_limit:
            left = 0
        self._keep(workload, max(0, min(spec.parallelism, left)))

    def _keep(self, workload: Workload, wanted: int) -> None:
        living = list(self._living(workload))
        for _ in range(wanted - len(living)):
            self._make(workload, f"{workload.owner.name}-{self._suffix()}", workload.made)
        surplus = sorted(living, key=lambda pod: (bool(pod.node), -workload.pods[pod.key]))[: len(living) - wanted]
        for pod in surplus if len(living) > wanted else ():
            self.api.end(pod, "scaled down")

    def _stateful(self, workload: Workload) -> None:
        """Ordinals in order, each when the one before runs; unless they may come in parallel."""
        ordered = workload.spec.pod_management_policy != "Parallel"
        for ordinal in range(workload.spec.replicas):
            pod = self.api.pods.get(f"{workload.namespace}/{workload.name}-{ordinal}")
            if pod is None:
                self._make(workload, f"{workload.name}-{ordinal}", ordinal)
            if ordered and (pod is None or not pod.node or pod.terminating):
                return
        surplus = sorted((n for n in workload.pods.values() if n >= workload.spec.replicas), reverse=True)
        for ordinal in surplus[: 1 if ordered else None]:
            self.api.end(self.api.pods[f"{workload.namespace}/{workload.name}-{ordinal}"], "scaled down")

    def _daemon(self, workload: Workload) -> None:
        """One on every node that takes it."""
        served = set(workload.nodes.values())
        for node in list(self.api.cluster.nodes.entries):
            stored = self.api.cluster.nodes.entries[node].node
            if stored is not None and node not in served and _takes(stored, workload.base, self.api):
                key = self._make(workload, f"{workload.name}-{self._suffix()}", workload.made, node)
                workload.nodes[key] = node

    def _living(self, workload: Workload) -> Iterator[PodInfo]:
        return (pod for key in workload.pods if not (pod := self.api.pods[key]).terminating)

    def _suffix(self) -> str:
        return "".join(self._chance.choices(_LETTERS, k=5))

    def _make(self, workload: Workload, name: str, number: int, node: str = "") -> str:
        base = workload.base
        metadata = msgspec.structs.replace(
            base.metadata, name=name, uid=f"{name}-{workload.made}", owner_references=[workload.owner]
        )
        pod = msgspec.structs.replace(base, metadata=metadata, spec=msgspec.structs.replace(base.spec))
        if node:
            _pin(pod, node)
        workload.made += 1
        workload.made_at = self.api.loop.clock.now
        workload.pods[pod.key] = number
        self._made[pod.key] = workload
        self.api.create(pod)
        if pod.key not in self.api.pods:  # admission refused it, and would again
            del workload.pods[pod.key], self._made[pod.key]
        return pod.key


_RECONCILE = {
    "Deployment": Workloads._replicas,
    "ReplicaSet": Workloads._replicas,
    "StatefulSet": Workloads._stateful,
    "Job": Workloads._job,
    "DaemonSet": Workloads._daemon,
}


def _title(workload: Workload) -> str:
    return f"{workload.kind} {workload.namespace}/{workload.name}"


def _hash(template: Template) -> str:
    number = zlib.crc32(msgspec.json.encode(template))
    return "".join(_LETTERS[number // len(_LETTERS) ** i % len(_LETTERS)] for i in range(6))


_DAEMON_TOLERATIONS = [
    *(Toleration(key, "Exists", "", "NoExecute") for key in (NOT_READY, UNREACHABLE)),
    *(
        Toleration(key, "Exists", "", "NoSchedule")
        for key in (
            *(CONDITION_TAINTS[c]["True"] for c in ("DiskPressure", "MemoryPressure", "PIDPressure")),
            UNSCHEDULABLE,
        )
    ),
]


def _pin(pod: Pod, node: str) -> None:
    """A DaemonSet's pod goes to its node alone, and stays there whatever becomes of it."""
    term = NodeSelectorTerm(match_fields=[Requirement("metadata.name", "In", [node])])
    affinity = pod.spec.affinity or Affinity()
    inside = affinity.node_affinity or NodeAffinity()
    pod.spec.affinity = msgspec.structs.replace(
        affinity, node_affinity=msgspec.structs.replace(inside, required=NodeSelector([term]))
    )
    pod.spec.tolerations = [*pod.spec.tolerations, *_DAEMON_TOLERATIONS]


def _takes(node: Node, base: Pod, api: ApiServer) -> bool:
    """Whether a DaemonSet has a pod on a node: it matches, and its taints are tolerated."""
    if not node_matching.required_matches(PodInfo(base, api.cluster.release), node):
        return False
    tolerations = [*base.spec.tolerations, *_DAEMON_TOLERATIONS]
    return selectors.first_untolerated(node.spec.taints, tolerations, selectors.NO_SCHEDULE) is None
