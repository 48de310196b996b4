"""What is told of the claims of a pod in one cycle (`claims.py`): the shapes, documented in
docs/debugger.md, and how they are made of what devices are like."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from scheduler_core.api.devices import Allocation, DeviceAttribute, DeviceClass, ExactRequest, ResourceClaim
from scheduler_core.api.objects import NodeSelectorTerm
from scheduler_core.dra.explain import NODE, SELECTOR, ClaimLook, DeviceLook, NodeLook, Objection, PoolLook, RequestLook
from scheduler_core.dra.pools import DeviceID, Entry
from scheduler_core.explain.labels import requirement

OTHER_CLASS = "class"
Entries = Mapping[DeviceID, Entry]


class Device(msgspec.Struct, frozen=True):
    """`facts`: its attributes and capacities. `of_class`: the request's class selects it. `taken`: the search takes it
    for this request. Objections: none if the request could have it."""

    driver: str
    pool: str
    device: str
    facts: dict[str, str]
    of_class: bool
    objections: list[Objection]
    taken: bool


class Selector(msgspec.Struct, frozen=True):
    """`of`: the class that asks for it, "" for the request itself. `number`: among its selectors, from 0."""

    of: str
    number: int
    expression: str


class Request(msgspec.Struct, frozen=True):
    """A request, or one alternative of a prioritized list. `wanted`: how many devices; `fitting`: how many it could
    have if it were alone; `seen`: how many there are; `out`: why others are out -> devices, OTHER_CLASS or the kind of
    an objection. `devices`: those that are taken, then that fit, then the others; the first SHOWN of them."""

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
    """`value`: "" for devices without the attribute, which no constraint takes."""

    value: str
    devices: int


class Constraint(msgspec.Struct, frozen=True):
    """`same`: all devices must have the same value of the attribute; else no two. `requests`: whose, none for all.
    `wanted`: how many devices those want. `values`: of the devices that fit one of them."""

    attribute: str
    same: bool
    requests: list[str]
    wanted: int
    values: list[Value]


class Given(msgspec.Struct, frozen=True):
    """A device that a claim has. `amounts`: of a shared device's capacities."""

    request: str
    driver: str
    pool: str
    device: str
    admin: bool
    amounts: dict[str, str]


class Claim(msgspec.Struct, frozen=True):
    """A claim as a node finds it. `uses`: the pod's name for it. `template`: what it was made of, "" if it was there.
    `state`: WANTED, ALLOCATED before the cycle, or MISSING; then `said` says why. `given`: what it has, or what the
    search gives it on this node. `nodes`: where these can be used, "" for everywhere; `here`: whether that is here."""

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
    """`fits`: as the cycle recorded it; if not, `said` is why. `wanted`, `fitting`: devices of all claims together."""

    node: str
    fits: bool
    said: str
    wanted: int
    fitting: int
    claims: list[Claim]
    pools: list[PoolLook]


class Short(msgspec.Struct, frozen=True):
    """A request as a group of nodes finds it: as of Request."""

    claim: str
    name: str
    wanted: int
    fitting: int
    seen: int
    out: dict[str, int]


class Group(msgspec.Struct, frozen=True):
    """Nodes alike: the same verdict, the same numbers of devices. `nodes`: the first NAMED of `count`."""

    fits: bool
    said: str
    count: int
    nodes: list[str]
    requests: list[Short]


def given_of(allocation: Allocation | None) -> list[Given]:
    """The devices of an allocation."""
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
    """Attributes and capacities of a device, as a person reads them."""
    attributes = {name: value_of(one) for name, one in entry.device.attributes.items()}
    return attributes | {name: str(one.value) for name, one in entry.device.capacity.items()}


def value_of(attribute: DeviceAttribute) -> str:
    """The one of the four values that is set."""
    if attribute.bool_ is not None:
        return "true" if attribute.bool_ else "false"
    values = (attribute.string, attribute.int_, attribute.version)
    return next((str(value) for value in values if value is not None), "")


def selectors_of(provider: DeviceClass | None, asked: ExactRequest) -> list[Selector]:
    """Those of the class, then those of the request."""
    groups = [("", asked.selectors)]
    if provider is not None:
        groups.insert(0, (provider.name, provider.spec.selectors))
    return [
        Selector(of, number, one.cel.expression)
        for of, group in groups
        for number, one in enumerate(group)
        if one.cel is not None
    ]


def constraints_of(claim: ResourceClaim, seen: ClaimLook, entries: Entries) -> Iterator[Constraint]:
    for one in claim.spec.devices.constraints:
        attribute = one.match_attribute or one.distinct_attribute
        if attribute is None:
            continue
        concerned = [
            alternatives
            for alternatives in seen.requests
            if not one.requests or any(_named(request, one.requests) for request in alternatives)
        ]
        fitting = {
            (device.driver, device.pool, device.device)
            for alternatives in concerned
            for request in alternatives
            for device in request.devices
            if not device.objections
        }
        values = Counter[str]()
        for device in fitting:
            found = entries[device].attribute(attribute)
            values[value_of(found) if found is not None else ""] += 1
        wanted = sum(min((request.wanted for request in alternatives), default=0) for alternatives in concerned)
        told = [Value(value, number) for value, number in sorted(values.items(), key=lambda item: (-item[1], item[0]))]
        yield Constraint(attribute, one.match_attribute is not None, one.requests, wanted, told)


def _named(request: RequestLook, names: Sequence[str]) -> bool:
    return request.name in names or request.name.partition("/")[0] in names


def requests_of(claim: ClaimLook) -> Iterator[RequestLook]:
    return (request for alternatives in claim.requests for request in alternatives)


def wanted_of(claims: Iterable[ClaimLook]) -> int:
    return sum(min((one.wanted for one in some), default=0) for claim in claims for some in claim.requests)


def of_class(request: RequestLook, device: DeviceLook) -> bool:
    """Whether no selector of the class says no."""
    start = f"class {request.device_class}, "
    return not any(one.kind == SELECTOR and one.text.startswith(start) for one in device.objections)


def out_of(request: RequestLook) -> dict[str, int]:
    """Why devices are out -> how many: what a device is comes before who has it."""
    found = Counter[str]()
    for device in request.devices:
        kinds = {one.kind for one in device.objections}
        if not of_class(request, device):
            found[OTHER_CLASS] += 1
        elif kinds:
            found[next((kind for kind in (SELECTOR, NODE) if kind in kinds), device.objections[0].kind)] += 1
    return dict(found)


def short_of(seen: NodeLook) -> Iterator[Short]:
    for claim in seen.claims:
        for request in requests_of(claim):
            yield Short(
                claim.claim, request.name, request.wanted, request.fitting, len(request.devices), out_of(request)
            )


def lacking(group: Group) -> int:
    return sum(max(0, one.wanted - one.fitting) for one in group.requests)


def terms_text(terms: Sequence[NodeSelectorTerm]) -> str:
    """Which nodes: terms are joined by "or", what one asks for by "and"."""
    asked = ((*term.match_fields, *term.match_expressions) for term in terms)
    return " or ".join(" and ".join(requirement(one) for one in some) for some in asked)
