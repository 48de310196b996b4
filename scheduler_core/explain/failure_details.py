"""Objections to a node: the statuses of a cycle with their exact causes, and the resources that nodes lack."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from scheduler_core.cluster import formatting
from scheduler_core.config.policy_plugins import successor
from scheduler_core.explain.answer import Objection, Shortfall
from scheduler_core.framework.interface import FilterPlugin, Status
from scheduler_core.framework.rejection_context import RejectionContext
from scheduler_core.plugins import PLUGINS
from scheduler_core.plugins.node_resources_fit import PODS, lacking


def shortfall(context: RejectionContext, row: int, resource: str) -> Shortfall | None:
    """Return how much of a resource a node lacks; None if it has enough (now)."""
    if resource == PODS:
        request = 1
        allocatable = int(context.nodes.allowed_pods[row])
        free = allocatable - int(context.nodes.pod_count[row]) + context.is_own_node(row)
        free -= len(context.further.get(row, ()))
    else:
        request = context.pod.requests.get(resource, 0)
        column = context.nodes.allocatable.get(resource)
        allocatable = int(column[row]) if column is not None else 0
        used = int(context.nodes.requested[resource][row]) if column is not None else 0
        free = allocatable - used + request * context.is_own_node(row)
        free -= sum(other.requests.get(resource, 0) for other in context.further.get(row, ()))
    short = request - free
    if short <= 0:
        return None
    return Shortfall(resource, request, free, allocatable, short, formatting.amount(resource, short, like=request))


def lacks(context: RejectionContext) -> npt.NDArray[np.float64]:
    """Return how much every node lacks, as a share of the pod's requests; float64 over the trace's rows."""
    total = np.zeros(len(context.nodes), np.float64)
    for name, request in context.pod.requests.items():
        column = context.nodes.allocatable.get(name)
        if request and column is None:
            total += 1.0
        elif request and column is not None:
            short = request - (column - context.nodes.requested[name])
            total += np.clip(short / request, 0.0, None)
    total += context.nodes.pod_count >= context.nodes.allowed_pods
    for row in {*context.further, context.nodes.rows.get(context.own_node)}:
        if row is not None:
            total[row] = _lack(context, row)
    return np.where(context.rows >= 0, np.append(total, 0.0)[context.rows], np.inf)


def _lack(context: RejectionContext, row: int) -> float:
    shortfalls = [shortfall(context, row, name) for name in (PODS, *(n for n, r in context.pod.requests.items() if r))]
    return sum(s.short / s.request if s.resource != PODS else 1.0 for s in shortfalls if s is not None)


def objection(context: RejectionContext | None, node: str, status: Status) -> Objection:
    """Return the objection for a status of a node, with details from the context."""
    found = Objection(status.plugin, status.code, list(status.reasons))
    row = context.row(node) if context is not None else None
    if context is None or row is None:
        return found
    plugin = PLUGINS.get(successor(status.plugin))
    if plugin is not None and plugin.reasons_name_resources and lacking(status.reasons):
        found.shortfalls = [s for name in lacking(status.reasons) if (s := shortfall(context, row, name)) is not None]
        found.detail = "; ".join(map(_detail, found.shortfalls))
    elif plugin is not None and issubclass(plugin, FilterPlugin):
        found.detail = plugin.rejection_detail(context, row, status)
    return found


def short_by(shortfalls: Sequence[Shortfall]) -> str:
    """Format shortfalls as `0.25 cpu and 1Gi memory`."""
    return formatting.listing([_named(s) for s in shortfalls])


def _named(s: Shortfall) -> str:
    return formatting.count(s.short, "pod") if s.resource == PODS else f"{s.text} {s.resource}"


def _detail(s: Shortfall) -> str:
    if s.resource == PODS:
        return f"all {s.allocatable:,} places for pods are taken"
    return f"short by {_named(s)} ({formatting.balance(s.resource, s.request, s.free, s.allocatable)})"
