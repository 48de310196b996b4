"""Steps for the anti-affinity of existing pods against this pod."""

from __future__ import annotations

from scheduler_core.cluster.pod_columns import REQUIRED_ANTI_AFFINITY
from scheduler_core.cluster.pod_counts import Term
from scheduler_core.debugger.suggestions.evict_pods import evict
from scheduler_core.debugger.suggestions.node_context import NodeContext
from scheduler_core.debugger.suggestions.steps import Step


def steps(context: NodeContext) -> list[Step]:
    """Delete the pods whose anti-affinity excludes this pod."""
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
    return evict(there.values())


def _applies(context: NodeContext, term: Term) -> bool:
    """Return whether the term applies to pods of this namespace and to this node."""
    mine = context.pod.namespace
    named = mine in term.namespaces or term.namespace_selector.matches(context.cluster.namespaces.get(mine, {}))
    return named and term.topology_key in context.labels


def _excludes(context: NodeContext, term: Term, labels: dict[str, str]) -> bool:
    return context.matches(term, context.pod.namespace, labels)
