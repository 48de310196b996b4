"""The nodes and pods of a cluster in the column format of the map (`static/js/map/cluster_model.js`), without a run."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from scheduler_core.api.objects import Node, Pod, decode
from scheduler_core.api.quantity import QuantityError
from scheduler_core.cluster.resources import amounts, requests_of
from scheduler_core.debugger.restore import without_collecting
from scheduler_core.errors import InputError
from scheduler_core.releases import NEWEST, get_release
from scheduler_core.virtual_time.object_diff_text import taint_text

PENDING, BOUND = 1, 3
MAX_CELLS = 200_000  # limit of nodes times label keys
RELEASE = get_release(NEWEST)  # requests are shown as this release counts them


class _Columns:
    """A column dictionary that stores each distinct value once."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._index: dict[str, int] = {}

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


class _PodRow(NamedTuple):
    """A pod. `requests` and `owner`: indexes of their columns."""

    requests: int
    owner: int
    priority: int
    node: str
    nominated_node: str


@without_collecting()
def cluster_columns(objects: Iterable[Any]) -> dict[str, Any]:
    """Return the cluster of decoded objects in the format of `/api/runs/{id}/map`, before anything is placed."""
    nodes: dict[str, tuple[Node, int]] = {}
    pods: dict[str, _PodRow] = {}
    allocatable, requests, owners = _Columns(), _Columns(), _Columns()
    for obj in objects:  # the pods of a large cluster need too much memory at once
        with suppress(QuantityError):  # only earlier versions stored such an object
            if isinstance(obj, Node):
                index = allocatable.put(amounts(obj.status.allocatable or obj.status.capacity))
                nodes[obj.metadata.name] = obj, index
            elif isinstance(obj, Pod) and not obj.terminated:
                index = requests.put(dict(requests_of(obj, RELEASE).counted))
                owner, on, nominated = owners.put(_owner(obj)), obj.spec.node_name, obj.status.nominated_node_name
                pods[obj.key] = _PodRow(index, owner, obj.priority, on, nominated)
    rows = {name: row for row, name in enumerate(nodes)}
    places = [rows.get(pod.node, -1) for pod in pods.values()]
    return {
        "moment": 0,
        "end": 0,
        "cycle": 1,
        "cycles": 0,
        "t": 0,
        "nodes": {
            "name": list(nodes),
            "allocatable": [index for _, index in nodes.values()],
            "amounts": allocatable.values,
            **_labels_and_taints([node for node, _ in nodes.values()]),
        },
        "pods": {
            "id": list(range(len(pods))),
            "key": list(pods),
            "requests": [pod.requests for pod in pods.values()],
            "amounts": requests.values,
            "owner": [pod.owner for pod in pods.values()],
            "owners": owners.values,
            "priority": [pod.priority for pod in pods.values()],
            "node": places,
            "state": [BOUND if row >= 0 else PENDING for row in places],
            "came": list(range(len(pods))),
        },
        "before": len(pods) + 1,
        "nominated": {key: pod.nominated_node for key, pod in pods.items() if pod.nominated_node in rows},
    }


def _labels_and_taints(nodes: list[Node]) -> dict[str, Any]:
    taints = _Columns()
    labels: dict[str, Any] = {key: {"index": {}, "of": [-1] * len(nodes)} for key in _common(nodes)}
    for row, node in enumerate(nodes):
        for key, value in node.metadata.labels.items():
            if column := labels.get(key):
                column["of"][row] = column["index"].setdefault(value, len(column["index"]))
    return {
        "taints": [taints.put([taint_text(taint) for taint in node.spec.taints]) for node in nodes],
        "taint_sets": taints.values,
        "unschedulable": [int(node.spec.unschedulable) for node in nodes],
        "labels": {key: {"values": list(one["index"]), "of": one["of"]} for key, one in labels.items()},
    }


def _common(nodes: list[Node]) -> list[str]:
    """Return the label keys by which the map can group nodes: the most frequent ones, limited by MAX_CELLS."""
    keys = Counter(key for node in nodes for key in node.metadata.labels)
    return [key for key, _ in keys.most_common(MAX_CELLS // max(1, len(nodes)))]


def _owner(pod: Pod) -> str:
    return next((f"{one.kind} {one.name}" for one in pod.metadata.owner_references if one.controller), "")
