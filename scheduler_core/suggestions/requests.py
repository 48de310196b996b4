"""Edits that reduce the pod's requests to round quantities that fit."""

import copy
from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec
import numpy as np

from scheduler_core.api import quantity
from scheduler_core.api.objects import decode
from scheduler_core.cluster import formatting
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cluster.resources import CPU, EPHEMERAL, MEMORY, amounts, is_extended
from scheduler_core.forks.template_patch import Raw, TemplateEdit, containers_of
from scheduler_core.legacy.victim_fast_path import parts_of
from scheduler_core.plugins.node_resources_fit import NodeResourcesFit
from scheduler_core.releases import Release
from scheduler_core.suggestions.node_context import NodeContext

KI, MI, GI = 1 << 10, 1 << 20, 1 << 30


def free(context: NodeContext, resource: str) -> int:
    """Return the free quantity of a resource on the node, with nominated pods subtracted."""
    nodes = context.cluster.nodes
    if resource not in nodes.allocatable:
        return 0
    left = int(nodes.allocatable[resource][context.row]) - int(nodes.requested[resource][context.row])
    return left - sum(pod.requests.get(resource, 0) for pod in context.ahead())


def short(context: NodeContext) -> dict[str, int]:
    """Return resource -> free quantity, for resources of which the pod requests more and that its profile checks."""
    plugin = next((p for p in parts_of(context.what_if.framework.filter) if isinstance(p, NodeResourcesFit)), None)
    requested = plugin.resources_needed(context.pod) if plugin is not None else context.pod.requests.items()
    lacking = {name: free(context, name) for name, amount in requested if amount > 0}
    return {name: left for name, left in lacking.items() if context.pod.requests[name] > left}


def less(context: NodeContext) -> TemplateEdit | None:
    """Return the edit that reduces the pod's requests to what the node has free; None if that is not enough, or if too
    little would be left. A pod must request some of each, and admission sets the overhead."""
    lacking, requested = short(context), context.pod.requests
    overhead, release = amounts(context.pod.pod.spec.overhead), context.cluster.release
    rounded = [round_down(name, left - overhead.get(name, 0)) for name, left in lacking.items()]
    if not lacking or min(rounded) <= 0 or context.is_full():
        return None
    document: Raw = msgspec.to_builtins(context.pod.pod)
    try:
        shrink(lacking, release, document)
    except LookupError:
        return None
    now = _requests(document, release)
    parts = []
    for name in sorted(lacking):
        reduced, largest = now.get(name, 0), int(np.max(context.cluster.nodes.allocatable[name], initial=0))
        most = f" (no node has more than {formatting.free_amount(name, largest)})" if requested[name] > largest else ""
        before = formatting.amount(name, requested[name])
        parts.append(f"{formatting.amount(name, reduced)} {name} instead of {before}{most}")
    text = f"request {formatting.listing(parts)}, which {context.name} has left"
    return TemplateEdit("requests", text, partial(shrink, lacking, release))


def _amounts(document: Raw) -> Iterator[Raw]:
    """Yield every map of requests and limits in a pod."""
    holders = [container.get("resources") for container in containers_of(document)]
    for resources in (*holders, document["spec"].get("resources")):
        for part in ("requests", "limits"):
            if resources and part in resources:
                yield resources[part]
    if "overhead" in document["spec"]:
        yield document["spec"]["overhead"]


def rename(name: str, other: str, document: Raw) -> None:
    for listed in _amounts(document):
        if name in listed:
            listed[other] = listed.pop(name)


def shrink(lacking: dict[str, int], release: Release, document: Raw) -> None:
    """Reduce the largest requests to what fits with the overhead. Raises LookupError if one would become 0."""
    spec = document["spec"]
    overhead = amounts(spec.get("overhead", {}))
    for name, left in lacking.items():
        reduced = round_down(name, max(left - overhead.get(name, 0), 0))
        if _own(spec, name) > reduced:
            _set(spec["resources"], name, reduced)
        for container in spec.get("initContainers", []):
            if _own(container, name) > reduced:
                _set(container["resources"], name, reduced)
        for _ in range(len(spec.get("containers", [])) + len(spec.get("initContainers", []))):
            over = _requests(document, release).get(name, 0) - overhead.get(name, 0) - reduced
            askers = [c for c in containers_of(document) if _own(c, name) > 0]
            if over <= 0 or not askers:
                break
            largest = max(askers, key=lambda container: _own(container, name))
            _set(largest["resources"], name, max(round_down(name, _own(largest, name) - over), 0))


def _requests(document: Raw, release: Release) -> dict[str, int]:
    pod: Any = decode({"kind": "Pod", **copy.deepcopy(document)})
    return PodInfo(pod, release).requests


def _own(container: Raw, name: str) -> int:
    requests = (container.get("resources") or {}).get("requests", {})
    return amounts({name: requests[name]}).get(name, 0) if name in requests else 0


def _set(resources: Raw, name: str, amount: int) -> None:
    """Set a container's request, and its limit if both must be equal. Raises LookupError for no amount."""
    if not amount:
        raise LookupError(f"a container would request no {name}")
    resources["requests"][name] = text = quantity_text(name, amount)
    limits = resources.get("limits", {})
    if name in limits and (is_extended(name) or name.startswith("hugepages-")):
        limits[name] = text


def round_down(name: str, amount: int) -> int:
    """Round down to a number that a person would write, and that `formatting.amount` shows exactly."""
    if name == CPU:
        step = 1 if amount < 100 else 10 if amount < 1000 else 50 if amount < 10_000 else 500
    elif name in (MEMORY, EPHEMERAL):
        steps = ((KI, 1), (MI, KI), (GI, MI), (16 * GI, GI // 4))
        step = next((step for below, step in steps if amount < below), GI // 2)
    elif name.startswith("hugepages-"):
        step = max(quantity.value(name.removeprefix("hugepages-")), 1)
    else:
        step = 1
    return amount // step * step


def quantity_text(name: str, amount: int) -> str:
    """Write a quantity in the scheduler's units as Kubernetes does: `250m`, `2`, `1536Mi`."""
    if name == CPU:
        return f"{amount // 1000}" if amount % 1000 == 0 else f"{amount}m"
    if name in (MEMORY, EPHEMERAL) or name.startswith("hugepages-"):
        for unit, size in (("Gi", GI), ("Mi", MI), ("Ki", KI)):
            if amount and amount % size == 0:
                return f"{amount // size}{unit}"
    return str(amount)
