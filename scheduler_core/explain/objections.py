"""What exactly is in the way on a node, and what would remove it: one function per Filter plugin.

Each returns (detail, change) for a node of the scene; "" where the cluster's state does not tell (any more).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scheduler_core import selectors
from scheduler_core.explain import words
from scheduler_core.explain.answer import Objection, Shortfall
from scheduler_core.explain.scene import PODS, Scene, asked
from scheduler_core.framework.interface import Status

Told = tuple[str, str]


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
        told.detail, told.change = _DETAILS[status.plugin](scene, row)
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
        free, of = words.amount(s.resource, s.free), words.amount(s.resource, s.allocatable)
        details.append(
            f"{s.resource}: short by {s.text} (asks {words.amount(s.resource, s.request)}, {free} of {of} free)"
        )
        if s.request > s.allocatable:
            need = f"the whole node has {of}" if s.allocatable else "the node has none"
            changes.append(f"ask for less {s.resource} ({need})")
        else:
            changes.append(f"free {s.text} {s.resource}")
    return "; ".join(details), words.listing(changes)


def _cordoned(scene: Scene, row: int) -> Told:
    return "the node is cordoned (spec.unschedulable)", "uncordon it"


def _taints(scene: Scene, row: int) -> Told:
    tolerations = scene.pod.pod.spec.tolerations
    taints = [
        f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
        for taint in scene.nodes.nodes[row].spec.taints
        if selectors.first_untolerated([taint], tolerations, selectors.NO_SCHEDULE) is not None
    ]
    if not taints:
        return "", ""
    return f"taint {words.listing(taints)}", f"add a toleration for {words.listing(taints)}"


_DETAILS: dict[str, Callable[[Scene, int], Told]] = {
    "NodeUnschedulable": _cordoned,
    "TaintToleration": _taints,
}
