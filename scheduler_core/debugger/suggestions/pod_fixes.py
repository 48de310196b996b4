"""Candidates that edit the pod's constraints, its ports or its gates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from scheduler_core.api.objects import Taint
from scheduler_core.cluster import formatting
from scheduler_core.cluster.spelling import nearest
from scheduler_core.debugger import actions
from scheduler_core.debugger.suggestions import commands, labels, pod_constraints
from scheduler_core.debugger.suggestions.candidates import Candidates, FixCandidate, Situation
from scheduler_core.debugger.suggestions.never import SYSTEM_TAINTS
from scheduler_core.debugger.suggestions.node_context import NodeContext
from scheduler_core.debugger.suggestions.node_fixes import capacity
from scheduler_core.debugger.suggestions.owner import names
from scheduler_core.debugger.suggestions.steps import NODE, POD, Raw, Step, patch_of
from scheduler_core.explain.answer import Target
from scheduler_core.virtual_time.object_diff_text import taint_text

MOST_TAINTS = 3  # sets of taints that are tried
_GATES = {"kueue.x-k8s.io": "Kueue", "grove.io": "Grove", "run.ai": "Run:ai", "batch.volcano.sh": "Volcano"}
"""Domain of a scheduling gate -> who removes it."""


def _from_steps(situation: Situation, kind: str, find: Callable[[NodeContext], Sequence[Step]]) -> Candidates:
    """Yield the cheapest edits of the pod against the obstacles at near nodes, then changes of the nodes."""
    steps = [step for context in situation.near for step in find(context)]
    edits = sorted((s for s in dict.fromkeys(steps) if s.kind == POD and s.edit), key=lambda step: step.cost)
    for step in edits[:2]:
        assert step.edit is not None
        yield situation.edited(kind, imperative(step.text), step.edit)
    for step in [step for step in dict.fromkeys(steps) if step.kind == NODE][:1]:
        yield _labelled(situation, step)


def imperative(text: str) -> str:
    """Return the text of steps, each `reason: action`, with the actions first."""
    parts = [part.partition(": ") for part in text.split("; and ")]
    return "; and ".join(f"{action} ({reason})" if colon else reason for reason, colon, action in parts)


def _labelled(situation: Situation, step: Step) -> FixCandidate | None:
    """Return the candidate for a step that adds labels to a node; None for other changes of a node."""
    patch = step.changes[0].patch if len(step.changes) == 1 else None
    values = patch.patch.get("metadata", {}).get("labels") if patch is not None else None
    if patch is None or patch.kind != "Node" or not values:
        return None
    node = situation.cluster.nodes.nodes[situation.cluster.nodes.rows[patch.name]]
    if values.keys() & node.metadata.labels.keys():
        return None  # another value says what the node is
    target = Target("Node", "", patch.name)
    return FixCandidate(
        "label-node", target, step.text, commands.label(patch.name, values), [*step.changes], patch.patch
    )


def tolerations(situation: Situation) -> Candidates:
    sets: dict[tuple[str, ...], list[Taint]] = {}
    for context in situation.near:
        hard = labels.not_tolerated(context)
        if hard and not any(taint.key in SYSTEM_TAINTS for taint in hard):
            sets.setdefault(tuple(map(taint_text, hard)), hard)
    for texts, hard in sorted(sets.items(), key=lambda item: len(item[0]))[:MOST_TAINTS]:
        text = f"tolerate taint {formatting.listing(texts)}"
        note = "other workloads are kept away from these nodes; check that this one belongs there"
        yield situation.edited("toleration", text, partial(labels.tolerate, tuple(hard)), note)


def selectors(situation: Situation) -> Candidates:
    yield from _from_steps(situation, "node-selector", labels.affinity)
    yield from relaxed(situation, "node-selector", "node")


def relaxed(situation: Situation, kind: str, prefix: str) -> Candidates:
    """Yield the weaker forms of the pod's constraints whose key begins so, one at a time, then all preferred."""
    found = [one for one in actions.relaxations(situation.document) if one.key.startswith(prefix)]
    soft = [one for one in found if not one.key.endswith("maxSkew")]
    for one in [*soft, *(one for one in found if one not in soft)]:
        yield situation.edited(kind, weaker(one), one.edit)
    if len(soft) > 1:
        edit = partial(relax_all, [one.key for one in soft])
        yield situation.edited(kind, formatting.listing([weaker(one) for one in soft]), edit)


def relax_all(keys: Sequence[str], document: Raw) -> None:
    for key in reversed(keys):  # from the last, because each leaves its list
        next(one for one in actions.relaxations(document) if one.key == key).edit(document)


def weaker(one: actions.Relaxation) -> str:
    if one.label == "Prefer":
        return f"prefer instead of require: {one.constraint.removeprefix('required ')}"
    return f"set {'whenUnsatisfiable: ' if one.label == actions.SOFT else ''}{one.label} ({one.constraint})"


def anti_affinity(situation: Situation) -> Candidates:
    yield from relaxed(situation, "anti-affinity", "podAnti")
    terms = situation.pod.required_anti_affinity
    for i, term in enumerate(terms):
        if term.topology_key != "kubernetes.io/hostname":
            text = f"keep its pods on different nodes instead of different {term.topology_key}"
            edit = partial(_hosts, i)
            yield situation.edited("anti-affinity", text, edit)
    yield from capacity(situation)


def _hosts(number: int, document: Raw) -> None:
    terms = document["spec"]["affinity"]["podAntiAffinity"][actions.REQUIRED]
    terms[number]["topologyKey"] = "kubernetes.io/hostname"


def pod_affinity(situation: Situation) -> Candidates:
    """Yield similar labels of running pods, other namespaces with such pods, and the preference."""
    terms = (situation.document["spec"].get("affinity") or {}).get("podAffinity", {}).get(actions.REQUIRED, [])
    for i, (raw, term) in enumerate(zip(terms, situation.pod.required_affinity, strict=True)):
        labels_of = (raw.get("labelSelector") or {}).get("matchLabels") or {}
        if len(labels_of) != 1 or "matchExpressions" in raw["labelSelector"]:
            continue
        ((key, value),) = labels_of.items()
        found: dict[str, set[str]] = {}  # value -> namespaces of the pods that have it
        for pod in situation.cluster.pods.values():
            if key in pod.labels:
                found.setdefault(pod.labels[key], set()).add(pod.namespace)
        here = [other for other, where in found.items() if where & set(term.namespaces)]
        if value in here:
            continue
        for namespace in sorted(found.get(value, ()))[:1]:
            text = f"look for pods with {key}={value} in namespace {namespace}, where they run"
            yield situation.edited("pod-affinity", text, partial(_set_term, i, "namespaces", [namespace]))
        for other in nearest(value, here)[:1]:
            text = f"be near pods with {key}={other}: none with {key}={value} runs"
            selector = {"matchLabels": {key: other}}
            yield situation.edited("pod-affinity", text, partial(_set_term, i, "labelSelector", selector))
    yield from relaxed(situation, "pod-affinity", "podAffinity")


def _set_term(number: int, field: str, value: object, document: Raw) -> None:
    document["spec"]["affinity"]["podAffinity"][actions.REQUIRED][number][field] = value


def topology_spread(situation: Situation) -> Candidates:
    yield from relaxed(situation, "topology-spread", "spread")
    constraints = situation.document["spec"].get("topologySpreadConstraints", [])
    for i, one in enumerate(constraints):
        if one.get("nodeTaintsPolicy") != "Honor" and one.get("whenUnsatisfiable") != actions.SOFT:
            text = f"set nodeTaintsPolicy Honor for {one.get('topologyKey')}, so that tainted nodes do not count"
            edit = partial(pod_constraints.set_constraint, i, "nodeTaintsPolicy", "Honor")
            yield situation.edited("topology-spread", text, edit)
    yield from _from_steps(situation, "topology-spread", pod_constraints.spread)
    yield from capacity(situation)


def host_ports(situation: Situation) -> Candidates:
    if not situation.pod.pod.spec.host_network:  # otherwise the API server sets the host ports again
        taken = {port for context in situation.near for port in pod_constraints.taken_ports(context)}
        text = formatting.listing([f"{port}/{protocol}" for protocol, port in sorted(taken)])
        edit = partial(pod_constraints.without_ports, frozenset(taken))
        note = "expose the pods with a Service instead, of type LoadBalancer or NodePort for other networks"
        yield situation.edited("host-port", f"drop host port {text}", edit, note)
    yield from capacity(situation)


def scheduling_gates(situation: Situation) -> Candidates:
    gates = [gate.name for gate in situation.pod.pod.spec.scheduling_gates]
    if not gates:
        return
    who = sorted({found for gate in gates if (found := _remover(gate))})
    listed = formatting.listing(gates)
    text = f"remove scheduling gate {listed}" + (f", which {formatting.listing(who)} removes" if who else "")
    note = f"{formatting.listing(who) or 'the controller that set it'} removes it when its condition is met; "
    note += "a removal by hand bypasses this"
    removal = [{"op": "remove", "path": "/spec/schedulingGates"}]
    changes = [patch_of("Pod", p.namespace, p.name, {"spec": {"schedulingGates": None}}) for p in situation.pods]
    pod = Target("Pod", situation.pod.namespace, situation.pod.name)
    command = commands.patch(pod, removal, "json", names(situation.pods))
    yield FixCandidate("gate", situation.owner, text, command, changes, removal, note, always=True)


def _remover(gate: str) -> str:
    domain = gate.partition("/")[0]
    return next((who for suffix, who in _GATES.items() if domain == suffix or domain.endswith(f".{suffix}")), "")
