"""The table of nodes and pods in columns: the data of all maps (`static/js/map/cluster_model.js`), of the API and of
stored live clusters.

`scheduler_core/recording/change_stream.py` defines the columns and makes them of a run. Nothing is lost in them:
`view_of(columns_of(view))` has the same nodes and pods, without finished pods and messages.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kubesched_ui.scenarios.cluster_overview import ClusterView, NodeLine, PodLine, table_of
from scheduler_core.recording.change_stream import cluster_columns, distinct, node_columns, pods_at
from scheduler_core.recording.cluster_state import StateAtTimepoint

CODES = ("gone", "pending", "assumed", "bound", "gated", "deleting")  # numbers of the states of pods


def columns_of(view: ClusterView) -> dict[str, Any]:
    """Return the table in columns, before anything is placed."""
    pods = [pod for pod in view.pods.values() if pod.state != "finished"]
    rows = {name: row for row, name in enumerate(view.nodes)}
    amounts, requests = distinct({r: n for r, n in pod.requests.items() if r != "pods"} for pod in pods)
    owners, owner = distinct(pod.owner for pod in pods)
    return {
        **dict.fromkeys(("moment", "end", "cycles", "t"), 0),
        "cycle": 1,
        "nodes": node_columns(
            {
                "name": node.name,
                "allocatable": node.allocatable,
                "taints": node.taints,
                "labels": node.labels,
                "unschedulable": int(node.cordoned),
                "ready": int(node.ready),
            }
            for node in view.nodes.values()
        ),
        "pods": {
            "id": list(range(len(pods))),
            "key": [pod.key for pod in pods],
            "requests": requests,
            "amounts": amounts,
            "owner": owner,
            "owners": owners,
            "priority": [pod.priority for pod in pods],
            "node": [rows.get(pod.node, -1) for pod in pods],
            "state": [CODES.index(pod.state) for pod in pods],
            "came": list(range(len(pods))),
        },
        "before": len(pods) + 1,
        "nominated": {pod.key: pod.nominated_node for pod in pods if pod.nominated_node in rows},
        "orphans": {pod.key: pod.node for pod in pods if pod.node and pod.node not in rows},
    }


def columns_of_objects(objects: Iterable[Any]) -> dict[str, Any]:
    """Return the nodes and pods among decoded objects in columns."""
    return columns_of(table_of(objects))


def view_of(columns: Mapping[str, Any]) -> ClusterView:
    """Return the table of these columns."""
    nodes, names = columns["nodes"], columns["nodes"]["name"]
    labels: list[dict[str, str]] = [{} for _ in names]
    for key, one in nodes["labels"].items():
        for row, value in zip(one.get("rows", range(len(names))), one["of"], strict=True):
            if value >= 0:
                labels[row][key] = one["values"][value]
    lines = [
        NodeLine(
            name,
            nodes["amounts"][nodes["allocatable"][row]],
            labels[row],
            nodes["taint_sets"][nodes["taints"][row]],
            bool(nodes["unschedulable"][row]),
            bool(nodes["ready"][row]),
        )
        for row, name in enumerate(names)
    ]
    pods = pods_of(columns["pods"], [*names, ""])
    for key, node in columns["orphans"].items():
        pods[key].node = node
    for key, node in columns["nominated"].items():
        if key in pods:
            pods[key].nominated_node = node
    return ClusterView({line.name: line for line in lines}, pods)


def pods_of(pods: Mapping[str, Any], names: Sequence[str]) -> dict[str, PodLine]:
    """Return the pods of columns. `names`: the nodes, and "" for none."""
    requests = [{**amounts, "pods": 1} for amounts in pods["amounts"]]
    rows = zip(*(pods[column] for column in ("key", "node", "state", "priority", "requests", "owner")), strict=True)
    return {
        key: PodLine(key, names[node], CODES[state], priority, requests[number], pods["owners"][owner])
        for key, node, state, priority, number, owner in rows
    }


def pods_on(state: StateAtTimepoint, node: str) -> dict[str, PodLine]:
    """Return the pods on a node of a run at a timepoint, in order of arrival."""
    names = state.recording.names
    on = state.placed[state.node[state.placed] == names.index(node)]
    pods = pods_at(state, on)
    return pods_of(pods | {"node": [0] * len(on)}, [node])


def view_at(state: StateAtTimepoint) -> ClusterView:
    """Return the table of a run at a timepoint."""
    return view_of(cluster_columns(state))


EMPTY = columns_of(ClusterView({}, {}))
