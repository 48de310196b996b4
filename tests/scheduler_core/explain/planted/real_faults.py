"""Single faults in snapshots of real clusters, each of which leaves one running pod without a node."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

from scheduler_core.api.quantity import milli_value
from scheduler_core.errors import InputError
from scheduler_core.simulation import Simulation
from tests.clusters import read_snapshot
from tests.scheduler_core.build import REQUIRED, ZONE
from tests.scheduler_core.explain.planted.world import node_affinity

Raw = dict[str, Any]
RELEASE = "1.34"
TRIES = 30  # of pods until one has the fault
OWNERS = ("ReplicaSet", "StatefulSet", "ReplicationController", "Job", "DaemonSet")


@dataclass(frozen=True)
class Fault:
    """`kinds`: the kinds of causes that name the fault. `pod`: the pod that has no node any more."""

    cluster: str
    name: str
    kinds: tuple[str, ...]
    pod: str
    objects: list[Raw]
    nodes: frozenset[str]


@dataclass
class Scene:
    """A cluster with one pod made pending, and the names of the nodes that would take it."""

    chance: random.Random
    objects: list[Raw]
    pod: Raw
    feasible: list[str]

    @property
    def key(self) -> str:
        return _key(self.pod)

    @property
    def nodes(self) -> list[Raw]:
        return [obj for obj in self.objects if obj["kind"] == "Node" and obj["metadata"]["name"] in self.feasible]

    def pods_on(self, node: str) -> list[Raw]:
        pods = [obj for obj in self.objects if obj["kind"] == "Pod" and obj["spec"].get("nodeName") == node]
        return [pod for pod in pods if (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")]

    def requests(self) -> dict[str, str]:
        """Return the requests of the pod's first container."""
        return dict(self.pod["spec"]["containers"][0].setdefault("resources", {}).get("requests") or {})

    def request(self, **amounts: str) -> None:
        """Set requests of the first container, and drop limits, which must not be lower."""
        self.pod["spec"]["containers"][0]["resources"] = {"requests": self.requests() | amounts}

    def requested(self, node: str) -> int:
        """Return the cpu that the pods of a node request, in millicores."""
        each = [c for pod in self.pods_on(node) for c in pod["spec"]["containers"]]
        return sum(milli_value((c.get("resources", {}).get("requests") or {}).get("cpu", 0)) for c in each)


def _key(pod: Raw) -> str:
    return f"{pod['metadata'].get('namespace', 'default')}/{pod['metadata']['name']}"


# Each returns the kinds that name the fault, or None if the fault does not apply to the pod.
Kinds = tuple[str, ...] | None


def taint(scene: Scene) -> Kinds:
    if any(
        one.get("operator") == "Exists" and not one.get("key") for one in scene.pod["spec"].get("tolerations") or ()
    ):
        return None
    added = {"key": "dedicated", "value": scene.chance.choice(("batch", "infra")), "effect": "NoSchedule"}
    for node in scene.nodes:
        node["spec"].setdefault("taints", []).append(added)
    return ("untolerated-taint",)


def cordon(scene: Scene) -> Kinds:
    for node in scene.nodes:
        node["spec"]["unschedulable"] = True
        node["spec"].setdefault("taints", []).append(
            {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
        )
    return ("cordoned",)


def not_ready(scene: Scene) -> Kinds:
    for node in scene.nodes:
        conditions = [one for one in node["status"].get("conditions") or () if one["type"] != "Ready"]
        node["status"]["conditions"] = [*conditions, {"type": "Ready", "status": "Unknown"}]
        for effect in ("NoSchedule", "NoExecute"):
            node["spec"].setdefault("taints", []).append({"key": "node.kubernetes.io/unreachable", "effect": effect})
    return ("node-not-ready",)


def less_cpu(scene: Scene) -> Kinds:
    """Leave each node less cpu than the pod requests, though no less in total."""
    scene.request(cpu="200m")
    for node in scene.nodes:
        used = scene.requested(node["metadata"]["name"])
        _allocate(node, cpu=f"{max(200, used + scene.chance.randint(10, 150))}m")
        if used < 60:
            return None
    return ("insufficient-resource",)


def smaller_nodes(scene: Scene) -> Kinds:
    """Every node of the cluster is smaller than the request."""
    scene.request(cpu="900")
    return ("request-exceeds-nodes",)


def pods_limit(scene: Scene) -> Kinds:
    for node in scene.nodes:
        _allocate(node, pods=str(len(scene.pods_on(node["metadata"]["name"]))))
    return ("pods-limit",)


def label_removed(scene: Scene) -> Kinds:
    """The nodes lose a label that the pod selects."""
    for node in scene.nodes:
        node["metadata"].setdefault("labels", {}).pop("pool", None)
    scene.pod["spec"].setdefault("nodeSelector", {})["pool"] = "apps"
    return ("node-selector",)


def label_changed(scene: Scene) -> Kinds:
    for node in scene.nodes:
        node["metadata"].setdefault("labels", {})["pool"] = "app"
    scene.pod["spec"].setdefault("nodeSelector", {})["pool"] = "apps"
    return ("node-selector",)


def resource_absent(scene: Scene) -> Kinds:
    scene.request(**{"nvidia.com/gpu": "1"})
    return ("resource-absent",)


def claim_deleted(scene: Scene) -> Kinds:
    scene.pod["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "data-gone"}}]
    return ("claim-missing",)


def claim_unbound(scene: Scene) -> Kinds:
    scene.objects.append(_claim(scene, {"storageClassName": "vary-fast"}))
    return ("claim-unbound",)


def volume_elsewhere(scene: Scene) -> Kinds:
    claim = _claim(scene, {"storageClassName": "", "volumeName": "pv-of-it"})
    claim["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["az9"]}]}
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "csi": {"driver": "disk.csi.example.com", "volumeHandle": "h"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
        "claimRef": {"namespace": claim["metadata"]["namespace"], "name": "data-of-it", "uid": "c-1"},
    }
    metadata = {"name": "pv-of-it", "uid": "v-1"}
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec}
    scene.objects += [claim | {"status": {"phase": "Bound"}}, volume | {"status": {"phase": "Bound"}}]
    return ("volume-zone",)


def zone_full(scene: Scene) -> Kinds:
    """The pod must run in a zone, whose nodes are full."""
    names = scene.chance.sample(scene.feasible, max(1, len(scene.feasible) // 2))
    for node in scene.objects:
        if node["kind"] == "Node":
            node["metadata"].setdefault("labels", {})[ZONE] = "az1" if node["metadata"]["name"] in names else "az2"
    scene.pod["spec"]["affinity"] = node_affinity((ZONE, "In", ["az1"]))
    scene.request(cpu="200m")
    for node in scene.nodes:
        if node["metadata"]["name"] in names:
            used = scene.requested(node["metadata"]["name"])
            if used < 60:
                return None
            _allocate(node, cpu=f"{max(200, used + scene.chance.randint(10, 150))}m")
    return ("domain-full", "insufficient-resource")


def host_port(scene: Scene) -> Kinds:
    port = {"containerPort": 18080, "hostPort": 18080, "protocol": "TCP"}
    scene.pod["spec"]["containers"][0]["ports"] = [port]
    for name in scene.feasible:
        spec = {"nodeName": name, "containers": [{"name": "c", "image": "i", "ports": [port]}]}
        metadata = {"name": f"proxy-{name}", "namespace": "default", "uid": f"proxy-{name}"}
        scene.objects.append(
            {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Running"}}
        )
    return ("host-port",)


def repelled(scene: Scene) -> Kinds:
    scene.pod["metadata"].setdefault("labels", {})["app"] = "crowd"
    rule = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "crowd"}}}
    for node in scene.objects:
        if node["kind"] == "Node":
            node["metadata"].setdefault("labels", {})["kubernetes.io/hostname"] = node["metadata"]["name"]
    for name in scene.feasible:
        spec = {"nodeName": name, "containers": [{"name": "c", "image": "i"}]}
        metadata = {
            "name": f"crowd-{name}",
            "namespace": scene.pod["metadata"].get("namespace", "default"),
            "uid": name,
        }
        metadata["labels"] = {"app": "crowd"}
        scene.objects.append(
            {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Running"}}
        )
    scene.pod["spec"]["affinity"] = {"podAntiAffinity": {REQUIRED: [rule]}}
    return ("pod-anti-affinity",)


def affinity_without_pod(scene: Scene) -> Kinds:
    rule = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "no-such-app"}}}
    scene.pod["spec"]["affinity"] = {"podAffinity": {REQUIRED: [rule]}}
    return ("pod-affinity",)


def gate(scene: Scene) -> Kinds:
    scene.pod["spec"]["schedulingGates"] = [{"name": "example.com/approval"}]
    return ("gated",)


Plant = Callable[[Scene], Kinds]
FAULTS: tuple[Plant, ...] = (
    *(taint, cordon, not_ready, less_cpu, smaller_nodes, pods_limit, label_removed, label_changed, resource_absent),
    *(claim_deleted, claim_unbound, volume_elsewhere, zone_full, host_port, repelled, affinity_without_pod, gate),
)
ON_OTHER_PODS = (label_removed, label_changed, zone_full, repelled, affinity_without_pod)  # not for pods of a DaemonSet


def _allocate(node: Raw, **amounts: str) -> None:
    status = node["status"]
    status["allocatable"] = {**(status.get("allocatable") or status.get("capacity") or {}), **amounts}


def _claim(scene: Scene, spec: Raw) -> Raw:
    scene.pod["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "data-of-it"}}]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": "data-of-it",
            "namespace": scene.pod["metadata"].get("namespace", "default"),
            "uid": "c-1",
        },
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec},
        "status": {"phase": "Pending"},
    }


def faults(paths: Sequence[Path], seed: int = 0) -> Iterator[Fault]:
    """Yield faults without end, of all kinds by turns, each of a random cluster and a random running pod."""
    chance = random.Random(seed)
    clusters = {path: read_snapshot(path) for path in paths}
    for plant in cycle(FAULTS):
        for _ in range(TRIES):
            path = chance.choice(paths)
            fault = _fault(path.name.removesuffix(".json.gz"), copy.deepcopy(clusters[path]), plant, chance)
            if fault is not None:
                yield fault
                break


def _fault(cluster: str, objects: list[Raw], plant: Plant, chance: random.Random) -> Fault | None:
    """Return the fault; None if it does not apply, or the pod gets another node, be it by eviction."""
    scene = _scene(objects, chance)
    if scene is None or (plant in ON_OTHER_PODS and _owner(scene.pod) == "DaemonSet"):
        return None
    kinds = plant(scene)
    if kinds is None or _feasible(scene.objects, scene.key, evicting=True):
        return None
    return Fault(cluster, plant.__name__, kinds, scene.key, scene.objects, frozenset(scene.feasible))


def _owner(pod: Raw) -> str:
    return str((pod["metadata"].get("ownerReferences") or [{}])[0].get("kind", ""))


def _scene(objects: list[Raw], chance: random.Random) -> Scene | None:
    """Return the cluster with a random running pod made pending; None if there is none that a node takes."""
    pods = [obj for obj in objects if obj["kind"] == "Pod" and obj["spec"].get("nodeName")]
    pods = [pod for pod in pods if (pod.get("status") or {}).get("phase") == "Running" and _owner(pod) in OWNERS]
    pods = [pod for pod in pods if not pod["metadata"].get("deletionTimestamp")]
    if not pods:
        return None
    pod = chance.choice(pods)
    for obj in objects:
        if obj["kind"] == "Node":
            obj.setdefault("spec", {})
    pod["spec"].pop("nodeName")
    pod["spec"]["volumes"] = []
    pod["status"] = {"phase": "Pending"}
    others = [obj for obj in objects if obj["kind"] != "Pod" or obj["spec"].get("nodeName") or obj is pod]
    feasible = _feasible(others, _key(pod))
    return Scene(chance, others, pod, feasible) if feasible else None


def _feasible(objects: list[Raw], pod: str, evicting: bool = False) -> list[str]:
    """Return the nodes that take the pod, or with `evicting` the one that takes it after evictions."""
    try:
        simulation = Simulation(
            copy.deepcopy(objects), release=RELEASE, pods=[pod], preemption=evicting, percentage=100
        )
    except InputError:
        return []
    (trace, *_) = [*simulation.run()]
    if trace.nominated_node:
        return [trace.nominated_node]
    names = simulation.cluster.nodes.names
    rows = trace.feasible_rows() if trace.result == "scheduled" else ()
    return [names[row] for row in rows]
