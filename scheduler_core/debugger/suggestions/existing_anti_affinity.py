"""Steps for the anti-affinity of existing pods against this pod."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import combinations, islice, product

from scheduler_core.cluster import formatting
from scheduler_core.cluster.pod_columns import REQUIRED_ANTI_AFFINITY
from scheduler_core.cluster.pod_counts import Term
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.debugger.suggestions.evict_pods import evict
from scheduler_core.debugger.suggestions.node_context import Spot
from scheduler_core.debugger.suggestions.steps import POD, Raw, Step

Labels = dict[str, str | None]
MOST = 300  # maximum number of label changes to try


def steps(spot: Spot) -> list[Step]:
    """Delete the pods whose anti-affinity excludes this pod, or change this pod's labels so that they do not match."""
    known = [term for term in spot.cluster.columns.carried(REQUIRED_ANTI_AFFINITY) if _speaks(spot, term)]
    against = [term for term in known if _minds(spot, term, spot.pod.labels)]
    keys = {term.topology_key for term in against}
    there = {
        pod.key: pod
        for key in sorted(keys)
        for pod in spot.domain(key)
        if pod.key != spot.pod.key and _keeps_away(spot, pod, key)
    }
    if not there:
        return []
    here = _here(spot, known)
    found = list(evict(there.values()))
    anybody = any(term.selector.key == () for term in here)
    ways = islice(() if anybody else _labellings(spot, here), MOST)
    labels = next((labels for labels in ways if not _minded(spot, here, labels)), None)
    if labels:
        told = [f"label it {key}={value}" if value else f"take label {key} off it" for key, value in labels.items()]
        who = f"{formatting.some(sorted(there), 2)} {'keeps' if len(there) == 1 else 'keep'}"
        text = f"{who} pods with its labels away: {formatting.listing(told)}"
        found.append(Step(text, POD, 4.0 + len(labels), partial(_label, labels)))
    return found


def _speaks(spot: Spot, term: Term) -> bool:
    """Return whether the term applies to pods of this namespace and to this node."""
    mine = spot.pod.namespace
    named = mine in term.namespaces or term.namespace_selector.matches(spot.cluster.namespaces.get(mine, {}))
    return named and term.topology_key in spot.labels


def _minds(spot: Spot, term: Term, labels: dict[str, str]) -> bool:
    return term.matches(spot.pod.namespace, spot.cluster.namespaces.get(spot.pod.namespace, {}), labels)


def _keeps_away(spot: Spot, pod: PodInfo, key: str) -> bool:
    return any(term.topology_key == key and _minds(spot, term, spot.pod.labels) for term in pod.required_anti_affinity)


def _here(spot: Spot, known: list[Term]) -> list[Term]:
    """Return the terms that a pod in this node's domains has."""
    keys = {term.topology_key for term in known}
    carried = {
        term.key
        for key in keys
        for pod in spot.domain(key)
        for term in pod.required_anti_affinity
        if term.topology_key == key
    }
    return [term for term in known if term.key in carried]


def _labellings(spot: Spot, terms: list[Term]) -> Iterator[Labels]:
    """Yield possible changes of the pod's labels, the smallest first: label -> new value, None to remove it."""
    values: dict[str, list[str | None]] = {}
    for term in terms:
        for key, operator, named in term.selector.key or ():
            found = values.setdefault(key, [None] if key in spot.pod.labels else [])
            found += [value for value in named if operator == "NotIn" and value not in found]
    for key, found in values.items():
        found.append(f"{spot.pod.labels.get(key, key)}-other")
    for number in range(1, len(values) + 1):
        for keys in combinations(sorted(values), number):
            for way in product(*[values[key] for key in keys]):
                yield dict(zip(keys, way, strict=True))


def _minded(spot: Spot, terms: list[Term], labels: Labels) -> bool:
    after = {key: value for key, value in (spot.pod.labels | labels).items() if value is not None}
    return any(_minds(spot, term, after) for term in terms)


def _label(labels: Labels, document: Raw) -> None:
    now = document["metadata"].setdefault("labels", {})
    for key, value in labels.items():
        now.pop(key, None)
        if value is not None:
            now[key] = value
