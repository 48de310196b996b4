"""Explanations of DynamicResources as trees: missing claims, and nodes with too few devices."""

from collections.abc import Iterator, Sequence
from functools import partial

from scheduler_core.api.devices import MAX_SUB_REQUESTS, ResourceClaim
from scheduler_core.api.selectors import any_term_matches
from scheduler_core.dra import claims
from scheduler_core.dra.devices import Devices
from scheduler_core.dra.explain import ClaimReport, DeviceReport, RequestReport, node_report
from scheduler_core.framework import interface as fwk
from scheduler_core.provenance.context import View
from scheduler_core.provenance.tree import Tree, constant, every, less, some, subtract, total


def missing_claims(view: View) -> Tree:
    """True if a claim of the pod does not exist or does not belong to the pod."""
    parts, texts = [], []
    for i, used in enumerate(view.pod.pod.spec.resource_claims):
        problem = claims.problem_of(view.pod, used, view.cluster.device_claims)
        uses = view.holds(view.pod, "spec", "resourceClaims", i, label=f"the pod uses {used.name}")
        parts.append(every([uses, constant(bool(problem), problem or "its claim exists")], f"claim {used.name}"))
        texts += [problem] if problem else []
    return some(parts, "claims of the pod").with_text(texts[0] if texts else "All claims of the pod exist")


def refused_claims(view: View, refused: fwk.Status | None) -> Tree:
    """True if PreFilter rejects the pod."""
    tree = missing_claims(view)
    if tree.value or refused is None:
        return tree
    return some([tree, constant(True, refused.message)], "what PreFilter asks").with_text(refused.message)


def refused_node(
    view: View, used: Sequence[ResourceClaim], unallocated: Sequence[ResourceClaim], refused: fwk.Status | None
) -> Tree:
    """True if some claim cannot be allocated on the node. `unallocated`: the claims that the node must still
    satisfy."""
    parts = list(_elsewhere(view, used))
    if unallocated:
        found = node_report(Devices.of_cluster(view.cluster), view.row, list(unallocated))
        parts += [_short(view, claim) for claim in found.claims]
    name = view.node.name
    if refused is None:
        # A claim that looks short by itself may still be satisfiable, since several requests may share a device.
        text = f"{name}: the pod's claims can be allocated here"
        return some([part for part in parts if not part.value] or [constant(False, text)], "claims").with_text(text)
    if not any(part.value for part in parts):
        parts.append(constant(True, f"no combination of devices satisfies all claims: {refused.message}"))
    return some(parts, "claims").with_text(f"{name}: {refused.message}")


def _elsewhere(view: View, used: Sequence[ResourceClaim]) -> Iterator[Tree]:
    for claim in used:
        allocation = claim.status.allocation
        if allocation is None or allocation.node_selector is None:
            continue
        there = any_term_matches(allocation.node_selector.node_selector_terms, view.node)
        text = "and this is one of them" if there else "and this is none of them"
        yield constant(not there, f"the devices of {claim.key} are for certain nodes, {text}")


def _short(view: View, claim: ClaimReport) -> Tree:
    parts = []
    for alternatives in claim.requests:
        short = [_too_few(view, request) for request in alternatives]
        parts.append(short[0] if len(short) == 1 else every(short, "all alternatives"))
    return some(parts, f"requests of {claim.claim}")


def _too_few(view: View, request: RequestReport) -> Tree:
    """True if there are fewer devices than the request needs: the node's devices minus those with objections."""
    unfit = [device for device in request.devices if device.objections]
    seen = constant(len(request.devices), "devices that the node sees")
    against = view.long_count([partial(_unfit, device) for device in unfit], "devices", "devices with objections")
    have = subtract(seen, against, f"devices that {request.name} could have")
    need = constant(max(request.wanted, 1), f"devices that {request.name} needs")
    return less(have, need, f"too few devices for {request.name}")


def _unfit(device: DeviceReport) -> Tree:
    text = "; ".join(f"{one.kind}: {one.text}" for one in device.objections)
    return constant(True, f"{device.driver}/{device.pool}/{device.device}: {text}")


def preference(view: View, unallocated: Sequence[ResourceClaim]) -> Tree:
    """Explain the score from prioritized lists: for each request, 8 minus the index of the alternative that is used."""
    if not unallocated:
        return constant(0, "no devices are chosen").with_text("0 = the pod needs no devices")
    devices = Devices.of_cluster(view.cluster)
    found = devices.column(list(unallocated)).found.get(view.row)
    parts = []
    for (i, j), alternative in sorted(found.chosen.items()) if found is not None else ():
        claim = unallocated[i]
        request = claim.spec.devices.requests[j]
        name = f"{claim.key}: {request.name}/{request.first_available[alternative].name}"
        most = constant(MAX_SUB_REQUESTS, "alternatives that a request may have")
        parts.append(subtract(most, constant(alternative, "alternatives before it"), name))
    tree = total(parts, "alternatives used from prioritized lists")
    return tree.with_text(f"{tree.value} = {tree.label}: {', '.join(part.label for part in parts) or 'there is none'}")
