"""Candidates for nodes that are cordoned or not ready, and for missing resources: more nodes, smaller requests."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import msgspec
import numpy as np
from msgspec import structs

from scheduler_core.api.objects import Node
from scheduler_core.cluster import formatting
from scheduler_core.cluster.formatting import agree
from scheduler_core.cluster.resources import amounts
from scheduler_core.cluster.spelling import nearest
from scheduler_core.cluster.system_taints import NOT_READY, SYSTEM_TAINTS, UNSCHEDULABLE
from scheduler_core.explain.answer import Target
from scheduler_core.forks.mutations import Change
from scheduler_core.forks.template_patch import TemplateEdit, patch_of
from scheduler_core.framework import causes
from scheduler_core.suggestions import commands, requests
from scheduler_core.suggestions.candidates import Candidates, FixCandidate, Situation, shown
from scheduler_core.suggestions.node_context import NodeContext
from scheduler_core.virtual_time.scenario import NodeTaint

MOST_NODES = 5  # nodes that one fix changes
KEPT = 0.7  # least share of a request that a reduction leaves
FREE = 0.25  # least share of the largest node that a large pod is reduced to


def uncordoned(situation: Situation) -> Candidates:
    nodes = situation.cluster.nodes
    held = [n for name in sorted(situation.cause.nodes) if (n := nodes.nodes[nodes.rows[name]]).spec.unschedulable]
    if not held:
        only = {"NodeUnschedulable", "TaintToleration"}
        rows = [row for row, node in enumerate(nodes.nodes) if node.spec.unschedulable and node.ready][:50]
        held = [nodes.nodes[row] for row in rows if situation.at(row).statuses().keys() <= only]
    chosen: list[Node] = []
    best: list[str] = []
    for node in held[:MOST_NODES]:
        placed = situation.placed(uncordon([*chosen, node]).changes)
        if len(placed) > len(best):
            chosen, best = [*chosen, node], placed
        if len(best) == len(situation.tried):
            break
    if chosen:
        note = "a person or an upgrade has cordoned it; check first that its maintenance is over"
        yield replace(uncordon(chosen), remark=note, placed=best)


def uncordon(nodes: Sequence[Node]) -> FixCandidate:
    """Return the uncordon of nodes: the node lifecycle controller removes the taint."""
    names = [node.name for node in nodes]
    changes = []
    for node in nodes:
        changes.append(Change(uncordon=node.name))
        if any(taint.key == UNSCHEDULABLE for taint in node.spec.taints):
            changes.append(Change(untaint=NodeTaint(node=node.name, key=UNSCHEDULABLE)))
    target, patch = Target("Node", "", names[0]), {"spec": {"unschedulable": None}}
    text = f"uncordon {formatting.listing(names)}"
    return FixCandidate("uncordon", target, text, commands.uncordon(names), changes, patch)


def not_ready(situation: Situation) -> Candidates:
    rows = situation.cluster.nodes.rows
    for name in sorted(situation.cause.nodes)[:1]:
        node = situation.cluster.nodes.nodes[rows[name]]
        taints = [msgspec.to_builtins(taint) for taint in node.spec.taints if taint.key not in SYSTEM_TAINTS]
        kept = [msgspec.to_builtins(c) for c in node.status.conditions if c.type != "Ready"]
        ready = {"conditions": [*kept, {"type": "Ready", "status": "True"}]}
        changes = [patch_of("Node", "", name, {"spec": {"taints": taints}, "status": ready})]
        keys = [taint.key for taint in node.spec.taints]
        state = agree(1, next((words for key, words in NOT_READY.items() if key in keys), "are not ready"))
        text = f"find out why {name} {state}; when it is ready, {situation.would(changes)}"
        note = "its kubelet, network or machine must be repaired or replaced"
        yield shown("node-not-ready", Target("Node", "", name), text, note, changes)


def capacity(situation: Situation) -> Candidates:
    kinds = (causes.DOMAIN_FULL, causes.PODS_LIMIT, causes.VOLUME_LIMIT)
    kind = situation.cause.kind if situation.cause.kind in kinds else "capacity"
    raised = kind == causes.PODS_LIMIT and situation.cause.nodes
    if situation.owner.kind != "DaemonSet":
        note = "or raise maxPods of their kubelet" if raised else ""
        yield situation.added(kind, situation.likes(), note=note)


def freed(situation: Situation) -> Candidates:
    """Say what the nearest node has to free, for pods that no other node takes, such as those of a DaemonSet."""
    kinds = (causes.INSUFFICIENT_RESOURCE, causes.DOMAIN_FULL, causes.PODS_LIMIT, causes.HOST_PORT)
    if situation.cause.kind in kinds and situation.near:
        yield to_free(situation, situation.near[0])


def to_free(situation: Situation, context: NodeContext) -> FixCandidate | None:
    """Return what other pods have to leave free on a node; None if they have nothing that the pod needs."""
    lacking = {name: situation.pod.requests[name] - left for name, left in requests.short(context).items()}
    parts = [f"{formatting.amount(name, amount)} {name}" for name, amount in lacking.items()]
    parts += ["a pod slot"] * context.is_full()
    ports = context.taken_ports()
    parts += [f"host port {port}/{protocol}" for protocol, port in sorted(ports)]
    if not parts:
        return None
    users = sorted({pod.key for pods in ports.values() for pod in pods})
    note = f"{formatting.some(users, 2)} has the port; " if users else ""
    note += "move pods that can run elsewhere, or give this workload a higher priority"
    kind = situation.cause.kind if users or situation.cause.kind == causes.PODS_LIMIT else "capacity"
    text = f"free {formatting.listing(parts)} on {context.name}"
    return shown(kind, Target("Node", "", context.name), text, note)


def less_requested(situation: Situation) -> Candidates:
    """Yield a reduction of requests to what a near node has free, if it keeps most of each."""
    for context in situation.near[:3]:
        yield situation.edited(fitting(situation, context))


def fitting(situation: Situation, context: NodeContext) -> TemplateEdit | None:
    """Return the reduction of requests to what a node has free; None if too little of one is left: of a request that
    exceeds every node it may be a share of the largest node."""
    table = situation.cluster.nodes
    for name, left in requests.short(context).items():
        most = int(table.allocatable[name].max()) if name in table.allocatable else 0
        request = situation.pod.requests[name]
        if left < (FREE * most if request > most else KEPT * request):
            return None
    return requests.less(context)


def too_large(situation: Situation) -> Candidates:
    """Yield the reduction of requests that exceed every node, to what a node has free or in total; a larger node."""
    table, pod = situation.cluster.nodes, situation.pod
    wanted = {name: amount for name, amount in pod.requests.items() if amount and name in table.allocatable}
    if not wanted or not len(table):
        return
    free = [(table.allocatable[name] - table.requested[name]) / amount for name, amount in wanted.items()]
    order = np.argsort(-np.min(free, axis=0), kind="stable")[:200].tolist()
    contexts = [situation.at(row) for row in order]
    contexts = [c for c in contexts if c.statuses().keys() <= {"NodeResourcesFit"}] or contexts
    lacking = requests.short(contexts[0])
    large = {name: int(table.allocatable[name].max()) for name in wanted}
    if all(name in large and left >= FREE * large[name] for name, left in lacking.items()):
        yield situation.edited(requests.less(contexts[0]))
    totals = [
        min(int(table.allocatable[name][context.row]) / amount for name, amount in wanted.items())
        for context in contexts
    ]
    largest = contexts[int(np.argmax(totals))]
    has = {name: int(table.allocatable[name][largest.row]) - _of_daemons(largest, name) for name in wanted}
    over = {name: has[name] for name, amount in wanted.items() if amount > has[name] > 0}
    if over:
        overhead = amounts(pod.pod.spec.overhead)
        most = {name: requests.round_down(name, left - overhead.get(name, 0)) for name, left in over.items()}
        reduced = [f"{formatting.amount(name, most[name] + overhead.get(name, 0))} {name}" for name in over]
        text = f"request at most {formatting.listing(reduced)}: no node is larger than {largest.name}"
        shrink = partial(requests.shrink, over, situation.cluster.release)
        candidate = situation.edited(TemplateEdit("requests", text, shrink))
        if candidate is not None:
            candidate.always = True
            yield candidate
    yield _larger(situation, largest.node, wanted)


def _of_daemons(context: NodeContext, name: str) -> int:
    """Return the requests of DaemonSet pods on a node: it never has these free."""
    daemons = (p for p in context.pods() if any(o.kind == "DaemonSet" for o in p.pod.metadata.owner_references))
    return sum(pod.requests.get(name, 0) for pod in daemons)


def _larger(situation: Situation, like: Node, wanted: dict[str, int]) -> FixCandidate | None:
    has = amounts(like.status.allocatable)
    enough = {name: requests.quantity_text(name, max(amount, has.get(name, 0))) for name, amount in wanted.items()}
    status = structs.replace(like.status, allocatable={**like.status.allocatable, **enough}, capacity={})
    sizes = [f"{formatting.amount(name, amount)} {name}" for name, amount in wanted.items()]
    text = f"add {{nodes}}: none has {formatting.listing(sizes)}"
    return situation.added("capacity", [structs.replace(like, status=status)], text)


def absent(situation: Situation) -> Candidates:
    nodes = situation.cluster.nodes
    has = {name for name, column in nodes.allocatable.items() if column.any()}
    missing = [name for name, amount in situation.pod.requests.items() if amount and name not in has]
    if not missing:
        return
    for other in nearest(missing[0], sorted(name for name in has if "/" in name))[:1]:
        text = f"request {other} instead of {missing[0]}, which no node has"
        yield situation.edited(TemplateEdit("resource-absent", text, partial(requests.rename, missing[0], other)))
    text = f"add nodes that have {formatting.listing(missing)}, or start the device plugin that announces it"
    yield shown("resource-absent", situation.owner, text, command=commands.show_resource(missing[0]))
