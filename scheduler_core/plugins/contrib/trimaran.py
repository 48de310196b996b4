"""What the Trimaran plugins share: the measured load of nodes, and the requests and limits of pods.

The load is of objects NodeMetrics or NodeLoad, or the document that a load watcher answers to `GET /watcher`.

Source: sigs.k8s.io/scheduler-plugins, pkg/trimaran (collector.go, resourcestats.go).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from scheduler_core.api import quantity
from scheduler_core.api.objects import Container, Node, Pod
from scheduler_core.api.plugin_args import Complain, PluginArgs, Strict
from scheduler_core.api.scheduler_plugins import LoadMetric
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.framework import interface as fwk
from scheduler_core.provenance.tree import go_round

CPU, MEMORY = "CPU", "Memory"  # types of metrics
AVERAGE, DEVIATION, LATEST = "AVG", "STD", "Latest"
PROVIDERS = ("KubernetesMetricsServer", "Prometheus", "SignalFx")
MEGA = 1.0 / 1024.0 / 1024.0
KEY, _STORED = "measured load", "measured load of objects"  # in `Cluster.shared`
NO_LOAD = "0: there is no measured load of this node"


class MetricProvider(Strict, frozen=True, kw_only=True):
    type: str = ""
    address: str | None = None
    token: str | None = None
    insecure_skip_verify: bool | None = None


class TrimaranArgs(PluginArgs, frozen=True, kw_only=True):
    """Where the load comes from. Only the type of the provider is checked: nothing is connected to."""

    metric_provider: MetricProvider = msgspec.field(default_factory=MetricProvider)
    watcher_address: str | None = None

    def check_provider(self, complain: Complain) -> None:
        kind = self.metric_provider.type
        if not self.watcher_address and kind and kind not in PROVIDERS:
            complain("metricProvider.type", f"invalid MetricProvider.Type, got {kind[:80]}")


class _NodeMetrics(msgspec.Struct):
    metrics: list[LoadMetric] | None = None


class _Data(msgspec.Struct):
    nodes: dict[str, _NodeMetrics] | None = msgspec.field(default=None, name="NodeMetricsMap")


class _Window(msgspec.Struct):
    end: int = 0


class MeasuredLoad(msgspec.Struct):
    """The measurements of all nodes. `window.end`: their time in seconds since 1970. `at_start`: they are of the
    beginning of the run, so that they lack the pods that it placed."""

    window: _Window = msgspec.field(default_factory=_Window)
    data: _Data = msgspec.field(default_factory=_Data)
    at_start: bool = False

    def of_node(self, name: str) -> list[LoadMetric] | None:
        """Return the measurements of a node; None if there are none."""
        found = (self.data.nodes or {}).get(name)
        return found.metrics if found is not None else None


def set_load(cluster: Cluster, document: Mapping[str, Any]) -> None:
    """Use the document of a load watcher. Raises msgspec.ValidationError."""
    cluster.shared[KEY] = msgspec.convert(document, MeasuredLoad)


def load_of(cluster: Cluster) -> MeasuredLoad:
    """Return the measured load of the cluster's nodes: a given document, or the objects NodeLoad and NodeMetrics."""
    given: MeasuredLoad | None = cluster.shared.get(KEY)
    if given is not None:
        return given
    versions = (cluster.node_loads.version, cluster.node_metrics.version, cluster.nodes.version)
    known: tuple[tuple[int, ...], MeasuredLoad] | None = cluster.shared.get(_STORED)
    if known is None or known[0] != versions:
        known = cluster.shared[_STORED] = (versions, _stored_load(cluster))
    return known[1]


def _stored_load(cluster: Cluster) -> MeasuredLoad:
    """Return the load of the objects. Upstream's client of the metrics server gives the usage in percent of capacity
    (load-watcher, pkg/watcher/internal/metricsprovider/k8s.go)."""
    loads = {}
    for name, used in cluster.node_metrics.items():
        if (row := cluster.nodes.rows.get(name)) is None:
            continue
        status = cluster.nodes.nodes[row].status
        metrics = []
        for kind, resource, number in ((CPU, "cpu", quantity.milli_value), (MEMORY, "memory", quantity.value)):
            has = number((status.capacity or status.allocatable).get(resource, 0))
            if has and resource in used.usage:
                metrics.append(LoadMetric(kind, LATEST, 100 * number(used.usage[resource]) / has))
        loads[name] = _NodeMetrics(metrics)
    loads |= {name: _NodeMetrics(load.metrics) for name, load in cluster.node_loads.items()}
    return MeasuredLoad(data=_Data(loads), at_start=True)


def scores_of(cluster: Cluster, rows: fwk.Rows, score: Callable[[Node], int]) -> fwk.Int64:
    """Return the score of the node of each row."""
    nodes = cluster.nodes.nodes
    return np.array([score(nodes[row]) for row in np.arange(len(nodes))[rows].tolist()], np.int64)


class Amounts(NamedTuple):
    """Millicores of cpu and bytes of memory."""

    cpu: int = 0
    memory: int = 0


def effective(pod: Pod, limits: bool = False) -> Amounts:
    """Return the sum of containers, at least each init container, plus overhead; of requests or limits."""

    def of_container(container: Container) -> Amounts:
        written = container.resources.limits if limits else container.resources.requests
        return Amounts(quantity.milli_value(written.get("cpu", 0)), quantity.value(written.get("memory", 0)))

    containers = [of_container(one) for one in pod.spec.containers]
    inits = [of_container(one) for one in pod.spec.init_containers]
    cpu = max([sum(one.cpu for one in containers), *(one.cpu for one in inits)])
    memory = max([sum(one.memory for one in containers), *(one.memory for one in inits)])
    overhead = pod.spec.overhead
    cpu += quantity.milli_value(overhead.get("cpu", 0))
    return Amounts(cpu, memory + quantity.value(overhead.get("memory", 0)))


class ResourceStats(NamedTuple):
    """What is used of a resource, on average and with its deviation, and what a node has of it."""

    average: float
    deviation: float
    capacity: float

    @staticmethod
    def of_node(metrics: Sequence[LoadMetric], node: Node, kind: str) -> ResourceStats | None:
        """Return the statistics of a resource; None without measurements of it."""
        average = deviation = 0.0
        found = has_average = False
        for metric in metrics:
            if metric.type != kind:
                continue
            found = True
            if metric.operator == AVERAGE:
                average, has_average = metric.value, True
            elif metric.operator == DEVIATION:
                deviation = metric.value
            elif metric.operator in ("", LATEST) and not has_average:
                average = metric.value
        if not found:
            return None
        capacity = capacity_of(node, kind)
        return ResourceStats(average * capacity / 100, deviation * capacity / 100, capacity)


def capacity_of(node: Node, kind: str) -> float:
    """Return what a node offers: millicores of cpu, MiB of memory."""
    offered = node.status.allocatable
    if kind == CPU:
        return float(quantity.milli_value(offered.get("cpu", 0)))
    return float(quantity.value(offered.get("memory", 0))) * MEGA


def mean_and_deviation(stats: ResourceStats, request: float) -> tuple[float, float]:
    """Return both as shares of the capacity, within 0 and 1; the request adds to the average."""
    if stats.capacity <= 0:
        return 0.0, 0.0
    mean = (stats.average + request) / stats.capacity
    return max(min(mean, 1.0), 0.0), max(min(stats.deviation / stats.capacity, 1.0), 0.0)


def to_int64(number: float) -> int:
    """Convert a number as Go does on amd64, truncated toward zero."""
    if math.isnan(number) or not -(2.0**63) <= number < 2.0**63:
        return -(1 << 63)
    return math.trunc(number)


def rounded_int64(number: float) -> int:
    return to_int64(number) if math.isnan(number) or abs(number) >= 2.0**62 else go_round(number)
