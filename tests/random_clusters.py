"""Random clusters in which many behaviours of a release matter: `random_cluster(seed)`."""

import copy
import random
from collections.abc import Sequence
from typing import Any

from tests.scheduler_core.build import HOSTNAME, PREFERRED, REGION, REQUIRED, ZONE, claim, node, pod, selector, volume

Raw = dict[str, Any]
BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
APPS, ZONES, IMAGES, GPU = ("web", "db", "job"), ("a", "b", "c"), ("app:1", "base:2", "model:3"), "example.com/gpu"
TAINTS = (("team", "red", "NoSchedule"), ("team", "blue", "NoExecute"), ("spot", "", "PreferNoSchedule"))
DRIVER, CSI = "gpu.example.com", "csi.example.com"
GROUP = "kubescheduler.config.k8s.io"


class Chance(random.Random):
    def happens(self, share: float) -> bool:
        return self.random() < share

    def some(self, values: Sequence[Any], most: int) -> list[Any]:
        return self.sample(values, self.randint(1, min(most, len(values))))


def random_cluster(seed: int) -> Raw:
    """Return {"objects", "pods", "preempt", "percentage", "profile"}: `pods` names the pending ones in order."""
    chance = Chance(seed)
    nodes = [
        _node(chance, i) for i in range(chance.randint(103, 120) if chance.happens(0.02) else chance.randint(2, 7))
    ]
    names = [one["metadata"]["name"] for one in nodes]
    running = [_pod(chance, f"{name}-{i}", names, on=name) for name in names[:12] for i in range(chance.randint(0, 4))]
    alike = chance.happens(0.15)
    template = chance.randrange(1 << 32)
    pending = [_pod(Chance(template) if alike else chance, f"p{i}", names) for i in range(chance.randint(3, 9))]
    return {
        "objects": [*_others(chance, names), *nodes, *running, *pending],
        "pods": [f"{one['metadata']['namespace']}/{one['metadata']['name']}" for one in pending],
        "preempt": True,
        "percentage": 0 if len(nodes) > 100 else 100,
        "profile": _profile(chance) if chance.happens(0.3) else None,
    }


def with_other_hostnames(cluster: Raw) -> Raw:
    """Return the cluster with hostname labels that are not the names of the nodes. Local volumes name these labels."""
    renamed = copy.deepcopy(cluster)
    for one in renamed["objects"]:
        if one["kind"] == "Node":
            one["metadata"]["labels"][HOSTNAME] = f"host-{one['metadata']['name']}"
        elif one["kind"] == "PersistentVolume" and "local" in one["spec"]:
            for term in one["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]:
                for expression in term["matchExpressions"]:
                    expression["values"] = [f"host-{name}" for name in expression["values"]]
    return renamed


def _profile(chance: Chance) -> Raw:
    """Return a profile that every version of a configuration accepts."""
    weights = [{"name": "ImageLocality", "weight": 5}, {"name": "InterPodAffinity", "weight": 3}]
    disabled = chance.some(("NodeResourcesBalancedAllocation", "ImageLocality", "TaintToleration"), 2)
    sets: list[Raw] = [
        {"plugins": {"score": {"disabled": [{"name": "*"}]}}},
        {"plugins": {"score": {"disabled": [{"name": one["name"]} for one in weights], "enabled": weights}}},
        {"plugins": {"score": {"disabled": [{"name": name} for name in disabled]}}},
        {"pluginConfig": [{"name": "PodTopologySpread", "args": {"defaultConstraints": [], "defaultingType": "List"}}]},
        {"pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": _strategy(chance)}}]},
    ]
    return {"schedulerName": "default-scheduler", **chance.choice(sets)}


def _strategy(chance: Chance) -> Raw:
    resources = [{"name": name, "weight": chance.randint(1, 5)} for name in chance.some(("cpu", "memory", GPU), 3)]
    return {"type": chance.choice(("LeastAllocated", "MostAllocated")), "resources": resources}


def configuration(profile: Raw | None, version: str) -> Raw | None:
    """Return the configuration with a cluster's profile in a version that accepts its arguments, otherwise None."""
    if profile is None or not version:
        return None
    return {"apiVersion": f"{GROUP}/{version}", "kind": "KubeSchedulerConfiguration", "profiles": [profile]}


def _node(chance: Chance, number: int) -> Raw:
    name, zone, region = f"n{number:02}", chance.choice(ZONES), chance.choice("rs")
    labels = {"pool": chance.choice(("cpu", "gpu")), "kubernetes.io/arch": "amd64"}
    kind = chance.random()
    if kind < 0.75:
        labels |= {ZONE: zone, REGION: region}
    if kind < 0.3 or 0.75 < kind < 0.9:
        labels |= {BETA_ZONE: zone, BETA_REGION: region}
    made = node(
        name,
        labels=labels,
        cpu=chance.choice(("2", "4", "8", "3920m")),
        memory=chance.choice(("2Gi", "4Gi", "8Gi", "7Gi")),
        pods=chance.choice((6, 10, 110)),
        more={GPU: chance.choice((1, 4))} if chance.happens(0.3) else None,
        taints=tuple(chance.some(TAINTS, 2)) if chance.happens(0.25) else (),
        unschedulable=chance.happens(0.05),
        images={image: chance.randint(20, 1500) << 20 for image in chance.some(IMAGES, 3)},
    )
    made["status"]["allocatable"][f"attachable-volumes-csi-{CSI}"] = "2"
    if chance.happens(0.5):
        made["status"]["declaredFeatures"] = ["UserNamespacesHostNetworkSupport"]
    return made


def _pod(chance: Chance, name: str, nodes: Sequence[str], on: str = "") -> Raw:
    """Return a pod that has one or two further features."""
    app = chance.choice(APPS)
    requests = {
        "cpu": chance.choice(("100m", "250m", "500m", "1", "2")),
        "memory": chance.choice(("128Mi", "1Gi", "2Gi")),
    }
    made = pod(
        name,
        on=on,
        namespace=chance.choice(("default", "prod")),
        labels={"app": app, "rev": chance.choice("12")},
        requests={} if chance.happens(0.15) else dict(chance.some(list(requests.items()), 2)),
        priority=chance.choice((0, 0, 10, 100)),
        image=chance.choice(IMAGES),
        status={"phase": "Running", "startTime": f"2026-01-01T00:{chance.randrange(60):02}:00Z"} if on else None,
        deleted=bool(on) and chance.happens(0.05),
    )
    if chance.happens(0.4):
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": f"rs-{app}", "controller": True}
        made["metadata"]["ownerReferences"] = [owner]
    for feature in chance.some(FEATURES, 2):
        feature(chance, made, nodes)
    return made


def _expression(chance: Chance) -> Raw:
    key, values = chance.choice((("pool", ("cpu", "gpu")), (ZONE, ZONES), (BETA_ZONE, ZONES)))
    return {"key": key, "operator": chance.choice(("In", "NotIn")), "values": chance.some(values, 2)}


def _node_affinity(chance: Chance, made: Raw, nodes: Sequence[str]) -> None:
    term: Raw = {"matchExpressions": [_expression(chance)]}
    if chance.happens(0.35):
        name = chance.choice((*nodes, "gone"))
        term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}
    affinity: Raw = {PREFERRED: [{"weight": chance.randint(1, 100), "preference": term}]}
    if chance.happens(0.5):
        affinity = {REQUIRED: {"nodeSelectorTerms": [term]}}
    made["spec"].setdefault("affinity", {})["nodeAffinity"] = affinity


def _node_selector(chance: Chance, made: Raw, nodes: Sequence[str]) -> None:
    made["spec"]["nodeSelector"] = {"pool": chance.choice(("cpu", "gpu"))}


def _pod_affinity(chance: Chance, made: Raw, nodes: Sequence[str]) -> None:
    term: Raw = {
        "labelSelector": selector(app=chance.choice(APPS)),
        "topologyKey": chance.choice((HOSTNAME, ZONE, BETA_ZONE)),
    }
    if chance.happens(0.3):
        term["namespaceSelector"] = chance.choice(({}, selector(team="red")))
    if chance.happens(0.3):
        term["matchLabelKeys"] = ["rev"]
    name, weighted = chance.choice(("podAffinity", "podAntiAffinity")), chance.happens(0.5)
    terms = (
        {PREFERRED: [{"weight": chance.randint(1, 100), "podAffinityTerm": term}]} if weighted else {REQUIRED: [term]}
    )
    made["spec"].setdefault("affinity", {})[name] = terms


def _spread(chance: Chance, made: Raw, nodes: Sequence[str]) -> None:
    constraint: Raw = {
        "maxSkew": chance.randint(1, 2),
        "topologyKey": chance.choice((HOSTNAME, ZONE)),
        "whenUnsatisfiable": chance.choice(("DoNotSchedule", "ScheduleAnyway")),
        "labelSelector": chance.choice((selector(app=made["metadata"]["labels"]["app"]), {}, selector(rev="1"))),
    }
    if chance.happens(0.3):
        constraint |= {"matchLabelKeys": ["rev"], "nodeTaintsPolicy": "Honor", "nodeAffinityPolicy": "Ignore"}
    made["spec"].setdefault("topologySpreadConstraints", []).append(constraint)


def _tolerations(chance: Chance, made: Raw, nodes: Sequence[str]) -> None:
    made["spec"]["tolerations"] = [{"key": chance.choice(("team", "spot")), "operator": "Exists"}]


def _init_container(chance: Chance, made: Raw, nodes: Sequence[str]) -> None:
    one: Raw = {"name": "init", "image": chance.choice(IMAGES), "resources": {"requests": {}}}
    if chance.happens(0.7):
        one["resources"]["requests"] = {"cpu": chance.choice(("500m", "1", "3"))}
    if chance.happens(0.5):
        one |= {"restartPolicy": "Always", "ports": [{"containerPort": 80, "hostPort": chance.choice((80, 81))}]}
    made["spec"]["initContainers"] = [one]


def _overhead(chance: Chance, made: Raw, nodes: Sequence[str]) -> None:
    made["spec"]["overhead"] = {"cpu": chance.choice(("250m", "1")), "memory": "512Mi"}


def _whole_pod(chance: Chance, made: Raw, nodes: Sequence[str]) -> None:
    made["spec"]["resources"] = {"requests": {"cpu": chance.choice(("1", "3")), "memory": "1Gi"}}


def _resize(chance: Chance, made: Raw, nodes: Sequence[str]) -> None:
    held = {"cpu": chance.choice(("1500m", "3"))}
    made["status"]["containerStatuses"] = [
        {"name": "main", "allocatedResources": held, "resources": {"requests": held}}
    ]


def _extended(chance: Chance, made: Raw, nodes: Sequence[str]) -> None:
    made["spec"]["containers"][0]["resources"]["requests"][GPU] = chance.choice((1, 2, 8))


def _huge(chance: Chance, made: Raw, nodes: Sequence[str]) -> None:
    made["spec"]["containers"][0]["resources"]["requests"]["cpu"] = chance.choice(("3", "6"))


def _port(chance: Chance, made: Raw, nodes: Sequence[str]) -> None:
    made["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": chance.choice((80, 81))}]


def _never(chance: Chance, made: Raw, nodes: Sequence[str]) -> None:
    made["spec"] |= {"preemptionPolicy": "Never", "priority": 100}


def _urgent(chance: Chance, made: Raw, nodes: Sequence[str]) -> None:
    made["spec"]["priority"] = 1000
    _huge(chance, made, nodes)


def _gate(chance: Chance, made: Raw, nodes: Sequence[str]) -> None:
    if not made["spec"].get("nodeName"):
        made["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]


def _host_users(chance: Chance, made: Raw, nodes: Sequence[str]) -> None:
    made["spec"] |= {"hostNetwork": True, "hostUsers": False}


def _claims(chance: Chance, made: Raw, nodes: Sequence[str]) -> None:
    made["metadata"]["namespace"] = "default"
    good, bad = ("zonal", "stable", "local", "csi0", "csi1", "csi2", "csi3", "once", "waits"), ("unbound", "absent")
    names = chance.some(bad if chance.happens(0.15) else good, 2)
    made["spec"].setdefault("volumes", []).extend(
        {"name": f"v-{name}", "persistentVolumeClaim": {"claimName": name}} for name in names
    )


def _disk(chance: Chance, made: Raw, nodes: Sequence[str]) -> None:
    disk = chance.choice(({"gcePersistentDisk": {"pdName": "d1"}}, {"awsElasticBlockStore": {"volumeID": "vol-1"}}))
    made["spec"].setdefault("volumes", []).append({"name": "disk", **disk})


def _image_volume(chance: Chance, made: Raw, nodes: Sequence[str]) -> None:
    made["spec"].setdefault("volumes", []).append({"name": "data", "image": {"reference": chance.choice(IMAGES)}})


def _devices(chance: Chance, made: Raw, nodes: Sequence[str]) -> None:
    if not made["spec"].get("nodeName"):
        made["metadata"]["namespace"] = "default"
        made["spec"]["resourceClaims"] = [{"name": "d", "resourceClaimName": chance.choice(("d0", "d0", "d1", "d2"))}]


COMMON = (_node_affinity, _pod_affinity, _spread, _init_container, _claims, _urgent, _tolerations, _overhead)
FEATURES = (
    *COMMON,
    *COMMON,
    *(_node_selector, _whole_pod, _resize, _extended, _huge, _port, _never, _gate, _host_users, _disk, _image_volume),
    _devices,
)


def _others(chance: Chance, nodes: Sequence[str]) -> list[Raw]:
    found: list[Raw] = [
        {"kind": "Namespace", "metadata": {"name": "default", "labels": {"team": "red"}}},
        {"kind": "Namespace", "metadata": {"name": "prod", "labels": {"team": chance.choice(("red", "blue"))}}},
    ]
    for namespace in ("default", "prod"):
        for app in chance.some(APPS, 2):
            metadata = {"name": app, "namespace": namespace, "uid": f"rs-{app}"}
            found.append({"kind": "Service", "metadata": metadata, "spec": {"selector": {"app": app}}})
            found.append({"kind": "ReplicaSet", "metadata": metadata, "spec": {"selector": selector(app=app)}})
        budget = {"selector": selector(app=chance.choice(APPS))}
        status = {"disruptionsAllowed": chance.randint(0, 1)}
        metadata = {"name": "budget", "namespace": namespace}
        found.append({"kind": "PodDisruptionBudget", "metadata": metadata, "spec": budget, "status": status})
    return [*found, *_storage(chance, nodes), *_all_devices(chance, nodes)]


def _storage(chance: Chance, nodes: Sequence[str]) -> list[Raw]:
    zone = chance.choice(ZONES)
    made: list[Raw] = [
        {"kind": "StorageClass", "metadata": {"name": "wait"}, "volumeBindingMode": "WaitForFirstConsumer"},
        {"kind": "StorageClass", "metadata": {"name": "now"}, "volumeBindingMode": "Immediate"},
        volume("zonal", "now", labels={BETA_ZONE: zone}),
        volume("stable", "now", labels={ZONE: zone}),
        volume("local", "wait", at={HOSTNAME: chance.some(nodes, 2)}, local={"path": "/d"}),
        volume("free", "wait", at={ZONE: [zone]}),
        *(claim(name, "now", name) for name in ("zonal", "stable")),
        claim("local", "wait", "local"),
        claim("once", "now", "once", accessModes=["ReadWriteOncePod"]),
        volume("once", "now", accessModes=["ReadWriteOncePod"]),
        claim("waits", "wait"),
        claim("unbound", "now"),
    ]
    for i in range(4):
        made.append(volume(f"csi{i}", "now", csi={"driver": CSI, "volumeHandle": f"h{i}"}))
        made.append(claim(f"csi{i}", "now", f"csi{i}"))
    for name in chance.some(nodes, len(nodes)):
        driver = {"name": CSI, "nodeID": name, "topologyKeys": [], "allocatable": {"count": chance.randint(1, 3)}}
        made.append({"kind": "CSINode", "metadata": {"name": name}, "spec": {"drivers": [driver]}})
    for i, name in enumerate(chance.some(nodes, 2)):
        source = {"persistentVolumeName": f"csi{i}"}
        spec = {"attacher": CSI, "nodeName": name, "source": source}
        made.append({"kind": "VolumeAttachment", "metadata": {"name": f"at-{name}"}, "spec": spec})
    return made


def _all_devices(chance: Chance, nodes: Sequence[str]) -> list[Raw]:
    device_class = {"spec": {"selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]}}
    made: list[Raw] = [{"kind": "DeviceClass", "metadata": {"name": "gpu"}, **device_class}]
    for name in chance.some(nodes, 3):
        devices: list[Raw] = [{"name": f"g{i}"} for i in range(chance.randint(1, 3))]
        if chance.happens(0.3):
            devices[0]["taints"] = [{"key": "broken", "effect": "NoSchedule"}]
        count = 2 if chance.happens(0.2) else 1
        pool = {"name": name, "generation": 1, "resourceSliceCount": count}
        spec = {"driver": DRIVER, "nodeName": name, "pool": pool, "devices": devices}
        made.append({"kind": "ResourceSlice", "metadata": {"name": f"s-{name}"}, "spec": spec})
    for i in range(3):
        exactly: Raw = {"deviceClassName": "gpu", "count": 1 + i}
        if chance.happens(0.2):
            exactly = {"deviceClassName": "gpu", "allocationMode": "All"}
        spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
        metadata = {"name": f"d{i}", "namespace": "default", "uid": f"d{i}"}
        made.append({"kind": "ResourceClaim", "metadata": metadata, "spec": spec})
    return made
