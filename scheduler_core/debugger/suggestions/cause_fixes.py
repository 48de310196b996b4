"""The fixes that a person would try for each kind of cause, the best first. They are not simulated yet."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import NamedTuple

from scheduler_core.cluster import formatting
from scheduler_core.cluster.system_taints import UNSCHEDULABLE
from scheduler_core.config.policy_plugins import successor
from scheduler_core.debugger import actions
from scheduler_core.debugger.suggestions import commands, labels, pod_constraints
from scheduler_core.debugger.suggestions.candidates import Candidates, FixCandidate, Situation
from scheduler_core.debugger.suggestions.never import SYSTEM_TAINTS
from scheduler_core.debugger.suggestions.node_context import NodeContext
from scheduler_core.debugger.suggestions.node_fixes import (
    absent,
    capacity,
    freed,
    less_requested,
    not_ready,
    pods_limit,
    too_large,
    uncordon,
    uncordoned,
    volume_limit,
)
from scheduler_core.debugger.suggestions.pod_fixes import (
    anti_affinity,
    host_ports,
    imperative,
    pod_affinity,
    relax_all,
    relaxed,
    scheduling_gates,
    selectors,
    tolerations,
    topology_spread,
    weaker,
)
from scheduler_core.debugger.suggestions.steps import Raw
from scheduler_core.debugger.suggestions.volume_fixes import (
    claim_missing,
    claim_unbound,
    conflict,
    devices,
    storage_capacity,
    volume_zone,
)
from scheduler_core.explain.answer import Target
from scheduler_core.framework import causes
from scheduler_core.virtual_time.object_diff_text import taint_text


def candidates(situation: Situation) -> Candidates:
    """Yield candidates for the cause of a situation. The first that helps agrees with the cause."""
    for strategy in STRATEGIES.get(situation.cause.kind, ()):
        yield from strategy(situation)


def others(situation: Situation) -> Candidates:
    """Yield candidates for any cause, if those for the cause do not help."""
    yield from _together(situation)
    yield from _of_plugin(situation)
    yield from freed(situation)


def _domain(situation: Situation) -> Candidates:
    yield from capacity(situation, "domain-full")
    for kind, prefix in (("topology-spread", "spread"), ("anti-affinity", "podAnti"), ("pod-affinity", "podAffinity")):
        yield from relaxed(situation, kind, prefix)


def _together(situation: Situation) -> Candidates:
    """Yield the change of everything that keeps the pod from a near node, if that is more than one thing."""
    tried: set[str] = set()
    for context in situation.near:
        found = obstacles_at(context)
        if found is None or len(found) < 2:
            continue
        edits = [one for one in found if isinstance(one, TemplateEdit)]
        nodes = [one for one in found if isinstance(one, FixCandidate)]
        text = " and ".join(one.text for one in found)
        if text in tried:
            continue
        tried.add(text)

        def edit(document: Raw, edits: list[TemplateEdit] = edits) -> None:
            for one in edits:
                one.edit(document)

        whole = situation.edited(edits[0].kind, text, edit) if edits else None
        if whole is None:
            continue
        for other in nodes:
            whole.command = f"{other.command} && {whole.command}" if whole.command else ""
            whole.changes = [*other.changes, *whole.changes]
        if nodes and situation.cause.kind == causes.CORDONED:
            whole.kind, whole.target, whole.patch = nodes[0].kind, nodes[0].target, nodes[0].patch
        yield whole


class TemplateEdit(NamedTuple):
    """A part of a fix that edits the pod's template."""

    kind: str
    text: str
    edit: Callable[[Raw], None]


def obstacles_at(context: NodeContext, but: Collection[str] = ()) -> list[TemplateEdit | FixCandidate] | None:
    """Return what removes each obstacle at a node; None if there is one that no single change removes.

    `but`: plugins whose rejections are left out.
    """
    found: list[TemplateEdit | FixCandidate] = []
    if context.node.spec.unschedulable and context.node.ready:
        change = uncordon(context.node)
        target = Target("Node", "", context.name)
        text, patch = f"uncordon {context.name}", {"spec": {"unschedulable": None}}
        found.append(FixCandidate("uncordon", target, text, commands.uncordon([context.name]), change, patch))
    for name in (successor(plugin) for plugin in context.statuses() if plugin not in but):
        part: TemplateEdit | None = None
        if name == "TaintToleration":
            hard = [taint for taint in labels.not_tolerated(context) if taint.key != UNSCHEDULABLE]
            if any(taint.key in SYSTEM_TAINTS for taint in hard):
                return None
            text = f"tolerate taint {formatting.listing(list(map(taint_text, hard)))}"
            part = TemplateEdit("toleration", text, partial(labels.tolerate, tuple(hard))) if hard else None
        elif name in ("NodeAffinity", ""):
            steps = [step for step in labels.affinity(context) if step.edit is not None]
            if not steps or steps[0].edit is None:
                return None
            part = TemplateEdit("node-selector", imperative(steps[0].text), steps[0].edit)
        elif name == "NodePorts":
            taken = frozenset(pod_constraints.taken_ports(context))
            text = f"drop host port {formatting.listing([f'{port}/{protocol}' for protocol, port in sorted(taken)])}"
            part = TemplateEdit("host-port", text, partial(pod_constraints.without_ports, taken))
        elif name in ("PodTopologySpread", "InterPodAffinity"):
            prefix = "spread" if name == "PodTopologySpread" else "pod"
            soft = [one for one in actions.relaxations(context.document) if one.key.startswith(prefix)]
            soft = [one for one in soft if not one.key.endswith("maxSkew")]
            if not soft:
                return None
            kind = "topology-spread" if prefix == "spread" else "anti-affinity"
            text = formatting.listing([weaker(one) for one in soft])
            part = TemplateEdit(kind, text, partial(relax_all, [one.key for one in soft]))
        elif name != "NodeUnschedulable":
            return None
        if part is not None:
            found.append(part)
    return found


def _of_plugin(situation: Situation) -> Candidates:
    """Yield what the plugin of the cause suggests itself."""
    plugin = situation.simulation.registry.get(situation.cause.plugin)
    for edit in plugin.suggest_edits(situation.pod) if plugin is not None else ():
        yield situation.edited("plugin", edit.text, edit.edit)


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
    causes.PODS_LIMIT: (pods_limit,),
    causes.VOLUME_LIMIT: (volume_limit,),
    causes.VOLUME_CONFLICT: (conflict,),
    causes.STORAGE_CAPACITY: (storage_capacity,),
    causes.DEVICE_ABSENT: (devices,),
    causes.DEVICE_CLAIM: (devices,),
    causes.GATED: (scheduling_gates,),
    causes.NO_NODES: (),
}
