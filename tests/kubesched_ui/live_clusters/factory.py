"""A stored live cluster for tests: nodes, bound and pending pods, checked decisions, a history with a gap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from kubesched_ui.clusters.history import ADD, MODIFY, ClusterChange, encode_changes
from kubesched_ui.clusters.models import ChangeBlock, Cluster, Decision, HistoryGap, PendingPod
from kubesched_ui.scenarios.cluster_columns import columns_of
from kubesched_ui.scenarios.cluster_overview import cluster_view
from scheduler_core.api.patches import difference
from tests.kubesched_ui import clusters

FIRST, LAST = 1000, 1200  # resourceVersions of the stored history
GAP = (1100, 1120)
ANSWERS = {
    "never": ("node-selector", "No node has disk=ssd."),
    "not now": ("insufficient-resource", "n1 could take the pod, but is short by 2 cpu."),
    "not asked": ("gated", "It waits until the scheduling gate example.com/wait is removed."),
}


def live_cluster(
    name: str = "prod",
    nodes: int = 4,
    pending: int = 3,
    decided: int = 24,
    more: Sequence[dict[str, Any]] = (),
    **columns: Any,
) -> Cluster:
    """Store a cluster that is followed, with `nodes` nodes, a pod bound to each, `pending` pending pods, `decided`
    decisions and as many messages / 4, and a history from FIRST to LAST with a gap. `more`: further objects."""
    now = timezone.now()
    machines = [clusters.node(f"n{number}", labels={"topology.kubernetes.io/zone": "ab"[number % 2]})
                for number in range(nodes)]  # fmt: skip
    bound = [clusters.pod(f"bound-{number}", on=f"n{number}") for number in range(nodes)]
    waiting = [clusters.pod(f"waiting-{number}", "64") for number in range(pending)]
    objects = [*machines, *bound, *waiting, *more]
    for obj in objects:
        obj["metadata"]["resourceVersion"] = str(FIRST)
    categories = list(ANSWERS)
    count = {category: len(range(place, pending, len(categories))) for place, category in enumerate(categories)}
    cluster: Cluster = Cluster.everything.create(
        **{
            "name": name,
            "connection": f"context {name}",
            "git_version": "v1.36.2",
            "release": "1.36",
            "release_source": "The API server's version.",
            "config_source": "Not found; the default configuration.",
            "watched_until": now + timedelta(minutes=3),
            "heartbeat_at": now,
            "state": Cluster.State.FOLLOWING,
            "state_at": now - timedelta(hours=1),
            "resource_version": LAST,
            "changed_at": now,
            "lag_seconds": 0.2,
            "analysis_lag_seconds": 0.4,
            "analysed_version": LAST,
            "version": 1,
            "health": {
                "Node": {"state": "watching", "resource_version": LAST, "event_at": now.timestamp(), "message": ""},
                "Pod": {"state": "watching", "resource_version": LAST, "event_at": now.timestamp(), "message": ""},
                "ResourceQuota": {
                    "state": "refused",
                    "message": "The API server refuses to list resourcequotas.",
                    "consequence": "Pods that a quota refuses are not explained.",
                },
            },
            "view": columns_of(cluster_view(objects)),
            "counts": {
                "nodes": nodes, "pods": len(bound) + len(waiting), "bound": len(bound), "pending": pending,
                **count,
                "kinds": dict(Counter(obj["kind"] for obj in objects)),
            },
            "report": {"configuration": {"default": 0.98, "MostAllocated": 0.02}},
            **columns,
        }
    )  # fmt: skip
    for number, pod in enumerate(waiting):
        category = categories[number % len(categories)]
        cause, sentence = ANSWERS[category]
        PendingPod.objects.create(
            cluster=cluster,
            key=f"default/{pod['metadata']['name']}",
            namespace="default",
            since=now - timedelta(minutes=10 * number + 1),
            category=category,
            cause=cause,
            sentence=sentence,
            answered_version=LAST,
            answered_at=now,
        )
    _store_decisions(cluster, decided, nodes)
    _store_history(cluster, objects)
    return cluster


def _store_decisions(cluster: Cluster, decided: int, nodes: int) -> None:
    now = timezone.now()
    outcomes = [*["same"] * 6, "tie", "earlier", "assumed", "sampled", "gap", "unexplained"]
    for number in range(decided):
        node = f"n{number % nodes}"
        common = {"cluster": cluster, "at": now - timedelta(minutes=20 * number)}
        Decision.objects.create(
            **common,
            pod=f"default/decided-{number}",
            node=node,
            resource_version=LAST - number,
            outcome=outcomes[number % len(outcomes)],
            ours=[node],
        )
        if number % 4 == 0:
            Decision.objects.create(
                **common,
                pod=f"default/waiting-{number}",
                resource_version=LAST - number,
                message=f"0/{nodes} nodes are available: {nodes} Insufficient cpu.",
                message_outcome="differs" if number % 16 == 12 else "equal",
                ours=[f"0/{nodes} nodes are available: {nodes} Insufficient cpu."],
            )


def _store_history(cluster: Cluster, objects: Sequence[dict[str, Any]]) -> None:
    began = timezone.now() - timedelta(hours=1)
    listed = [
        ClusterChange(obj["kind"], ADD, key_of(obj), FIRST, began.timestamp(), obj) for obj in objects
    ]  # fmt: skip
    blocks = [listed]
    node = next((obj for obj in objects if obj["kind"] == "Node"), None)
    for number, version in enumerate(range(FIRST + 20, LAST + 1, 20) if node else ()):
        changed = {**node, "spec": {"unschedulable": True} if number % 2 == 0 else {},
                   "metadata": {**node["metadata"], "resourceVersion": str(version)}}  # fmt: skip
        patch = difference(node, changed)
        node, at = changed, began + timedelta(minutes=5 * (number + 1))
        if not GAP[0] < version <= GAP[1]:
            blocks.append([ClusterChange("Node", MODIFY, key_of(node), version, at.timestamp(), patch)])
    for number, block in enumerate(filter(None, blocks), start=1):
        data = encode_changes(block)
        times = [datetime.fromtimestamp(change.time, tz=began.tzinfo) for change in (block[0], block[-1])]
        ChangeBlock.objects.create(
            cluster=cluster,
            number=number,
            first_version=block[0].resource_version,
            last_version=block[-1].resource_version,
            first_at=times[0],
            last_at=times[1],
            count=len(block),
            size=len(data),
            data=data,
        )
    HistoryGap.objects.create(
        cluster=cluster, after=0, until=FIRST, began_at=began, ended_at=began, reason="The history begins here."
    )
    HistoryGap.objects.create(
        cluster=cluster,
        kind="Node",
        after=GAP[0],
        until=GAP[1],
        began_at=began + timedelta(minutes=25),
        ended_at=began + timedelta(minutes=30),
        reason="The API server no longer had the changes since the connection was lost (410 Gone).",
    )


def key_of(obj: dict[str, Any]) -> str:
    """Return namespace/name, or the name of a cluster-scoped object."""
    metadata = obj["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if "namespace" in metadata else metadata["name"]
