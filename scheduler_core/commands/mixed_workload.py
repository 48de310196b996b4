"""Workloads as companies have them: pools of nodes, and pods of many templates that arrive interleaved."""

import random
from bisect import bisect
from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import Any, Literal, NamedTuple

Raw = dict[str, Any]

HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
PODS_PER_TEMPLATE = 3.3  # mean; the templates of the pods are drawn
IMAGES = 400
CPU = (10, 50, 100, 200, 250, 500, 750, 1000, 2000)  # millicores
NUMA, QUOTAS = "NodeResourceTopologyMatch", "CapacityScheduling"
DRIVER, DEVICES = "gpu.example.com", 8  # per node of the pool gpu

# Pool -> (share of the nodes, cpu, memory in Gi, whether its taint `dedicated` keeps other pods away).
POOLS: dict[str, tuple[float, int, int, bool]] = {
    "general": (0.2, 32, 128, False),
    "mem": (0.2, 16, 256, False),
    "gpu": (0.2, 64, 512, True),
    "spot": (0.2, 8, 32, True),
    "infra": (0.2, 8, 32, True),
}


class Mix(NamedTuple):
    """What distinguishes a mixed workload.

    `requests`: of how many values cpu and memory are: a few, one for each template, or one for each pod, as a vertical
    autoscaler leaves them. `services`: the share of the templates with a Service. `unschedulable`, `volumes`,
    `devices`: the share of the templates that no node fits, whose pods have a bound volume in a zone, and whose pods
    have a ResourceClaim. `plugin`: one of scheduler-plugins that the configuration enables: NodeResourceTopologyMatch
    with a cache, for Guaranteed pods and two zones for each node, or CapacityScheduling with a quota for each
    namespace, which rejects no pod.
    """

    requests: Literal["few", "template", "pod"] = "template"
    namespaces: int = 60
    services: float = 0.6
    unschedulable: float = 0.0
    volumes: float = 0.0
    devices: float = 0.0
    plugin: str = ""

    @property
    def config(self) -> Raw | None:
        """The configuration that enables the plugin; None without one."""
        if not self.plugin:
            return None
        enabled = {"enabled": [{"name": self.plugin}]}
        profile: Raw = {"plugins": {"multiPoint": enabled}}
        if self.plugin == NUMA:
            profile["pluginConfig"] = [{"name": NUMA, "args": {"cacheResyncPeriodSeconds": 5}}]
        else:
            profile["plugins"]["postFilter"] = {**enabled, "disabled": [{"name": "*"}]}
        return {"profiles": [profile]}


MIXES: dict[str, Mix] = {
    "mixed": Mix(),
    "mixed-few-requests": Mix(requests="few"),
    "mixed-all-requests": Mix(requests="pod"),
    "mixed-unschedulable": Mix(unschedulable=0.3),
    "mixed-namespaces": Mix(namespaces=10, services=1.0),
    "mixed-volumes": Mix(volumes=0.3),
    "mixed-devices": Mix(devices=0.1),
    "mixed-numa": Mix(plugin=NUMA),
    "mixed-quotas": Mix(plugin=QUOTAS),
}


class _PodTemplate(NamedTuple):
    namespace: str
    labels: Mapping[str, str]
    spec: Raw
    volume: bool
    device: bool


def mixed(mix: Mix, nodes: int, pods: int) -> Iterator[Raw]:
    """Yield the objects of a mixed workload: nodes in five pools and three zones, and pending pods."""
    chance = random.Random(1)
    for i in range(nodes):
        yield from _node(chance, mix, i)
    if mix.plugin == QUOTAS:
        for i in range(mix.namespaces):
            least = {"cpu": "1k", "memory": "10Ti", "nvidia.com/gpu": "1k"}
            yield _object("scheduling.x-k8s.io/v1alpha1", "ElasticQuota", f"quota{i}", f"ns{i}", spec={"min": least})
    if mix.devices:
        selector = {"cel": {"expression": f'device.driver == "{DRIVER}"'}}
        yield _object("resource.k8s.io/v1", "DeviceClass", "gpu", spec={"selectors": [selector]})
    number = max(1, round(pods / PODS_PER_TEMPLATE))
    few = [_requests(chance) for _ in range(10)]
    templates = [_template(chance, mix, few, t, number) for t in range(number)]
    for t, template in enumerate(templates):
        if chance.random() < mix.services:
            spec = {"selector": {"app": f"app{t}"}}
            yield _object("v1", "Service", f"app{t}", template.namespace, spec=spec)
    for i in range(pods):
        yield from _pod(chance, mix, i, chance.choice(templates))


def mixed_preemption(nodes: int, pods: int) -> Iterator[Raw]:
    """Yield a mixed cluster whose cpu is taken by running pods of 1,500 templates, and pending pods of higher priority
    of 300 further templates. Disruption budgets select the pods of a third of the templates."""
    chance, mix, number = random.Random(1), Mix(), 1800
    templates = [_sized(chance, _template(chance, mix, [], t, number)) for t in range(number)]
    running, pending = templates[:1500], templates[1500:]
    for t in range(0, len(running), 3):
        spec = {"selector": {"matchLabels": {"app": f"app{t}"}}}
        status = {"disruptionsAllowed": chance.randrange(4)}
        yield _object("policy/v1", "PodDisruptionBudget", f"app{t}", running[t][0].namespace, spec=spec, status=status)
    by_pool = {
        pool: sorted((one for one in running if _may_run(one[0].spec, pool)), key=itemgetter(1)) for pool in POOLS
    }
    count = 0
    for i in range(nodes):
        (node,) = _node(chance, mix, i)
        yield node
        fitting, free = by_pool[node["metadata"]["labels"]["pool"]], POOLS[node["metadata"]["labels"]["pool"]][1] * 1000
        while choices := bisect(fitting, free, key=itemgetter(1)):
            template, cpu = fitting[chance.randrange(choices)]
            (pod,) = _pod(chance, mix, count, template)
            pod["spec"] |= {"nodeName": node["metadata"]["name"], "priority": chance.choice((0, 0, 10, 100))}
            started = f"2026-01-01T{chance.randrange(24):02d}:{chance.randrange(60):02d}:00Z"
            yield pod | {"status": {"phase": "Running", "startTime": started}}
            free, count = free - cpu, count + 1
    for i in range(count, count + pods):
        (pod,) = _pod(chance, mix, i, chance.choice(pending)[0])
        pod["spec"]["priority"] = chance.choice((1000, 1000, 2000))
        yield pod


def _sized(chance: random.Random, template: _PodTemplate) -> tuple[_PodTemplate, int]:
    """Return the template with larger requests of cpu, so that nodes have 10 to 40 pods, and their millicores."""
    cpu = chance.choice((250, 500, 1000, 2000, 4000)) + chance.randrange(50)
    template.spec["containers"][0]["resources"]["requests"]["cpu"] = f"{cpu}m"
    return template, cpu


def _may_run(spec: Raw, pool: str) -> bool:
    """Return whether pods with this spec may run on the nodes of a pool."""
    tolerated = any(one.get("value", pool) == pool for one in spec.get("tolerations", ()))
    gpu = "nvidia.com/gpu" in spec["containers"][0]["resources"]["requests"]
    return (
        spec.get("nodeSelector", {}).get("pool", pool) == pool
        and (tolerated or not POOLS[pool][3])
        and (pool == "gpu" or not gpu)
    )


def _object(version: str, kind: str, name: str, namespace: str = "", **fields: Any) -> Raw:
    metadata = {"name": name, "uid": f"{kind}-{name}", **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


def _node(chance: random.Random, mix: Mix, i: int) -> Iterator[Raw]:
    pool = chance.choices(list(POOLS), [share for share, *_ in POOLS.values()])[0]
    _, cpu, memory, tainted = POOLS[pool]
    name, gpu = f"node-{i:05d}", pool == "gpu"
    allocatable = {"cpu": str(cpu), "memory": f"{memory}Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    images = [
        {"names": [f"registry.example/app{chance.randrange(IMAGES)}:v1"], "sizeBytes": chance.randrange(20, 900) << 20}
        for _ in range(12)
    ]
    resources = allocatable | ({"nvidia.com/gpu": str(DEVICES)} if gpu else {})
    node = _object("v1", "Node", name, spec={}, status={"allocatable": resources, "capacity": resources})
    node["status"]["images"] = images
    node["metadata"]["labels"] = {
        HOSTNAME: name,
        ZONE: f"zone-{i % 3}",
        "pool": pool,
        "node.kubernetes.io/instance-type": f"{pool}.{chance.choice('sml')}",
        "kubernetes.io/arch": chance.choice(("amd64", "amd64", "arm64")),
    }
    if tainted:
        node["spec"]["taints"] = [{"key": "dedicated", "value": pool, "effect": "NoSchedule"}]
    yield node
    if mix.plugin == NUMA:
        half = {"cpu": str(cpu // 2), "memory": f"{memory // 2}Gi"}
        listed = [
            {"name": one, **dict.fromkeys(("capacity", "allocatable", "available"), has)} for one, has in half.items()
        ]
        zones = [{"name": f"node-{zone}", "type": "Node", "resources": listed} for zone in range(2)]
        policies = ["SingleNUMANodeContainerLevel"]
        version, kind = "topology.node.k8s.io/v1alpha2", "NodeResourceTopology"
        yield _object(version, kind, name, topologyPolicies=policies, zones=zones)
    if gpu and mix.devices:
        devices = [{"name": f"gpu-{j}"} for j in range(DEVICES)]
        of_pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": DRIVER, "nodeName": name, "pool": of_pool, "devices": devices}
        yield _object("resource.k8s.io/v1", "ResourceSlice", name, spec=spec)


def _requests(chance: random.Random) -> dict[str, str]:
    return {"cpu": f"{chance.choice(CPU) + chance.randrange(50)}m", "memory": f"{chance.randrange(32, 4096)}Mi"}


def _template(chance: random.Random, mix: Mix, few: list[dict[str, str]], t: int, number: int) -> _PodTemplate:
    """Return template `t` of `number`. Its pods tolerate taints, select a pool, prefer an architecture, and spread over
    zones or (anti-)affinity to pods of an app, each with a probability of its own."""
    requests = dict(chance.choice(few)) if mix.requests == "few" else _requests(chance)
    labels = {"app": f"app{t}", "pod-template-hash": f"h{t}"}
    spec: Raw = {"affinity": _affinity(chance, t, number)}
    device, gpu = chance.random() < mix.devices, chance.random()
    if device or gpu > 0.93:
        spec["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
    elif gpu < 0.15:
        pool = chance.choice(("spot", "infra"))
        spec["tolerations"] = [{"key": "dedicated", "operator": "Equal", "value": pool, "effect": "NoSchedule"}]
    if gpu > 0.93 and not device:
        requests["nvidia.com/gpu"] = "1"
    if not device and chance.random() < 0.2:
        spec["nodeSelector"] = {"pool": chance.choice(("general", "mem"))}
    if chance.random() < 0.25:
        action = chance.choice(("DoNotSchedule", "ScheduleAnyway"))
        constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": action, **_selector(t)}
        spec["topologySpreadConstraints"] = [constraint]
    if chance.random() < mix.unschedulable:
        if chance.random() < 0.5:
            spec["nodeSelector"] = {"pool": "retired"}
        else:
            requests["memory"] = "1Ti"
    limits = {n: q for n, q in requests.items() if "/" in n or mix.plugin == NUMA}
    resources = {"requests": requests, "limits": limits}
    spec["containers"] = [{"name": "main", "image": f"registry.example/app{t % IMAGES}:v1", "resources": resources}]
    return _PodTemplate(f"ns{t % mix.namespaces}", labels, spec, chance.random() < mix.volumes, device)


def _affinity(chance: random.Random, t: int, number: int) -> Raw:
    affinity: Raw = {}
    if chance.random() < 0.1:
        arm = {"matchExpressions": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]}]}
        affinity["nodeAffinity"] = {_PREFERRED: [{"weight": 50, "preference": arm}]}
    kind = chance.random()
    if kind < 0.27:
        term = {"topologyKey": HOSTNAME, **_selector(t)}
        affinity["podAntiAffinity"] = {_PREFERRED: [{"weight": 100, "podAffinityTerm": term}]}
    elif kind < 0.4:
        affinity["podAntiAffinity"] = {_REQUIRED: [{"topologyKey": HOSTNAME, **_selector(t)}]}
    elif kind < 0.47:
        term = {"topologyKey": ZONE, **_selector(chance.randrange(number))}
        affinity["podAffinity"] = {_PREFERRED: [{"weight": 10, "podAffinityTerm": term}]}
    return affinity


_REQUIRED, _PREFERRED = (f"{how}DuringSchedulingIgnoredDuringExecution" for how in ("required", "preferred"))


def _selector(t: int) -> Raw:
    return {"labelSelector": {"matchLabels": {"app": f"app{t}"}}}


def _pod(chance: random.Random, mix: Mix, i: int, template: _PodTemplate) -> Iterator[Raw]:
    name, namespace, spec = f"pod-{i:06d}", template.namespace, dict(template.spec)
    if mix.requests == "pod":
        (container,) = spec["containers"]
        own = container["resources"]["requests"] | _requests(chance)
        spec["containers"] = [container | {"resources": container["resources"] | {"requests": own}}]
    if template.volume:
        spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]
        yield from _bound_volume(name, namespace, f"zone-{chance.randrange(3)}")
    if template.device:
        spec["resourceClaims"] = [{"name": "gpu", "resourceClaimName": name}]
        request = {"name": "gpu", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}}
        claim = {"devices": {"requests": [request]}}
        yield _object("resource.k8s.io/v1", "ResourceClaim", name, namespace, spec=claim)
    pod = _object("v1", "Pod", name, namespace, spec=spec)
    pod["metadata"]["labels"] = dict(template.labels)
    yield pod


def _bound_volume(name: str, namespace: str, zone: str) -> Iterator[Raw]:
    """Yield a volume in a zone and the claim that is bound to it."""
    usual = {"accessModes": ["ReadWriteOnce"], "storageClassName": "zonal"}
    terms = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}]
    source = {"csi": {"driver": "disk.example.com", "volumeHandle": name}}
    affinity = {"required": {"nodeSelectorTerms": terms}}
    reference = {"claimRef": {"kind": "PersistentVolumeClaim", "namespace": namespace, "name": name}}
    spec = {**usual, **source, **reference, "capacity": {"storage": "10Gi"}, "nodeAffinity": affinity}
    yield _object("v1", "PersistentVolume", f"pv-{name}", spec=spec, status={"phase": "Bound"})
    spec = {**usual, "volumeName": f"pv-{name}", "resources": {"requests": {"storage": "10Gi"}}}
    claim = _object("v1", "PersistentVolumeClaim", name, namespace, spec=spec, status={"phase": "Bound"})
    claim["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    yield claim
