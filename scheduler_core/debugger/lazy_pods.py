"""Pods of a recording, on their nodes. Their objects are read when more is asked of them than its columns say.

So a cluster of 10,000 pods is there at once, and a question reads the few that it is about.
"""

from __future__ import annotations

from typing import Any

import msgspec

from scheduler_core.api.objects import Pod
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_counts import LabelClass
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.debugger.objects import Fetch
from scheduler_core.debugger.recording import Recording
from scheduler_core.releases import Release

_POD = msgspec.json.Decoder(Pod)


class StoredPods:
    """The pods of a recording for a cluster, where they are to be counted."""

    def __init__(self, recording: Recording, fetch: Fetch, cluster: Cluster) -> None:
        self._fetch, self._cluster = fetch, cluster
        pods = recording.tables["pods"]
        self._plain, self._object = pods["plain"].tolist(), pods["object"].tolist()
        self._keys, self._key = pods.texts["key"], pods["key"].tolist()
        self._amounts, self._requests = pods.distinct("requests"), pods["requests"].tolist()
        self._kinds, self._labels = pods.distinct("labels"), pods["labels"].tolist()
        self._cpu, self._memory = pods["nonzero_cpu"].tolist(), pods["nonzero_memory"].tolist()
        self._priority = pods["priority"].tolist()
        self._classes: dict[tuple[int, str], LabelClass] = {}

    def on(self, row: int, node: str, start_time: float) -> PodInfo:
        """The pod of a row on a node. `start_time`: 0 for what its object says."""
        if not self._plain[row]:
            pod = PodInfo(self.read(row, node), self.release)
            pod.start_time = start_time or pod.start_time
            return pod
        key, labels = self._keys[self._key[row]], self._labels[row]
        namespace = key.partition("/")[0]
        alike = self._classes.get((labels, namespace))
        if alike is None:
            alike = self._cluster.columns.class_of(namespace, self._kinds[labels], False)
            self._classes[labels, namespace] = alike
        held, nonzero = self._amounts[self._requests[row]], (self._cpu[row], self._memory[row])
        return StoredPod(self, row, key, alike, held, nonzero, self._priority[row], node, start_time)

    def read(self, row: int, node: str, nominated: str = "") -> Pod:
        """The object of a row's pod as it was on a node."""
        return read(self._fetch, self._object[row], node, nominated)

    @property
    def release(self) -> Release:
        return self._cluster.release


_LATER = (
    *("_terms", "name", "node_selection", "nonzero_incoming", "pod", "release", "requests", "slip"),
    *("start_time", "tolerations"),
)


class StoredPod(PodInfo):
    """A plain one: what counts of it on a node is in the recording's columns."""

    __slots__ = ("_bound_to", "_row", "_source", "_started")

    def __init__(
        self,
        source: StoredPods,
        row: int,
        key: str,
        alike: LabelClass,
        held: dict[str, int],
        nonzero: tuple[int, int],
        priority: int,
        node: str,
        start_time: float,
    ) -> None:
        self._source: StoredPods | None = source  # None once it is read
        self._row = row
        self.key, self.held, self.nonzero, self.priority = key, held, nonzero, priority
        self.label_class, self.labels, self.namespace = alike, alike.labels, alike.namespace
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
    """The pod of an object's number as it was on that node, "" for none."""
    pod = _POD.decode(fetch(number)[1])
    pod.spec.node_name, pod.status.nominated_node_name = node, nominated
    return pod


def unread(pod: PodInfo) -> bool:
    """Whether nothing was asked of the pod so far that is in its object alone."""
    return isinstance(pod, StoredPod) and not pod.is_read


def nominate(pod: PodInfo, node: str) -> None:
    """Has a pod be nominated to a node, "" for none, and its object say so."""
    pod.nominated_node = node
    if not unread(pod):
        pod.pod.status.nominated_node_name = node
