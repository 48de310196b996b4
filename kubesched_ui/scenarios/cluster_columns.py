"""The nodes and pods of a cluster in the column format of the map (`static/js/map/cluster_model.js`), without a run."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from scheduler_core.api.objects import Node, Pod, decode
from scheduler_core.cluster.resources import amounts, requests_of
from scheduler_core.errors import InputError
from scheduler_core.releases import NEWEST, get_release
from scheduler_core.virtual_time.object_diff_text import taint_text

PENDING, BOUND = 1, 3
MAX_CELLS = 200_000  # limit of nodes times label keys
Index = dict[str, int]


class _Columns:
    """A column dictionary that stores each distinct value once."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._index: Index = {}

    def put(self, value: Any) -> int:
        place = self._index.setdefault(repr(value), len(self.values))
        if place == len(self.values):
            self.values.append(value)
        return place


def decoded(raw: Iterable[Any]) -> Iterator[Any]:
    """Yield the decoded objects, without those that cannot be decoded; a run reports these."""
    for one in raw:
        with suppress(InputError):
            yield decode(one)


def cluster_columns(objects: Iterable[Any]) -> dict[str, Any]:
    """Return the cluster of decoded objects in the format of `/api/runs/{id}/map`, before anything is placed."""
    objects = list(objects)
    nodes = list({obj.metadata.name: obj for obj in objects if isinstance(obj, Node)}.values())
    pods = list({obj.key: obj for obj in objects if isinstance(obj, Pod) and not obj.terminated}.values())
    rows = {node.metadata.name: row for row, node in enumerate(nodes)}
    return {
        "moment": 0,
        "end": 0,
        "cycle": 1,
        "cycles": 0,
        "t": 0,
        "nodes": _nodes(nodes),
        "pods": _pods(pods, rows),
        "before": len(pods) + 1,
        "nominated": {pod.key: node for pod in pods if (node := pod.status.nominated_node_name) in rows},
    }


def _nodes(nodes: list[Node]) -> dict[str, Any]:
    allocatable, taints = _Columns(), _Columns()
    labels: dict[str, Any] = {key: {"index": {}, "of": [-1] * len(nodes)} for key in _common(nodes)}
    for row, node in enumerate(nodes):
        for key, value in node.metadata.labels.items():
            if column := labels.get(key):
                column["of"][row] = column["index"].setdefault(value, len(column["index"]))
    return {
        "name": [node.metadata.name for node in nodes],
        "allocatable": [allocatable.put(amounts(node.status.allocatable or node.status.capacity)) for node in nodes],
        "amounts": allocatable.values,
        "taints": [taints.put([taint_text(taint) for taint in node.spec.taints]) for node in nodes],
        "taint_sets": taints.values,
        "unschedulable": [int(node.spec.unschedulable) for node in nodes],
        "labels": {key: {"values": list(one["index"]), "of": one["of"]} for key, one in labels.items()},
    }


def _common(nodes: list[Node]) -> list[str]:
    """Return the label keys by which the map can group nodes: the most frequent ones, limited by MAX_CELLS."""
    keys = Counter(key for node in nodes for key in node.metadata.labels)
    return [key for key, _ in keys.most_common(MAX_CELLS // max(1, len(nodes)))]


def _pods(pods: list[Pod], rows: Index) -> dict[str, Any]:
    release = get_release(NEWEST)
    requests, owners = _Columns(), _Columns()
    on = [rows.get(pod.spec.node_name, -1) for pod in pods]
    return {
        "id": list(range(len(pods))),
        "key": [pod.key for pod in pods],
        "requests": [requests.put(dict(requests_of(pod, release).counted)) for pod in pods],
        "amounts": requests.values,
        "owner": [owners.put(_owner(pod)) for pod in pods],
        "owners": owners.values,
        "priority": [pod.spec.priority or 0 for pod in pods],
        "node": on,
        "state": [BOUND if row >= 0 else PENDING for row in on],
        "came": list(range(len(pods))),
    }


def _owner(pod: Pod) -> str:
    return next((f"{one.kind} {one.name}" for one in pod.metadata.owner_references if one.controller), "")
