"""Candidates that edit the pod's constraints, its ports or its gates."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial

from msgspec.structs import replace

from scheduler_core.api.objects import Node, Taint
from scheduler_core.api.selector_text import NODE_NAME
from scheduler_core.cluster import formatting
from scheduler_core.cluster.node_labels import FIXED_LABELS, GIVEN_LABELS
from scheduler_core.cluster.spelling import nearest
from scheduler_core.cluster.system_taints import SYSTEM_TAINTS
from scheduler_core.explain.answer import Target
from scheduler_core.forks import actions
from scheduler_core.forks.template_patch import Raw, TemplateEdit, containers_of, patch_of
from scheduler_core.framework.interface import CycleState
from scheduler_core.plugins.pod_topology_spread import PodTopologySpread
from scheduler_core.plugins.scheduling_gates import KUEUE_GATE, gate_owner
from scheduler_core.suggestions import commands, labels
from scheduler_core.suggestions.candidates import Candidates, FixCandidate, Situation
from scheduler_core.suggestions.node_context import NodeContext
from scheduler_core.suggestions.node_fixes import capacity

HOSTNAME = "kubernetes.io/hostname"
MOST_TAINTS = 3  # sets of taints that are tried
_OF_TAINT = "other workloads are kept away from these nodes; check that this one belongs there"


def tolerations(situation: Situation) -> Candidates:
    sets: dict[str, list[Taint]] = {}
    for context in situation.near:
        hard = context.untolerated
        if hard and not any(taint.key in SYSTEM_TAINTS for taint in hard):
            sets.setdefault(labels.toleration(hard).text, hard)
    for hard in sorted(sets.values(), key=len)[:MOST_TAINTS]:
        yield situation.edited(labels.toleration(hard), _OF_TAINT)


def selectors(situation: Situation) -> Candidates:
    """Yield the cheapest edits for near nodes, then the labels that one of them lacks, or nodes of another kind."""
    wanted = [(context, labels.wanted_labels(context)) for context in situation.near]
    fixed = any(found.keys() & FIXED_LABELS for _, found in wanted)
    note = "only if its images are built for it" if fixed else ""
    edits = {edit.text: edit for context in situation.near if (edit := labels.affinity(context))}
    for edit in sorted(edits.values(), key=lambda edit: edit.cost)[:2]:
        yield situation.edited(edit, note)
    yield next(filter(None, map(labelled, situation.near)), None)
    if not fixed:
        yield from relaxed(situation, "node-selector", "node")
    elif situation.owner.kind != "DaemonSet":
        yield situation.added("node-selector", [_labelled(context.node, found) for context, found in wanted])


def labelled(context: NodeContext) -> FixCandidate | None:
    """Return the labels that the pod requires and the node lacks; None if they are not a person's to set."""
    lacking = labels.wanted_labels(context)
    if not lacking or lacking.keys() & {*GIVEN_LABELS, NODE_NAME, *context.labels}:
        return None
    text = formatting.listing([f"{key}={value}" if value else key for key, value in lacking.items()])
    patch, command = {"metadata": {"labels": lacking}}, commands.label(context.name, lacking)
    change, target = patch_of("Node", "", context.name, patch), Target("Node", "", context.name)
    return FixCandidate("label-node", target, f"label node {context.name} {text}", command, [change], patch)


def _labelled(node: Node, more: dict[str, str]) -> Node:
    return replace(node, metadata=replace(node.metadata, labels={**node.metadata.labels, **more}))


def relaxed(situation: Situation, kind: str, prefix: str) -> Candidates:
    """Yield the weaker forms of the pod's constraints whose key begins so, one at a time, then all preferred."""
    found = [one for one in actions.relaxations(situation.document) if one.key.startswith(prefix)]
    for one in sorted(found, key=lambda one: one.key.endswith("maxSkew")):
        yield situation.edited(TemplateEdit(kind, _weaker(one), one.edit))
    yield situation.edited(all_relaxed(situation.document, kind, prefix, least=2))


def all_relaxed(document: Raw, kind: str, prefix: str, least: int = 1) -> TemplateEdit | None:
    """Return the edit that makes all constraints whose key begins so preferences; None for fewer than `least`."""

    def found(document: Raw) -> list[actions.Relaxation]:
        every = actions.relaxations(document)
        return [one for one in every if one.key.startswith(prefix) and not one.key.endswith("maxSkew")]

    def edit(document: Raw) -> None:
        while left := found(document):
            left[-1].edit(document)  # from the last, because each leaves its list

    texts = [_weaker(one) for one in found(document)]
    return TemplateEdit(kind, formatting.listing(texts), edit) if len(texts) >= least else None


def _weaker(one: actions.Relaxation) -> str:
    if one.label == "Prefer":
        return f"prefer instead of require: {one.constraint.removeprefix('required ')}"
    return f"set {'whenUnsatisfiable: ' if one.label == actions.SOFT else ''}{one.label} ({one.constraint})"


def anti_affinity(situation: Situation) -> Candidates:
    yield from relaxed(situation, "anti-affinity", "podAnti")
    for i, term in enumerate(situation.pod.required_anti_affinity):
        if term.topology_key != HOSTNAME:
            text = f"keep its pods on different nodes instead of different {term.topology_key}"
            edit = partial(_set_term, "podAntiAffinity", i, "topologyKey", HOSTNAME)
            yield situation.edited(TemplateEdit("anti-affinity", text, edit))
    yield from capacity(situation)


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
        put = partial(_set_term, "podAffinity", i)
        for namespace in sorted(found.get(value, ()))[:1]:
            text = f"look for pods with {key}={value} in namespace {namespace}, where they run"
            yield situation.edited(TemplateEdit("pod-affinity", text, partial(put, "namespaces", [namespace])))
        for other in nearest(value, here)[:1]:
            text = f"be near pods with {key}={other}: none with {key}={value} runs"
            edit = partial(put, "labelSelector", {"matchLabels": {key: other}})
            yield situation.edited(TemplateEdit("pod-affinity", text, edit))
    yield from relaxed(situation, "pod-affinity", "podAffinity")


def _set_term(side: str, number: int, field: str, value: object, document: Raw) -> None:
    document["spec"]["affinity"][side][actions.REQUIRED][number][field] = value


def topology_spread(situation: Situation) -> Candidates:
    for context in situation.near[:1]:
        for edit in (*_misspelt_keys(context), *_instead_of_defaults(context)):
            yield situation.edited(edit)
    yield from relaxed(situation, "topology-spread", "spread")
    for i, one in enumerate(situation.document["spec"].get("topologySpreadConstraints", [])):
        if one.get("nodeTaintsPolicy") != "Honor" and one.get("whenUnsatisfiable") != actions.SOFT:
            text = f"set nodeTaintsPolicy Honor for {one.get('topologyKey')}, so that tainted nodes do not count"
            put = partial(_set_constraint, i, "nodeTaintsPolicy", "Honor")
            yield situation.edited(TemplateEdit("topology-spread", text, put))
    yield from capacity(situation)


def _misspelt_keys(context: NodeContext) -> Iterator[TemplateEdit]:
    """Yield a similar label of the node for each topologyKey that is on no node."""
    for number, one in enumerate(context.pod.pod.spec.topology_spread_constraints):
        if one.when_unsatisfiable != actions.SOFT and not context.values(one.topology_key):
            for other in nearest(one.topology_key, context.labels)[:1]:
                text = f"spread over {other} (topologyKey {one.topology_key} is on no node)"
                yield TemplateEdit("topology-spread", text, partial(_set_constraint, number, "topologyKey", other))


def _instead_of_defaults(context: NodeContext) -> Iterator[TemplateEdit]:
    """Yield soft constraints for a pod without its own: the profile's defaults apply only to such pods."""
    plugin = next((p for p in context.what_if.framework.filter if isinstance(p, PodTopologySpread)), None)
    if plugin is None or context.pod.pod.spec.topology_spread_constraints:
        return
    state = CycleState()
    plugin.pre_filter(state, context.pod)
    keys = [one.constraint.topology_key for one in state.get(plugin.name, [])]

    def edit(document: Raw) -> None:
        selector = {"matchLabels": dict(document["metadata"].get("labels", {}))}
        own = {"maxSkew": 1, "whenUnsatisfiable": actions.SOFT, "labelSelector": selector}
        document["spec"]["topologySpreadConstraints"] = [own | {"topologyKey": key} for key in keys]

    if keys:
        text = f"prefer to spread over {formatting.listing(keys)}, which its profile requires by default"
        yield TemplateEdit("topology-spread", text, edit)


def _set_constraint(number: int, field: str, value: str, document: Raw) -> None:
    document["spec"]["topologySpreadConstraints"][number][field] = value


def host_ports(situation: Situation) -> Candidates:
    if not situation.pod.pod.spec.host_network:  # otherwise the API server sets the host ports again
        taken = {port for context in situation.near for port in context.taken_ports()}
        note = "expose the pods with a Service instead, of type LoadBalancer or NodePort for other networks"
        yield situation.edited(without_ports(taken), note)
    yield from capacity(situation)


def without_ports(taken: Collection[tuple[str, int]]) -> TemplateEdit:
    """Return the edit that drops host ports: (protocol, port)."""

    def edit(document: Raw) -> None:
        for container in containers_of(document):
            for port in container.get("ports", []):
                if (port.get("protocol") or "TCP", port.get("hostPort")) in taken:
                    del port["hostPort"]

    text = formatting.listing([f"{port}/{protocol}" for protocol, port in sorted(taken)])
    return TemplateEdit("host-port", f"drop host port {text}", edit)


def scheduling_gates(situation: Situation) -> Candidates:
    gates = [gate.name for gate in situation.pod.pod.spec.scheduling_gates]
    if not gates:
        return
    owners = [found for found in dict.fromkeys(map(gate_owner, gates)) if found]
    who = formatting.listing(sorted({owner.partition(" removes it")[0] for owner in owners}))
    text = f"remove scheduling gate {formatting.listing(gates)}" + (f", which {who} removes" if who else "")
    condition = "; ".join(owners) or "the controller that set it removes it when its condition is met"
    by_hand = "Kueue deletes the pod if it is removed by hand before" if KUEUE_GATE in gates else ""
    note = f"{condition}; {by_hand or 'a removal by hand bypasses this'}"
    removal = [{"op": "remove", "path": "/spec/schedulingGates"}]
    changes = [patch_of("Pod", p.namespace, p.name, {"spec": {"schedulingGates": None}}) for p in situation.pods]
    pod = Target("Pod", situation.pod.namespace, situation.pod.name)
    command = commands.patch(pod, removal, "json", situation.names)
    yield FixCandidate("gate", situation.owner, text, command, changes, removal, note, always=True)
