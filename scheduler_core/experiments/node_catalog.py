"""Node types that could be bought: new nodes of a type, with the pods that its DaemonSets put there."""

import random
import re
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from scheduler_core.api import quantity
from scheduler_core.api.objects import Node, OwnerReference, Pod, Taint, decode
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.nodes import ZONE
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.controllers import pod_template
from scheduler_core.controllers.pod_template import ControllerSpec, Workload
from scheduler_core.experiments.parameters import NodeType, NodeTypeTaint
from scheduler_core.experiments.scenario_input import ScenarioInput
from scheduler_core.releases import Release
from scheduler_core.snapshot import defaults

HOSTNAME = "kubernetes.io/hostname"
INSTANCE_TYPES = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
MAX_PRESETS = 30
CPU_PRICE, MEMORY_PRICE, DEVICE_PRICE = 0.03, 0.004, 1.0
"""Estimated price of an hour, for presets: of a CPU, a GiB of memory, and a whole GPU or other device."""

CONTROL_PLANE = ("control-plane", "controlplane", "master")
"""Roles of a node of the control plane: kubeadm's since 1.20, RKE's, and the older one that OpenShift keeps."""

_ROLE = "node-role.kubernetes.io/"
_CONDITIONS = "node.kubernetes.io/"  # taints of the node's condition, which a new node does not have
_UNSAFE = re.compile(r"[^a-z0-9.-]+")


def new_node(node_type: NodeType, name: str) -> Node:
    """Return an empty node of a type. Raises InputError for quantities that cannot be read."""
    allocatable = {"pods": "110", **node_type.allocatable}
    node = decode(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {**node_type.labels, HOSTNAME: name}},
            "spec": {"taints": [msgspec.structs.asdict(taint) for taint in node_type.taints]},
            "status": {"allocatable": allocatable, "capacity": allocatable},
        }
    )
    assert isinstance(node, Node)
    return node


def node_name(node_type: NodeType, number: int, taken: Iterable[str] = ()) -> str:
    """Return the name of the n-th new node of a type, such as `new-m5.large-3`."""
    base = "new-" + (_UNSAFE.sub("-", node_type.name.lower()).strip("-.") or "node")
    while f"{base}-{number}" in taken:
        base += "-x"
    return f"{base}-{number}"


def daemon_sets(scenario: ScenarioInput, release: Release, pods: Iterable[Pod]) -> list[Workload]:
    """Return the DaemonSets of a scenario: its objects, and those of which there are only pods.

    The API has no node affinity of the template in a pod, since each pod's affinity names its node; such a DaemonSet
    counts for every node that its nodeSelector and tolerations allow. Raises InputError.
    """
    found: dict[tuple[str, str], Workload] = {}
    for raw in scenario.objects():
        if raw.get("kind") == "DaemonSet" and pod_template.makes_pods(raw):
            defaults.fill(raw, release)
            workload = pod_template.read(raw)
            found[workload.namespace, workload.name] = workload
    for pod in pods:
        for owner in pod.metadata.owner_references:
            key = pod.metadata.namespace, owner.name
            if owner.kind == "DaemonSet" and key not in found:
                found[key] = _from_pod(pod, owner)
    return list(found.values())


def _from_pod(pod: Pod, owner: OwnerReference) -> Workload:
    affinity = pod.spec.affinity
    if affinity is not None and pod.placed_by != "DaemonSet controller" and affinity.node_affinity is not None:
        node = msgspec.structs.replace(affinity.node_affinity, required=None)
        affinity = msgspec.structs.replace(affinity, node_affinity=node)
    spec = msgspec.structs.replace(pod.spec, node_name="", affinity=affinity)
    base = Pod(metadata=pod.metadata, spec=spec)
    return Workload("DaemonSet", pod.metadata.namespace, owner.name, {}, ControllerSpec(), base, owner)


def daemon_pods(workloads: Iterable[Workload], node: Node, release: Release) -> Iterator[PodInfo]:
    """Yield the pods that DaemonSets create for a new node, on this node."""
    chance = random.Random(node.name)
    for workload in workloads:
        if workload.takes(node, release):
            pod = workload.pod(workload.suffixed(chance), node.name)
            pod.spec.node_name = node.name
            yield PodInfo(pod, release)


def add_node(cluster: Cluster, node: Node, workloads: Iterable[Workload]) -> None:
    """Add a new node with the pods of DaemonSets."""
    cluster.apply(node)
    cluster.add_pods(list(daemon_pods(workloads, node, cluster.release)))


# ---- presets


def presets(nodes: Iterable[Node]) -> list[NodeType]:
    """Return the node types of a cluster, most frequent first, with estimated prices. Nodes are of one type if they
    have equal allocatable quantities, taints, instance type and zone; the type has the labels that all of them have.
    Nodes of the control plane are no types."""
    groups: dict[bytes, list[Node]] = {}
    for node in nodes:
        if is_control_plane(node):
            continue
        labels = node.metadata.labels
        own = [labels.get(label) for label in (*INSTANCE_TYPES, ZONE)]
        key = msgspec.json.encode((node.status.allocatable, _taints(node), own), order="deterministic")
        groups.setdefault(key, []).append(node)
    found: list[NodeType] = []
    for alike in sorted(groups.values(), key=lambda group: (-len(group), group[0].name))[:MAX_PRESETS]:
        labels = dict(alike[0].metadata.labels)
        for other in alike[1:]:
            labels = {key: value for key, value in labels.items() if other.metadata.labels.get(key) == value}
        allocatable = {name: str(text) for name, text in alike[0].status.allocatable.items()}
        taints = msgspec.convert(msgspec.to_builtins(_taints(alike[0])), list[NodeTypeTaint])
        name = _name(labels, allocatable, {one.name for one in found})
        labels = {key: value for key, value in labels.items() if key != HOSTNAME}
        price = estimated_price(allocatable)
        found.append(NodeType(name=name, price=price, allocatable={**allocatable}, labels=labels, taints=taints))
    return found


def is_control_plane(node: Node) -> bool:
    """Return whether a label or a taint gives a node the role of the control plane."""
    keys = {*node.metadata.labels, *(taint.key for taint in node.spec.taints)}
    return (
        any(f"{_ROLE}{role}" in keys for role in CONTROL_PLANE)
        or node.metadata.labels.get("kubernetes.io/role") in CONTROL_PLANE
    )


def _taints(node: Node) -> list[Taint]:
    return [taint for taint in node.spec.taints if not taint.key.startswith(_CONDITIONS)]


def _name(labels: Mapping[str, str], allocatable: Mapping[str, str], taken: set[str]) -> str:
    instance = next((labels[label] for label in INSTANCE_TYPES if labels.get(label)), "")
    name = instance or f"{_cores(allocatable):g}cpu-{_gibibytes(allocatable):.0f}Gi"
    if labels.get(ZONE) and name in taken:
        name = f"{name}-{labels[ZONE]}"
    return next(one for one in (name, *(f"{name}-{n}" for n in range(2, MAX_PRESETS + 2))) if one not in taken)


def _cores(allocatable: Mapping[str, str]) -> float:
    return quantity.milli_value(allocatable.get("cpu", "0")) / 1000


def _gibibytes(allocatable: Mapping[str, str]) -> float:
    return quantity.value(allocatable.get("memory", "0")) / 2**30


def estimated_price(allocatable: Mapping[str, str]) -> float:
    """Return a price in dollars an hour from the size of a node, rounded to cents."""
    devices = sum(quantity.value(text) for name, text in allocatable.items() if name.endswith("/gpu"))
    price = CPU_PRICE * _cores(allocatable) + MEMORY_PRICE * _gibibytes(allocatable) + DEVICE_PRICE * devices
    return max(0.01, round(price, 2))
