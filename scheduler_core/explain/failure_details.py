"""Exact causes why a node is rejected: one function for each Filter plugin.

Each function returns the cause on a row of the context; "" if the cluster's state does not show it (any more).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scheduler_core.api import selectors
from scheduler_core.config.policy_plugins import successor
from scheduler_core.explain import formatting, labels, pod_constraints, volumes
from scheduler_core.explain.answer import Objection, Shortfall
from scheduler_core.explain.context import PODS, Scene, asked
from scheduler_core.framework.interface import Status


def objection(scene: Scene | None, node: str, status: Status) -> Objection:
    """Return the objection for a status of a node, with details from the context."""
    told = Objection(status.plugin, status.code, list(status.reasons))
    row = scene.row(node) if scene is not None else None
    if scene is None or row is None:
        return told
    plugin = successor(status.plugin)
    if plugin == "NodeResourcesFit" and asked(status.reasons):
        found = (scene.shortfall(row, name) for name in asked(status.reasons))
        told.shortfalls = [shortfall for shortfall in found if shortfall is not None]
        told.detail = "; ".join(map(_lack, told.shortfalls))
    elif plugin in _DETAILS:
        told.detail = _DETAILS[plugin](scene, row, status)
    return told


def short_by(shortfalls: Sequence[Shortfall]) -> str:
    """Format shortfalls as `250m cpu and 1Gi memory`."""
    return formatting.listing([_named(s) for s in shortfalls])


def _named(shortfall: Shortfall) -> str:
    return (
        formatting.count(shortfall.short, "pod")
        if shortfall.resource == PODS
        else f"{shortfall.text} {shortfall.resource}"
    )


def _lack(shortfall: Shortfall) -> str:
    s = shortfall
    if s.resource == PODS:
        return f"all {s.allocatable:,} places for pods are taken"
    return f"short by {_named(s)} ({formatting.balance(s.resource, s.request, s.free, s.allocatable)})"


def _cordoned(scene: Scene, row: int, status: Status) -> str:
    return "the node is cordoned (spec.unschedulable)"


def _taints(scene: Scene, row: int, status: Status) -> str:
    tolerations = scene.pod.pod.spec.tolerations
    taints = [
        f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
        for taint in scene.nodes.nodes[row].spec.taints
        if selectors.first_untolerated([taint], tolerations, selectors.NO_SCHEDULE) is not None
    ]
    return f"taint {formatting.listing(taints)}" if taints else ""


def _node_name(scene: Scene, row: int, status: Status) -> str:
    return f"the pod names {scene.pod.pod.spec.node_name} (spec.nodeName)"


_DETAILS: dict[str, Callable[[Scene, int, Status], str]] = {
    "NodeUnschedulable": _cordoned,
    "NodeName": _node_name,
    "TaintToleration": _taints,
    "NodeAffinity": labels.node_affinity,
    "NodePorts": pod_constraints.node_ports,
    "VolumeRestrictions": volumes.volume_restrictions,
    "NodeVolumeLimits": volumes.node_volume_limits,
    "EBSLimits": volumes.in_tree_limits,
    "GCEPDLimits": volumes.in_tree_limits,
    "AzureDiskLimits": volumes.in_tree_limits,
    "VolumeBinding": volumes.volume_binding,
    "VolumeZone": volumes.volume_zone,
    "PodTopologySpread": pod_constraints.pod_topology_spread,
    "InterPodAffinity": pod_constraints.inter_pod_affinity,
}
