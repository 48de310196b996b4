"""Steps for the pod's topology spread constraints, and its host ports."""

from __future__ import annotations

from functools import partial

from scheduler_core.cluster import formatting
from scheduler_core.cluster.node_labels import GIVEN_LABELS
from scheduler_core.cluster.nodes import ports_conflict
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cluster.spelling import nearest
from scheduler_core.debugger.suggestions.node_context import NodeContext
from scheduler_core.debugger.suggestions.steps import POD, Part, Raw, Step, combined, containers_of, node_step, patch_of
from scheduler_core.framework.interface import CycleState
from scheduler_core.plugins.pod_topology_spread import HardConstraint, PodTopologySpread

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def taken_ports(context: NodeContext) -> dict[tuple[str, int], list[PodInfo]]:
    """Return the host ports of the pod that are in use on the node, with the pods that use them."""
    taken: dict[tuple[str, int], list[PodInfo]] = {}
    for ip, protocol, port in context.pod.host_ports:
        users = [
            other
            for other in [*context.pods(), *context.ahead()]
            if any(p[1:] == (protocol, port) and ports_conflict(ip, (p[0],)) for p in other.host_ports)
        ]
        if users:
            taken[protocol, port] = users
    return taken


def without_ports(taken: frozenset[tuple[str, int]], document: Raw) -> None:
    for container in containers_of(document):
        for port in container.get("ports", []):
            if (port.get("protocol") or "TCP", port.get("hostPort")) in taken:
                del port["hostPort"]


def _spreads(context: NodeContext) -> list[HardConstraint]:
    plugin = next((p for p in context.framework.filter if isinstance(p, PodTopologySpread)), None)
    if plugin is None:
        return []
    state = CycleState()
    plugin.pre_filter(state, context.pod)
    return list(state.get(plugin.name, []))


def spread(context: NodeContext) -> list[Step]:
    """PodTopologySpread: raise maxSkew, prefer instead of require, or label the node."""
    constraints = context.pod.pod.spec.topology_spread_constraints
    own = [i for i, one in enumerate(constraints) if one.when_unsatisfiable == "DoNotSchedule"]
    found = _spreads(context)
    if found and not constraints:
        return [_instead_of_defaults(context, found)]
    if not own or len(own) != len(found):
        return []
    allowed: list[Part] = []
    preferred: list[Part] = []
    others: list[Step] = []
    for number, one in zip(own, found, strict=True):
        constraint, key = one.constraint, one.constraint.topology_key
        domain = int(constraint.topology.ids[context.row])
        soft = partial(set_constraint, number, "whenUnsatisfiable", "ScheduleAnyway")
        if domain < 0:
            why = f"node {context.name} has no label {key}"
            if not context.values(key):
                why = f"topologyKey {key} is on no node"
                for other in nearest(key, context.labels)[:1]:
                    allowed.append(
                        (f"{why}: spread over {other}", 0.2, partial(set_constraint, number, "topologyKey", other))
                    )
            elif key not in GIVEN_LABELS:
                others.append(_label(context, key))
            preferred.append((f"{why}: prefer to spread over it instead of requiring it", 2.5, soft))
            continue
        skew = int(one.counts[domain]) + one.own - one.minimum
        if skew <= constraint.max_skew:
            continue
        value = context.labels[key]
        reason = f"with this pod, {key}={value} has {skew} more matching pods than the least"
        text = f"{reason}: set maxSkew {skew} instead of {constraint.max_skew}"
        allowed.append((text, 2.0, partial(set_constraint, number, "maxSkew", skew)))
        preferred.append((f"{reason}: prefer to spread over {key} instead of requiring it", 2.6, soft))
    sides = [side for side in (allowed, preferred) if side]
    if len(allowed) != len(preferred):
        sides = [preferred]
    return [*map(combined, sides), *others]


def _instead_of_defaults(context: NodeContext, found: list[HardConstraint]) -> Step:
    """Return the step that gives the pod soft constraints. The profile's defaults apply only to pods without their
    own."""
    keys = [one.constraint.topology_key for one in found]
    preferred = {"maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}

    def edit(document: Raw) -> None:
        selector = {"matchLabels": dict(document["metadata"].get("labels", {}))}
        own = [preferred | {"topologyKey": key, "labelSelector": selector} for key in keys]
        document["spec"]["topologySpreadConstraints"] = own

    text = f"prefer to spread over {formatting.listing(keys)}, which its profile requires by default"
    return Step(text, POD, 2.6, edit)


def set_constraint(number: int, field: str, value: str | int, document: Raw) -> None:
    document["spec"]["topologySpreadConstraints"][number][field] = value


def _label(context: NodeContext, key: str) -> Step:
    value = (context.values(key) or [""])[0]
    change = patch_of("Node", "", context.name, {"metadata": {"labels": {key: value}}})
    return node_step(context.name, f"label node {context.name} {key}={value}", 2.0, change)
