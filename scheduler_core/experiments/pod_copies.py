"""Copies of a pod: the pod that a document describes, and further pods like it with their own claims."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from scheduler_core.api.objects import (
    ClaimName,
    Metadata,
    Object,
    PersistentVolumeClaim,
    Phase,
    Pod,
    PodStatus,
    Volume,
    decode,
)
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.config.document import read_documents
from scheduler_core.controllers import device_claims, pod_template
from scheduler_core.errors import InputError
from scheduler_core.experiments.parameters import CapacityPod
from scheduler_core.experiments.scenario_input import ScenarioInput
from scheduler_core.metrics.groups import OF_ONE_POD, workloads
from scheduler_core.plugins.contrib.coscheduling import POD_GROUP
from scheduler_core.plugins.volumes import BIND_COMPLETED
from scheduler_core.releases import Release
from scheduler_core.snapshot import defaults
from scheduler_core.snapshot.missing_claims import stand_ins

MAX_TEMPLATE = 100_000  # bytes


class PodToCopy(msgspec.Struct, omit_defaults=True):
    """A pod to copy. `name`: as results show it. `pod`: the Pod. `source`: the scenario's pod that it was copied from,
    as namespace/name."""

    name: str
    pod: dict[str, Any]
    weight: int = 1
    source: str = ""


def template_of(wanted: CapacityPod, where: str, scenario: ScenarioInput, release: Release) -> PodToCopy:
    """Return the pod that a document describes, without what belongs to one pod only. `where`: the field of the
    document. Raises InputError."""
    pods = [obj for obj in scenario.prepared(release.name).objects if isinstance(obj, Pod)]
    source = ""
    if wanted.pod:
        found = next((pod for pod in pods if pod.key == wanted.pod), None)
        if found is None:
            raise InputError("", f"{where}.pod", f"the scenario has no pod {wanted.pod[:253]}")
        name = source = wanted.pod
    elif wanted.workload:
        name = wanted.workload
        found, source = _of_workload(name, where, pods, scenario, release)
    elif wanted.requests:
        name = ", ".join(f"{amount} {resource}" for resource, amount in wanted.requests.items())
        container = {"name": "main", "image": "", "resources": {"requests": wanted.requests}}
        raw = {"kind": "Pod", "metadata": {"name": "capacity"}, "spec": {"containers": [container]}}
        found = _decoded(raw, where, "requests", release)
    else:
        template = wanted.template
        if isinstance(template, str):
            documents = read_documents(template, f"{where}.template", MAX_TEMPLATE)
            if len(documents) != 1 or not isinstance(documents[0], dict):
                raise InputError("", f"{where}.template", "must be one Pod or one workload")
            template = documents[0]
        found = _decoded(template, where, "template", release)
        name = found.name or "template"
    return PodToCopy(wanted.name or name, msgspec.to_builtins(_stripped(found)), wanted.weight, source)


def _of_workload(
    workload: str, where: str, pods: list[Pod], scenario: ScenarioInput, release: Release
) -> tuple[Pod, str]:
    """Return a pod of a workload, and its key if the scenario has it."""
    kind, _, key = workload.partition(" ")
    namespace, _, name = key.rpartition("/")
    namespace = namespace or "default"
    if kind == "DaemonSet":
        raise InputError("", f"{where}.workload", "a DaemonSet has one pod per node; choose another workload")
    owners = workloads(pods)
    title = f"{kind} {namespace}/{name}"
    mine = next((pod for pod in pods if owners.get(pod.key) == title), None)
    if mine is not None:
        return mine, mine.key
    for raw in scenario.objects():
        metadata = raw.get("metadata") or {}
        if (raw.get("kind"), metadata.get("namespace") or "default", metadata.get("name")) == (kind, namespace, name):
            return _decoded(raw, where, "workload", release), ""
    raise InputError("", f"{where}.workload", f"the scenario has no {workload[:253]}, nor a pod of it")


def _decoded(raw: dict[str, Any], where: str, field: str, release: Release) -> Pod:
    """Return the pod of a Pod or workload. Raises InputError."""
    try:
        if not isinstance(raw.get("metadata"), dict):
            raw = {**raw, "metadata": {"name": "template"}}
        raw = msgspec.json.decode(msgspec.json.encode(raw))  # filled in place
        defaults.fill(raw, release)
        if raw.get("kind") == "DaemonSet":
            raise InputError("DaemonSet", "", "has one pod per node; choose another workload")
        if pod_template.makes_pods(raw):
            workload = pod_template.read(raw)
            return workload.pod(workload.name)
        obj = decode(raw)
    except InputError as problem:
        raise InputError("", f"{where}.{field}", str(problem)) from None
    if not isinstance(obj, Pod):
        raise InputError("", f"{where}.{field}", f"must be a Pod or a workload, got kind {str(raw.get('kind'))[:63]!r}")
    return obj


def _stripped(pod: Pod) -> Pod:
    """Return the pod without its node, state and pod group."""
    gone = (POD_GROUP, *OF_ONE_POD)
    metadata = Metadata(
        name=pod.name,
        namespace=pod.namespace,
        labels={key: value for key, value in pod.metadata.labels.items() if key not in gone},
        owner_references=pod.metadata.owner_references,
    )
    spec = msgspec.structs.replace(pod.spec, node_name="", scheduling_group=None)
    return msgspec.structs.replace(pod, metadata=metadata, spec=spec, status=PodStatus())


class PodCopies:
    """Makes copies of a template in a cluster. `selector`: node labels that each copy requires. `claims`: those of the
    last copy, with their volumes."""

    def __init__(self, template: PodToCopy, cluster: Cluster, selector: Mapping[str, str]) -> None:
        self.template, self.cluster = template, cluster
        made = decode({"kind": "Pod", **template.pod})
        assert isinstance(made, Pod)
        if selector:
            made.spec.node_selector = {**(made.spec.node_selector or {}), **selector}
        if made.spec.priority is None and made.spec.priority_class_name:
            named = cluster.priority_classes.get(made.spec.priority_class_name)
            made.spec.priority = named.value if named is not None else 0
        self.pod = made
        self.claims: list[Object] = []
        self.own_claims = dict(self._own_claims())
        self.number = 0

    def _own_claims(self) -> Iterator[tuple[str, PersistentVolumeClaim]]:
        """Yield (volume, claim) of the claims that each pod of a StatefulSet has for itself."""
        source = self.template.source.rpartition("/")[2]
        stateful = any(owner.kind == "StatefulSet" for owner in self.pod.metadata.owner_references)
        for volume in self.pod.spec.volumes if stateful and source else ():
            named = volume.persistent_volume_claim
            if named is not None and named.claim_name.endswith(f"-{source}"):
                claim = self.cluster.claims.get(f"{self.pod.namespace}/{named.claim_name}")
                if claim is not None:
                    yield volume.name, claim

    def next(self) -> PodInfo:
        """Return the next copy; the claims that it needs for itself are in the cluster."""
        self.number += 1
        self.claims = []
        name = f"{self.pod.name}-more-{self.number}"
        volumes = self.pod.spec.volumes
        if self.own_claims:
            volumes = [self._volume_of(volume, name) for volume in volumes]
        spec = msgspec.structs.replace(self.pod.spec, volumes=volumes) if self.own_claims else self.pod.spec
        metadata = msgspec.structs.replace(self.pod.metadata, name=name, uid=f"capacity-{name}")
        pod = msgspec.structs.replace(self.pod, metadata=metadata, spec=spec, status=PodStatus())
        for volume in volumes:
            if volume.ephemeral is not None:
                source = self.template.source.rpartition("/")[2]
                known = self.cluster.claims.get(f"{pod.namespace}/{source}-{volume.name}")
                if known is not None:
                    self._claim(known, f"{name}-{volume.name}", pod)
        if pod.spec.resource_claims:
            for claim in list(device_claims.make(pod, self.cluster.claim_templates, self.cluster.device_claims)):
                self._apply(claim)
        return PodInfo(pod, self.cluster.release)

    def _apply(self, claim: Object) -> None:
        self.cluster.apply(claim)
        self.claims.append(claim)

    def _volume_of(self, volume: Volume, name: str) -> Volume:
        known = self.own_claims.get(volume.name)
        if known is None:
            return volume
        claim = f"{volume.name}-{name}"
        self._claim(known, claim, None)
        return msgspec.structs.replace(volume, persistent_volume_claim=ClaimName(claim))

    def _claim(self, known: PersistentVolumeClaim, name: str, owner: Pod | None) -> None:
        """Create a claim like a known one. If its class does not wait for a pod, the claim counts as bound to a volume
        without constraints, because the simulation cannot know where the volume would be."""
        if not pod_template.waits_for_a_pod(known, self.cluster.storage_classes):
            for obj in stand_ins(self.number, f"{known.namespace}/{name}", owner):
                self._apply(obj)
            return
        metadata = Metadata(
            name,
            known.namespace,
            f"capacity-{name}",
            labels=known.metadata.labels,
            annotations={k: v for k, v in known.metadata.annotations.items() if k != BIND_COMPLETED},
            owner_references=[
                msgspec.structs.replace(one, name=owner.name, uid=owner.metadata.uid)
                for one in known.metadata.owner_references
            ]
            if owner is not None
            else [],
        )
        spec = msgspec.structs.replace(known.spec, volume_name="")
        self._apply(PersistentVolumeClaim(metadata=metadata, spec=spec, status=Phase("Pending")))
