"""Steps for DynamicResources: reduce a claim's requests, or free devices of others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from scheduler_core.api.devices import DeviceRequest, ResourceClaim
from scheduler_core.cluster import formatting
from scheduler_core.debugger.mutations import Change
from scheduler_core.debugger.suggestions.node_context import NodeContext
from scheduler_core.debugger.suggestions.steps import EVICT, POD, Raw, Step, patch_of
from scheduler_core.dra.claims import claims_used
from scheduler_core.dra.devices import Devices
from scheduler_core.dra.explain import TAINT, TAKEN, RequestReport, node_report
from scheduler_core.virtual_time.scenario import Reference

SHOWN = 80  # maximum length of an expression in a text


def steps(context: NodeContext) -> list[Step]:
    """Return steps for the requests of each unallocated claim."""
    devices = Devices.of_cluster(context.cluster)
    wanted = [c for c in claims_used(context.pod, context.cluster.device_claims) if c.status.allocation is None]
    found: list[Step] = []
    for claim, evaluated in zip(wanted, node_report(devices, context.row, wanted).claims, strict=True):
        for j, alternatives in enumerate(evaluated.requests):
            for k, request in enumerate(alternatives):
                found += _less(claim, j, k, request)
                found += _free_devices(context, claim, request)
        found += _without_constraints(claim)
    return found


def _less(claim: ResourceClaim, j: int, k: int, evaluated: RequestReport) -> Iterator[Step]:
    request = claim.spec.devices.requests[j]
    exact = request.exactly or request.first_available[k]
    of = f"request {evaluated.name} of claim {claim.key}"
    for count in sorted({evaluated.fitting, 1} if evaluated.mode == "ExactCount" else (), reverse=True):
        if 0 < count < evaluated.wanted and count <= evaluated.fitting:
            text = f"request {formatting.count(count, 'device')} instead of {evaluated.wanted:,} ({of})"
            cost = 2.0 + (evaluated.wanted - count) / evaluated.wanted
            yield _edited(claim, request, j, k, text, cost, count=count)
    for number, selector in enumerate(exact.selectors):
        expression = selector.cel.expression if selector.cel is not None else ""
        short = expression if len(expression) <= SHOWN else f"{expression[:SHOWN]}…"
        text = f"drop selector #{number}, {short} ({of})"
        others = [other for i, other in enumerate(exact.selectors) if i != number]
        yield _edited(claim, request, j, k, text, 3.5, selectors=msgspec.to_builtins(others))
    if len(exact.selectors) > 1:
        yield _edited(claim, request, j, k, f"take any device of its class ({of})", 4.5, selectors=[])
    taints = {o.text for device in evaluated.devices for o in device.objections if o.kind == TAINT}
    for taint in sorted(taints):
        key, _, rest = taint.partition("=")
        tolerations = msgspec.to_builtins(exact.tolerations)
        added = [*tolerations, {"key": key, "operator": "Exists", "effect": rest.rpartition(":")[2]}]
        yield _edited(claim, request, j, k, f"tolerate {taint} ({of})", 3.0, tolerations=added)


def _edited(claim: ResourceClaim, request: DeviceRequest, j: int, k: int, text: str, cost: float, **to: Any) -> Step:
    """Return the step that sets fields of a claim's request."""
    requests: list[Raw] = msgspec.to_builtins(claim.spec.devices.requests)
    (requests[j]["exactly"] if request.exactly is not None else requests[j]["firstAvailable"][k]).update(to)
    return Step(text, POD, cost, None, (_patch(claim, {"requests": requests}),))


def _without_constraints(claim: ResourceClaim) -> Iterator[Step]:
    constraints = claim.spec.devices.constraints
    for number, one in enumerate(constraints):
        what = f"the same {one.match_attribute}" if one.match_attribute else f"different {one.distinct_attribute}"
        rest = msgspec.to_builtins([other for i, other in enumerate(constraints) if i != number])
        text = f"take devices without {what} (claim {claim.key})"
        yield Step(text, POD, 3.0, None, (_patch(claim, {"constraints": rest}),))


def _patch(claim: ResourceClaim, devices: Raw) -> Change:
    return patch_of("ResourceClaim", claim.namespace, claim.name, {"spec": {"devices": devices}})


def _free_devices(context: NodeContext, claim: ResourceClaim, evaluated: RequestReport) -> Iterator[Step]:
    """Yield a step that frees lacking devices by deleting the fewest claims with their pods, of few pods first."""
    lacking = evaluated.wanted - evaluated.fitting
    free_else = {
        (device.driver, device.pool, device.device)
        for device in evaluated.devices
        if device.objections and all(one.kind == TAKEN for one in device.objections)
    }
    if lacking <= 0 or len(free_else) < lacking:
        return
    holders = []
    for other in context.cluster.device_claims.values():
        allocation = other.status.allocation
        held = free_else & {one.id for one in allocation.devices.results} if allocation is not None else set()
        if held and other.key != claim.key:
            pods = [f"{other.namespace}/{one.name}" for one in other.status.reserved_for if one.resource == "pods"]
            holders.append((len(pods), -len(held), other.key, other, pods, held))
    chosen: list[ResourceClaim] = []
    gone: set[str] = set()
    freed: set[tuple[str, str, str]] = set()
    for *_, other, pods, held in sorted(holders, key=lambda one: one[:3]):
        if len(freed) < lacking:
            chosen.append(other)
            gone |= set(pods)
            freed |= held
    if len(freed) >= lacking:
        yield _delete(context, chosen, sorted(gone))


def _delete(context: NodeContext, chosen: list[ResourceClaim], pods: list[str]) -> Step:
    """Return the step. Deleting pods releases their claims; a claim that no pod uses must itself be deleted."""
    there = [key for key in pods if key in context.cluster.pods]
    idle = [claim for claim in chosen if not claim.status.reserved_for]
    gone = [("Pod", *key.split("/")) for key in there] + [("ResourceClaim", c.namespace, c.name) for c in idle]
    changes = [Change(delete=Reference(kind=kind, namespace=space, name=name)) for kind, space, name in gone]
    names = [f"pod {key}" for key in there] + [f"claim {claim.key}" for claim in idle]
    what, verb = ("claim", "has") if len(chosen) == 1 else ("claims", "have")
    holding = formatting.some([claim.key for claim in chosen], 4)
    text = f"delete {formatting.some(names, 4)}: {what} {holding} {verb} devices on {context.name}"
    return Step(text, EVICT, float(len(there)) or 1.0, None, tuple(changes), frozenset(there))
