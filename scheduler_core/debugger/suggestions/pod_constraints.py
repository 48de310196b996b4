"""Steps for the pod's own constraints on other pods: PodTopologySpread, InterPodAffinity and NodePorts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from scheduler_core.api.selector_text import selector_text
from scheduler_core.cluster import formatting
from scheduler_core.cluster.nodes import ports_conflict
from scheduler_core.cluster.pod_counts import Term
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.debugger.suggestions import existing_anti_affinity
from scheduler_core.debugger.suggestions.evict_pods import evict
from scheduler_core.debugger.suggestions.node_context import GIVEN_LABELS, Spot
from scheduler_core.debugger.suggestions.steps import NODE, POD, Raw, Step, patch_of
from scheduler_core.debugger.suggestions.typos import likeness, nearest
from scheduler_core.framework.interface import CycleState
from scheduler_core.plugins.pod_topology_spread import PodTopologySpread, Spread

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"

# ---- host ports


def ports(spot: Spot) -> list[Step]:
    """NodePorts: remove the host ports that are in use on the node, or delete the pods that use them."""
    taken: dict[tuple[str, int], list[PodInfo]] = {}
    for ip, protocol, port in spot.pod.host_ports:
        users = [
            other
            for other in [*spot.pods(), *spot.ahead()]
            if any(p[1:] == (protocol, port) and ports_conflict(ip, (p[0],)) for p in other.host_ports)
        ]
        if users:
            taken[protocol, port] = users
    if not taken:
        return []
    told = formatting.listing([f"{port}/{protocol}" for protocol, port in taken])
    by = formatting.some(sorted({pod.key for users in taken.values() for pod in users}), 2)
    text = f"do without host port {told}, which {by} has on {spot.name}"
    found = [Step(text, POD, 2.5, partial(_without_ports, frozenset(taken)))]
    return [*found, *evict({pod.key: pod for users in taken.values() for pod in users}.values())]


def _without_ports(taken: frozenset[tuple[str, int]], document: Raw) -> None:
    spec = document["spec"]
    for container in [*spec.get("containers", []), *spec.get("initContainers", [])]:
        for port in container.get("ports", []):
            if (port.get("protocol") or "TCP", port.get("hostPort")) in taken:
                del port["hostPort"]


# ---- topology spread


def _spreads(spot: Spot) -> list[Spread]:
    plugin = next((p for p in spot.framework.filter if isinstance(p, PodTopologySpread)), None)
    if plugin is None:
        return []
    state = CycleState()
    plugin.pre_filter(state, spot.pod)
    found: list[Spread] = state.get(plugin.name, [])
    return found


def spread(spot: Spot) -> list[Step]:
    """PodTopologySpread: raise maxSkew, prefer instead of require, label the node, or delete matching pods."""
    own = [
        i
        for i, c in enumerate(spot.pod.pod.spec.topology_spread_constraints)
        if c.when_unsatisfiable == "DoNotSchedule"
    ]
    found = _spreads(spot)
    if found and not spot.pod.pod.spec.topology_spread_constraints:
        return [_instead_of_defaults(spot, found)]
    if not own or len(own) != len(found):
        return []
    allowed: list[tuple[str, float, Callable[[Raw], None]]] = []
    preferred: list[tuple[str, float, Callable[[Raw], None]]] = []
    others: list[Step] = []
    for number, one in zip(own, found, strict=True):
        constraint, key = one.constraint, one.constraint.topology_key
        domain = int(constraint.topology.ids[spot.row])
        soft = partial(_set, number, "whenUnsatisfiable", "ScheduleAnyway")
        if domain < 0:
            why = f"node {spot.name} has no label {key}"
            if not spot.values(key):
                why = f"topologyKey {key} is on no node"
                for other in nearest(key, spot.labels)[:1]:
                    allowed.append((f"{why}: spread over {other}", 0.2, partial(_set, number, "topologyKey", other)))
            elif key not in GIVEN_LABELS:
                others.append(_label(spot, key))
            preferred.append((f"{why}: prefer to spread over it instead of insisting", 2.5, soft))
            continue
        skew = int(one.counts[domain]) + one.own - one.minimum
        if skew <= constraint.max_skew:
            continue
        value = spot.labels[key]
        told = f"{key}={value} would have {skew} more matching pods than the least"
        allowed.append((f"{told}: set maxSkew {skew} instead of {constraint.max_skew}", 2.0, _skewer(number, skew)))
        preferred.append((f"{told}: prefer to spread over {key} instead of insisting", 2.6, soft))
        matching = [p for p in spot.domain(key) if one.column.matches(p)]
        others += evict(matching, skew - constraint.max_skew)
    sides = [side for side in (allowed, preferred) if side]
    if len(allowed) != len(preferred):
        sides = [preferred]
    return [*map(_together, sides), *others]


def _instead_of_defaults(spot: Spot, found: list[Spread]) -> Step:
    """Return the step that gives the pod soft constraints. The profile's defaults apply only to pods without their
    own."""
    keys = [one.constraint.topology_key for one in found]
    preferred = {"maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}

    def edit(document: Raw) -> None:
        selector = {"matchLabels": dict(document["metadata"].get("labels", {}))}
        own = [preferred | {"topologyKey": key, "labelSelector": selector} for key in keys]
        document["spec"]["topologySpreadConstraints"] = own

    return Step(
        f"prefer to spread over {formatting.listing(keys)}, on which its profile insists by default", POD, 2.6, edit
    )


def _together(parts: list[tuple[str, float, Callable[[Raw], None]]]) -> Step:
    def edit(document: Raw) -> None:
        for _, _, one in parts:
            one(document)

    return Step("; and ".join(text for text, _, _ in parts), POD, sum(cost for _, cost, _ in parts), edit)


def _set(number: int, field: str, value: str, document: Raw) -> None:
    document["spec"]["topologySpreadConstraints"][number][field] = value


def _skewer(number: int, skew: int) -> Callable[[Raw], None]:
    def edit(document: Raw) -> None:
        document["spec"]["topologySpreadConstraints"][number]["maxSkew"] = skew

    return edit


def _label(spot: Spot, key: str) -> Step:
    value = (spot.values(key) or [""])[0]
    change = patch_of("Node", "", spot.name, {"metadata": {"labels": {key: value}}})
    return Step(f"label node {spot.name} {key}={value}", NODE, 2.0, None, (change,), nodes=frozenset((spot.name,)))


# ---- inter-pod affinity


def affinity(spot: Spot) -> list[Step]:
    """InterPodAffinity: handle unmet affinity terms, violated anti-affinity terms, and anti-affinity of existing
    pods."""
    unmet = _unmet(spot)
    if unmet:
        return _nobody(spot, unmet)
    broken = [
        (i, term, there)
        for i, term in enumerate(spot.pod.required_anti_affinity)
        if (there := [p for p in spot.domain(term.topology_key) if p.key != spot.pod.key and _matches(spot, term, p)])
    ]
    if broken:
        users = {pod.key: pod for _, _, there in broken for pod in there}
        wanted = formatting.listing([selector_text(term.selector) for _, term, _ in broken])
        text = f"do not insist on being away from {wanted} ({formatting.some(sorted(users), 2)})"
        numbers = [i for i, _, _ in broken]
        return [Step(text, POD, 3.0, partial(_drop_terms, "podAntiAffinity", numbers)), *evict(users.values())]
    return existing_anti_affinity.steps(spot)


def _matches(spot: Spot, term: Term, pod: PodInfo) -> bool:
    return term.matches(pod.namespace, spot.cluster.namespaces.get(pod.namespace, {}), pod.labels)


def _unmet(spot: Spot) -> list[int]:
    terms = spot.pod.required_affinity
    nobody = not any(all(_matches(spot, term, pod) for term in terms) for pod in spot.cluster.pods.values())
    itself = nobody and all(_matches(spot, term, spot.pod) for term in terms)  # the first of a kind may start anywhere

    def met(term: Term) -> bool:
        if term.topology_key not in spot.labels:
            return False
        return itself or any(all(_matches(spot, t, p) for t in terms) for p in spot.domain(term.topology_key))

    return [i for i, term in enumerate(terms) if not met(term)]


def _nobody(spot: Spot, unmet: list[int]) -> list[Step]:
    terms = spot.pod.required_affinity
    found: list[Step] = []
    for i in unmet:
        term = terms[i]
        if term.topology_key not in spot.labels:
            text = f"no node has a label {term.topology_key}" if not spot.values(term.topology_key) else ""
            for other in nearest(term.topology_key, spot.labels)[:1] if text else ():
                edit = partial(_set_term, i, "topologyKey", other)
                found.append(Step(f"{text}: use topologyKey {other}", POD, 0.3, edit))
            if term.topology_key not in GIVEN_LABELS and not text:
                found.append(_label(spot, term.topology_key))
        found += _meant(spot, i, term)
    wanted = formatting.listing([selector_text(terms[i].selector) for i in unmet])
    anywhere = any(all(_matches(spot, terms[i], p) for i in unmet) for p in spot.cluster.pods.values())
    why = "" if anywhere else f"no pod with {wanted} runs anywhere: "
    text = f"{why}do not insist on being near {wanted}"
    drop = partial(_drop_terms, "podAffinity", list(unmet))
    return [*found, Step(text, POD, 3.0 if anywhere else 1.8, drop)]


def _meant(spot: Spot, number: int, term: Term) -> Iterator[Step]:
    """Yield steps that select a similar label value of existing pods."""
    labels = spot.pod.pod.spec.affinity.pod_affinity.required[number].label_selector  # type: ignore[union-attr]
    wanted = labels.match_labels if labels is not None else {}
    if len(wanted) != 1 or labels is None or labels.match_expressions:
        return
    (key, value), here = next(iter(wanted.items())), set()
    for pod in spot.domain(term.topology_key):
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
