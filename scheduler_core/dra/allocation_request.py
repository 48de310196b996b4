"""Requests of unallocated claims, as far as they do not depend on the node.

Source: staging/src/k8s.io/dynamic-resource-allocation/structured/internal (allocator_stable.go: validateDeviceRequest).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from scheduler_core.api.devices import ALL, DeviceClass, DeviceRequest, ExactRequest, ResourceClaim
from scheduler_core.dra.pools import PoolDevice
from scheduler_core.dra.selectors import SelectorError, Selectors


class AllocationError(Exception):
    """A claim or class is invalid, so that no node is suitable. `claim`: index of the claim in the plan, -1 for none;
    the message then follows the claim's name."""

    def __init__(self, problem: str, claim: int = -1) -> None:
        super().__init__(problem)
        self.problem, self.claim = problem, claim

    def message_for(self, claims: Sequence[ResourceClaim]) -> str:
        """Return the message with the name of the claim."""
        return self.problem if self.claim < 0 else f"claim {claims[self.claim].key}{self.problem}"


@dataclass(slots=True)
class RequestData:
    """A request or one of its subrequests. `parent`: name of the request, for a subrequest."""

    claim: int
    spec: ExactRequest
    name: str
    parent: str
    device_class: DeviceClass | None
    admin: bool
    problem: str = ""  # why it cannot be evaluated at all
    known: dict[int, bool] = field(default_factory=dict)  # id of a content (outlives the plan) -> selected or not

    @property
    def full_name(self) -> str:
        return f"{self.parent}/{self.name}" if self.parent else self.name

    @property
    def base(self) -> str:
        """Name of the request, also for a subrequest."""
        return self.parent or self.name

    @property
    def sub(self) -> str:
        """Name of the subrequest, "" for none."""
        return self.name if self.parent else ""

    @property
    def wants_all(self) -> bool:
        return self.spec.allocation_mode == ALL

    def selects(self, entry: PoolDevice, selectors: Selectors) -> bool:
        """Return whether the selectors of the class and of the request match the device. Raises AllocationError."""
        answer = self.known.get(id(entry.content))
        if answer is None:
            answer = self.known[id(entry.content)] = self.refusing(entry, selectors) is None
        return answer

    def refusing(self, entry: PoolDevice, selectors: Selectors) -> tuple[str, int, str] | None:
        """Return the first selector that does not match the device as (class or "", index, expression); None if all
        match.

        Raises AllocationError.
        """
        groups = [("", self.spec.selectors)]
        if self.device_class is not None:
            groups.insert(0, (self.device_class.name, self.device_class.spec.selectors))
        for owner, group in groups:
            for number, selector in enumerate(group):
                expression = selector.cel.expression if selector.cel is not None else ""
                try:
                    if not selectors.matches(expression, entry.content):
                        return owner, number, expression
                except SelectorError as error:
                    text = f": selector #{number}{selectors.describe(error, entry.id)}"
                    if owner:
                        raise AllocationError(f"class {owner}{text}") from None
                    raise AllocationError(text, self.claim) from None
        return None


@dataclass(slots=True)
class AllocationPlan:
    """The requests of several claims. `requests`: for each claim, for each request, the alternatives (one, unless the
    request is a prioritized list)."""

    claims: Sequence[ResourceClaim]
    requests: list[list[list[RequestData]]] = field(default_factory=list)


def make_plan(claims: Sequence[ResourceClaim], classes: Mapping[str, DeviceClass]) -> AllocationPlan:
    """Return the requests of these claims."""
    plan = AllocationPlan(claims)
    for number, claim in enumerate(claims):
        plan.requests.append([_alternatives(number, request, classes) for request in claim.spec.devices.requests])
    return plan


def _alternatives(claim: int, request: DeviceRequest, classes: Mapping[str, DeviceClass]) -> list[RequestData]:
    if request.exactly is not None:
        return [_request_data(claim, request.exactly, request.name, "", classes, bool(request.exactly.admin_access))]
    return [_request_data(claim, sub, sub.name, request.name, classes, False) for sub in request.first_available]


def _request_data(
    claim: int, spec: ExactRequest, name: str, parent: str, classes: Mapping[str, DeviceClass], admin: bool
) -> RequestData:
    found = RequestData(claim, spec, name, parent, classes.get(spec.device_class_name), admin)
    for number, selector in enumerate(spec.selectors):
        if selector.cel is None:
            found.problem = f", selector #{number}: CEL expression empty (unsupported selector type?)"
            return found
    if found.device_class is None:
        missing = f'deviceclass.resource.k8s.io "{spec.device_class_name}" not found'
        found.problem = f": could not retrieve device class {spec.device_class_name}: {missing}"
    elif spec.allocation_mode not in ("ExactCount", ALL):
        found.problem = f": unsupported count mode {spec.allocation_mode}"
    elif any(selector.cel is None for selector in found.device_class.spec.selectors):
        found.problem = f": class {spec.device_class_name} has a selector without an expression"
    return found
