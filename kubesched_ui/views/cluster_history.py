"""The history of a live cluster: the slider over the stored hours, and the map at any resourceVersion."""

from collections import Counter
from datetime import datetime
from typing import Any

from kubesched_ui.clusters import queries
from kubesched_ui.clusters.history import ADD, DELETE, ClusterChange, State, apply_patch
from kubesched_ui.clusters.models import Cluster
from kubesched_ui.scenarios.cluster_columns import cluster_columns
from kubesched_ui.scenarios.cluster_overview import ClusterView, NodeLine, PodLine
from kubesched_ui.views import cluster_context
from scheduler_core.api.objects import Pod
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


def picture_now(cluster: Cluster, after: int | None) -> dict[str, Any]:
    """Return the map now; with `after`, only the changes since that resourceVersion if these are few pods."""
    version = cluster.analysed_version
    if after is not None and after <= version:
        changes = queries.changes(cluster, after, version)
        if len(changes) < queries.MOST_CHANGES and (found := pod_changes(changes)) is not None:
            return {"version": version, "changes": found}
    found = queries.columns_now(cluster) or NO_NODES
    return found | {"version": version, "waiting": sum(row < 0 for row in found["pods"]["node"])}


def pod_changes(changes: list[ClusterChange]) -> dict[str, Any] | None:
    """Return what changes of pods do to the map: `added` pods as columns with their `on` nodes, pods `gone`, new
    `nodes` and `nominated` nodes of known pods. Return None if the map must be loaded again: nodes or the requests of a
    pod have changed.
    """
    added: dict[str, Any] = {}
    patched: dict[str, dict[str, Any]] = {}
    gone: set[str] = set()
    for change in changes:
        if change.kind == "Node" and (change.type in (ADD, DELETE) or changes_map(change.value)):
            return None
        if change.kind != "Pod":
            continue
        if change.type == DELETE:
            added.pop(change.key, None)
            patched.pop(change.key, None)
            gone.add(change.key)
        elif change.type == ADD:
            added[change.key] = change.value
        elif change.key in added:
            added[change.key] = apply_patch(added[change.key], change.value)
        else:
            patched[change.key] = joined(patched.get(change.key), change.value)
    nodes, nominated = {}, {}
    for key, patch in patched.items():
        spec, status = patch.get("spec") or {}, patch.get("status") or {}
        if "containers" in spec or "resources" in spec:
            return None
        if status.get("phase") in ("Succeeded", "Failed"):
            gone.add(key)
        if "nodeName" in spec:
            nodes[key] = spec["nodeName"] or ""
        if "nominatedNodeName" in status:
            nominated[key] = status["nominatedNodeName"] or ""
    state = State()
    state.objects["Pod"] = added
    pods = list(state.typed("Pod"))
    columns = cluster_columns(pods)["pods"]
    bound = {pod.key: pod.spec.node_name for pod in pods if isinstance(pod, Pod)}
    return {
        "added": {"pods": columns, "on": [bound[key] for key in columns["key"]]},
        "gone": sorted(gone),
        "nodes": nodes,
        "nominated": nominated,
    }


def joined(first: Any, second: Any) -> Any:
    """Return one merge patch for two in a row. Unlike `apply_patch`, it keeps null, which removes a field."""
    if not (isinstance(first, dict) and isinstance(second, dict)):
        return second
    return first | {key: joined(first.get(key), value) for key, value in second.items()}


def changes_map(patch: dict[str, Any]) -> bool:
    """Return whether a patch of a node changes what the map shows of it."""
    status, metadata = patch.get("status") or {}, patch.get("metadata") or {}
    return "spec" in patch or "labels" in metadata or bool({"allocatable", "capacity"} & status.keys())


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
