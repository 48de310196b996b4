"""The resource claims of a pod in one cycle: what each request wants, and why it cannot have certain devices of a node.

A trace only records that a node was rejected. The devices are evaluated on request, on the cluster before the cycle.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from scheduler_core.api.devices import Allocation, DeviceAttribute, DeviceClass, ExactRequest, ResourceClaim
from scheduler_core.api.objects import NodeSelectorTerm, PodResourceClaim
from scheduler_core.api.selector_text import requirement
from scheduler_core.api.selectors import any_term_matches
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.dra.claims import ClaimProblem, claim_name, problem_of
from scheduler_core.dra.devices import Devices
from scheduler_core.dra.explain import (
    NODE,
    SELECTOR,
    ClaimReport,
    DeviceObjection,
    DeviceReport,
    PoolReport,
    RequestReport,
    node_report,
)
from scheduler_core.dra.pools import DeviceID, PoolDevice
from scheduler_core.framework.runtime import Framework
from scheduler_core.search.provenance import NotDecided, page_of, row_of

PLUGIN = "DynamicResources"
OTHER_CLASS = "class"
PAGE = 20  # groups of nodes per page
NAMED = 100  # nodes named per group
SHOWN = 200  # devices listed per request
DIFFERENT = 2000  # distinct nodes whose devices are evaluated; nodes with equal devices share a result
WANTED, ALLOCATED, MISSING = "wanted", "allocated", "missing"


Entries = Mapping[DeviceID, PoolDevice]


class DeviceView(msgspec.Struct, frozen=True):
    """A device.

    `facts`: its attributes and capacities. `of_class`: whether the request's device class selects it. `taken`: whether
    the allocator takes it for this request. `objections` is empty if the request could have the device.
    """

    driver: str
    pool: str
    device: str
    facts: dict[str, str]
    of_class: bool
    objections: list[DeviceObjection]
    taken: bool


class SelectorView(msgspec.Struct, frozen=True):
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
    selectors: list[SelectorView]
    tolerations: list[str]
    devices: list[DeviceView]


class Value(msgspec.Struct, frozen=True):
    """A value of an attribute. `value` is "" for devices without the attribute, which no constraint accepts."""

    value: str
    devices: int


class ConstraintView(msgspec.Struct, frozen=True):
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

    `uses`: the pod's name for it. `template`: the template that created it, or "". `state`: WANTED, ALLOCATED before
    the cycle, or MISSING with the reason in `message`. `given`: its devices, or those the allocator picks on this node.
    `nodes`: where the devices can be used, "" for everywhere; `here`: whether that includes this node.
    """

    claim: str
    uses: str
    template: str
    state: str
    message: str
    requests: list[list[Request]]
    constraints: list[ConstraintView]
    given: list[Given]
    nodes: str
    here: bool
    shared_with: list[str]


class OneNode(msgspec.Struct, frozen=True):
    """A node. `fits` is the recorded result; if false, `message` is the reason. `wanted` and `fitting` count devices of
    all claims."""

    node: str
    fits: bool
    message: str
    wanted: int
    fitting: int
    claims: list[Claim]
    pools: list[PoolReport]


class Short(msgspec.Struct, frozen=True):
    """Summary of a request for a group of nodes. `name`: `request/subrequest` in a prioritized list. `wanted`: devices
    that it wants; `fitting`: those that it could have alone; `seen`: those that exist; `out`: reason -> number of
    excluded ones."""

    claim: str
    name: str
    wanted: int
    fitting: int
    seen: int
    out: dict[str, int]


class NodeGroup(msgspec.Struct, frozen=True):
    """Nodes with the same result and the same device counts. `nodes` holds the first NAMED of `count`."""

    fits: bool
    message: str
    count: int
    nodes: list[str]
    requests: list[Short]


class Used(NamedTuple):
    """A claim that the pod uses. `problem`: why it cannot be allocated."""

    uses: PodResourceClaim
    claim: ResourceClaim | None
    problem: str


@dataclass(slots=True)
class Claims:
    """The claims of a cycle's pod; arguments as for Provenance. Raises NotDecided if claims or plugin are missing."""

    framework: Framework
    pod: PodInfo
    trace: CycleTrace
    used: list[Used] = field(init=False)
    wanted: list[ResourceClaim] = field(init=False)

    def __post_init__(self) -> None:
        if all(plugin.name != PLUGIN for plugin in self.framework.filter):
            raise NotDecided("plugin", "", f"the pod's profile does not run {PLUGIN} at filter")
        self.used = [self._used(uses) for uses in self.pod.pod.spec.resource_claims]
        if not self.used:
            raise NotDecided("pod", "", "it uses no resource claims")
        self.framework.cluster.nodes.refresh()
        found = (one.claim for one in self.used if not one.problem)
        self.wanted = [claim for claim in found if claim is not None and claim.status.allocation is None]

    def _used(self, uses: PodResourceClaim) -> Used:
        known = self.framework.cluster.device_claims
        try:
            name = claim_name(self.pod, uses)[0]
        except ClaimProblem as problem:
            return Used(uses, None, str(problem))
        return Used(uses, known.get(f"{self.pod.namespace}/{name}"), problem_of(self.pod, uses, known))

    @property
    def devices(self) -> Devices:
        return Devices.of_cluster(self.framework.cluster)

    def as_dict(self, node: str = "", page: int = 1) -> dict[str, Any]:
        """Return {pod, attempt, message, groups, nodes, total, page, pages, node} as in docs/debugger.md.

        `node`: "" for the chosen or nominated node, or else the node that lacks least. Raises NotDecided, InputError.
        """
        groups = self.groups()
        listed, pages = page_of(groups, page, PAGE)
        first = groups[0].nodes[0] if groups else ""
        shown = node or self.trace.node or self.trace.nominated_node or first
        return {
            "pod": self.pod.key,
            "attempt": self.trace.attempt,
            "message": self._early_message(),
            "groups": listed,
            "nodes": len(self.framework.cluster.nodes),
            **pages,
            "node": self.node_result(shown) if shown else None,
        }

    def _early_message(self) -> str:
        """Return the message if a problem with the claims stopped the cycle before Filter, else ""."""
        early = (self.trace.preenqueue, self.trace.prefilter)
        return next((one.message for one in early if one is not None and one.plugin == PLUGIN), "")

    def node_result(self, node: str) -> OneNode:
        """Return the result for one node, device by device. Raises NotDecided."""
        row = row_of(self.framework, node)
        evaluated = node_report(self.devices, row, self.wanted)
        allocations = self._allocations(row)
        entries = {entry.id: entry for pool in self.devices.pools(row) for entry in pool.entries}
        claims = []
        for one in self.used:
            place = next((i for i, claim in enumerate(self.wanted) if claim is one.claim), -1)
            given = allocations[place] if place >= 0 and allocations else None
            claims.append(self._claim(one, row, evaluated.claims[place] if place >= 0 else None, given, entries))
        fits, message = self._verdict(row)
        fitting = fitting_devices(request for claim in evaluated.claims for request in requests_of(claim))
        return OneNode(node, fits, message, wanted_of(evaluated.claims), len(fitting), claims, evaluated.pools)

    def _verdict(self, row: int) -> tuple[bool, str]:
        verdict = self.trace.verdicts.get(PLUGIN)
        status = verdict.at(row) if verdict is not None else None
        message = status.message if status is not None else self._early_message()
        return not message, message

    def _allocations(self, row: int) -> list[Allocation]:
        """Return the allocation for each wanted claim; [] if the node cannot satisfy all of them."""
        if not self.wanted:
            return []
        column = self.devices.column(self.wanted)
        return self.devices.allocate(column, row, self.wanted) if row in column.found else []

    def _claim(
        self, used: Used, row: int, evaluated: ClaimReport | None, given: Allocation | None, entries: Entries
    ) -> Claim:
        claim, template = used.claim, used.uses.resource_claim_template_name or ""
        if claim is None or used.problem:
            key = claim.key if claim is not None else ""
            return Claim(key, used.uses.name, template, MISSING, used.problem, [], [], [], "", False, [])
        allocation = claim.status.allocation or given
        terms = allocation.node_selector if allocation is not None else None
        here = terms is None or any_term_matches(terms.node_selector_terms, self.framework.cluster.nodes.nodes[row])
        taken = {(one.request, *one.id) for one in given.devices.results} if given is not None else set()
        requests = [
            [self._request(claim, j, k, request, taken, entries) for k, request in enumerate(alternatives)]
            for j, alternatives in enumerate(evaluated.requests if evaluated is not None else ())
        ]
        state = ALLOCATED if claim.status.allocation is not None else WANTED
        constraints = list(constraints_of(claim, evaluated, entries)) if evaluated is not None else []
        nodes = terms_text(terms.node_selector_terms) if terms is not None else ""
        others = [one.name for one in claim.status.reserved_for if one.uid != self.pod.pod.metadata.uid]
        where = (given_of(allocation), nodes, here, others)
        return Claim(claim.key, used.uses.name, template, state, "", requests, constraints, *where)

    def _request(
        self,
        claim: ResourceClaim,
        j: int,
        k: int,
        evaluated: RequestReport,
        taken: set[tuple[str, str, str, str]],
        entries: Entries,
    ) -> Request:
        request = claim.spec.devices.requests[j]
        exact = request.exactly or request.first_available[k]
        provider = self.framework.cluster.device_classes.get(exact.device_class_name)
        devices = []
        for one in evaluated.devices:
            key = one.driver, one.pool, one.device
            mine = (evaluated.name, *key) in taken
            devices.append(DeviceView(*key, facts_of(entries[key]), of_class(evaluated, one), one.objections, mine))
        devices.sort(key=lambda one: (not one.taken, len(one.objections) > 0, not one.of_class))
        head = evaluated.name, evaluated.device_class, evaluated.mode
        counts = evaluated.wanted, evaluated.fitting, len(evaluated.devices)
        tolerations = [f"{one.key or '*'}:{one.effect or '*'}" for one in exact.tolerations]
        found = (selectors_of(provider, exact), tolerations, devices[:SHOWN])
        return Request(*head, *counts, out_of(evaluated), *found)

    def groups(self) -> list[NodeGroup]:
        """Return groups of equal nodes: nodes that satisfy the claims first, then by the number of missing devices."""
        if self._early_message():
            return []
        names = self.framework.cluster.nodes.names
        rows: dict[tuple[Any, ...], list[int]] = {}
        for row in range(len(names)):
            rows.setdefault((self._verdict(row), self._shape(row)), []).append(row)
        merged: dict[tuple[Any, ...], tuple[list[Short], list[int]]] = {}
        for number, ((verdict, _), alike) in enumerate(rows.items()):
            reports = node_report(self.devices, alike[0], self.wanted).claims if number < DIFFERENT else ()
            requests = [short for claim in reports for short in short_of(claim)]
            key = verdict, msgspec.json.encode(requests)
            merged.setdefault(key, (requests, []))[1].extend(alike)
        found = []
        for ((fits, message), _), (requests, alike) in merged.items():
            alike.sort()
            found.append(NodeGroup(fits, message, len(alike), [names[row] for row in alike[:NAMED]], requests))
        found.sort(key=lambda group: (not group.fits, lacking(group), -group.count))
        return found

    def _shape(self, row: int) -> tuple[Any, ...]:
        """Return a key that is equal for nodes whose devices and device usage are equal."""
        used = self.devices.in_use
        shape: list[Any] = []
        for pool in self.devices.pools(row):
            if pool.counters or any(piece.spec.per_device_node_selection for piece in pool.pieces):
                return (row,)
            shape.append((pool.id[0], pool.problem, pool.incomplete))
            for entry in pool.entries:
                shared = tuple(sorted(used.consumed.get(entry.id, {}).items()))
                taints = tuple((taint.key, taint.value, taint.effect) for taint in entry.device.taints)
                binds = bool(entry.device.binding_conditions)
                shape.append((id(entry.content), entry.id in used.devices, shared, taints, binds))
        return tuple(shape)


def given_of(allocation: Allocation | None) -> list[Given]:
    """Return the devices of an allocation."""
    return [
        Given(one.request, *one.id, bool(one.admin_access), {k: str(v) for k, v in one.consumed_capacity.items()})
        for one in (allocation.devices.results if allocation is not None else ())
    ]


def facts_of(entry: PoolDevice) -> dict[str, str]:
    """Return the attributes and capacities of a device as readable text."""
    attributes = {name: value_of(one) for name, one in entry.device.attributes.items()}
    return attributes | {name: str(one.value) for name, one in entry.device.capacity.items()}


def value_of(attribute: DeviceAttribute) -> str:
    """Return the value that is set, of the four typed fields."""
    if attribute.bool_ is not None:
        return "true" if attribute.bool_ else "false"
    values = (attribute.string, attribute.int_, attribute.version)
    return next((str(value) for value in values if value is not None), "")


def selectors_of(provider: DeviceClass | None, request: ExactRequest) -> list[SelectorView]:
    """Return the selectors of the device class, then those of the request."""
    found = [(provider.name, *entry) for entry in enumerate(provider.spec.selectors)] if provider is not None else []
    found += [("", *entry) for entry in enumerate(request.selectors)]
    return [SelectorView(of, number, one.cel.expression) for of, number, one in found if one.cel is not None]


def constraints_of(claim: ResourceClaim, evaluated: ClaimReport, entries: Entries) -> Iterator[ConstraintView]:
    for one in claim.spec.devices.constraints:
        attribute = one.match_attribute or one.distinct_attribute
        if attribute is None:
            continue
        concerned = [
            alternatives
            for alternatives in evaluated.requests
            if not one.requests or any(_named(request, one.requests) for request in alternatives)
        ]
        fitting = fitting_devices(request for alternatives in concerned for request in alternatives)
        counts = Counter[str]()
        for device in fitting:
            found = entries[device].attribute(attribute)
            counts[value_of(found) if found is not None else ""] += 1
        wanted = sum(min((request.wanted for request in alternatives), default=0) for alternatives in concerned)
        values = [Value(*item) for item in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
        yield ConstraintView(attribute, one.match_attribute is not None, one.requests, wanted, values)


def _named(request: RequestReport, names: Sequence[str]) -> bool:
    return request.name in names or request.name.partition("/")[0] in names


def requests_of(claim: ClaimReport) -> Iterator[RequestReport]:
    return (request for alternatives in claim.requests for request in alternatives)


def fitting_devices(requests: Iterable[RequestReport]) -> set[DeviceID]:
    """Return the devices that one of the requests could have."""
    found = (one for request in requests for one in request.devices if not one.objections)
    return {(one.driver, one.pool, one.device) for one in found}


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


def short_of(claim: ClaimReport) -> Iterator[Short]:
    for one in requests_of(claim):
        yield Short(claim.claim, one.name, one.wanted, one.fitting, len(one.devices), out_of(one))


def lacking(group: NodeGroup) -> int:
    return sum(max(0, one.wanted - one.fitting) for one in group.requests)


def terms_text(terms: Sequence[NodeSelectorTerm]) -> str:
    """Format node selector terms: terms are joined by "or", the requirements of one term by "and"."""
    requirements = ((*term.match_fields, *term.match_expressions) for term in terms)
    return " or ".join(" and ".join(requirement(one) for one in some) for some in requirements)
