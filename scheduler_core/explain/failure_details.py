"""Objections to a node: the statuses of a cycle with their exact causes."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.cluster import formatting
from scheduler_core.config.policy_plugins import successor
from scheduler_core.explain.answer import Objection, Shortfall
from scheduler_core.explain.shortfalls import PODS, lacking, shortfall
from scheduler_core.framework.interface import FilterPlugin, Status
from scheduler_core.framework.rejection_context import RejectionContext
from scheduler_core.plugins import PLUGINS


def objection(context: RejectionContext | None, node: str, status: Status) -> Objection:
    """Return the objection for a status of a node, with details from the context."""
    found = Objection(status.plugin, status.code, list(status.reasons))
    row = context.row(node) if context is not None else None
    if context is None or row is None:
        return found
    plugin = PLUGINS.get(successor(status.plugin))
    if plugin is not None and plugin.reasons_name_resources and lacking(status.reasons):
        shortfalls = (shortfall(context, row, name) for name in lacking(status.reasons))
        found.shortfalls = [shortfall for shortfall in shortfalls if shortfall is not None]
        found.detail = "; ".join(map(_lack, found.shortfalls))
    elif plugin is not None and issubclass(plugin, FilterPlugin):
        found.detail = plugin.rejection_detail(context, row, status)
    return found


def short_by(shortfalls: Sequence[Shortfall]) -> str:
    """Format shortfalls as `250m cpu and 1Gi memory`."""
    return formatting.listing([_named(s) for s in shortfalls])


def _named(shortfall: Shortfall) -> str:
    return (
        formatting.count(shortfall.short, "pod")
        if shortfall.resource == PODS
        else f"{shortfall.text} {shortfall.resource}"
    )


def _lack(shortfall: Shortfall) -> str:
    s = shortfall
    if s.resource == PODS:
        return f"all {s.allocatable:,} places for pods are taken"
    return f"short by {_named(s)} ({formatting.balance(s.resource, s.request, s.free, s.allocatable)})"
