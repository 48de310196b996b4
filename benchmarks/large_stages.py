"""A large cluster by processor time: its upload, its run and its scenario page, each in a process of its own.

For a busy machine, on which seconds of the clock say little. A row for each stage: seconds of processor time of the
process and of the one that it starts, and the peak MB of both. Modules are loaded before, as in the product.

`pods_as`: "simple" pods have only what the scheduler reads; those "of the API server" also have what it and the
controllers write; "of daemons": the same, and half of the running pods are of a DaemonSet, which names their node.
"""

import gzip
import json
import random
import resource
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from benchmarks.processes import in_new_process
from benchmarks.product import in_this_process

APPS = 200
PODS_AS = ("simple", "of the API server", "of daemons")
# Settings that let a cluster of 65,000 nodes and 500,000 pods in.
LIMITS = {
    **{"INGEST_MAX_NODES": "65000", "INGEST_MAX_PODS": "500000", "INGEST_MAX_BYTES": "1073741824"},
    **{"INGEST_MAX_SECONDS": "1800", "INGEST_MAX_MEMORY": "17179869184"},
    **{"OFFLOAD_MAX_MEMORY": "8589934592", "WEB_MAX_MEMORY": "4294967296"},
}


def cluster(pods: int, nodes: int, bound: int, out: IO[bytes], pods_as: str = "simple") -> None:
    """Write a gzipped snapshot. `bound` of its `pods` pods run. One in forty of the others does not fit."""
    items = objects(pods, nodes, bound)
    if pods_as != "simple":
        items = written_by_api_server(items, pods_as == "of daemons")
    with gzip.open(out, "wt", 1) as text:
        text.write('{"kind": "List", "items": [')
        for number, item in enumerate(items):
            text.write(", " * (number > 0) + json.dumps(item))
        text.write("]}")


def objects(pods: int, nodes: int, bound: int) -> Iterator[dict[str, Any]]:
    """Yield the nodes and pods of `cluster`."""
    per_node = 110 if bound else pods * 39 // 40 // nodes
    for number in range(nodes):
        labels = {"kubernetes.io/hostname": f"n{number:04}", "topology.kubernetes.io/zone": f"z{number % 5}"}
        allocatable = {"cpu": "96", "memory": "768Gi", "pods": str(per_node)}
        metadata = {"name": f"n{number:04}", "labels": labels}
        yield {"kind": "Node", "metadata": metadata, "status": {"allocatable": allocatable}}
    for number in range(pods):
        app = f"app-{number % APPS:03}"
        requests = {"cpu": f"{50 + number % 7 * 25}m", "memory": f"{64 << number % 4}Mi"}
        if bound and number >= bound and number % 40 == 0:
            requests["cpu"] = "200"
        metadata = {"name": f"{app}-{number:06}", "namespace": f"team-{number % 20}", "labels": {"app": app}}
        containers = [{"name": "main", "image": f"registry.example/{app}:1", "resources": {"requests": requests}}]
        spec: dict[str, Any] = {"containers": containers}
        pod = {"kind": "Pod", "metadata": metadata, "spec": spec}
        if number < bound:
            spec["nodeName"] = f"n{number % nodes:04}"
            pod["status"] = {"phase": "Running", "startTime": f"2026-01-01T00:{number % 60:02}:00Z"}
        yield pod


def written_by_api_server(items: Iterator[dict[str, Any]], daemons: bool) -> Iterator[dict[str, Any]]:
    """Add what an API server and the controllers write. `daemons`: whether half of the running pods are of DaemonSets.

    Sources: Kubernetes 1.36, pkg/apis/core/v1/defaults.go, plugin/pkg/admission/serviceaccount/admission.go,
    pkg/controller/daemon/util/daemonset_util.go (ReplaceDaemonSetPodNodeNameNodeAffinity).
    """
    choose = random.Random(1)
    for number, item in enumerate(items):
        time = f"2026-01-01T00:{number // 60 % 60:02}:{number % 60:02}Z"
        own = {"uid": str(uuid.UUID(int=choose.getrandbits(128))), "resourceVersion": str(number)}
        metadata = item["metadata"] | own | {"creationTimestamp": time}
        item = {"apiVersion": "v1", **item, "metadata": metadata}
        if item["kind"] == "Pod":
            _complete(item, daemons and "nodeName" in item["spec"] and number % 2 == 1, number, choose)
        yield item


def _complete(pod: dict[str, Any], daemon: bool, number: int, choose: random.Random) -> None:
    """Add the fields of a pod that has a controller. `daemon`: whether it is a DaemonSet."""
    metadata, spec, app = pod["metadata"], pod["spec"], pod["metadata"]["labels"]["app"]
    name, time, of_app = f"kube-api-access-{choose.getrandbits(20):05x}", metadata["creationTimestamp"], app[-3:] * 3
    metadata["labels"] |= {f"app.kubernetes.io/{key}": app for key in ("name", "instance", "component")}
    metadata["labels"] |= {"controller-revision-hash" if daemon else "pod-template-hash": of_app}
    metadata["annotations"] = {"prometheus.io/scrape": "true", "prometheus.io/port": "8080", "checksum": of_app * 7}
    uid = str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{app} {daemon}"))
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet" if daemon else "ReplicaSet", "name": app, "uid": uid}
    metadata["ownerReferences"] = [owner | {"controller": True, "blockOwnerDeletion": True}]
    mount = {"name": name, "readOnly": True, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
    for container in spec["containers"]:
        container |= {"ports": [{"containerPort": 8080, "protocol": "TCP"}], "imagePullPolicy": "IfNotPresent"}
        container |= {"env": [{"name": key, "value": "1"} for key in "ABC"], "volumeMounts": [mount]}
        container |= {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
    token = {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}
    root = {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}}
    projected = {"sources": [token, root], "defaultMode": 420}
    spec["volumes"] = [{"name": "config", "configMap": {"name": app}}, {"name": name, "projected": projected}]
    exists = {"operator": "Exists", "effect": "NoExecute"} | ({} if daemon else {"tolerationSeconds": 300})
    spec["tolerations"] = [{"key": f"node.kubernetes.io/{key}", **exists} for key in ("not-ready", "unreachable")]
    spec |= {"restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst"}
    spec |= {"serviceAccountName": "default", "serviceAccount": "default", "securityContext": {}, "priority": 0}
    spec |= {"schedulerName": "default-scheduler", "enableServiceLinks": True}
    spec |= {"preemptionPolicy": "PreemptLowerPriority"}
    if "nodeName" not in spec:
        pod["status"] = {"phase": "Pending", "qosClass": "Burstable"}
        return
    if daemon:
        field = {"key": "metadata.name", "operator": "In", "values": [spec["nodeName"]]}
        required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    types = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    ip = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
    started = {"name": "main", "image": f"registry.example/{app}:1", "imageID": f"registry.example/{app}@sha256:1"}
    started |= {
        "containerID": f"containerd://{choose.getrandbits(256):064x}",
        "state": {"running": {"startedAt": time}},
    }
    requests = spec["containers"][0]["resources"]["requests"]
    started |= {"allocatedResources": requests, "resources": {"requests": requests}, "volumeMounts": [mount]}
    pod["status"] |= {
        "conditions": [{"type": of, "status": "True", "lastTransitionTime": time} for of in types],
        "containerStatuses": [started | {"ready": True, "started": True, "restartCount": 0, "lastState": {}}],
        **{"podIP": ip, "podIPs": [{"ip": ip}], "hostIP": "10.0.0.1", "qosClass": "Burstable", "startTime": time},
    }


def upload(var: Path) -> None:
    from kubesched_ui.scenarios.upload_worker import read_and_store

    read_and_store([("cluster.json.gz", var / "cluster.json.gz")], "large", "upload", begun=lambda pk: None)


def run(var: Path) -> None:
    from kubesched_ui.models import Run, Scenario
    from kubesched_ui.runs import tasks

    run = Run.objects.create(scenario=Scenario.objects.get(), release="1.34", percentage=100, seed=1)
    tasks.execute_run(run.pk)


def page(var: Path) -> None:
    from django.test import Client

    from kubesched_ui.models import Scenario

    assert Client().get(f"/scenarios/{Scenario.objects.get().pk}/").status_code == 200


def load(name: str) -> None:
    """Load the modules of a stage."""
    match name:
        case "upload":
            from kubesched_ui.ingest import reader, store  # noqa: F401
            from kubesched_ui.scenarios import stored_table  # noqa: F401
        case "run":
            from kubesched_ui.runs import tasks  # noqa: F401
        case "page":
            from django.conf import settings
            from django.test import Client

            settings.OFFLOAD, settings.ALLOWED_HOSTS = False, ["*"]
            Client().get("/")


STAGES: dict[str, Callable[[Path], None]] = {"upload": upload, "run": run, "page": page}


def stage(name: str, var: Path) -> dict[str, Any]:
    """Execute a stage in this process. Return its figures."""
    with in_this_process(var, **LIMITS):
        load(name)
        kinds = {"own": resource.RUSAGE_SELF, "child": resource.RUSAGE_CHILDREN}
        before = {kind: resource.getrusage(who) for kind, who in kinds.items()}
        STAGES[name](var)
        figures: dict[str, Any] = {"stage": name}
        for kind, who in kinds.items():
            used = resource.getrusage(who)
            seconds = used.ru_utime + used.ru_stime - before[kind].ru_utime - before[kind].ru_stime
            figures |= {f"{kind}_s": round(seconds, 2), f"{kind}_mb": round(used.ru_maxrss / 1024)}
        return figures


def measure(
    nodes: int = 65_000, pods: int = 500_000, bound: int = 490_000, pods_as: str = "simple"
) -> Iterator[dict[str, Any]]:
    if pods_as not in PODS_AS:
        raise SystemExit(f"--pods-as: {pods_as!r} is not one of {', '.join(map(repr, PODS_AS))}")
    with tempfile.TemporaryDirectory() as folder:
        with (Path(folder) / "cluster.json.gz").open("wb") as file:
            cluster(pods, nodes, bound, file, pods_as)
        for name in STAGES:
            yield in_new_process(stage, name, Path(folder))
