"""Placed pods of a recording. Their objects are decoded only if the columns do not hold the requested data.

A cluster of 10,000 pods is available at once, and a query decodes only the few pods that it needs.
"""

from __future__ import annotations

from typing import Any

import msgspec

from scheduler_core.api.objects import Pod
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_counts import LabelClass
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.recording.objects import Fetch
from scheduler_core.recording.recording import Recording
from scheduler_core.releases import Release

_POD = msgspec.json.Decoder(Pod)


class StoredPods:
    """Creates the placed pods of a recording for a cluster."""

    def __init__(self, recording: Recording, fetch: Fetch, cluster: Cluster) -> None:
        self._fetch, self._cluster = fetch, cluster
        pods = recording.tables["pods"]
        self._plain, self._object = pods["plain"].tolist(), pods["object"].tolist()
        self._keys = pods.text("key")
        self._amounts, self._requests = pods.distinct("requests"), pods["requests"].tolist()
        self._kinds, self._labels = pods.distinct("labels"), pods["labels"].tolist()
        self._cpu, self._memory = pods["nonzero_cpu"].tolist(), pods["nonzero_memory"].tolist()
        self._priority = pods["priority"].tolist()
        self._classes: dict[tuple[int, str], LabelClass] = {}

    def on(self, row: int, node: str, start_time: float) -> PodInfo:
        """Return the pod of a row, on a node. A `start_time` of 0 means the start time in its object."""
        if self._plain[row]:
            return StoredPod(self, row, node, start_time)
        pod = PodInfo(self.read(row, node), self.release)
        pod.start_time = start_time or pod.start_time
        return pod

    def fill(self, pod: StoredPod, row: int) -> None:
        """Set what the columns hold."""
        pod.key, pod.priority, pod.nonzero = self._keys[row], self._priority[row], (self._cpu[row], self._memory[row])
        pod.held = self._amounts[self._requests[row]]
        kind = self._labels[row], pod.key.partition("/")[0]
        if kind not in self._classes:
            self._classes[kind] = self._cluster.columns.class_of(kind[1], self._kinds[kind[0]], False)
        pod.label_class = alike = self._classes[kind]
        pod.labels, pod.namespace = alike.labels, alike.namespace

    def read(self, row: int, node: str, nominated: str = "") -> Pod:
        """Decode the object of a row's pod as it was on a node."""
        return read(self._fetch, self._object[row], node, nominated)

    @property
    def release(self) -> Release:
        return self._cluster.release


_LATER = (
    *("_terms", "equivalence_key", "keyed", "name", "node_selection", "nonzero_incoming", "pod", "release", "requests"),
    *("slip", "start_time", "tolerations"),
)


class StoredPod(PodInfo):
    """A plain pod: everything that affects its node is in the recording's columns."""

    __slots__ = ("_bound_to", "_row", "_source", "_started")

    def __init__(self, source: StoredPods, row: int, node: str, start_time: float) -> None:
        self._source: StoredPods | None = source  # None once the object is decoded
        self._row = row
        source.fill(self, row)
        self.node = self._bound_to = node
        self._started = bool(start_time)
        if start_time:
            self.start_time = start_time
        self.nominated_node = self.group = ""
        self.host_ports = self.volumes = self.term_columns = ()
        self.terminating = False

    def __getattr__(self, name: str) -> Any:
        if name not in _LATER or self._source is None:
            raise AttributeError(name)
        source, self._source = self._source, None
        full = PodInfo(source.read(self._row, self._bound_to, self.nominated_node), source.release)
        for later in _LATER:
            if later != "start_time" or not self._started:
                setattr(self, later, getattr(full, later))
        return getattr(self, name)

    @property
    def is_read(self) -> bool:
        return self._source is None


def read(fetch: Fetch, number: int, node: str = "", nominated: str = "") -> Pod:
    """Decode the pod with this object number as it was on that node, "" for none."""
    pod = _POD.decode(fetch(number)[1])
    pod.spec.node_name, pod.status.nominated_node_name = node, nominated
    return pod


def unread(pod: PodInfo) -> bool:
    """Return whether the pod's object was not decoded yet."""
    return isinstance(pod, StoredPod) and not pod.is_read


def nominate(pod: PodInfo, node: str) -> None:
    """Nominate a pod to a node, "" for none, also in its object if that is decoded."""
    pod.nominated_node = node
    if not unread(pod):
        pod.pod.status.nominated_node_name = node
