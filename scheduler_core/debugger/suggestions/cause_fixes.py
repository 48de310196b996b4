"""The fixes that a person would try for each kind of cause, the best first. They are not simulated yet."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from scheduler_core.cluster.system_taints import SYSTEM_TAINTS, UNSCHEDULABLE
from scheduler_core.config.policy_plugins import successor
from scheduler_core.debugger.suggestions import labels, pod_constraints
from scheduler_core.debugger.suggestions.candidates import Candidates, FixCandidate, Situation
from scheduler_core.debugger.suggestions.node_context import NodeContext
from scheduler_core.debugger.suggestions.node_fixes import (
    absent,
    capacity,
    freed,
    less_requested,
    not_ready,
    too_large,
    uncordon,
    uncordoned,
)
from scheduler_core.debugger.suggestions.pod_fixes import (
    all_relaxed,
    anti_affinity,
    host_ports,
    pod_affinity,
    relaxed,
    scheduling_gates,
    selectors,
    tolerations,
    topology_spread,
)
from scheduler_core.debugger.suggestions.template_patch import TemplateEdit, all_of
from scheduler_core.debugger.suggestions.volume_fixes import (
    claim_missing,
    claim_unbound,
    conflict,
    devices,
    driver_missing,
    storage_capacity,
    volume_zone,
)
from scheduler_core.framework import causes


def candidates(situation: Situation) -> Candidates:
    """Yield candidates for the cause of a situation. The first that helps agrees with the cause."""
    for strategy in STRATEGIES.get(situation.cause.kind, ()):
        yield from strategy(situation)


def others(situation: Situation) -> Candidates:
    """Yield candidates for any cause, if those for the cause do not help."""
    tried: list[str] = []
    for context in situation.near:
        found = obstacles_at(context)
        whole = together(situation, found) if found is not None and len(found) > 1 else None
        if whole is not None and whole.text not in tried:
            tried.append(whole.text)
            yield whole
    yield from freed(situation)


def _domain(situation: Situation) -> Candidates:
    yield from capacity(situation)
    for kind, prefix in (("topology-spread", "spread"), ("anti-affinity", "podAnti"), ("pod-affinity", "podAffinity")):
        yield from relaxed(situation, kind, prefix)


def together(situation: Situation, parts: Sequence[TemplateEdit | FixCandidate]) -> FixCandidate | None:
    """Return the candidate that edits the template and changes a node; None if this cannot be sent."""
    edits = [one for one in parts if isinstance(one, TemplateEdit)]
    nodes = [one for one in parts if isinstance(one, FixCandidate)]
    if not edits:
        return nodes[0] if nodes else None
    whole = situation.edited(all_of(edits[0].kind, edits))
    if whole is not None:
        whole.text = " and ".join(one.text for one in parts)
        for other in nodes:
            whole.command = f"{other.command} && {whole.command}" if whole.command else ""
            whole.changes = [*other.changes, *whole.changes]
        if nodes and situation.cause.kind == causes.CORDONED:
            whole.kind, whole.target, whole.patch = nodes[0].kind, nodes[0].target, nodes[0].patch
    return whole


def obstacles_at(context: NodeContext, but: Collection[str] = ()) -> list[TemplateEdit | FixCandidate] | None:
    """Return what removes each obstacle at a node; None if there is one that no single change removes.

    `but`: plugins whose rejections are left out.
    """
    found: list[TemplateEdit | FixCandidate | None] = []
    if context.node.spec.unschedulable and context.node.ready:
        found.append(uncordon([context.node]))
    for name in (successor(plugin) for plugin in context.statuses() if plugin not in but):
        if name == "TaintToleration":
            hard = [taint for taint in context.untolerated if taint.key != UNSCHEDULABLE]
            system = any(taint.key in SYSTEM_TAINTS for taint in hard)
            found += [None if system else labels.toleration(hard)] if hard else []
        elif name in ("NodeAffinity", ""):
            found.append(labels.affinity(context))
        elif name == "NodePorts":
            found.append(pod_constraints.without_ports(frozenset(context.taken_ports())))
        elif name == "PodTopologySpread":
            found.append(all_relaxed(context.what_if.document, "topology-spread", "spread"))
        elif name == "InterPodAffinity":
            found.append(all_relaxed(context.what_if.document, "anti-affinity", "pod"))
        elif name != "NodeUnschedulable":
            found.append(None)
    known = [one for one in found if one is not None]
    return known if len(known) == len(found) else None


Strategy = Callable[[Situation], Candidates]

STRATEGIES: dict[str, tuple[Strategy, ...]] = {
    causes.UNTOLERATED_TAINT: (tolerations, uncordoned, capacity),
    causes.NODE_SELECTOR: (selectors,),
    causes.INSUFFICIENT_RESOURCE: (uncordoned, capacity, less_requested),
    causes.REQUEST_EXCEEDS_NODES: (too_large,),
    causes.RESOURCE_ABSENT: (absent,),
    causes.DOMAIN_FULL: (_domain, less_requested),
    causes.POD_ANTI_AFFINITY: (anti_affinity,),
    causes.POD_AFFINITY: (pod_affinity,),
    causes.TOPOLOGY_SPREAD: (topology_spread,),
    causes.VOLUME_ZONE: (volume_zone,),
    causes.CLAIM_MISSING: (claim_missing,),
    causes.CLAIM_UNBOUND: (claim_unbound,),
    causes.HOST_PORT: (host_ports,),
    causes.CORDONED: (uncordoned,),
    causes.NODE_NOT_READY: (not_ready, uncordoned),
    causes.PODS_LIMIT: (capacity,),
    causes.VOLUME_LIMIT: (capacity,),
    causes.DRIVER_MISSING: (driver_missing,),
    causes.VOLUME_CONFLICT: (conflict,),
    causes.STORAGE_CAPACITY: (storage_capacity,),
    causes.DEVICE_ABSENT: (devices,),
    causes.DEVICE_CLAIM: (devices,),
    causes.GATED: (scheduling_gates,),
    causes.NO_NODES: (),
}
