"""A large cluster for the test API server: objects are templates and numbers, rendered when they are sent.

A pod has about 5 kB of JSON, as pods of real clusters have, with managedFields.
"""

from __future__ import annotations

import asyncio
import random
import time
from functools import partial

import msgspec

from tests.api_server.storage import Encoded, Raw, Storage, object_key

ZONES = (b"eu-1a", b"eu-1b", b"eu-1c")
SIZES = ((250, 256), (500, 512), (1000, 2048), (2000, 4096))  # millicores and MiB
PODS_PER_WORKLOAD = 50
NAMESPACES = 20
CREATED = "2026-01-01T00:00:00Z"


class LargeCluster:
    """Nodes, pods of Deployments, and what belongs to them. The last `pending` pods request more than any node has."""

    def __init__(self, nodes: int = 5000, pods: int = 100_000, pending: int = 50, seed: int = 1) -> None:
        self.nodes = nodes
        self.pods = pods
        self.pending = pending
        self._random = random.Random(seed)
        self._templates = [_template(_pod(cpu, memory)) for cpu, memory in SIZES]
        self._pending_template = _template(_pod(64_000, 4096))
        self._restarts: dict[int, int] = {}

    def load(self, storage: Storage) -> None:
        """Put the objects into a storage, without history."""
        for number in range(NAMESPACES):
            _add(storage, "namespaces", {"metadata": {"name": f"team-{number}"}, "status": {"phase": "Active"}})
        _add(storage, "storageclasses", {"metadata": {"name": "ssd"}, "provisioner": "csi.example"})
        _add(storage, "priorityclasses", {"metadata": {"name": "high"}, "value": 1000})
        node, csi_node = _template(_NODE), _template(_CSI_NODE)
        nodes, csi_nodes = storage.collection("nodes").objects, storage.collection("csinodes").objects
        for number in range(self.nodes):
            storage.revision += 1
            zone = ZONES[number % len(ZONES)]
            nodes[f"node-{number:05}"] = partial(node.__mod__, (number, number, storage.revision, number, zone, number))
            csi_nodes[f"node-{number:05}"] = partial(csi_node.__mod__, (number, number, storage.revision, number))
        for number in range(-(-self.pods // PODS_PER_WORKLOAD)):
            self._load_workload(storage, number)
        pods = storage.collection("pods").objects
        for number in range(self.pods):
            storage.revision += 1
            pods[self.key(number)] = self.pod(number, storage.revision)
        for collection in storage.collections.values():
            collection.compacted = storage.revision

    def key(self, number: int) -> str:
        """Return the key of a pod."""
        workload = number // PODS_PER_WORKLOAD
        return f"team-{workload % NAMESPACES}/app-{workload:05}-{number:06}"

    def pod(self, number: int, revision: int) -> Encoded:
        """Return a pod with its present number of restarts."""
        workload = number // PODS_PER_WORKLOAD
        if number >= self.pods - self.pending:
            template, node, status = self._pending_template, b"", _PENDING % ((self.nodes,) * 4)
        else:
            template = self._templates[workload % len(SIZES)]
            node = b"node-%05d" % (number * 7919 % self.nodes)
            status = _RUNNING % (number, self._restarts.get(number, 0))
        arguments = (
            *(workload, number, workload % NAMESPACES, number, revision, workload, workload, workload),
            *(node, status),
        )
        return partial(template.__mod__, arguments)

    def change(self, storage: Storage) -> int:
        """Restart a container of a random bound pod. Return the revision."""
        number = self._random.randrange(self.pods - self.pending)
        self._restarts[number] = self._restarts.get(number, 0) + 1
        return storage.put("pods", "MODIFIED", self.key(number), self.pod(number, storage.revision + 1))

    async def churn(self, storage: Storage, rate: float, seconds: float = float("inf")) -> int:
        """Change `rate` pods a second for some seconds. Return the number of changes."""
        begin, done = time.monotonic(), 0
        while (passed := time.monotonic() - begin) < seconds:
            due = int(passed * rate) - done
            for _ in range(due):
                self.change(storage)
            done += due
            await asyncio.sleep(0.01)
        return done

    def _load_workload(self, storage: Storage, number: int) -> None:
        name, namespace = f"app-{number:05}", f"team-{number % NAMESPACES}"
        cpu, memory = SIZES[number % len(SIZES)]
        requests = {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}
        container = {"name": "app", "image": "registry.example/app:1", "resources": {"requests": requests}}
        spec = {
            "replicas": PODS_PER_WORKLOAD,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}},
        }
        metadata: Raw = {"name": name, "namespace": namespace, "labels": {"app": name}}
        _add(storage, "deployments", {"metadata": dict(metadata), "spec": spec})
        owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "controller": True}
        metadata |= {"name": f"{name}-rs", "ownerReferences": [owner]}
        _add(storage, "replicasets", {"metadata": metadata, "spec": spec})


def _add(storage: Storage, resource: str, obj: Raw) -> None:
    storage.revision += 1
    uid = f"00000000-0000-0000-0000-{storage.revision:012}"
    obj["metadata"] |= {"resourceVersion": str(storage.revision), "uid": uid, "creationTimestamp": CREATED}
    storage.collection(resource).objects[object_key(obj)] = msgspec.json.encode(obj)


def _template(obj: Raw) -> bytes:
    """Return the JSON of an object as a format: the texts of the object have conversions such as %05d."""
    return msgspec.json.encode(obj).replace(b'"@"', b"{%b}")


def _condition(type_: str, status: str, **fields: str) -> Raw:
    return {"type": type_, "status": status, "lastProbeTime": None, "lastTransitionTime": CREATED, **fields}


def _pod(cpu: int, memory: int) -> Raw:
    """Return the format of a pod. Its arguments are in LargeCluster.pod."""
    managed = {"manager": "kube-controller-manager", "operation": "Update", "apiVersion": "v1", "time": CREATED}
    managed["fieldsV1"] = {"f:spec": {f"f:setting-{number}": {"f:value": {}} for number in range(60)}}  # type: ignore[assignment]
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "app-%05d-rs", "uid": "%d", "controller": True}
    container = {
        "name": "app",
        "image": "registry.example/app:1",
        "env": [{"name": f"SETTING_{number}", "value": "x" * 30} for number in range(15)],
        "resources": {"requests": {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}},
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080, "scheme": "HTTP"}, "timeoutSeconds": 1},
        "volumeMounts": [{"name": "token", "readOnly": True, "mountPath": "/var/run/secrets/serviceaccount"}],
        "imagePullPolicy": "IfNotPresent",
    }
    return {
        "metadata": {
            "name": "app-%05d-%06d",
            "namespace": "team-%d",
            "uid": "00000000-0000-0000-0003-%012d",
            "resourceVersion": "%d",
            "creationTimestamp": CREATED,
            "labels": {"app": "app-%05d", "pod-template-hash": "7d9fbc6c88"},
            "ownerReferences": [owner],
            "managedFields": [managed] * 2,
        },
        "spec": {
            "volumes": [{"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}],
            "containers": [container],
            "nodeName": "%b",
            "schedulerName": "default-scheduler",
            "tolerations": [
                {
                    "key": f"node.kubernetes.io/{taint}",
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": 300,
                }
                for taint in ("not-ready", "unreachable")
            ],
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "priority": 0,
            "preemptionPolicy": "PreemptLowerPriority",
        },
        "status": "@",
    }


_CONTAINER_STATUS = (
    b'{"name":"app","ready":true,"started":true,"image":"registry.example/app:1","containerID":"containerd://%064d",'
    b'"restartCount":%d,"state":{"running":{"startedAt":"2026-01-01T00:00:02Z"}}}'
)
_RUNNING = b'"phase":"Running","conditions":%b,"containerStatuses":[' % msgspec.json.encode(
    [_condition("PodScheduled", "True"), _condition("Ready", "True")]
) + (_CONTAINER_STATUS + b'],"qosClass":"Burstable"')
_MESSAGE = (
    "0/%d nodes are available: %d Insufficient cpu. preemption: 0/%d nodes are available: "
    "%d Preemption is not helpful for scheduling."
)
_PENDING = b'"phase":"Pending","conditions":%b,"qosClass":"Burstable"' % msgspec.json.encode(
    [_condition("PodScheduled", "False", reason="Unschedulable", message=_MESSAGE)]
)
_RESOURCES = {"cpu": "31", "memory": "126976Mi", "ephemeral-storage": "450Gi", "pods": "110"}
_NODE: Raw = {
    "metadata": {
        "name": "node-%05d",
        "uid": "00000000-0000-0000-0001-%012d",
        "resourceVersion": "%d",
        "creationTimestamp": CREATED,
        "labels": {
            "kubernetes.io/arch": "amd64",
            "kubernetes.io/os": "linux",
            "kubernetes.io/hostname": "node-%05d",
            "node.kubernetes.io/instance-type": "m5.8xlarge",
            "topology.kubernetes.io/region": "eu-1",
            "topology.kubernetes.io/zone": "%b",
        },
    },
    "spec": {"podCIDR": "10.0.0.0/24"},
    "status": {
        "capacity": _RESOURCES,
        "allocatable": _RESOURCES,
        "conditions": [_condition("Ready", "True", reason="KubeletReady")],
        "addresses": [{"type": "Hostname", "address": "node-%05d"}],
        "nodeInfo": {"kubeletVersion": "v1.36.2", "operatingSystem": "linux", "architecture": "amd64"},
        "images": [{"names": [f"registry.example/app-{n}:1"], "sizeBytes": n * 10**7} for n in range(1, 20)],
    },
}
_CSI_NODE: Raw = {
    "metadata": {
        "name": "node-%05d",
        "uid": "00000000-0000-0000-0002-%012d",
        "resourceVersion": "%d",
        "creationTimestamp": CREATED,
    },
    "spec": {
        "drivers": [{"name": "csi.example", "nodeID": "node-%05d", "topologyKeys": ["topology.kubernetes.io/zone"]}]
    },
}
