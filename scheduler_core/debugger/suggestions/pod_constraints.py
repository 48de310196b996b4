"""Steps for the pod's own constraints on other pods: PodTopologySpread, InterPodAffinity and NodePorts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from scheduler_core.api.selector_text import selector_text
from scheduler_core.cluster import formatting
from scheduler_core.cluster.nodes import ports_conflict
from scheduler_core.cluster.pod_counts import Term
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.debugger.suggestions import existing_anti_affinity
from scheduler_core.debugger.suggestions.evict_pods import evict
from scheduler_core.debugger.suggestions.node_context import GIVEN_LABELS, NodeContext, likeness, nearest
from scheduler_core.debugger.suggestions.steps import POD, Part, Raw, Step, combined, containers_of, node_step, patch_of
from scheduler_core.framework.interface import CycleState
from scheduler_core.plugins.pod_topology_spread import HardConstraint, PodTopologySpread

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def ports(context: NodeContext) -> list[Step]:
    """NodePorts: remove the host ports that are in use on the node, or delete the pods that use them."""
    taken = taken_ports(context)
    if not taken:
        return []
    text = formatting.listing([f"{port}/{protocol}" for protocol, port in taken])
    by = formatting.some(sorted({pod.key for users in taken.values() for pod in users}), 2)
    text = f"drop host port {text}, which {by} has on {context.name}"
    found = [Step(text, POD, 2.5, partial(without_ports, frozenset(taken)))]
    return [*found, *evict({pod.key: pod for users in taken.values() for pod in users}.values())]


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
    """PodTopologySpread: raise maxSkew, prefer instead of require, label the node, or delete matching pods."""
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
        matching = [p for p in context.domain(key) if one.column.matches(p)]
        others += evict(matching, skew - constraint.max_skew)
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


def affinity(context: NodeContext) -> list[Step]:
    """InterPodAffinity: handle unmet affinity terms, violated anti-affinity terms, and anti-affinity of existing
    pods."""
    unmet = _unmet(context)
    if unmet:
        return _unmet_steps(context, unmet)
    users: dict[str, PodInfo] = {}
    broken: dict[int, str] = {}  # the number of a violated term -> its selector
    for i, term in enumerate(context.pod.required_anti_affinity):
        for pod in context.domain(term.topology_key):
            if pod.key != context.pod.key and _matches(context, term, pod):
                users[pod.key], broken[i] = pod, selector_text(term.selector)
    if broken:
        wanted = formatting.listing(list(broken.values()))
        text = f"do not require anti-affinity to {wanted} ({formatting.some(sorted(users), 2)})"
        return [Step(text, POD, 3.0, partial(_drop_terms, "podAntiAffinity", list(broken))), *evict(users.values())]
    return existing_anti_affinity.steps(context)


def _matches(context: NodeContext, term: Term, pod: PodInfo) -> bool:
    return context.matches(term, pod.namespace, pod.labels)


def _unmet(context: NodeContext) -> list[int]:
    terms = context.pod.required_affinity
    no_match = not any(all(_matches(context, term, pod) for term in terms) for pod in context.cluster.pods.values())
    # the first of a kind may start anywhere
    itself = no_match and all(_matches(context, term, context.pod) for term in terms)

    def met(term: Term) -> bool:
        if term.topology_key not in context.labels:
            return False
        return itself or any(all(_matches(context, t, p) for t in terms) for p in context.domain(term.topology_key))

    return [i for i, term in enumerate(terms) if not met(term)]


def _unmet_steps(context: NodeContext, unmet: list[int]) -> list[Step]:
    terms = context.pod.required_affinity
    found: list[Step] = []
    for i in unmet:
        term = terms[i]
        if term.topology_key not in context.labels:
            text = f"no node has a label {term.topology_key}" if not context.values(term.topology_key) else ""
            for other in nearest(term.topology_key, context.labels)[:1] if text else ():
                edit = partial(_set_term, i, "topologyKey", other)
                found.append(Step(f"{text}: use topologyKey {other}", POD, 0.3, edit))
            if term.topology_key not in GIVEN_LABELS and not text:
                found.append(_label(context, term.topology_key))
        found += _similar_labels(context, i, term)
    wanted = formatting.listing([selector_text(terms[i].selector) for i in unmet])
    anywhere = any(all(_matches(context, terms[i], p) for i in unmet) for p in context.cluster.pods.values())
    why = "" if anywhere else f"no pod with {wanted} runs anywhere: "
    text = f"{why}do not require affinity to {wanted}"
    drop = partial(_drop_terms, "podAffinity", list(unmet))
    return [*found, Step(text, POD, 3.0 if anywhere else 1.8, drop)]


def _similar_labels(context: NodeContext, number: int, term: Term) -> Iterator[Step]:
    """Yield steps that select a similar label value of existing pods."""
    labels = context.pod.pod.spec.affinity.pod_affinity.required[number].label_selector  # type: ignore[union-attr]
    wanted = labels.match_labels if labels is not None else {}
    if len(wanted) != 1 or labels is None or labels.match_expressions:
        return
    (key, value), here = next(iter(wanted.items())), set()
    for pod in context.domain(term.topology_key):
        if pod.namespace in term.namespaces and key in pod.labels:
            here.add(pod.labels[key])
    for other in nearest(value, sorted(here))[:2]:
        text = f"no pod with {key}={value} runs there: be near {key}={other}"
        cost = 1.0 - likeness(value, other)
        yield Step(text, POD, cost, partial(_set_term, number, "labelSelector", {"matchLabels": {key: other}}))


def _set_term(number: int, field: str, value: object, document: Raw) -> None:
    document["spec"]["affinity"]["podAffinity"][_REQUIRED][number][field] = value


def _drop_terms(side: str, numbers: list[int], document: Raw) -> None:
    where = document["spec"]["affinity"][side]
    left = [term for i, term in enumerate(where[_REQUIRED]) if i not in numbers]
    if left:
        where[_REQUIRED] = left
    else:
        del where[_REQUIRED]
    if not where:
        del document["spec"]["affinity"][side]
