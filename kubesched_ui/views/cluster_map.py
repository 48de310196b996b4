"""The map of a live cluster now: whole, or what changed since the last answer."""

from typing import Any, NamedTuple

import msgspec
from django.db.models import Max, Min, Q, Sum

from kubesched_ui.clusters import queries
from kubesched_ui.clusters.history import ADD, DELETE, ClusterChange, State, decode_changes
from kubesched_ui.clusters.models import ChangeBlock, Cluster
from kubesched_ui.scenarios.cluster_columns import EMPTY, columns_of_objects
from scheduler_core.api.objects import Metadata, Node, NodeStatus
from scheduler_core.api.patches import merge_patch

MOST = 100_000  # changes that are sent instead of the whole map
LATE = 10  # newest blocks that may have only changes of nodes that arrived late


class Known(NamedTuple):
    """What a browser has: all changes of the blocks before `block` and the first `changes` of it, as the last block
    grows; after the whole map, which has no block, the changes of pods and nodes up to these resourceVersions."""

    block: int | None = None
    changes: int = 0
    pods: int = 0
    nodes: int = 0


def picture_now(cluster: Cluster, known: Known | None) -> dict[str, Any]:
    """Return what changed since `known` as `changes`, or else the whole map. The browser sends the answer's `known`
    with its next request."""
    recent = changes_since(cluster, known) if known is not None else None
    if known is not None and recent is not None:
        changes, position = recent
        if (found := pod_changes(changes)) is not None:
            return {"changes": found, "known": position}
    whole = queries.columns_now(cluster) or EMPTY
    versions = whole.get("versions") or dict.fromkeys(("Pod", "Node"), cluster.analysed_version)
    return whole | {"known": {"pods": versions["Pod"], "nodes": versions["Node"]}}


def changes_since(cluster: Cluster, known: Known) -> tuple[list[ClusterChange], dict[str, int]] | None:
    """Return the stored changes of pods and nodes since `known`, and the new `known`; None if these are too many or not
    stored any more."""
    blocks = ChangeBlock.objects.filter(cluster=cluster)
    ends = blocks.aggregate(first=Min("number"), last=Max("number"))
    first, last = ends["first"] or 0, ends["last"] or 0
    if known.block is not None:
        if not first <= known.block <= last:
            return None
        rows = blocks.filter(number__gte=known.block)
    else:
        # Blocks are in the order of arrival, and nodes may not have changed for long.
        rows = blocks.filter(Q(last_version__gt=known.pods) | Q(number__gt=last - LATE))
    if (rows.aggregate(n=Sum("count"))["n"] or 0) > MOST:
        return None
    before = {"Pod": known.pods, "Node": known.nodes}
    found: list[ClusterChange] = []
    position = {"block": last, "changes": 0}
    for number, data in rows.order_by("number").values_list("number", "data").iterator(chunk_size=50):
        changes = decode_changes(data)
        position = {"block": number, "changes": len(changes)}
        new = changes[known.changes :] if number == known.block else changes
        found += (one for one in new if one.resource_version > before.get(one.kind, one.resource_version))
    return found, position


def pod_changes(changes: list[ClusterChange]) -> dict[str, Any] | None:
    """Return what changes of pods do to the map: `added` pods as columns with their `on` nodes; pods `gone`; of known
    pods the new `nodes` and `nominated` nodes, whether they are `gated`, and which are `deleting`; and whether nodes
    are `ready` by their conditions. Return None if the map must be loaded again: nodes or the requests of a pod have
    changed.
    """
    added: dict[str, Any] = {}
    patched: dict[str, dict[str, Any]] = {}
    gone: set[str] = set()
    ready: dict[str, bool] = {}
    for change in changes:
        if change.kind == "Node" and (change.type in (ADD, DELETE) or changes_map(change.value)):
            return None
        if change.kind == "Node" and "conditions" in (status := change.value.get("status") or {}):
            ready[change.key] = Node(Metadata(change.key), status=msgspec.convert(status, NodeStatus)).ready
        if change.kind != "Pod":
            continue
        if change.type == DELETE:
            added.pop(change.key, None)
            patched.pop(change.key, None)
            gone.add(change.key)
        elif change.type == ADD:
            added[change.key] = change.value
        elif change.key in added:
            added[change.key] = merge_patch(added[change.key], change.value)
        else:
            patched[change.key] = joined(patched.get(change.key), change.value)
    nodes, nominated, gated = {}, {}, {}
    deleting = []
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
        if "schedulingGates" in spec:
            gated[key] = bool(spec["schedulingGates"])
        if (patch.get("metadata") or {}).get("deletionTimestamp"):
            deleting.append(key)
    state = State()
    state.objects["Pod"] = added
    new = columns_of_objects(state.typed("Pod"))
    return {
        "added": {"pods": new["pods"], "on": [new["orphans"].get(key, "") for key in new["pods"]["key"]]},
        "gone": sorted(gone),
        "nodes": nodes,
        "nominated": nominated,
        "gated": gated,
        "deleting": deleting,
        "ready": ready,
    }


def joined(first: Any, second: Any) -> Any:
    """Return one merge patch for two in a row. Unlike `merge_patch`, it keeps null, which removes a field."""
    if not (isinstance(first, dict) and isinstance(second, dict)):
        return second
    return first | {key: joined(first.get(key), value) for key, value in second.items()}


def changes_map(patch: dict[str, Any]) -> bool:
    """Return whether a patch of a node changes what the map shows of it."""
    status, metadata = patch.get("status") or {}, patch.get("metadata") or {}
    return "spec" in patch or "labels" in metadata or bool({"allocatable", "capacity"} & status.keys())
