"""The cluster state of the scheduler: the node table, the pods on it, and the objects that plugins look up."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from scheduler_core.api import devices, scheduler_plugins, workloads
from scheduler_core.api import objects as kinds
from scheduler_core.api.objects import Namespace, Node, Object, Pod
from scheduler_core.api.selectors import Selector
from scheduler_core.cluster.change_log import OBJECT, PLACED, REMOVED, TAKEN, Journal
from scheduler_core.cluster.nodes import NodeTable
from scheduler_core.cluster.nominator import Nominator
from scheduler_core.cluster.object_store import ObjectTable
from scheduler_core.cluster.pod_columns import PodColumns
from scheduler_core.cluster.pod_info import PodInfo, pod_infos
from scheduler_core.cluster.resources import crashes
from scheduler_core.cluster.volume_users import VolumeUsers
from scheduler_core.errors import InputError
from scheduler_core.releases import Release

_O = TypeVar("_O", bound=Object)

START_OF_2026_FEBRUARY = 1769904000.0  # 2026-02-01T00:00:00Z, in seconds since 1970


class Cluster:
    """A cluster. Objects are stored by key (`namespace/name`, or `name` if they have no namespace).

    `journal`: records every change. `version`: incremented when an object other than a pod or a node changes.
    """

    def __init__(self, release: Release) -> None:
        self.release = release
        self.journal = Journal()
        self.version = 0
        self.namespaces: dict[str, dict[str, str]] = {}  # name -> labels
        self.columns = PodColumns(self.namespaces)
        self.nodes = NodeTable(self.columns, release.stable_zone_labels, release.image_node_count_fixed_at_add)
        self.pods: dict[str, PodInfo] = {}  # bound and assumed pods
        self.crashing: set[str] = set()  # the bound and assumed pods on which kube-scheduler crashes
        self.priorities: dict[int, int] = {}  # priority -> number of bound and assumed pods
        self.group_members: Counter[str] = Counter()  # pod group -> number of bound and assumed pods
        self.volume_users = VolumeUsers()
        self._pod_watchers: list[Callable[[PodInfo, bool], object]] = []
        self.nominator = Nominator(self.journal)
        # the start and the time of the run in seconds since 1970; time does not pass in a run in a single pass
        self.epoch = START_OF_2026_FEBRUARY
        self.now: Callable[[], float] = lambda: START_OF_2026_FEBRUARY
        self.last_selector: tuple[Pod, int, Selector] | None = None  # a pod, `version`, the pod's default selector
        self.shared: dict[str, Any] = {}  # data that the plugins of all profiles share, by plugin
        self._tables: dict[type[Object], ObjectTable[Any]] = {}
        self.services = self._table(kinds.Service)
        self.replication_controllers = self._table(kinds.ReplicationController)
        self.replica_sets = self._table(kinds.ReplicaSet)
        self.stateful_sets = self._table(kinds.StatefulSet)
        self.volumes = self._table(kinds.PersistentVolume)
        self.claims = self._table(kinds.PersistentVolumeClaim)
        self.storage_classes = self._table(kinds.StorageClass)
        self.csi_nodes = self._table(kinds.CSINode)
        self.csi_drivers = self._table(kinds.CSIDriver)
        self.capacities = self._table(kinds.CSIStorageCapacity)
        self.attachments = self._table(kinds.VolumeAttachment)
        self.budgets = self._table(kinds.PodDisruptionBudget)
        self.priority_classes = self._table(kinds.PriorityClass)
        self.pod_groups = self._table(kinds.PodGroup)
        self.elastic_quotas = self._table(scheduler_plugins.ElasticQuota)
        self.node_topologies = self._table(scheduler_plugins.NodeResourceTopology)
        self.app_groups = self._table(scheduler_plugins.AppGroup)
        self.network_topologies = self._table(scheduler_plugins.NetworkTopology)
        self.seccomp_profiles = self._table(scheduler_plugins.SeccompProfile)
        self.node_metrics = self._table(scheduler_plugins.NodeMetrics)
        self.node_loads = self._table(scheduler_plugins.NodeLoad)
        self.scheduling_groups = self._table(workloads.PodGroup)  # of scheduling.k8s.io
        self.device_claims = self._table(devices.ResourceClaim)
        self.claim_templates = self._table(devices.ResourceClaimTemplate)
        self.device_classes = self._table(devices.DeviceClass)
        self.resource_slices = self._table(devices.ResourceSlice)
        self.device_taint_rules = self._table(devices.DeviceTaintRule)
        self.attachments.watch(self.volume_users.attach)
        self.csi_nodes.watch(lambda name, old, new: self.nodes.changed())

    def _table(self, kind: type[_O]) -> ObjectTable[_O]:
        """Create the table of a kind; the journal records its changes."""
        table: ObjectTable[_O] = ObjectTable()
        self._tables[kind] = table
        table.watch(self._note)
        return table

    def _note(self, key: str, old: Object | None, new: Object | None) -> None:
        self.version += 1
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
            self.version += 1
            self.columns.forget_namespaces()

    def apply_nodes(self, nodes: Sequence[Node]) -> None:
        """Add or replace nodes in order, as `apply` does."""
        for node in nodes:
            self.journal.note(OBJECT, node)
        self.nodes.set_nodes(nodes)

    def find(self, obj: Object) -> Object | None:
        """Return the stored object with the same kind and key, except pods; None if there is none."""
        if isinstance(obj, Node):
            entry = self.nodes.entries.get(obj.name)
            return entry.node if entry is not None else None
        if isinstance(obj, Namespace):
            labels = self.namespaces.get(obj.name)
            return Namespace(kinds.Metadata(obj.name, labels=labels)) if labels is not None else None
        table = self._tables.get(type(obj))
        return table.get(obj.key) if table is not None else None

    def container(self, obj: Object) -> dict[str, Any]:
        """Return the container of objects of this kind: a table, or `namespaces`. For reading only."""
        return self.namespaces if isinstance(obj, Namespace) else self._tables[type(obj)]

    def holds(self, obj: Object) -> bool:
        """Whether objects of this kind, except pods, are part of the state."""
        return type(obj) in self._tables or isinstance(obj, Node | Namespace)

    def others(self) -> Iterator[Object]:
        """Yield all objects except pods, nodes and namespaces, kind by kind."""
        for table in self._tables.values():
            yield from table.values()

    def remove(self, obj: Object) -> None:
        """Remove an object other than a pod."""
        if type(obj) in self._tables:
            if obj.key in self._tables[type(obj)]:
                del self._tables[type(obj)][obj.key]
            return
        self.journal.note(REMOVED, obj)
        if isinstance(obj, Node):
            self.nodes.remove_node(obj.name)
        elif isinstance(obj, Namespace):
            self.namespaces.pop(obj.name, None)
            self.version += 1
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
        infos = pod_infos([pod for pod in pods if not pod.terminated], self.release)
        self.nodes.refresh()
        self.add_pods([pod for pod in infos if pod.node])
        return [pod for pod in infos if not pod.node]

    def watch_pods(self, callback: Callable[[PodInfo, bool], object]) -> None:
        """Call `callback(pod, True)` after a pod is placed, `callback(pod, False)` before it is removed from its
        node."""
        self._pod_watchers.append(callback)

    def add_pod(self, pod: PodInfo, node: str) -> None:
        """Add a bound or assumed pod to a node. Raises InputError if the pod is already on a node."""
        self._enter(pod, node)
        self.nodes.add_pod(pod, node)

    def add_pods(self, pods: Sequence[PodInfo]) -> None:
        """Add pods in order, as `add_pod` does, each to the node that its `node` names. Raises InputError."""
        for pod in pods:
            self._enter(pod, pod.node)
        self.nodes.add_pods(pods)

    def _enter(self, pod: PodInfo, node: str) -> None:
        if pod.key in self.pods:
            raise InputError(f"Pod {pod.key}", "spec.nodeName", f"already runs on {self.pods[pod.key].node}")
        pod.node = node
        self.journal.note(PLACED, pod, node)
        self.pods[pod.key] = pod
        self.priorities[pod.priority] = self.priorities.get(pod.priority, 0) + 1
        if pod.group:
            self.group_members[pod.group] += 1
        if pod.volumes:
            self.volume_users.add(pod, pod.node)
        if self.release.status_without_request_crashes and crashes(pod.pod, self.release):
            self.crashing.add(pod.key)
        for placed in self._pod_watchers:
            placed(pod, True)

    def remove_pod(self, pod: PodInfo) -> None:
        """Remove a pod from its node: deleted, preempted, or forgotten after being assumed."""
        for placed in self._pod_watchers:
            placed(pod, False)
        del self.pods[pod.key]
        self.journal.note(TAKEN, pod, pod.node)
        self.priorities[pod.priority] -= 1
        if not self.priorities[pod.priority]:
            del self.priorities[pod.priority]
        if pod.group:
            self.group_members[pod.group] -= 1
            if not self.group_members[pod.group]:
                del self.group_members[pod.group]
        self.nodes.remove_pod(pod, pod.node)
        if pod.volumes:
            self.volume_users.remove(pod, pod.node)
        self.crashing.discard(pod.key)
        pod.node = ""
