"""Builds the cluster of a planted cause: pools of nodes, what runs there, and a workload whose pods are pending."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterable, Sequence
from typing import Any

from scheduler_core.api.quantity import value
from tests.scheduler_core.build import HOSTNAME, REQUIRED, ZONE

Raw = dict[str, Any]
Target = tuple[str, str, str]
CONTROL_PLANE = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}
VIRTUAL = {"key": "virtual-kubelet.io/provider", "value": "azure", "effect": "NoSchedule"}
SPOT = {"key": "spot", "value": "true", "effect": "NoSchedule"}
ZONES = (("eu-1a", "eu-1b", "eu-1c"), ("europe-west4-a", "europe-west4-b", "europe-west4-c"), ("az-1", "az-2", "az-3"))
CREATED, STARTED = "2026-11-28T09:20:00Z", "2026-11-28T08:00:00Z"
VERSIONS = {"Deployment": "apps/v1", "ReplicaSet": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1"}
VERSIONS |= {"Job": "batch/v1", "CronJob": "batch/v1", "ReplicationController": "v1", "Pod": "v1"}
NAMES = ("api", "cache", "report", "shop", "search", "billing", "ingest", "mail", "auth", "render")
NAMESPACES = ("team-a", "team-b", "payments", "data", "web", "ml")


def container(requests: Raw, name: str = "main", **more: Any) -> Raw:
    return {"name": name, "image": "registry.example/app:1", "resources": {"requests": dict(requests)}, **more}


def node_affinity(*expressions: tuple[str, str, list[str]], fields: Sequence[tuple[str, str, list[str]]] = ()) -> Raw:
    """Return a required node affinity with one term."""
    term: Raw = {"matchExpressions": [{"key": k, "operator": o, "values": v} for k, o, v in expressions]}
    if fields:
        term["matchFields"] = [{"key": k, "operator": o, "values": v} for k, o, v in fields]
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}}


def pod_terms(kind: str, key: str, app: str, **more: Any) -> Raw:
    """Return one required term of `podAffinity` or `podAntiAffinity`."""
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}, **more}
    return {kind: {REQUIRED: [term]}}


def spread(key: str, app: str, **more: Any) -> list[Raw]:
    selector = {"matchLabels": {"app": app}}
    constraint = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    return [constraint | more]


class World:
    """`chance`: decides sizes, names and the kind of workload. `objects`: what was made so far."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.objects: list[Raw] = []
        self.nodes: dict[str, Raw] = {}
        self.zones = self.chance.choice(ZONES)
        self.namespace = self.chance.choice(NAMESPACES)
        self.name = self.chance.choice(NAMES)
        self.template: Raw = {}  # of the workload, changed with the pods

    # ---- nodes

    def node(
        self,
        name: str,
        zone: str = "",
        cpu: int = 16,
        memory: int = 64,
        *,
        labels: Raw | None = None,
        taints: Iterable[Raw] = (),
        more: Raw | None = None,
        pods: int = 110,
    ) -> str:
        """Add a node with `memory` in GiB. `more`: further allocatable resources."""
        zone = zone or self.chance.choice(self.zones)
        amounts = {"cpu": str(cpu), "memory": f"{memory}Gi", "pods": str(pods), "ephemeral-storage": "200Gi"}
        amounts |= more or {}
        spec = {"taints": [dict(taint) for taint in taints]} if taints else {}
        self.nodes[name] = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "uid": f"uid-{name}",
                "labels": {HOSTNAME: name, ZONE: zone, "kubernetes.io/os": "linux", **(labels or {})},
            },
            "spec": spec,
            "status": {
                "allocatable": amounts,
                "capacity": amounts,
                "conditions": [{"type": "Ready", "status": "True"}],
                "nodeInfo": {"kubeletVersion": "v1.34.1"},
            },
        }
        self.objects.append(self.nodes[name])
        return name

    def pool(self, name: str, count: int, **fields: Any) -> list[str]:
        """Add nodes with the label pool=NAME, in all zones by turns unless `zone` is given."""
        labels = {"pool": name, **fields.pop("labels", {})}
        zone = fields.pop("zone", "")
        suffix = f"{zone}-" if zone else ""
        return [
            self.node(f"{name}-{suffix}{i}", zone or self.zones[i % len(self.zones)], labels=labels, **fields)
            for i in range(count)
        ]

    def fill(self, nodes: Iterable[str], cpu: float = 0.5, memory: float = 1.0, **spec: Any) -> None:
        """Run one pod on each node, so that about so much is left: `cpu` in cores, `memory` in GiB."""
        for name in nodes:
            amounts = self.nodes[name]["status"]["allocatable"]
            left_cpu = cpu * self.chance.uniform(0.7, 1.0)
            left_memory = memory * self.chance.uniform(0.7, 1.0)
            millicores = int(float(amounts["cpu"]) * 1000 - left_cpu * 1000)
            mebibytes = int(value(amounts["memory"]) / 2**20 - left_memory * 1024)
            self.run("base", name, {"cpu": f"{millicores}m", "memory": f"{mebibytes}Mi"}, **spec)

    def run(self, app: str, node: str, requests: Raw, namespace: str = "base", **spec: Any) -> Raw:
        """Add a running pod of a ReplicaSet that tolerates everything. `metadata`: further fields of its metadata."""
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{app}-rs", "uid": f"uid-{app}-rs"}
        tolerations = [{"operator": "Exists"}]
        volumes = spec.pop("ports", None)
        main = container(requests, ports=volumes) if volumes else container(requests)
        metadata = {
            "name": f"{app}-{node}-{len(self.objects)}",
            "namespace": namespace,
            "uid": f"uid-{namespace}-{app}-{len(self.objects)}",
            "labels": {"app": app},
            "ownerReferences": [owner | {"controller": True}],
            **spec.pop("metadata", {}),
        }
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "spec": {
                "schedulerName": "default-scheduler",
                "priority": 0,
                "containers": [main],
                "tolerations": tolerations,
                "nodeName": node,
                **spec,
            },
            "status": {"phase": "Running", "startTime": STARTED},
        }
        self.objects.append(pod)
        return pod

    def background(self, full: bool = True, spot: bool = True) -> list[str]:
        """Add nodes that every cluster has: full general nodes, tainted full spot nodes, the control plane, and at
        times a virtual node and full GPU nodes. Return the general nodes.
        """
        chance = self.chance
        general = self.pool("general", chance.randint(4, 14))
        if full:
            self.fill(general, 0.8, 2.0)
        if spot and chance.random() < 0.7:
            self.fill(self.pool("spot", chance.randint(2, 5), cpu=8, memory=32, taints=[SPOT]), 0.4, 1.0)
        labels = {CONTROL_PLANE["key"]: ""}
        for i in range(chance.choice((1, 3))):
            name = self.node(f"control-{i}", cpu=4, memory=16, labels=labels, taints=[CONTROL_PLANE])
            self.run("etcd", name, {"cpu": "2", "memory": "8Gi"}, namespace="kube-system")
        if chance.random() < 0.3:
            self.node(
                "virtual-0", cpu=1000, memory=4000, labels={"type": "virtual-kubelet"}, taints=[VIRTUAL], pods=5000
            )
        return general

    # ---- the workload

    def workload(
        self,
        pending: int,
        requests: Raw,
        *,
        kind: str = "",
        kinds: Sequence[str] = ("Deployment", "Deployment", "StatefulSet", "Job", "ReplicaSet", "Pod"),
        on: Sequence[str] = (),
        metadata: Raw | None = None,
        status: Raw | None = None,
        **spec: Any,
    ) -> tuple[list[str], Target]:
        """Add a workload with running pods on the nodes `on` and so many pending pods; return the keys of these, and
        the object that a person edits. `spec`: of its pods, with `container`: fields of its container.
        """
        kind = kind or self.chance.choice(kinds)
        pending = 1 if kind in ("Pod", "CronJob") else pending
        name, namespace = self.name, self.namespace
        main = container(requests, **spec.pop("container", {}))
        spec = {"containers": [main], **copy.deepcopy(spec)}
        labels = {"app": name}
        self._controllers(kind, pending + len(on), len(on), {"metadata": {"labels": labels}, "spec": spec})
        keys = []
        for i in range(len(on) + pending):
            runs = i < len(on)
            own = {"schedulerName": "default-scheduler", "priority": 0, **copy.deepcopy(spec)}
            if runs:
                own["nodeName"] = on[i]
            pod_name = name if kind == "Pod" else f"{self._owner(kind)}-{i}"
            self.objects.append(
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": {
                        "name": pod_name,
                        "namespace": namespace,
                        "uid": f"uid-{namespace}-{pod_name}",
                        "labels": labels,
                        "creationTimestamp": CREATED,
                        **self._owned(kind),
                        **(metadata or {}),
                    },
                    "spec": own,
                    "status": {"phase": "Running", "startTime": STARTED}
                    if runs
                    else {"phase": "Pending", **(status or {})},
                }
            )
            if not runs:
                keys.append(f"{namespace}/{pod_name}")
        return keys, (kind, namespace, name)

    def _owner(self, kind: str) -> str:
        """Return the name of the direct controller of the pods."""
        return {"Deployment": f"{self.name}-7c9d", "CronJob": f"{self.name}-29401200"}.get(kind, self.name)

    def _owned(self, kind: str) -> Raw:
        if kind == "Pod":
            return {}
        direct = {"Deployment": "ReplicaSet", "CronJob": "Job"}.get(kind, kind)
        owner = {"apiVersion": VERSIONS[direct], "kind": direct, "name": self._owner(kind), "controller": True}
        return {"ownerReferences": [owner | {"uid": f"uid-{self.namespace}-{direct}-{self._owner(kind)}"}]}

    def _controllers(self, kind: str, replicas: int, ready: int, template: Raw) -> None:
        if kind == "Pod":
            return
        labels = template["metadata"]["labels"]
        selector: Raw = {"matchLabels": labels} if kind != "ReplicationController" else labels
        template = copy.deepcopy(template)
        spec: Raw
        if kind in ("Job", "CronJob"):
            template["spec"]["restartPolicy"] = "Never"
            spec = {"completions": replicas, "parallelism": replicas, "template": template}
        else:
            spec = {"replicas": replicas, "selector": selector, "template": template}
            if kind == "StatefulSet":
                spec |= {"serviceName": self.name, "podManagementPolicy": "Parallel"}
            if kind == "DaemonSet":
                del spec["replicas"]
        if kind == "CronJob":
            self._add(kind, self.name, {"schedule": "0 3 * * *", "jobTemplate": {"spec": copy.deepcopy(spec)}}, {})
            self._add("Job", self._owner(kind), spec, {}, owner=kind)
            return
        status = {} if kind in ("Job", "DaemonSet") else {"replicas": replicas, "readyReplicas": ready}
        self._add(kind, self.name, spec, status)
        if kind == "Deployment":
            self._add("ReplicaSet", self._owner(kind), copy.deepcopy(spec), status, owner=kind)

    def _add(self, kind: str, name: str, spec: Raw, status: Raw, owner: str = "") -> None:
        metadata: Raw = {"name": name, "namespace": self.namespace, "uid": f"uid-{self.namespace}-{kind}-{name}"}
        if owner:
            by = {"apiVersion": VERSIONS[owner], "kind": owner, "name": self.name, "controller": True}
            metadata["ownerReferences"] = [by | {"uid": f"uid-{self.namespace}-{owner}-{self.name}"}]
        self.objects.append(
            {"apiVersion": VERSIONS[kind], "kind": kind, "metadata": metadata, "spec": spec, "status": status}
        )

    # ---- storage

    def storage_class(self, name: str, mode: str = "WaitForFirstConsumer", by: str = "disk.csi.example.com") -> str:
        self.objects.append(
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "StorageClass",
                "metadata": {"name": name, "uid": f"uid-{name}"},
                "provisioner": by,
                "volumeBindingMode": mode,
            }
        )
        return name

    def claim(self, name: str, cls: str, volume: str = "", mode: str = "ReadWriteOnce", **metadata: Any) -> str:
        annotations = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}} if volume else {}
        spec = {"accessModes": [mode], "resources": {"requests": {"storage": "20Gi"}}, "storageClassName": cls}
        self.objects.append(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {
                    "name": name,
                    "namespace": self.namespace,
                    "uid": f"uid-{self.namespace}-{name}",
                    **annotations,
                    **metadata,
                },
                "spec": spec | ({"volumeName": volume} if volume else {}),
                "status": {"phase": "Bound" if volume else "Pending"},
            }
        )
        return name

    def volume(
        self, name: str, cls: str, claim: str, key: str = ZONE, values: Sequence[str] = (), **source: Any
    ) -> str:
        """Add a volume that is bound to the claim. `values`: of the label `key` of the nodes that can reach it."""
        source = source or {"csi": {"driver": "disk.csi.example.com", "volumeHandle": name}}
        spec: Raw = {
            "capacity": {"storage": "20Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": cls,
            "persistentVolumeReclaimPolicy": "Delete",
            **source,
        }
        if claim:
            bound = {"kind": "PersistentVolumeClaim", "namespace": self.namespace, "name": claim}
            spec["claimRef"] = bound | {"uid": f"uid-{self.namespace}-{claim}"}
        if values:
            term = {"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}
            spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
        phase = "Bound" if claim else "Available"
        metadata = {"name": name, "uid": f"uid-{name}"}
        self.objects.append(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": metadata,
                "spec": spec,
                "status": {"phase": phase},
            }
        )
        return name
