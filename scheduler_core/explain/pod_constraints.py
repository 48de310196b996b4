"""Conflicting pods, or their numbers: inter-pod affinity, topology spread, host ports."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from scheduler_core.cluster.nodes import ports_conflict
from scheduler_core.cluster.pod_counts import Term
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.explain import formatting
from scheduler_core.explain.context import Scene
from scheduler_core.explain.labels import selector_text
from scheduler_core.framework.interface import CycleState, Status
from scheduler_core.plugins.inter_pod_affinity import ANTI_AFFINITY, NO_AFFINITY
from scheduler_core.plugins.pod_topology_spread import PodTopologySpread, PodTopologySpreadArgs, Spread

Wanted = Callable[[PodInfo], bool]


def node_ports(scene: Scene, row: int, status: Status) -> str:
    """NodePorts: the host ports of the pod that are in use, and by which pods."""
    details = []
    for ip, protocol, port in scene.pod.host_ports:
        users = [
            pod.key
            for pod in scene.pods_on(row)
            if any(p[1:] == (protocol, port) and ports_conflict(ip, (p[0],)) for p in pod.host_ports)
        ]
        if users:
            details.append(f"host port {port}/{protocol} is taken by {formatting.some(users, 3)}")
    return "; ".join(details)


# ---- inter-pod affinity


def inter_pod_affinity(scene: Scene, row: int, status: Status) -> str:
    """InterPodAffinity: the term that is not met and its domain, or the conflicting pods."""
    if status.reasons[-1:] == NO_AFFINITY.reasons:
        return _unattracted(scene, row)
    if status.reasons[-1:] == ANTI_AFFINITY.reasons:
        return _repelled(scene, row)
    return _unwelcome(scene, row)


def _domain(scene: Scene, row: int, topology_key: str) -> str | None:
    """Return the domain of a node, such as `zone=a`; None if it lacks the label."""
    value = scene.nodes.nodes[row].metadata.labels.get(topology_key)
    return None if value is None else f"{topology_key}={value}"


def _pods_in(scene: Scene, row: int, topology_key: str) -> Iterator[PodInfo]:
    value = scene.nodes.nodes[row].metadata.labels.get(topology_key)
    for other, node in enumerate(scene.nodes.nodes):
        if value is not None and node.metadata.labels.get(topology_key) == value:
            yield from scene.pods_on(other)


def _matches(scene: Scene, term: Term, pod: PodInfo) -> bool:
    return term.matches(pod.namespace, scene.cluster.namespaces.get(pod.namespace, {}), pod.labels)


def _unattracted(scene: Scene, row: int) -> str:
    terms = scene.pod.required_affinity
    for term in terms:
        where = _domain(scene, row, term.topology_key)
        if where is None:
            return f"the node has no label {term.topology_key}"
        # the count of every term covers the pods that match all terms
        if not any(all(_matches(scene, t, p) for t in terms) for p in _pods_in(scene, row, term.topology_key)):
            wanted = " and ".join(selector_text(t.selector) for t in terms)
            return f"no pod with {wanted} runs in {where}"
    return ""


def _repelled(scene: Scene, row: int) -> str:
    for term in scene.pod.required_anti_affinity:
        found = [p.key for p in _pods_in(scene, row, term.topology_key) if _matches(scene, term, p)]
        if found:
            where = _domain(scene, row, term.topology_key)
            verb, wanted = "matches" if len(found) == 1 else "match", selector_text(term.selector)
            return f"{formatting.some(found, 3)} in {where} {verb} its anti-affinity to {wanted}"
    return ""


def _unwelcome(scene: Scene, row: int) -> str:
    keys = {c.term.topology_key for c in scene.cluster.columns.terms_matching(scene.pod)}
    for topology_key in sorted(keys):
        found = [p.key for p in _pods_in(scene, row, topology_key) if _refuses(scene, p, topology_key)]
        if found:
            where = _domain(scene, row, topology_key)
            verb = formatting.agree(len(found), "keep")
            return f"{formatting.some(found, 3)} in {where} {verb} it away by anti-affinity"
    return ""


def _refuses(scene: Scene, other: PodInfo, topology_key: str) -> bool:
    terms = (t for t in other.required_anti_affinity if t.topology_key == topology_key)
    return any(_matches(scene, term, scene.pod) for term in terms)


# ---- topology spread


def pod_topology_spread(scene: Scene, row: int, status: Status) -> str:
    """PodTopologySpread: the constraint that would be violated, with the numbers it compares."""
    plugin = scene.plugin("PodTopologySpread")
    if not isinstance(plugin, PodTopologySpread):
        plugin = PodTopologySpread(PodTopologySpreadArgs(defaulting_type="System"), scene.cluster)
    state = CycleState()
    plugin.pre_filter(state, scene.pod)
    spreads: list[Spread] = state.get(plugin.name, [])
    for spread in spreads:
        told = _skew(scene, row, spread)
        if told is not None:
            return told
    return ""


def _skew(scene: Scene, row: int, spread: Spread) -> str | None:
    constraint = spread.constraint
    key = constraint.topology_key
    here = scene.nodes.nodes[row].metadata.labels.get(key)
    if here is None:
        return f"the node has no label {key}"
    counts = _counts(scene, spread)
    few = len(counts) < constraint.min_domains
    fewest = 0 if few else min(counts.values(), default=0)
    skew = counts.get(here, 0) + spread.own - fewest
    if skew <= constraint.max_skew:
        return None
    detail = f"{key}={here} has {formatting.count(counts.get(here, 0), 'matching pod')}, "
    if few:
        detail += f"there are {len(counts)} of the {constraint.min_domains} domains wanted"
    else:
        least = formatting.some([value for value, number in counts.items() if number == fewest], 3)
        detail += f"the fewest are {fewest} in {least}"
    return f"{detail}: the skew would be {skew}, maxSkew is {constraint.max_skew}"


def _counts(scene: Scene, spread: Spread) -> dict[str, int]:
    """Return the number of matching pods of each domain that counts, without the pod itself."""
    constraint, counts = spread.constraint, dict[str, int]()
    for row, node in enumerate(scene.nodes.nodes):
        value = node.metadata.labels.get(constraint.topology_key)
        if value is None or not (spread.eligible is None or spread.eligible[row]):
            continue
        here = int(spread.column.counts[row]) - (spread.own and node.name == scene.own_node)
        here += sum(map(spread.column.matches, scene.further.get(row, ())))
        # since 1.27, upstream counts no pods for an empty selector
        counted = constraint.selector.key != () or scene.cluster.release.empty_selectors_match_all
        counts[value] = counts.get(value, 0) + (here if counted else 0)
    return counts
