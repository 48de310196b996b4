"""Objections to a node: the statuses of a cycle with their exact causes, and the resources that nodes lack."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from scheduler_core.cluster import formatting
from scheduler_core.config.policy_plugins import successor
from scheduler_core.explain.answer import Objection, Shortfall
from scheduler_core.framework.interface import FilterPlugin, Int64, Status
from scheduler_core.framework.rejection_context import RejectionContext
from scheduler_core.plugins import PLUGINS
from scheduler_core.plugins.node_resources_fit import PODS, lacking


def shortfall(context: RejectionContext, row: int, resource: str) -> Shortfall | None:
    """Return how much of a resource a node lacks; None if it has enough (now)."""
    request = 1 if resource == PODS else context.pod.requests.get(resource, 0)
    free, allocatable = (int(column[row]) for column in _columns(context, resource))
    short = request - free
    if short <= 0:
        return None
    return Shortfall(resource, request, free, allocatable, short, formatting.amount(resource, short, like=request))


def lacks(context: RejectionContext) -> npt.NDArray[np.float64]:
    """Return how much every node lacks, as a share of the pod's requests; float64 over the trace's rows."""
    total = (_columns(context, PODS)[0] < 1).astype(np.float64)
    for name, request in context.pod.requests.items():
        if request:
            total += np.clip((request - _columns(context, name)[0]) / request, 0.0, None)
    return np.where(context.rows >= 0, np.append(total, 0.0)[context.rows], np.inf)


def _columns(context: RejectionContext, resource: str) -> tuple[Int64, Int64]:
    """Return (free without the pod itself, allocatable) of a resource; int64 over the cluster's nodes."""
    nodes = context.nodes
    if resource == PODS:
        allocatable, used = nodes.allowed_pods, nodes.pod_count
    else:
        nothing = np.zeros(len(nodes), np.int64)
        allocatable, used = nodes.allocatable.get(resource, nothing), nodes.requested.get(resource, nothing)
    free = allocatable - used
    others = [(row, pod, -1) for row, pods in context.further.items() for pod in pods]
    own = nodes.rows.get(context.own_node)
    for row, pod, sign in others if own is None else [*others, (own, context.pod, 1)]:
        free[row] += sign * (1 if resource == PODS else pod.requests.get(resource, 0))
    return free, allocatable


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
