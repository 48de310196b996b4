"""Steps for the anti-affinity of existing pods against this pod."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import combinations, islice, product

from scheduler_core.cluster import formatting
from scheduler_core.cluster.pod_columns import REQUIRED_ANTI_AFFINITY
from scheduler_core.cluster.pod_counts import Term
from scheduler_core.debugger.suggestions.evict_pods import evict
from scheduler_core.debugger.suggestions.node_context import NodeContext
from scheduler_core.debugger.suggestions.steps import POD, Raw, Step

Labels = dict[str, str | None]
MOST = 300  # maximum number of label changes to try


def steps(context: NodeContext) -> list[Step]:
    """Delete the pods whose anti-affinity excludes this pod, or change this pod's labels so that it does not match."""
    known = [term for term in context.cluster.columns.carried(REQUIRED_ANTI_AFFINITY) if _applies(context, term)]
    against = [term for term in known if _excludes(context, term, context.pod.labels)]
    keys = {term.topology_key for term in against}
    there = {
        pod.key: pod
        for key in sorted(keys)
        for pod in context.domain(key)
        if pod.key != context.pod.key
        and any(t.topology_key == key and _excludes(context, t, context.pod.labels) for t in pod.required_anti_affinity)
    }
    if not there:
        return []
    in_domains = _terms_in_domains(context, known)
    found = list(evict(there.values()))
    selects_all = any(term.selector.key == () for term in in_domains)
    label_changes = islice(() if selects_all else _labellings(context, in_domains), MOST)
    labels = next((labels for labels in label_changes if not _still_excluded(context, in_domains, labels)), None)
    if labels:
        texts = [f"label it {key}={value}" if value else f"remove label {key} from it" for key, value in labels.items()]
        who = f"{formatting.some(sorted(there), 2)} {'keeps' if len(there) == 1 else 'keep'}"
        text = f"{formatting.listing(texts)}: {who} pods with its labels away"
        found.append(Step(text, POD, 4.0 + len(labels), partial(_label, labels)))
    return found


def _applies(context: NodeContext, term: Term) -> bool:
    """Return whether the term applies to pods of this namespace and to this node."""
    mine = context.pod.namespace
    named = mine in term.namespaces or term.namespace_selector.matches(context.cluster.namespaces.get(mine, {}))
    return named and term.topology_key in context.labels


def _excludes(context: NodeContext, term: Term, labels: dict[str, str]) -> bool:
    return context.matches(term, context.pod.namespace, labels)


def _terms_in_domains(context: NodeContext, known: list[Term]) -> list[Term]:
    """Return the terms that a pod in this node's domains has."""
    keys = {term.topology_key for term in known}
    terms = ((key, term) for key in keys for pod in context.domain(key) for term in pod.required_anti_affinity)
    carried = {term.key for key, term in terms if term.topology_key == key}
    return [term for term in known if term.key in carried]


def _labellings(context: NodeContext, terms: list[Term]) -> Iterator[Labels]:
    """Yield possible changes of the pod's labels, the smallest first: label -> new value, None to remove it."""
    values: dict[str, list[str | None]] = {}
    for term in terms:
        for key, operator, named in term.selector.key or ():
            found = values.setdefault(key, [None] if key in context.pod.labels else [])
            found += [value for value in named if operator == "NotIn" and value not in found]
    for key, found in values.items():
        found.append(f"{context.pod.labels.get(key, key)}-other")
    for number in range(1, len(values) + 1):
        for keys in combinations(sorted(values), number):
            for values_chosen in product(*[values[key] for key in keys]):
                yield dict(zip(keys, values_chosen, strict=True))


def _still_excluded(context: NodeContext, terms: list[Term], labels: Labels) -> bool:
    after = {key: value for key, value in (context.pod.labels | labels).items() if value is not None}
    return any(_excludes(context, term, after) for term in terms)


def _label(labels: Labels, document: Raw) -> None:
    now = document["metadata"].setdefault("labels", {})
    for key, value in labels.items():
        now.pop(key, None)
        if value is not None:
            now[key] = value
