"""Workload specs, and the pods created from their templates: names, labels, owners and node affinity.

Source: pkg/controller/controller_utils.go (GetPodFromTemplate), pkg/controller/deployment/util, pkg/controller/job,
pkg/controller/statefulset/stateful_set_utils.go, pkg/controller/daemon/util/daemonset_util.go.
"""

import math
import random
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from scheduler_core.api import selectors
from scheduler_core.api.objects import (
    Affinity,
    ClaimName,
    LabelSelector,
    Metadata,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    OwnerReference,
    PersistentVolumeClaim,
    Pod,
    ReplicaSet,
    Requirement,
    StorageClass,
    Toleration,
    Volume,
    WorkloadSpec,
    convert,
    decode,
    describe,
)
from scheduler_core.cluster import node_matching
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.controllers.admission import NOT_READY, UNREACHABLE, default_storage_class
from scheduler_core.controllers.node_lifecycle import CONDITION_TAINTS, UNSCHEDULABLE
from scheduler_core.errors import InputError
from scheduler_core.releases import Release

KINDS = {
    **dict.fromkeys(("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"), "apps/v1"),
    **{"Job": "batch/v1", "ReplicationController": "v1"},
}
"""Kind -> API version."""
MAX_PODS = 100_000
NAME_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
HASH = "pod-template-hash"


class Template(msgspec.Struct, rename="camel"):
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: dict[str, Any] = {}


class Ordinals(msgspec.Struct):
    start: int = 0


class ControllerSpec(msgspec.Struct, rename="camel"):
    """The relevant fields of the spec of all kinds of workloads."""

    replicas: int = 1
    selector: LabelSelector | None = None
    template: Template | None = None
    pod_management_policy: str = "OrderedReady"
    ordinals: Ordinals = msgspec.field(default_factory=Ordinals)
    volume_claim_templates: list[dict[str, Any]] = []
    completions: int | None = None
    parallelism: int = 1
    backoff_limit: int = 6
    suspend: bool = False

    @property
    def ordinals_wanted(self) -> range:
        """The ordinals of a StatefulSet's pods."""
        return range(self.ordinals.start, self.ordinals.start + self.replicas)

    @property
    def at_once(self) -> int:
        """The number of pods that a Job has at first."""
        if self.suspend:
            return 0
        return self.parallelism if self.completions is None else min(self.parallelism, self.completions)


class Raw(msgspec.Struct, rename="camel"):
    metadata: Metadata
    spec: ControllerSpec


@dataclass(slots=True)
class Workload:
    """A workload and its state. `base`: the pod of the template. `claims`: the claims of each pod of a StatefulSet.

    The controller updates the state. `pods`: existing pods -> their number, counted from 0 in the order of creation
    (the ordinal for a StatefulSet). `nodes`: the node of each pod of a DaemonSet. `made_at`: when it last created a
    pod. `due`: when it is reconciled next.
    """

    kind: str
    namespace: str
    name: str
    raw: dict[str, Any]
    spec: ControllerSpec
    base: Pod
    owner: OwnerReference
    claims: list[PersistentVolumeClaim] = field(default_factory=list)
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

    @property
    def title(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"

    @property
    def set(self) -> ReplicaSet | None:
        """The ReplicaSet of a Deployment."""
        if self.kind != "Deployment":
            return None
        return ReplicaSet(
            metadata=Metadata(self.owner.name, self.namespace, self.owner.uid),
            spec=WorkloadSpec(_with_label(self.spec.selector, self.base.metadata.labels)),
        )

    def pod(self, name: str, node: str = "") -> Pod:
        """Return a pod of the template with this name; for a DaemonSet, restricted to a node."""
        base = self.base
        labels = base.metadata.labels
        if self.kind == "StatefulSet":
            ordinal = name.rpartition("-")[2]
            labels = {**labels, "statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": ordinal}
        metadata = msgspec.structs.replace(
            base.metadata, name=name, uid=f"{name}-{self.made}", labels=labels, owner_references=[self.owner]
        )
        self.made += 1
        pod = msgspec.structs.replace(base, metadata=metadata, spec=msgspec.structs.replace(base.spec))
        if node:
            _pin(pod, node)
        if self.claims:
            own = [Volume(name=c.name, persistent_volume_claim=ClaimName(f"{c.name}-{name}")) for c in self.claims]
            names = {volume.name for volume in own}
            pod.spec.volumes = [*own, *(volume for volume in base.spec.volumes if volume.name not in names)]
        return pod

    def claims_of(self, pod: str) -> list[PersistentVolumeClaim]:
        """Return the claims of a pod of a StatefulSet."""
        labels = self.spec.selector.match_labels if self.spec.selector is not None else {}
        return [
            msgspec.structs.replace(
                claim,
                metadata=msgspec.structs.replace(
                    claim.metadata, name=f"{claim.name}-{pod}", namespace=self.namespace, labels=labels
                ),
            )
            for claim in self.claims
        ]

    def suffixed(self, chance: random.Random) -> str:
        """Return a name with a random suffix for the next pod."""
        return f"{self.owner.name}-{''.join(chance.choices(NAME_LETTERS, k=5))}"

    def takes(self, node: Node, release: Release) -> bool:
        """Whether a DaemonSet needs a pod on a node: the node matches and its taints are tolerated."""
        if not node_matching.required_matches(PodInfo(self.base, release), node):
            return False
        return selectors.first_untolerated(node.spec.taints, self.base.spec.tolerations, selectors.NO_SCHEDULE) is None


def waits_for_a_pod(claim: PersistentVolumeClaim, classes: Mapping[str, StorageClass]) -> bool:
    """Whether a new claim is bound when its first pod is scheduled.

    Other claims are bound earlier, and the simulation cannot know where. So a StatefulSet creates only claims that
    wait.
    """
    name = claim.spec.storage_class_name
    chosen = default_storage_class(classes) if name is None else classes.get(name)
    return chosen is not None and chosen.volume_binding_mode == "WaitForFirstConsumer"


def makes_pods(raw: Any) -> bool:
    """Whether an object is a workload with a pod template."""
    if not isinstance(raw, dict) or raw.get("kind") not in KINDS:
        return False
    return isinstance(raw.get("spec"), dict) and isinstance(raw["spec"].get("template"), dict)


def read(raw: dict[str, Any]) -> Workload:
    """Parse a workload and its template. Raises InputError."""
    where, kind = describe(raw), str(raw["kind"])
    read = convert(_labels_as_selector(raw) if kind == "ReplicationController" else raw, Raw, where)
    if not read.metadata.name:
        raise InputError(where, "metadata.name", "is missing")
    spec = read.spec
    template = spec.template or Template()
    wanted = spec.completions or spec.parallelism if kind == "Job" else spec.replicas
    if not 0 <= wanted <= MAX_PODS:
        raise InputError(where, "spec", f"would be {wanted} pods, which is not in 0..{MAX_PODS}")
    namespace, name = read.metadata.namespace or "default", read.metadata.name
    owner = OwnerReference(KINDS[kind], kind, name, f"{kind}-{namespace}-{name}".lower(), True)
    labels = template.metadata.labels
    if kind == "Deployment":
        mark = _hash(template)
        labels = {**labels, HASH: mark}
        owner = OwnerReference("apps/v1", "ReplicaSet", f"{name}-{mark}", f"{namespace}-{name}-{mark}", True)
    if kind == "Job":
        labels = {**labels, "batch.kubernetes.io/job-name": name, "job-name": name}
    metadata = {"name": name, "namespace": namespace, "labels": labels, "annotations": template.metadata.annotations}
    try:
        base = decode({"kind": "Pod", "metadata": metadata, "spec": template.spec})
    except InputError as error:
        raise InputError(where, f"spec.template.{error.field}", error.problem) from None
    assert isinstance(base, Pod)
    if kind == "DaemonSet":
        base.spec.tolerations = _daemon_tolerations(base)
    claims = _claims(spec.volume_claim_templates, where) if kind == "StatefulSet" else []
    return Workload(kind, namespace, name, raw, spec, base, owner, claims)


def _labels_as_selector(raw: dict[str, Any]) -> dict[str, Any]:
    """Convert a ReplicationController, whose selector is a map of labels, to the form of the other kinds."""
    return {**raw, "spec": {**raw["spec"], "selector": {"matchLabels": raw["spec"].get("selector") or {}}}}


def _claims(templates: list[dict[str, Any]], where: str) -> list[PersistentVolumeClaim]:
    claims = []
    for i, template in enumerate(templates):
        try:
            claim = decode({**template, "apiVersion": "v1", "kind": "PersistentVolumeClaim"})
        except InputError as error:
            raise InputError(where, f"spec.volumeClaimTemplates[{i}].{error.field}", error.problem) from None
        assert isinstance(claim, PersistentVolumeClaim)
        claims.append(claim)
    return claims


def _hash(template: Template) -> str:
    number = zlib.crc32(msgspec.json.encode(template))
    return "".join(NAME_LETTERS[number // len(NAME_LETTERS) ** i % len(NAME_LETTERS)] for i in range(6))


def _with_label(selector: LabelSelector | None, labels: Mapping[str, str]) -> LabelSelector:
    selector = selector or LabelSelector()
    return msgspec.structs.replace(selector, match_labels={**selector.match_labels, HASH: labels[HASH]})


def _daemon_tolerations(pod: Pod) -> list[Toleration]:
    """Return the pod's tolerations and those of every DaemonSet pod, which replace equal ones."""
    keys = [(NOT_READY, "NoExecute"), (UNREACHABLE, "NoExecute")]
    conditions = ("DiskPressure", "MemoryPressure", "PIDPressure")
    keys += [(CONDITION_TAINTS[condition]["True"], "NoSchedule") for condition in conditions]
    keys.append((UNSCHEDULABLE, "NoSchedule"))
    if pod.spec.host_network:
        keys.append((CONDITION_TAINTS["NetworkUnavailable"]["True"], "NoSchedule"))
    added = [Toleration(key, "Exists", "", effect) for key, effect in keys]
    same = {(t.key, t.operator, t.value, t.effect) for t in added}
    return [*(t for t in pod.spec.tolerations if (t.key, t.operator, t.value, t.effect) not in same), *added]


def _pin(pod: Pod, node: str) -> None:
    """Restrict a DaemonSet's pod to its node."""
    term = NodeSelectorTerm(match_fields=[Requirement("metadata.name", "In", [node])])
    affinity = pod.spec.affinity or Affinity()
    inside = affinity.node_affinity or NodeAffinity()
    pod.spec.affinity = msgspec.structs.replace(
        affinity, node_affinity=msgspec.structs.replace(inside, required=NodeSelector([term]))
    )
