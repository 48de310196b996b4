"""The nodes as columns: row i of every column is the i-th node in upstream's list order.

Columns are numpy arrays over nodes. They are updated in place when a pod is added or removed. If a node is added,
removed or moved to another zone, the next `refresh` assigns new rows to all nodes.

Source: pkg/scheduler/backend/cache/snapshot.go, pkg/scheduler/framework/types.go (NodeInfo).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from scheduler_core.api import selectors
from scheduler_core.api.objects import Node, Requirement
from scheduler_core.cluster import resources
from scheduler_core.cluster.node_tree import NodeTree
from scheduler_core.cluster.pod_columns import PodColumns
from scheduler_core.cluster.pod_counts import LabelClass
from scheduler_core.cluster.pod_info import EVERY_IP, PodInfo
from scheduler_core.cluster.topology import Topology
from scheduler_core.cluster.usage_log import UsageLog

Int64 = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]

_T = TypeVar("_T")
_MEMO_LIMIT = 4096
_EXTREME = 1 << 42  # an amount
_PERCENT = 100
_INT64 = 1 << 64  # the number of values of an int64
_ADD, _SUBTRACT = np.add, np.subtract
_OF_PODS = (
    *("is_bare", "_memo", "images", "used", "free", "nonzero", "numerators"),
    *("requested", "nonzero_cpu", "nonzero_memory", "pod_count"),
)

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
_BETA_ZONE, _BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"


def zone_key(node: Node, stable: bool = True) -> str:
    """Return the zone key of a node (upstream GetZoneKey).

    Beta labels have precedence. `stable`: whether the stable labels count.
    """
    labels = node.metadata.labels
    zone = labels.get(_BETA_ZONE, labels.get(ZONE, "") if stable else "")
    region = labels.get(_BETA_REGION, labels.get(REGION, "") if stable else "")
    return f"{region}:\0:{zone}" if zone or region else ""


def on_rows(matrix: npt.NDArray[Any], rows: slice | npt.NDArray[np.intp]) -> npt.NDArray[Any]:
    """Return `matrix[..., rows]`. `take` is faster for some rows."""
    return matrix[..., rows] if isinstance(rows, slice) else matrix.take(rows, axis=-1)


@dataclass(slots=True, eq=False)
class NodeEntry:
    """A node name: its node object (None if only pods refer to it) and its pods in order of arrival."""

    node: Node | None = None
    row: int = -1  # since the last `refresh`, if it has a node object
    kind: int = 0  # the number of its allocatable, equal for equal values
    # image -> number of nodes that had it when this node was added or last changed, see `NodeTable.refresh`
    image_spread: Mapping[str, int] = field(default_factory=dict)
    counted: int = -1  # the version of the images when they were counted
    pods: dict[str, PodInfo] = field(default_factory=dict)


@dataclass(slots=True)
class _Saved:
    """What `NodeTable.reverting` restores, as it was before the first change."""

    counts: dict[str, Mapping[str, int]] = field(default_factory=dict)  # node -> its image counts
    sizes: dict[str, int] = field(default_factory=dict)  # image -> its size when first added
    ports: dict[tuple[str, int], dict[str, set[str] | None]] = field(default_factory=dict)  # as `NodeTable.host_ports`


class NodeTable:
    """The table of nodes.

    `names`: the node of each row. `rows`: node name -> row. `allocatable`, `requested`: resource -> int64 column
    (millicores of cpu, whole units of other resources). `nonzero_cpu`, `nonzero_memory`: requests with the defaults of
    scoring. `pod_count`, `allowed_pods`: int64. `unschedulable`: bool. `usage`: the rows whose pods changed.
    `capacity`: int64, `allowed_pods` and then the columns of `allocatable` in the order of `places`, which has the row
    of each resource; cpu and memory are 1 and 2. `used`: the same for `pod_count` and `requested`. `free`: `capacity`
    less `used`. `nonzero`: those of cpu and memory. `numerators`: 100 x the free cpu and memory by `nonzero`, and the
    requested cpu and memory; int64 over [free or requested, cpu or memory, nodes].
    """

    def __init__(self, pods: PodColumns, stable_labels: bool = True, image_counts_fixed: bool = False) -> None:
        self.pods = pods
        self._counts_fixed = image_counts_fixed  # whether the nodes that have an image are counted once
        self._stable_labels = stable_labels  # whether stable zone and region labels count
        self.entries: dict[str, NodeEntry] = {}
        self.tree = NodeTree[str]()
        self._stale = False
        self._resources: list[str] = [resources.CPU, resources.MEMORY, resources.EPHEMERAL]
        self._kinds: dict[resources.Written, int] = {}  # allocatable -> its number
        self._of_kinds: list[dict[str, int]] = []  # the quantities of each kind
        self.names: list[str] = []
        self.rows: dict[str, int] = {}
        self.nodes: list[Node] = []
        # `capacity`, `used`, `free`, `nonzero` and `numerators`
        self._columns = np.zeros((18, 0), np.int64)
        self._bind()
        self.unschedulable = np.zeros(0, np.bool_)
        self._memo: dict[object, Any] = {}
        # (protocol, port) -> node -> used IPs. A set as upstream: the first of two users to leave frees the port.
        self.host_ports: dict[tuple[str, int], dict[str, set[str]]] = {}
        # image -> (size when first added, node that has it -> its entry)
        self.images: dict[str, tuple[int, dict[str, NodeEntry]]] = {}
        self._images_version = 0  # incremented when a node gets or loses images
        self._touched: set[str] | None = set()  # nodes that changed since the last `refresh`; None if that is not noted
        self.is_bare = False  # see `bare`
        self.has_extreme_amounts = False  # whether a pod's amount was negative or so large that a sum may overflow
        self.version = 0  # incremented when a node object, a CSINode, an image count or the order of the rows changes
        self.usage = UsageLog()
        self._saved: _Saved | None = None  # inside `reverting`

    def __len__(self) -> int:
        return len(self.names)

    # ---- nodes

    def set_nodes(self, nodes: Iterable[Node]) -> None:
        """Add or replace nodes in order."""
        known = []
        for node in nodes:
            name, status = node.metadata.name, node.status
            entry = self.entries.get(name)
            if entry is None:
                entry = self.entries[name] = NodeEntry()
            self._stale |= self.tree.put(name, zone_key(node, self._stable_labels))
            if self._saved is not None:
                self._saved.counts.setdefault(name, entry.image_spread)
            if entry.node is not None:
                self._drop_images(entry.node)
            if status.images or entry.image_spread:
                self._add_images(entry, node)
            if self._touched is not None:
                self._touched.add(name)
            entry.node = node
            entry.kind = self._kind_of(tuple(status.allocatable.items()))
            row = self.rows.get(name)
            if row is not None:
                self.nodes[row] = node
                self.unschedulable[row] = node.spec.unschedulable
                known.append(row)
        self.changed()
        if known:
            self._fill(known)

    def _kind_of(self, written: resources.Written) -> int:
        """Return the number of this allocatable, and create the columns of its resources."""
        kind = self._kinds.get(written)
        if kind is None:
            kind = self._kinds[written] = len(self._kinds)
            self._of_kinds.append(resources.amounts(dict(written)))
            for name in self._of_kinds[kind]:
                self._resource(name)
        return kind

    def remove_node(self, name: str) -> None:
        """Remove a node. Its pods stay until they are removed themselves."""
        entry = self.entries.get(name)
        if entry is None or entry.node is None:
            return
        if self._saved is not None:
            self._saved.counts.setdefault(name, entry.image_spread)
        self.tree.put(name, None)
        self._drop_images(entry.node)
        entry.node, entry.image_spread = None, {}
        if not entry.pods:
            del self.entries[name]
        self._stale = True
        self.changed()

    def _add_images(self, entry: NodeEntry, node: Node) -> None:
        spread: dict[str, int] = {}
        for image in node.status.images:
            for name in image.names:
                holders = self.images.setdefault(name, (image.size_bytes, {}))[1]
                holders[node.name] = entry
                spread.setdefault(name, len(holders))
        self._set_spread(entry, spread)
        self._images_version += 1

    @staticmethod
    def _set_spread(entry: NodeEntry, spread: Mapping[str, int]) -> None:
        """Set how often images count for a node until they are counted again."""
        entry.image_spread, entry.counted = spread, -1

    def _count_images(self) -> None:
        """Count the nodes that have the images of each node that changed.

        As upstream: a snapshot takes the number of nodes from the cache when it copies a node, and copies a node only
        if the node or its pods changed. Source: pkg/scheduler/framework/types.go (ImageStateSummary.Snapshot).
        """
        entries, version = self.entries, self._images_version
        for name in self._touched or ():
            entry = entries.get(name)
            if entry is None or entry.counted == version or not entry.image_spread:
                continue
            entry.counted = version
            spread = {image: len(self.images[image][1]) for image in entry.image_spread}
            if spread != entry.image_spread:
                if self._saved is not None:
                    self._saved.counts.setdefault(name, entry.image_spread)
                entry.image_spread = spread
                self.version += 1
        if self._touched is not None:
            self._touched.clear()

    def image_counts_are_current(self) -> bool:
        """Return whether `image_counts` is for each node the number of nodes that have the image now."""
        entries, now = self.entries.values(), self._images_version
        return self.memo(
            ("image counts", self.version),
            lambda: (all(entry.counted == now for entry in entries if entry.image_spread),),
        )[0]

    def image_counts(self, name: str) -> Mapping[str, int]:
        """Return image -> number of nodes that have it, as it counts for this node."""
        return self.entries[name].image_spread

    def set_image_counts(self, name: str, counts: Mapping[str, int]) -> None:
        """Set what `image_counts` returned earlier, as if the node had not changed since then."""
        if self._touched is not None:
            self._touched.discard(name)
        if self.entries[name].image_spread != counts:
            self._set_spread(self.entries[name], counts)
            self.version += 1

    def touch(self, names: Iterable[str]) -> None:
        """Let the next `refresh` count the images of these nodes again, as if their pods had changed."""
        if self._touched is not None:
            self._touched.update(names)

    @contextmanager
    def keep_image_counts(self) -> Iterator[None]:
        """A context in which changes do not count as changes of nodes: they are undone at its end."""
        saved, self._touched = self._touched, None
        try:
            yield
        finally:
            self._touched = saved

    @contextmanager
    def reverting(self) -> Iterator[None]:
        """A context at whose end the caller has taken back all changes of nodes and pods.

        Restore what taking back does not: image counts and sizes, and host ports that two pods of a node use.
        """
        touched, outer = self._touched, self._saved
        self._touched, self._saved = None if touched is None else set(touched), _Saved()
        saved = self._saved
        try:
            yield
        finally:
            self._touched = None
            self.refresh()
            for name, counts in saved.counts.items():
                if name in self.entries and self.entries[name].image_spread != counts:
                    self._set_spread(self.entries[name], counts)
                    self.version += 1
            for image, size in saved.sizes.items():
                if image in self.images:
                    self.images[image] = size, self.images[image][1]
            for port, users in saved.ports.items():
                for name, addresses in users.items():
                    if addresses is None:
                        self.host_ports[port].pop(name, None)
                    else:
                        self.host_ports[port][name] = addresses
            self._touched, self._saved = touched, outer

    def _drop_images(self, node: Node) -> None:
        self._images_version += 1
        for image in node.status.images:
            for name in image.names:
                if name in self.images:
                    self.images[name][1].pop(node.name, None)
                    if not self.images[name][1]:
                        if self._saved is not None:
                            self._saved.sizes.setdefault(name, self.images[name][0])
                        del self.images[name]

    def zones(self) -> dict[str, list[str]]:
        """Return a copy of zone -> node names: the order of the nodes."""
        return {zone: list(names) for zone, names in self.tree.zones.items()}

    def restore_zones(self, zones: Mapping[str, list[str]]) -> None:
        """Restore an earlier order of the same nodes."""
        self.tree = NodeTree(zones)
        self._stale = True

    def changed(self) -> None:
        """Clear the memo after a change of a node object, a CSINode or the order of the rows."""
        self._memo.clear()
        self.version += 1

    def refresh(self) -> None:
        """Begin a cycle: assign a row to every node if one was added or removed."""
        if self._touched and self.images and not self._counts_fixed:
            self._count_images()
        if not self._stale:
            return
        old = self.rows
        self.names = self.tree.names()
        self.rows = {name: row for row, name in enumerate(self.names)}
        entries = [self.entries[name] for name in self.names]
        self.nodes = [entry.node for entry in entries if entry.node is not None]
        for row, entry in enumerate(entries):
            entry.row = row
        origin = np.fromiter((old.get(name, -1) for name in self.names), np.intp, len(self.names))
        if len(old):
            self._columns = self._columns[:, origin]
        else:
            self._columns = np.zeros((len(self._columns), len(origin)), np.int64)
        fresh = np.flatnonzero(origin < 0)
        self._columns[:, fresh] = 0
        self._bind()
        self.unschedulable = np.fromiter((node.spec.unschedulable for node in self.nodes), np.bool_, len(self.nodes))
        self.pods.permute(self.rows, origin)
        self.usage.add_all(len(origin))
        rows = fresh.tolist()
        self._fill(rows)
        self._tally_all([(row, pod) for row in rows for pod in self.entries[self.names[row]].pods.values()])
        self._stale = False
        assert self._columns.shape[1] == len(self.nodes) == len(self.rows) == len(self.names), "each row has one node"
        self.changed()

    def _bind(self) -> None:
        half = 1 + len(self._resources)
        self.capacity, self.used = self._columns[:half], self._columns[half : 2 * half]
        self.free, self.nonzero = self._columns[2 * half : -6], self._columns[-6:-4]
        self.numerators = self._columns[-4:].reshape(2, 2, -1)
        self.places = {name: place for place, name in enumerate(self._resources, 1)}
        self.allowed_pods, self.allocatable = (
            self.capacity[0],
            dict(zip(self._resources, self.capacity[1:], strict=True)),
        )
        self._bind_used()
        self._added: dict[tuple[int, tuple[int, int]], tuple[Mapping[str, int], Int64]] = {}  # see `_added_by`

    def _bind_used(self) -> None:
        self.pod_count, self.requested = self.used[0], dict(zip(self._resources, self.used[1:], strict=True))
        self.nonzero_cpu, self.nonzero_memory = self.nonzero

    def _resource(self, name: str) -> None:
        """Create the columns of a resource if they are missing."""
        if name == "pods" or name in self.allocatable:
            return
        half = 1 + len(self._resources)
        self._columns = np.insert(self._columns, (half, 2 * half, 3 * half), 0, axis=0)
        self._resources.append(name)
        self._bind()
        self.version += 1

    def _fill(self, rows: list[int]) -> None:
        """Write the allocatable of the nodes into these rows."""
        kinds = [self.entries[self.names[row]].kind for row in rows]
        for name, column in (("pods", self.allowed_pods), *self.allocatable.items()):
            column[rows] = np.array([of.get(name, 0) for of in self._of_kinds], np.int64)[kinds]
        self.free[:, rows] = self.capacity[:, rows] - self.used[:, rows]
        self.numerators[0][:, rows] = _PERCENT * (self.capacity[1:3, rows] - self.nonzero[:, rows])

    # ---- pods

    def add_pod(self, pod: PodInfo, node: str) -> None:
        """Add a pod to a node, which may not exist yet."""
        entry = self.entries.get(node)
        if entry is None:
            entry = self.entries[node] = NodeEntry()
        entry.pods[pod.key] = pod
        if pod.host_ports:
            self._add_ports(pod, node)
        if self._touched is not None:
            self._touched.add(node)
        self._add_resources(pod.held)
        row = self.rows.get(node)  # a node without a row is counted when it gets one
        if row is not None:
            self._count(pod, row, 1)
        self.pods.count(pod, node, row, 1)

    def add_pods(self, pods: Sequence[PodInfo]) -> None:
        """Add each pod to its own node, as `add_pod` does."""
        entries = self.entries
        for pod in pods:
            entry = entries.get(pod.node)
            if entry is None:
                entry = entries[pod.node] = NodeEntry()
            entry.pods[pod.key] = pod
            if pod.host_ports:
                self._add_ports(pod, pod.node)
        if self._touched is not None:
            self._touched.update([pod.node for pod in pods])
        for held in {id(pod.held): pod.held for pod in pods}.values():
            self._add_resources(held)
        known: dict[
            tuple[str, int, bool], LabelClass
        ] = {}  # pods of a template in a snapshot have the same labels object
        for pod in pods:
            key = pod.namespace, id(pod.labels), pod.terminating
            pod.label_class = known.get(key) or known.setdefault(key, self.pods.label_class(pod))
            counts = pod.label_class.nodes
            counts[pod.node] = counts.get(pod.node, 0) + 1
        self._tally_all([(row, pod) for pod in pods if (row := self.rows.get(pod.node)) is not None])

    def _add_resources(self, names: Mapping[str, int]) -> None:
        """Create the columns of these resources if they are missing."""
        if not names.keys() <= self.allocatable.keys():
            for name in names:
                self._resource(name)

    def _add_ports(self, pod: PodInfo, node: str) -> None:
        if self._saved is not None:
            self._save_ports(pod, node)
        for ip, protocol, port in pod.host_ports:
            self.host_ports.setdefault((protocol, port), {}).setdefault(node, set()).add(ip)

    def _save_ports(self, pod: PodInfo, node: str) -> None:
        assert self._saved is not None
        for _, protocol, port in pod.host_ports:
            addresses = self.host_ports.get((protocol, port), {}).get(node)
            saved = self._saved.ports.setdefault((protocol, port), {})
            saved.setdefault(node, None if addresses is None else set(addresses))

    def remove_pod(self, pod: PodInfo, node: str) -> None:
        """Remove a pod from a node."""
        entry = self.entries[node]
        del entry.pods[pod.key]
        if self._touched is not None:
            self._touched.add(node)
        if pod.host_ports and self._saved is not None:
            self._save_ports(pod, node)
        for ip, protocol, port in pod.host_ports:
            self.host_ports[protocol, port][node].discard(ip)
        row = self.rows.get(node)
        if row is not None:
            self._count(pod, row, -1)
        self.pods.count(pod, node, row, -1)
        if entry.node is None and not entry.pods:
            del self.entries[node]

    def restore_host_ports(self, node: str) -> None:
        """Mark the ports of all pods on a node as used, also if another user of a port has left."""
        for pod in self.entries[node].pods.values() if node in self.entries else ():
            for ip, protocol, port in pod.host_ports:
                self.host_ports.setdefault((protocol, port), {}).setdefault(node, set()).add(ip)

    def _count(self, pod: PodInfo, row: int, step: int) -> None:
        values = self._columns[:, row]
        (_ADD if step > 0 else _SUBTRACT)(values, self._added_by(pod), values)
        self.usage.add(row)

    def _added_by(self, pod: PodInfo) -> Int64:
        """Return what a pod adds to each column. A sum beyond int64 wraps, as in Go."""
        key = id(pod.held), pod.nonzero
        known = self._added.get(key)
        if known is None:
            if len(self._added) >= _MEMO_LIMIT:
                self._added.clear()
            amounts = [1, *map(pod.held.get, self._resources, repeat(0))]
            changes = [*amounts, *[-one for one in amounts], *pod.nonzero, *[-_PERCENT * one for one in pod.nonzero]]
            if min(*amounts, *pod.nonzero) < 0 or max(*amounts, *pod.nonzero) >= _EXTREME:
                self.has_extreme_amounts = True
                changes = [(one + _INT64 // 2) % _INT64 - _INT64 // 2 for one in changes]
            added = np.array([*[0] * len(amounts), *changes, *amounts[1:3]], np.int64)
            known = self._added[key] = pod.held, added  # as long as it is here, no other object has its id
        return known[1]

    def used_by(self, pod: PodInfo) -> Int64:
        """Return what a pod adds to `used`."""
        size = len(self.capacity)
        return self._added_by(pod)[size : 2 * size]

    def _tally_all(self, placed: list[tuple[int, PodInfo]]) -> None:
        """Add many pods to the columns, each on a row. Pods with equal requests are grouped."""
        if not placed:
            return
        rows = np.array([row for row, _ in placed], np.intp)
        added = [self._added_by(pod) for _, pod in placed]
        distinct = {id(one): one for one in added}
        number_of = {key: i for i, key in enumerate(distinct)}
        index = [number_of[id(one)] for one in added]
        for column, amounts in zip(self._columns, np.array([*distinct.values()]).T, strict=True):
            if amounts.any():
                np.add.at(column, rows, amounts[index])
        self.usage.add_all(len(self))
        self.pods.count_rows(placed)

    def usage_of(self, row: int) -> bytes:
        """Return the allocatable and requested amounts of a row as a cache key, valid until `version` changes."""
        return self._columns[:, row].tobytes()

    @contextmanager
    def bare(self) -> Iterator[None]:
        """A context in which nodes have no pods and no images."""
        saved = {name: getattr(self, name) for name in _OF_PODS}
        self.is_bare, self._memo, self.images = True, {}, {}
        self.used, self.free, self.nonzero = np.zeros_like(self.used), self.capacity, np.zeros_like(self.nonzero)
        self.numerators = np.stack((_PERCENT * self.capacity[1:3], self.nonzero))
        self._bind_used()
        try:
            yield
        finally:
            for name, value in saved.items():
                setattr(self, name, value)

    def pods_of(self, row: int) -> Iterable[PodInfo]:
        """Return the pods on a node, in order of arrival."""
        if self.is_bare:
            return ()
        return self.entries[self.names[row]].pods.values()

    def mask(self, names: Iterable[str]) -> Bool:
        """Return the nodes with these names, which need not exist; bool over nodes."""
        mask = np.zeros(len(self), np.bool_)
        mask[[row for name in names if (row := self.rows.get(name)) is not None]] = True
        return mask

    def started(self, pod: PodInfo) -> None:
        """Note that the start time of a pod on a node changed."""
        row = self.rows.get(pod.node)
        if row is not None:
            self.usage.add(row)

    # ---- columns that depend on node objects only, cached until one changes

    def memo(self, key: object, make: Callable[[], _T]) -> _T:
        """Return `make()`, cached under `key` until a node object or a CSINode changes."""
        found = self._memo.get(key)
        if found is None:
            if len(self._memo) >= _MEMO_LIMIT:
                self._memo.clear()
            found = self._memo[key] = make()
        return found

    def owners(self, resource: str) -> Bool | None:
        """Return the nodes that have a resource with columns: bool over nodes, None for all."""

        def make() -> tuple[Bool | None]:
            column = self.allocatable[resource]
            return (None if column.all() else column != 0,)

        return self.memo(("owners", resource), make)[0]

    def topology(self, key: str) -> Topology:
        """Return the column of a label."""
        label = "label", key
        return self._memo.get(label) or self.memo(label, lambda: Topology(key, self.nodes))

    def name_rank(self) -> npt.NDArray[np.intp]:
        """Return the rank of each row's node in alphabetical order; intp over nodes."""

        def make() -> npt.NDArray[np.intp]:
            rank = np.empty(len(self.names), np.intp)
            rank[sorted(range(len(self.names)), key=self.names.__getitem__)] = np.arange(len(self.names))
            return rank

        return self.memo("name rank", make)

    def requirement_mask(self, req: Requirement) -> Bool:
        """Return the nodes whose labels meet a node selector requirement; bool over nodes."""
        topology = self.topology(req.key)
        by_value = np.fromiter(
            (selectors.requirement_matches(req, value) for value in (*topology.values, None)),
            np.bool_,
            len(topology.values) + 1,
        )
        return by_value[topology.ids]  # id -1 (no such label) takes the last entry

    def taint_sets(self) -> tuple[npt.NDArray[np.int32], list[Node]]:
        """Group the nodes by their taints: int32 ids over nodes, and one node of each id."""

        def make() -> tuple[npt.NDArray[np.int32], list[Node]]:
            index: dict[object, tuple[int, Node]] = {}
            keys = (tuple([(t.key, t.value, t.effect) for t in node.spec.taints]) for node in self.nodes)
            ids = [index.setdefault(key, (len(index), node))[0] for key, node in zip(keys, self.nodes, strict=True)]
            return np.array(ids, np.int32), [node for _, node in index.values()]

        return self.memo("taints", make)


def ports_conflict(wanted: str, used: Iterable[str]) -> bool:
    """Whether a requested host IP conflicts with those in use on the same protocol and port (upstream HostPortInfo)."""
    return any(wanted == ip or EVERY_IP in (wanted, ip) for ip in used)
