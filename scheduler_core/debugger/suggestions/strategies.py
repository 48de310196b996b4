"""Strategies: functions that offer steps for the rejections of a plugin. Plugins name theirs in `fixes`."""

from __future__ import annotations

from collections.abc import Callable

from scheduler_core.config.policy_plugins import successor
from scheduler_core.debugger.suggestions import devices, evict_pods, labels, pod_constraints, requests, volumes
from scheduler_core.debugger.suggestions.node_context import NodeContext
from scheduler_core.debugger.suggestions.steps import POD, Step
from scheduler_core.plugins import PLUGINS

Strategy = Callable[[NodeContext], list[Step]]

STRATEGIES: dict[str, Strategy] = {
    "cordon": labels.cordon,
    "devices": devices.steps,
    "disk-users": volumes.disk_users,
    "evict-pods": evict_pods.free_resources,
    "fewer-volumes": volumes.fewer_volumes,
    "host-ports": pod_constraints.ports,
    "node-affinity": labels.affinity,
    "pod-affinity": pod_constraints.affinity,
    "requests": requests.steps,
    "taints": labels.taints,
    "topology-spread": pod_constraints.spread,
    "volumes": volumes.volumes,
}
# for a node that PreFilter left out, and for the predicate that comprises several plugins
_OTHERS = {
    "": ("node-affinity", "volumes"),
    "GeneralPredicates": ("requests", "evict-pods", "node-affinity", "host-ports"),
}


def steps_for(plugin: str, context: NodeContext) -> list[Step]:
    """Return the steps for a rejection by a plugin. A legacy predicate has those of its successor."""
    cls = PLUGINS.get(successor(plugin))
    fixes = _OTHERS.get(plugin) or (cls.fixes if cls is not None else ())
    steps = [step for name in fixes for step in STRATEGIES[name](context)]
    edits = cls.suggest_edits(context.pod) if cls is not None else []
    return [*steps, *(Step(edit.text, POD, edit.cost, edit.edit) for edit in edits)]
