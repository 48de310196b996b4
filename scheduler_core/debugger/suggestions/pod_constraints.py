"""Edits of the pod's topology spread constraints and host ports."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial

from scheduler_core.cluster import formatting
from scheduler_core.cluster.spelling import nearest
from scheduler_core.debugger.actions import SOFT
from scheduler_core.debugger.suggestions.node_context import NodeContext
from scheduler_core.debugger.suggestions.template_patch import Raw, TemplateEdit, containers_of
from scheduler_core.framework.interface import CycleState
from scheduler_core.plugins.pod_topology_spread import PodTopologySpread

KIND = "topology-spread"


def without_ports(taken: Collection[tuple[str, int]]) -> TemplateEdit:
    """Return the edit that drops host ports: (protocol, port)."""

    def edit(document: Raw) -> None:
        for container in containers_of(document):
            for port in container.get("ports", []):
                if (port.get("protocol") or "TCP", port.get("hostPort")) in taken:
                    del port["hostPort"]

    text = formatting.listing([f"{port}/{protocol}" for protocol, port in sorted(taken)])
    return TemplateEdit("host-port", f"drop host port {text}", edit)


def misspelt_keys(context: NodeContext) -> Iterator[TemplateEdit]:
    """Yield a similar label of the node for each topologyKey that is on no node."""
    for number, one in enumerate(context.pod.pod.spec.topology_spread_constraints):
        if one.when_unsatisfiable != SOFT and not context.values(one.topology_key):
            for other in nearest(one.topology_key, context.labels)[:1]:
                text = f"spread over {other} (topologyKey {one.topology_key} is on no node)"
                yield TemplateEdit(KIND, text, partial(set_constraint, number, "topologyKey", other))


def instead_of_defaults(context: NodeContext) -> Iterator[TemplateEdit]:
    """Yield soft constraints for a pod without its own: the profile's defaults apply only to such pods."""
    plugin = next((p for p in context.what_if.framework.filter if isinstance(p, PodTopologySpread)), None)
    if plugin is None or context.pod.pod.spec.topology_spread_constraints:
        return
    state = CycleState()
    plugin.pre_filter(state, context.pod)
    keys = [one.constraint.topology_key for one in state.get(plugin.name, [])]

    def edit(document: Raw) -> None:
        selector = {"matchLabels": dict(document["metadata"].get("labels", {}))}
        own = {"maxSkew": 1, "whenUnsatisfiable": SOFT, "labelSelector": selector}
        document["spec"]["topologySpreadConstraints"] = [own | {"topologyKey": key} for key in keys]

    if keys:
        text = f"prefer to spread over {formatting.listing(keys)}, which its profile requires by default"
        yield TemplateEdit(KIND, text, edit)


def set_constraint(number: int, field: str, value: str, document: Raw) -> None:
    document["spec"]["topologySpreadConstraints"][number][field] = value
