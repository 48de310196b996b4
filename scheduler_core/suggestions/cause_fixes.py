"""The fixes that a person would try for each kind of cause, the best first. They are not simulated yet."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from scheduler_core.cluster.system_taints import SYSTEM_TAINTS, UNSCHEDULABLE
from scheduler_core.config.policy_plugins import successor
from scheduler_core.forks.template_patch import TemplateEdit, all_of
from scheduler_core.framework import causes
from scheduler_core.suggestions import labels, node_fixes, plugin_fixes, pod_fixes, volume_fixes
from scheduler_core.suggestions.candidates import Candidates, FixCandidate, Situation
from scheduler_core.suggestions.node_context import NodeContext

RESOURCES = ("NodeResourcesFit", "PodFitsResources", "GeneralPredicates")


def candidates(situation: Situation) -> Candidates:
    """Yield candidates for the cause of a situation. The first that helps agrees with the cause."""
    for strategy in STRATEGIES.get(situation.cause.kind, ()):
        yield from strategy(situation)


def others(situation: Situation) -> Candidates:
    """Yield candidates for any cause, if those for the cause do not help."""
    yield from several(situation, 1)
    yield from node_fixes.freed(situation)


def several(situation: Situation, least: int = 2) -> Candidates:
    """Yield what removes all obstacles at a near node, if there are at least so many and pods are then placed: once for
    each kind of change."""
    done: list[list[str]] = []
    for context in situation.near:
        found = obstacles_at(context) or []
        kept = not context.statuses().keys() & {*RESOURCES}
        less = None if kept else node_fixes.fitting(situation, context)
        if less is not None:
            found = [less, *found] if situation.cause.kind == causes.REQUEST_EXCEEDS_NODES else [*found, less]
        parts = found if kept or less is not None else []
        texts = [one.text if isinstance(one, TemplateEdit) and one is not less else one.kind for one in parts]
        whole = together(situation, parts) if len(parts) >= least and texts not in done else None
        placed = situation.placed(whole.changes) if whole is not None else []
        if whole is not None and placed:
            done.append(texts)
            yield replace(whole, placed=placed)


def _domain(situation: Situation) -> Candidates:
    yield from node_fixes.capacity(situation)
    for kind, prefix in (("topology-spread", "spread"), ("anti-affinity", "podAnti"), ("pod-affinity", "podAffinity")):
        yield from pod_fixes.relaxed(situation, kind, prefix)


def together(situation: Situation, parts: Sequence[TemplateEdit | FixCandidate]) -> FixCandidate | None:
    """Return the candidate that edits the template and changes nodes; None if this cannot be sent."""
    edits = [one for one in parts if isinstance(one, TemplateEdit)]
    nodes = [one for one in parts if isinstance(one, FixCandidate)]
    if not edits and not nodes:
        return None
    if not edits:
        commands = " && ".join(one.command for one in nodes)
        changes = [change for one in nodes for change in one.changes]
        text = " and ".join(one.text for one in nodes)
        return replace(nodes[0], text=text, command=commands, changes=changes)
    whole = situation.edited(all_of(edits[0].kind, edits))
    if whole is not None:
        whole.text = " and ".join(one.text for one in parts)
        for other in nodes:
            whole.command = f"{other.command} && {whole.command}" if whole.command else ""
            whole.changes = [*other.changes, *whole.changes]
        if nodes and situation.cause.kind == causes.CORDONED:
            whole.kind, whole.target, whole.patch = nodes[0].kind, nodes[0].target, nodes[0].patch
    return whole


def obstacles_at(context: NodeContext) -> list[TemplateEdit | FixCandidate] | None:
    """Return what removes each obstacle at a node but missing resources; None if there is one that no single change
    removes."""
    found: list[TemplateEdit | FixCandidate | None] = []
    if context.node.spec.unschedulable and context.node.ready:
        found.append(node_fixes.uncordon([context.node]))
    for name in (successor(plugin) for plugin in context.statuses()):
        if name == "TaintToleration":
            hard = [taint for taint in context.untolerated if taint.key != UNSCHEDULABLE]
            system = any(taint.key in SYSTEM_TAINTS for taint in hard)
            found += [None if system else labels.toleration(hard)] if hard else []
        elif name in ("NodeAffinity", ""):
            found.append(labels.affinity(context) or pod_fixes.labelled(context))
        elif name == "NodePorts":
            found.append(pod_fixes.without_ports(frozenset(context.taken_ports())))
        elif name == "PodTopologySpread":
            found.append(pod_fixes.all_relaxed(context.what_if.document, "topology-spread", "spread"))
        elif name == "InterPodAffinity":
            found.append(pod_fixes.all_relaxed(context.what_if.document, "anti-affinity", "pod"))
        elif name not in ("NodeUnschedulable", *RESOURCES):
            found.append(None)
    known = [one for one in found if one is not None]
    return known if len(known) == len(found) else None


Strategy = Callable[[Situation], Candidates]

STRATEGIES: dict[str, tuple[Strategy, ...]] = {
    causes.UNTOLERATED_TAINT: (pod_fixes.tolerations, node_fixes.uncordoned, node_fixes.capacity),
    causes.NODE_SELECTOR: (pod_fixes.selectors,),
    causes.INSUFFICIENT_RESOURCE: (node_fixes.uncordoned, node_fixes.capacity, node_fixes.less_requested),
    causes.REQUEST_EXCEEDS_NODES: (several, node_fixes.too_large),
    causes.RESOURCE_ABSENT: (node_fixes.absent,),
    causes.DOMAIN_FULL: (_domain, node_fixes.less_requested),
    causes.POD_ANTI_AFFINITY: (pod_fixes.anti_affinity,),
    causes.POD_AFFINITY: (pod_fixes.pod_affinity,),
    causes.TOPOLOGY_SPREAD: (pod_fixes.topology_spread,),
    causes.VOLUME_ZONE: (volume_fixes.volume_zone,),
    causes.CLAIM_MISSING: (volume_fixes.claim_missing,),
    causes.CLAIM_UNBOUND: (volume_fixes.claim_unbound,),
    causes.HOST_PORT: (pod_fixes.host_ports,),
    causes.CORDONED: (node_fixes.uncordoned,),
    causes.NODE_NOT_READY: (node_fixes.not_ready, node_fixes.uncordoned),
    causes.PODS_LIMIT: (node_fixes.capacity,),
    causes.VOLUME_LIMIT: (node_fixes.capacity,),
    causes.DRIVER_MISSING: (volume_fixes.driver_missing,),
    causes.VOLUME_CONFLICT: (volume_fixes.conflict,),
    causes.STORAGE_CAPACITY: (volume_fixes.storage_capacity,),
    causes.DEVICE_ABSENT: (volume_fixes.devices,),
    causes.DEVICE_CLAIM: (volume_fixes.devices,),
    causes.PLUGIN: (plugin_fixes.aligned, plugin_fixes.larger_quota),
    causes.GATED: (pod_fixes.scheduling_gates,),
}
