"""Steps that reduce the pod's requests to round quantities that fit."""

from __future__ import annotations

import copy
import math
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
from scheduler_core.cluster.spelling import nearest
from scheduler_core.debugger.suggestions.node_context import NodeContext
from scheduler_core.debugger.suggestions.steps import POD, Raw, Step, combined, containers_of
from scheduler_core.legacy.victim_fast_path import parts_of
from scheduler_core.plugins.node_resources_fit import NodeResourcesFit
from scheduler_core.releases import Release

MI = 1 << 20


def free(context: NodeContext, resource: str) -> int:
    """Return the free quantity of a resource on the node, with nominated pods subtracted."""
    nodes = context.cluster.nodes
    if resource not in nodes.allocatable:
        return 0
    left = int(nodes.allocatable[resource][context.row]) - int(nodes.requested[resource][context.row])
    return left - sum(pod.requests.get(resource, 0) for pod in context.ahead())


def short(context: NodeContext) -> dict[str, int]:
    """Return resource -> free quantity, for resources of which the pod requests more and that its profile checks."""
    plugin = next((p for p in parts_of(context.framework.filter) if isinstance(p, NodeResourcesFit)), None)
    requested = plugin.resources_needed(context.pod) if plugin is not None else context.pod.requests.items()
    lacking = {name: free(context, name) for name, amount in requested if amount > 0}
    return {name: left for name, left in lacking.items() if context.pod.requests[name] > left}


def steps(context: NodeContext) -> list[Step]:
    """NodeResourcesFit: reduce the pod's requests, or rename a resource that no node has."""
    lacking = short(context)
    nodes = context.cluster.nodes
    if len(context.pods()) + len(context.ahead()) >= int(nodes.allowed_pods[context.row]):
        return []
    if not lacking:
        return []
    overhead = amounts(context.pod.pod.spec.overhead)
    nowhere = [name for name in lacking if name not in nodes.allocatable or not nodes.allocatable[name].any()]
    if nowhere:
        parts = [step for name in nowhere for step in _misspelt(context, name)]
        others = [name for name in lacking if name not in nowhere]
        if not others or not parts:
            return parts
        both = parts[0], _less(context, {name: lacking[name] for name in others})
        return [combined([(step.text, step.cost, step.edit) for step in both if step.edit is not None], ", and ")]
    # a pod must request some of each, and admission sets the overhead
    if any(round_down(name, left - overhead.get(name, 0)) <= 0 for name, left in lacking.items()):
        return []
    return [_less(context, lacking)]


def _misspelt(context: NodeContext, name: str) -> Iterator[Step]:
    nodes = context.cluster.nodes
    known = [other for other in nodes.allocatable if is_extended(other) and nodes.allocatable[other].any()]
    has = f"resource {name} is on no node"
    if known:
        has += f"; nodes have {formatting.some(sorted(known), 4)}"
    for other in nearest(name, known):
        if free(context, other) >= context.pod.requests[name]:
            yield Step(f"{has}: request {other}", POD, 0.0, partial(rename, name, other))


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


def _less(context: NodeContext, lacking: dict[str, int]) -> Step:
    requested, release = context.pod.requests, context.cluster.release
    document: Raw = msgspec.to_builtins(context.pod.pod)
    shrink(lacking, release, document)
    now = _requests(document, release)
    parts = []
    for name in sorted(lacking):
        most, reduced = context.cluster.nodes.allocatable[name], now.get(name, 0)
        largest = int(np.max(most)) if len(most) else 0
        beyond = f" (no node has more than {_like(name, reduced, largest)})" if requested[name] > largest else ""
        parts.append(f"{_exact(name, reduced)} {name} instead of {_like(name, reduced, requested[name])}{beyond}")
    cuts = sum(1 - max(left, 0) / requested[name] for name, left in lacking.items())
    text = f"request {formatting.listing(parts)}, which {context.name} has left"
    return Step(text, POD, 2.0 + 2.0 * cuts, partial(shrink, lacking, release))


def shrink(lacking: dict[str, int], release: Release, document: Raw) -> None:
    """Reduce the largest requests to what fits with the overhead."""
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
    """Set a container's request, and its limit if both must be equal. A limit without a request would count as
    request."""
    limits = resources.get("limits", {})
    bound = name in limits and (is_extended(name) or name.startswith("hugepages-"))
    if bound:
        del limits[name]
    if amount:
        resources["requests"][name] = quantity_text(name, amount)
        if bound:
            limits[name] = quantity_text(name, amount)
    elif name in limits:
        resources["requests"][name] = "0"
    else:
        del resources["requests"][name]


def round_down(name: str, amount: int) -> int:
    """Round down to a number that a person would write."""
    if name == CPU:
        step = 1 if amount < 100 else 10 if amount < 1000 else 50 if amount < 10_000 else 500
    elif name in (MEMORY, EPHEMERAL):
        step = 1 if amount < MI else MI if amount < 1024 * MI else 64 * MI if amount < 16384 * MI else 512 * MI
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
        for unit, size in (("Gi", 1 << 30), ("Mi", MI), ("Ki", 1 << 10)):
            if amount and amount % size == 0:
                return f"{amount // size}{unit}"
    return str(amount)


def _exact(name: str, amount: int) -> str:
    """Format a quantity exactly in readable form: `0.25` and `2.5` for cpu, `1536Mi`, else the number."""
    return f"{amount / 1000:g}" if name == CPU else quantity_text(name, amount)


def _like(name: str, reduced: int, amount: int) -> str:
    """Format a quantity in the unit of `reduced`, so that both are easy to compare."""
    if name == CPU:
        return f"{amount / 1000:g}"
    unit = quantity_text(name, reduced).lstrip("0123456789")
    if not reduced or not unit:
        return formatting.amount(name, amount)
    return f"{math.ceil(100 * amount / quantity.value('1' + unit)) / 100:g}{unit}"
