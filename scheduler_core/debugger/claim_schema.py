"""Data classes for a pod's claims in one cycle (`claims.py`), and their construction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from scheduler_core.api.devices import Allocation, DeviceAttribute, DeviceClass, ExactRequest, ResourceClaim
from scheduler_core.api.objects import NodeSelectorTerm
from scheduler_core.api.selector_text import requirement
from scheduler_core.dra.explain import (
    NODE,
    SELECTOR,
    ClaimReport,
    DeviceReport,
    NodeReport,
    Objection,
    PoolReport,
    RequestReport,
)
from scheduler_core.dra.pools import DeviceID, Entry

OTHER_CLASS = "class"
Entries = Mapping[DeviceID, Entry]


class Device(msgspec.Struct, frozen=True):
    """A device.

    `facts`: its attributes and capacities. `of_class`: whether the request's device class selects it. `taken`: whether
    the allocator takes it for this request. `objections` is empty if the request could have the device.
    """

    driver: str
    pool: str
    device: str
    facts: dict[str, str]
    of_class: bool
    objections: list[Objection]
    taken: bool


class Selector(msgspec.Struct, frozen=True):
    """A selector. `of` is its device class, "" for the request's own; `number` is its index among those selectors, from
    0."""

    of: str
    number: int
    expression: str


class Request(msgspec.Struct, frozen=True):
    """A request, or one alternative of a prioritized list.

    `wanted`: number of devices it wants; `fitting`: number it could have if it were the only request; `seen`: number
    that exist; `out`: reason -> number of excluded devices, where a reason is OTHER_CLASS or the kind of an objection.
    `devices`: first those taken, then those that fit, then the others, at most SHOWN.
    """

    name: str
    device_class: str
    mode: str
    wanted: int
    fitting: int
    seen: int
    out: dict[str, int]
    selectors: list[Selector]
    tolerations: list[str]
    devices: list[Device]


class Value(msgspec.Struct, frozen=True):
    """A value of an attribute. `value` is "" for devices without the attribute, which no constraint accepts."""

    value: str
    devices: int


class Constraint(msgspec.Struct, frozen=True):
    """A constraint between devices.

    `same`: all devices must have the same value of the attribute; otherwise all values must differ. `requests`: the
    affected requests, empty for all. `wanted`: number of devices that they want. `values`: values of the devices that
    fit one of them.
    """

    attribute: str
    same: bool
    requests: list[str]
    wanted: int
    values: list[Value]


class Given(msgspec.Struct, frozen=True):
    """A device allocated to a claim. `amounts` are its consumed capacities if it is shared."""

    request: str
    driver: str
    pool: str
    device: str
    admin: bool
    amounts: dict[str, str]


class Claim(msgspec.Struct, frozen=True):
    """A claim as evaluated on a node.

    `uses`: the pod's name for it. `template`: the template that created it, "" if there was none. `state`: WANTED,
    ALLOCATED before the cycle, or MISSING with the reason in `said`. `given`: its devices, or those the allocator picks
    on this node. `nodes`: where the devices can be used, "" for everywhere; `here`: whether that includes this node.
    """

    claim: str
    uses: str
    template: str
    state: str
    said: str
    requests: list[list[Request]]
    constraints: list[Constraint]
    given: list[Given]
    nodes: str
    here: bool
    shared_with: list[str]


class OneNode(msgspec.Struct, frozen=True):
    """A node. `fits` is the recorded result; if false, `said` is the reason. `wanted` and `fitting` count devices of
    all claims."""

    node: str
    fits: bool
    said: str
    wanted: int
    fitting: int
    claims: list[Claim]
    pools: list[PoolReport]


class Short(msgspec.Struct, frozen=True):
    """Summary of a request for a group of nodes; fields as in Request."""

    claim: str
    name: str
    wanted: int
    fitting: int
    seen: int
    out: dict[str, int]


class NodeGroup(msgspec.Struct, frozen=True):
    """Nodes with the same result and the same device counts. `nodes` holds the first NAMED of `count`."""

    fits: bool
    said: str
    count: int
    nodes: list[str]
    requests: list[Short]


def given_of(allocation: Allocation | None) -> list[Given]:
    """Return the devices of an allocation."""
    return [
        Given(
            one.request,
            *one.id,
            bool(one.admin_access),
            {name: str(amount) for name, amount in one.consumed_capacity.items()},
        )
        for one in (allocation.devices.results if allocation is not None else ())
    ]


def facts_of(entry: Entry) -> dict[str, str]:
    """Return the attributes and capacities of a device as readable text."""
    attributes = {name: value_of(one) for name, one in entry.device.attributes.items()}
    return attributes | {name: str(one.value) for name, one in entry.device.capacity.items()}


def value_of(attribute: DeviceAttribute) -> str:
    """Return the value that is set, of the four typed fields."""
    if attribute.bool_ is not None:
        return "true" if attribute.bool_ else "false"
    values = (attribute.string, attribute.int_, attribute.version)
    return next((str(value) for value in values if value is not None), "")


def selectors_of(provider: DeviceClass | None, request: ExactRequest) -> list[Selector]:
    """Return the selectors of the device class, then those of the request."""
    groups = [("", request.selectors)]
    if provider is not None:
        groups.insert(0, (provider.name, provider.spec.selectors))
    return [
        Selector(of, number, one.cel.expression)
        for of, group in groups
        for number, one in enumerate(group)
        if one.cel is not None
    ]


def constraints_of(claim: ResourceClaim, evaluated: ClaimReport, entries: Entries) -> Iterator[Constraint]:
    for one in claim.spec.devices.constraints:
        attribute = one.match_attribute or one.distinct_attribute
        if attribute is None:
            continue
        concerned = [
            alternatives
            for alternatives in evaluated.requests
            if not one.requests or any(_named(request, one.requests) for request in alternatives)
        ]
        fitting = {
            (device.driver, device.pool, device.device)
            for alternatives in concerned
            for request in alternatives
            for device in request.devices
            if not device.objections
        }
        counts = Counter[str]()
        for device in fitting:
            found = entries[device].attribute(attribute)
            counts[value_of(found) if found is not None else ""] += 1
        wanted = sum(min((request.wanted for request in alternatives), default=0) for alternatives in concerned)
        values = [
            Value(value, number) for value, number in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        ]
        yield Constraint(attribute, one.match_attribute is not None, one.requests, wanted, values)


def _named(request: RequestReport, names: Sequence[str]) -> bool:
    return request.name in names or request.name.partition("/")[0] in names


def requests_of(claim: ClaimReport) -> Iterator[RequestReport]:
    return (request for alternatives in claim.requests for request in alternatives)


def wanted_of(claims: Iterable[ClaimReport]) -> int:
    return sum(min((one.wanted for one in some), default=0) for claim in claims for some in claim.requests)


def of_class(request: RequestReport, device: DeviceReport) -> bool:
    """Return whether no selector of the device class excludes the device."""
    start = f"class {request.device_class}, "
    return not any(one.kind == SELECTOR and one.text.startswith(start) for one in device.objections)


def out_of(request: RequestReport) -> dict[str, int]:
    """Return reason -> number of excluded devices. Properties of a device take precedence over its usage."""
    found = Counter[str]()
    for device in request.devices:
        kinds = {one.kind for one in device.objections}
        if not of_class(request, device):
            found[OTHER_CLASS] += 1
        elif kinds:
            found[next((kind for kind in (SELECTOR, NODE) if kind in kinds), device.objections[0].kind)] += 1
    return dict(found)


def short_of(evaluated: NodeReport) -> Iterator[Short]:
    for claim in evaluated.claims:
        for request in requests_of(claim):
            yield Short(
                claim.claim, request.name, request.wanted, request.fitting, len(request.devices), out_of(request)
            )


def lacking(group: NodeGroup) -> int:
    return sum(max(0, one.wanted - one.fitting) for one in group.requests)


def terms_text(terms: Sequence[NodeSelectorTerm]) -> str:
    """Format node selector terms: terms are joined by "or", the requirements of one term by "and"."""
    requirements = ((*term.match_fields, *term.match_expressions) for term in terms)
    return " or ".join(" and ".join(requirement(one) for one in some) for some in requirements)
