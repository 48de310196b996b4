"""The history of a live cluster: the slider over the stored hours, and the map at any resourceVersion."""

from collections import Counter
from datetime import datetime
from typing import Any

from kubesched_ui.clusters import queries
from kubesched_ui.clusters.models import Cluster
from kubesched_ui.scenarios.cluster_columns import cluster_columns
from kubesched_ui.scenarios.cluster_overview import ClusterView, NodeLine, PodLine
from kubesched_ui.views import cluster_context
from scheduler_core.cluster.formatting import count

AROUND = 20  # changes listed before a position
NO_NODES: dict[str, Any] = cluster_columns([])


def context(cluster: Cluster, at: int | None) -> dict[str, Any]:
    """Return the context of the history page at a resourceVersion, the newest one by default."""
    stored = queries.history(cluster)
    version = min(max(at if at is not None else stored.last, stored.first), stored.last)
    found: dict[str, Any] = cluster_context.head(cluster, "history") | {"stored": stored, "position": version}
    if not stored.last or stored.first_at is None or stored.last_at is None:
        return found
    begin, end = stored.first_at, stored.last_at
    positions = [(stored.first, begin), *((one[0], one[1]) for one in stored.positions if one[0] >= stored.first)]
    when = max((time for rv, time in positions if rv <= version), default=begin)
    whole = max((end - begin).total_seconds(), 1e-6)

    def place(time: datetime) -> float:
        return 100 * min(1.0, max(0.0, (time - begin).total_seconds() / whole))

    return (
        found
        | {
            "when": when,
            "gap": queries.gap_at(cluster, version),
            "gaps": [
                {
                    "gap": gap,
                    "left": place(gap.began_at),
                    "width": max(0.4, place(gap.ended_at or end) - place(gap.began_at)),
                }
                for gap in stored.gaps
                if (gap.ended_at or end) > begin  # the one before the first stored position is the beginning
            ],
            "place": max(index for index, (rv, _) in enumerate(positions) if rv <= version),
            "position_text": str(version),
            "change_types": {"A": "added", "M": "changed", "D": "deleted"},
            "positions": [[rv, time.timestamp()] for rv, time in positions],
            "changes": list(reversed(queries.changes(cluster, max(0, version - 200), version)))[:AROUND],
        }
    )


def picture(cluster: Cluster, version: int) -> dict[str, Any]:
    """Return the map at a resourceVersion with the number of pods that have no node. Raises InputError."""
    found = queries.columns_at(cluster, version)
    waiting = sum(row < 0 for row in found["pods"]["node"])
    gap = queries.gap_at(cluster, version)
    text = f"{count(len(found['nodes']['name']))}, {count(len(found['pods']['key']), 'pod')}, {waiting:,} pending"
    return found | {"version": version, "waiting": waiting, "text": text, "gap": gap.reason if gap else ""}


def view_of(columns: dict[str, Any] | None) -> ClusterView:
    """Return the nodes and pods of the map's columns as lines of lists."""
    nodes, pods = (columns or NO_NODES)["nodes"], (columns or NO_NODES)["pods"]
    view = ClusterView({}, {})
    for row, name in enumerate(nodes["name"]):
        labels = {key: one["values"][one["of"][row]] for key, one in nodes["labels"].items() if one["of"][row] >= 0}
        view.nodes[name] = NodeLine(
            name,
            nodes["amounts"][nodes["allocatable"][row]],
            labels,
            nodes["taint_sets"][nodes["taints"][row]],
            bool(nodes["unschedulable"][row]),
            ready=True,
        )
    for row, key in enumerate(pods["key"]):
        requests = Counter(pods["amounts"][pods["requests"][row]]) | Counter(pods=1)
        name = nodes["name"][pods["node"][row]] if pods["node"][row] >= 0 else ""
        state = "bound" if name else "pending"
        view.pods[key] = PodLine(key, name, state, pods["priority"][row], dict(requests))
        if name:
            view.nodes[name].requested.update(requests)
    return view
