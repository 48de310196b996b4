"""Pods of real clusters with typical mistakes, and the changes that undo each mistake."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Raw = dict[str, Any]
Undoes = Callable[[list[Raw]], bool]
Way = Callable[[Raw, list[Raw]], Undoes]


@dataclass(frozen=True)
class BrokenPod:
    """`objects`: the cluster with the broken pod pending. `undoes`: tells whether changes undo the mistake."""

    kind: str
    pod: str
    objects: list[Raw]
    undoes: Undoes


def patches(kind: str, *fields: str) -> Undoes:
    """Return a check whether one change patches a field of an object of the kind."""

    def check(changes: list[Raw]) -> bool:
        patched = [change["patch"] for change in changes if "patch" in change]
        specs = [patch["patch"].get("spec") or {} for patch in patched if patch["kind"] == kind]
        return any(field in (spec.get("affinity") or spec) for spec in specs for field in fields)

    return check


def either(*checks: Undoes) -> Undoes:
    return lambda changes: any(check(changes) for check in checks)


def does(operation: str) -> Undoes:
    return lambda changes: any(operation in change for change in changes)


def creates(kind: str) -> Undoes:
    return lambda changes: any(change.get("create", {}).get("kind") == kind for change in changes)


def running_pod(objects: list[Raw]) -> Raw | None:
    """Return a running pod without DaemonSet, kubelet, own volumes and demands on other pods."""
    for obj in objects:
        runs = obj["kind"] == "Pod" and (obj.get("spec") or {}).get("nodeName")
        ended = (obj.get("status") or {}).get("phase") in ("Succeeded", "Failed")
        owner = (obj["metadata"].get("ownerReferences") or [{}])[0].get("kind")
        if runs and not ended and owner in ("ReplicaSet", "StatefulSet", "ReplicationController"):
            return obj
    return None


def broken_pods(objects: list[Raw]) -> Iterator[BrokenPod]:
    """Yield every mistake with one pod of the cluster, which fits where it ran. Yield none without such a pod."""
    chosen = running_pod(objects)
    if chosen is None:
        return
    for kind, one in WAYS.items():
        mine: list[Raw] = copy.deepcopy([obj for obj in objects if obj is not chosen])
        pod: Raw = copy.deepcopy(chosen)
        pod["status"] = {"phase": "Pending"}
        for field in ("nodeName", "affinity", "topologySpreadConstraints", "nodeSelector"):
            pod["spec"].pop(field, None)
        pod["spec"]["volumes"] = []
        for obj in mine:
            if obj["kind"] == "Node":
                obj["metadata"].setdefault("labels", {})["zone"] = "az1"
                obj["metadata"]["labels"].setdefault("kubernetes.io/hostname", obj["metadata"]["name"])
        namespace = pod["metadata"].setdefault("namespace", "default")
        undoes = one(pod, mine)
        yield BrokenPod(kind, f"{namespace}/{pod['metadata']['name']}", [*mine, pod], undoes)


def _with(undone_by: str, **spec: Any) -> Way:
    """Set fields of the spec of the pod. `undone_by`: the field that a fix patches."""

    def break_pod(pod: Raw, objects: list[Raw]) -> Undoes:
        pod["spec"] |= spec
        return patches("Pod", undone_by)

    return break_pod


def _request(name: str, amount: str, **limits: Raw) -> Way:
    def break_pod(pod: Raw, objects: list[Raw]) -> Undoes:
        pod["spec"]["containers"][0]["resources"] = {"requests": {name: amount}, **limits}
        return patches("Pod", "containers")

    return break_pod


def _taints(pod: Raw, objects: list[Raw]) -> Undoes:
    for obj in objects:
        if obj["kind"] == "Node":
            taint = {"key": "dedicated", "value": "batch", "effect": "NoSchedule"}
            obj.setdefault("spec", {}).setdefault("taints", []).append(taint)
    return either(patches("Pod", "tolerations"), does("untaint"))


def _cordoned(pod: Raw, objects: list[Raw]) -> Undoes:
    for obj in objects:
        if obj["kind"] == "Node":
            obj.setdefault("spec", {})["unschedulable"] = True
    return does("uncordon")


def _claim_of(pod: Raw, objects: list[Raw], **spec: Any) -> Raw:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data-of-it", "namespace": pod["metadata"]["namespace"], "uid": "c-1"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec},
    }
    objects.append(claim)
    pod["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "data-of-it"}}]
    return claim


def _class(pod: Raw, objects: list[Raw]) -> Undoes:
    provisioning = {"provisioner": "example.com/disks", "volumeBindingMode": "WaitForFirstConsumer"}
    named = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "very-fast"}}
    objects.append(named | provisioning)
    _claim_of(pod, objects, storageClassName="vary-fast")
    return creates("PersistentVolumeClaim")


def _claim(pod: Raw, objects: list[Raw]) -> Undoes:
    _class(pod, objects)
    objects[-1]["spec"]["storageClassName"] = "very-fast"
    pod["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"] = "data-off-it"
    return creates("PersistentVolumeClaim")


def _volume(pod: Raw, objects: list[Raw]) -> Undoes:
    claim = _claim_of(pod, objects, storageClassName="", volumeName="pv-of-it")
    claim["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    claim["status"] = {"phase": "Bound"}
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["az9"]}]}
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
        "claimRef": {"namespace": claim["metadata"]["namespace"], "name": "data-of-it", "uid": "c-1"},
    }
    named = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv-of-it"}}
    objects.append({**named, "spec": spec, "status": {"phase": "Bound"}})
    return creates("Node")


def _spread_domains(pod: Raw, objects: list[Raw]) -> Undoes:
    pod["metadata"].setdefault("labels", {})["app"] = "crowd"
    for obj in [o for o in objects if o["kind"] == "Node"]:
        name = obj["metadata"]["name"]
        meta = {"name": f"crowd-{name}", "namespace": pod["metadata"]["namespace"], "labels": {"app": "crowd"}}
        spec = {"nodeName": name, "containers": [{"name": "c"}]}
        objects.append({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
    pod["spec"]["topologySpreadConstraints"] = [_constraint("zone") | {"minDomains": 7}]
    return patches("Pod", "topologySpreadConstraints")


def _constraint(key: str) -> Raw:
    selector = {"matchLabels": {"app": "crowd"}}
    return {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
ELSEWHERE = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["az11"]}]}
NOWHERE = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "no-such-thing-at-all"}}}
WAYS: dict[str, Way] = {
    "selector value": _with("nodeSelector", nodeSelector={"zone": "az-1"}),
    "selector value of elsewhere": _with("nodeSelector", nodeSelector={"zone": "ITBG-4"}),
    "selector key": _with("nodeSelector", nodeSelector={"zoone": "az1"}),
    "node affinity": _with("nodeAffinity", affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [ELSEWHERE]}}}),
    "too much cpu": _request("cpu", "900"),
    "too much memory": _request("memory", "9000Gi"),
    "unknown device": _request("nvidia.com/gpux", "1", limits={"nvidia.com/gpux": "1"}),
    "taints": _taints,
    "cordoned": _cordoned,
    "missing class": _class,
    "missing claim": _claim,
    "volume in another zone": _volume,
    "spread key": _with("topologySpreadConstraints", topologySpreadConstraints=[_constraint("zon")]),
    "spread domains": _spread_domains,
    "affinity without matches": _with("podAffinity", affinity={"podAffinity": {REQUIRED: [NOWHERE]}}),
    "gate": _with("schedulingGates", schedulingGates=[{"name": "example.com/approval"}]),
}
