"""The cluster state of the scheduler: the node table, the pods on it, and the objects that plugins look up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from scheduler_core.api import workloads
from scheduler_core.api.devices import DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice
from scheduler_core.api.objects import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    Namespace,
    Node,
    Object,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    PodGroup,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
    StorageClass,
    VolumeAttachment,
)
from scheduler_core.cluster.change_log import OBJECT, PLACED, REMOVED, TAKEN, Journal
from scheduler_core.cluster.nodes import NodeTable
from scheduler_core.cluster.nominator import Nominator
from scheduler_core.cluster.object_store import Table
from scheduler_core.cluster.pod_columns import PodColumns
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cluster.volume_users import VolumeUsers
from scheduler_core.errors import InputError
from scheduler_core.releases import Release


class Cluster:
    """A cluster. Objects are stored by key (`namespace/name`, or `name` if they have no namespace).

    `journal`: records every change.
    """

    def __init__(self, release: Release) -> None:
        self.release = release
        self.journal = Journal()
        self.namespaces: dict[str, dict[str, str]] = {}  # name -> labels
        self.columns = PodColumns(self.namespaces)
        self.nodes = NodeTable(self.columns, release.stable_zone_labels)
        self.pods: dict[str, PodInfo] = {}  # bound and assumed pods
        self.priorities: dict[int, int] = {}  # priority -> number of bound and assumed pods
        self.group_members: Counter[str] = Counter()  # pod group -> number of bound and assumed pods
        self.volume_users = VolumeUsers()
        self.nominator = Nominator(self.journal)
        self.services: Table[Service] = Table()
        self.replication_controllers: Table[ReplicationController] = Table()
        self.replica_sets: Table[ReplicaSet] = Table()
        self.stateful_sets: Table[StatefulSet] = Table()
        self.volumes: Table[PersistentVolume] = Table()
        self.claims: Table[PersistentVolumeClaim] = Table()
        self.storage_classes: Table[StorageClass] = Table()
        self.csi_nodes: Table[CSINode] = Table()
        self.csi_drivers: Table[CSIDriver] = Table()
        self.capacities: Table[CSIStorageCapacity] = Table()
        self.attachments: Table[VolumeAttachment] = Table()
        self.budgets: Table[PodDisruptionBudget] = Table()
        self.priority_classes: Table[PriorityClass] = Table()
        self.pod_groups: Table[PodGroup] = Table()
        self.scheduling_groups: Table[workloads.PodGroup] = Table()  # of scheduling.k8s.io
        self.device_claims: Table[ResourceClaim] = Table()
        self.claim_templates: Table[ResourceClaimTemplate] = Table()
        self.device_classes: Table[DeviceClass] = Table()
        self.resource_slices: Table[ResourceSlice] = Table()
        self.shared: dict[str, Any] = {}  # data that the plugins of all profiles share, by plugin
        self._tables: dict[type[Object], Table[Any]] = {
            Service: self.services,
            ReplicationController: self.replication_controllers,
            ReplicaSet: self.replica_sets,
            StatefulSet: self.stateful_sets,
            PersistentVolume: self.volumes,
            PersistentVolumeClaim: self.claims,
            StorageClass: self.storage_classes,
            CSINode: self.csi_nodes,
            CSIDriver: self.csi_drivers,
            CSIStorageCapacity: self.capacities,
            VolumeAttachment: self.attachments,
            PodDisruptionBudget: self.budgets,
            PriorityClass: self.priority_classes,
            PodGroup: self.pod_groups,
            workloads.PodGroup: self.scheduling_groups,
            ResourceClaim: self.device_claims,
            ResourceClaimTemplate: self.claim_templates,
            DeviceClass: self.device_classes,
            ResourceSlice: self.resource_slices,
        }
        for table in self._tables.values():
            table.watch(self._note)
        self.attachments.watch(self.volume_users.attach)
        self.csi_nodes.watch(lambda name, old, new: self.nodes.changed())

    def _note(self, key: str, old: Object | None, new: Object | None) -> None:
        self.journal.note(REMOVED if new is None else OBJECT, old if new is None else new)

    def apply(self, obj: Object) -> None:
        """Add or replace an object other than a pod."""
        if type(obj) in self._tables:
            # the table's watcher records the change, as it does for writes by plugins
            self._tables[type(obj)][obj.key] = obj
            return
        if isinstance(obj, Node):
            self.apply_nodes([obj])
            return
        self.journal.note(OBJECT, obj)
        if isinstance(obj, Namespace):
            self.namespaces[obj.name] = obj.metadata.labels
            self.columns.forget_namespaces()

    def apply_nodes(self, nodes: Sequence[Node]) -> None:
        """Add or replace nodes in order, as `apply` does."""
        for node in nodes:
            self.journal.note(OBJECT, node)
        self.nodes.set_nodes(nodes)

    def find(self, obj: Object) -> Object | None:
        """Return the stored object of the same kind and key, other than a pod; None if there is none."""
        if isinstance(obj, Node):
            entry = self.nodes.entries.get(obj.name)
            return entry.node if entry is not None else None
        if isinstance(obj, Namespace):
            return obj if obj.name in self.namespaces else None
        table = self._tables.get(type(obj))
        return table.get(obj.key) if table is not None else None

    def others(self) -> Iterator[Object]:
        """Yield all objects except pods, nodes and namespaces, kind by kind."""
        for table in self._tables.values():
            yield from table.values()

    def remove(self, obj: Object) -> None:
        """Remove an object other than a pod."""
        if type(obj) in self._tables:
            self._tables[type(obj)].pop(obj.key, None)
            return
        self.journal.note(REMOVED, obj)
        if isinstance(obj, Node):
            self.nodes.remove_node(obj.name)
        elif isinstance(obj, Namespace):
            self.namespaces.pop(obj.name, None)
            self.columns.forget_namespaces()

    def load(self, objects: Iterable[Object]) -> list[PodInfo]:
        """Load a snapshot and return its pending pods in order. Bound pods are added; terminated pods are left out."""
        pods: list[Pod] = []
        nodes: list[Node] = []
        for obj in objects:
            if isinstance(obj, Pod):
                pods.append(obj)
            elif isinstance(obj, Node):
                nodes.append(obj)
            else:
                self.apply(obj)
        self.apply_nodes(nodes)
        infos = [PodInfo(pod, self.release) for pod in pods if not pod.terminated]
        self.nodes.refresh()
        self.add_pods([pod for pod in infos if pod.node])
        return [pod for pod in infos if not pod.node]

    def add_pod(self, pod: PodInfo, node: str) -> None:
        """Add a bound or assumed pod to a node. Raises InputError if the pod is already on a node."""
        if pod.key in self.pods:
            raise InputError(f"Pod {pod.key}", "spec.nodeName", f"already runs on {self.pods[pod.key].node}")
        pod.node = node
        self._know(pod)
        self.nodes.add_pod(pod, node)

    def add_pods(self, pods: Sequence[PodInfo]) -> None:
        """Add pods in order, as `add_pod` does, each to the node in its own `node`. Raises InputError."""
        for pod in pods:
            if pod.key in self.pods:
                raise InputError(f"Pod {pod.key}", "spec.nodeName", f"already runs on {self.pods[pod.key].node}")
            self._know(pod)
        self.nodes.add_pods(pods)

    def _know(self, pod: PodInfo) -> None:
        self.journal.note(PLACED, pod, pod.node)
        self.pods[pod.key] = pod
        self.priorities[pod.priority] = self.priorities.get(pod.priority, 0) + 1
        if pod.group:
            self.group_members[pod.group] += 1
        if pod.volumes:
            self.volume_users.add(pod, pod.node)

    def remove_pod(self, pod: PodInfo) -> None:
        """Remove a pod from its node: deleted, preempted, or forgotten after being assumed."""
        del self.pods[pod.key]
        self.journal.note(TAKEN, pod, pod.node)
        self.priorities[pod.priority] -= 1
        if not self.priorities[pod.priority]:
            del self.priorities[pod.priority]
        if pod.group:
            self.group_members[pod.group] -= 1
        self.nodes.remove_pod(pod, pod.node)
        if pod.volumes:
            self.volume_users.remove(pod, pod.node)
        pod.node = ""
