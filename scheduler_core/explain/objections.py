"""What exactly is in the way on a node, and what would remove it: one function per Filter plugin.

Each returns (detail, change) for a row of the scene; "" where the cluster's state does not tell (any more).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scheduler_core.api import selectors
from scheduler_core.explain import labels, neighbours, volumes, words
from scheduler_core.explain.answer import Objection, Shortfall
from scheduler_core.explain.scene import PODS, Scene, Told, asked
from scheduler_core.framework.interface import Status


def objection(scene: Scene | None, node: str, status: Status) -> Objection:
    """A status about a node, with what the scene tells about it."""
    told = Objection(status.plugin, status.code, list(status.reasons))
    row = scene.row(node) if scene is not None else None
    if scene is None or row is None:
        return told
    if status.plugin == "NodeResourcesFit":
        found = (scene.shortfall(row, name) for name in asked(status.reasons))
        told.shortfalls = [shortfall for shortfall in found if shortfall is not None]
        told.detail, told.change = _resources(told.shortfalls)
    elif status.plugin in _DETAILS:
        told.detail, told.change = _DETAILS[status.plugin](scene, row, status)
    return told


def short_by(shortfalls: Sequence[Shortfall]) -> str:
    """`250m cpu and 1Gi memory`; the bare amount when it is one resource."""
    if len(shortfalls) == 1 and shortfalls[0].resource != PODS:
        return shortfalls[0].text
    return words.listing([_named(s) for s in shortfalls])


def _named(shortfall: Shortfall) -> str:
    return (
        words.count(shortfall.short, "pod") if shortfall.resource == PODS else f"{shortfall.text} {shortfall.resource}"
    )


def _resources(shortfalls: Sequence[Shortfall]) -> Told:
    details, changes = [], []
    for s in shortfalls:
        if s.resource == PODS:
            details.append(f"all {s.allocatable:,} places for pods are taken")
            changes.append(f"remove {words.count(s.short, 'pod')}")
            continue
        details.append(f"{s.resource}: short by {s.text} ({_balance(s)})")
        if s.request > s.allocatable:
            of = words.amount(s.resource, s.allocatable)
            need = f"the whole node has {of}" if s.allocatable else "the node has none"
            changes.append(f"ask for less {s.resource} ({need})")
        else:
            changes.append(f"free {s.text} {s.resource}")
    return "; ".join(details), words.listing(changes)


def _balance(s: Shortfall) -> str:
    asks, of = words.amount(s.resource, s.request), words.amount(s.resource, s.allocatable)
    if s.free < 0:
        return f"asks {asks}, the node's {of} overcommitted by {words.amount(s.resource, -s.free)}"
    return f"asks {asks}, {words.amount(s.resource, s.free)} of {of} free"


def _cordoned(scene: Scene, row: int, status: Status) -> Told:
    return "the node is cordoned (spec.unschedulable)", "uncordon the node"


def _taints(scene: Scene, row: int, status: Status) -> Told:
    tolerations = scene.pod.pod.spec.tolerations
    taints = [
        f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
        for taint in scene.nodes.nodes[row].spec.taints
        if selectors.first_untolerated([taint], tolerations, selectors.NO_SCHEDULE) is not None
    ]
    if not taints:
        return "", ""
    return f"taint {words.listing(taints)}", f"add a toleration for {words.listing(taints)}"


def _node_name(scene: Scene, row: int, status: Status) -> Told:
    return f"the pod names {scene.pod.pod.spec.node_name} (spec.nodeName)", "remove the pod's spec.nodeName"


_DETAILS: dict[str, Callable[[Scene, int, Status], Told]] = {
    "NodeUnschedulable": _cordoned,
    "NodeName": _node_name,
    "TaintToleration": _taints,
    "NodeAffinity": labels.node_affinity,
    "NodePorts": neighbours.node_ports,
    "VolumeRestrictions": volumes.volume_restrictions,
    "NodeVolumeLimits": volumes.node_volume_limits,
    "EBSLimits": volumes.in_tree_limits,
    "GCEPDLimits": volumes.in_tree_limits,
    "AzureDiskLimits": volumes.in_tree_limits,
    "VolumeBinding": volumes.volume_binding,
    "VolumeZone": volumes.volume_zone,
    "PodTopologySpread": neighbours.pod_topology_spread,
    "InterPodAffinity": neighbours.inter_pod_affinity,
}
