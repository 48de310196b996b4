"""Devices, and pods' requests for devices: the kinds of resource.k8s.io.

The structs are those of v1 (equal to v1beta2). `check` moves the fields of v1beta1 to their place in v1: the flat
fields of a request, and those below `basic` of a device.

Source: k8s.io/api (resource/v1, v1beta1, v1beta2), with the limits of types.go.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from scheduler_core.api import objects, quantity
from scheduler_core.api.objects import Condition, NodeSelector, Object, Quantities, Struct, Taint, Toleration
from scheduler_core.errors import InputError

EXACT_COUNT, ALL = "ExactCount", "All"
NO_SCHEDULE, NO_EXECUTE = "NoSchedule", "NoExecute"
MAX_RESULTS = 32  # devices allocated to one claim
MAX_CONSUMERS = 256  # pods that can share a claim
MAX_SELECTORS = MAX_REQUESTS = MAX_CONSTRAINTS = MAX_CONFIG = MAX_COUNTERS = 32
MAX_EXPRESSION = 10 * 1024
MAX_SUB_REQUESTS = 8
MAX_DEVICES = 128
MAX_ATTRIBUTES = 32  # per device, including capacities
MAX_TAINTS = 16
MAX_VALUE = 64  # characters of an attribute
_NAME = re.compile(r"[a-zA-Z0-9]([-a-zA-Z0-9._]*[a-zA-Z0-9])?")
EXTENDED_CLAIM = "resource.kubernetes.io/extended-resource-claim"  # annotation of claims that the scheduler creates


class CELSelector(Struct):
    expression: str = ""


class DeviceSelector(Struct):
    cel: CELSelector | None = None


class CapacityRequirements(Struct):
    requests: Quantities = {}


class ExactRequest(Struct):
    """A request for devices. `name`: only set in a subrequest."""

    name: str = ""
    device_class_name: str = ""
    selectors: list[DeviceSelector] = []
    allocation_mode: str = ""
    count: int = 0
    admin_access: bool | None = None
    tolerations: list[Toleration] = []
    capacity: CapacityRequirements | None = None


class DeviceRequest(ExactRequest):
    """A request: `exactly` one, or the first available of several. The other fields are those of v1beta1."""

    exactly: ExactRequest | None = None
    first_available: list[ExactRequest] = []


class DeviceConstraint(Struct):
    requests: list[str] = []
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DeviceConfiguration(Struct):
    """Parameters for a driver, passed unchanged. `source`: FromClass or FromClaim, in an allocation."""

    source: str = ""
    requests: list[str] = []
    opaque: dict[str, Any] | None = None


class DeviceClaim(Struct):
    requests: list[DeviceRequest] = []
    constraints: list[DeviceConstraint] = []
    config: list[DeviceConfiguration] = []


class ResourceClaimSpec(Struct):
    devices: DeviceClaim = msgspec.field(default_factory=DeviceClaim)


class AllocatedDevice(Struct):
    """A device allocated to a claim."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    tolerations: list[Toleration] = []
    binding_conditions: list[str] = []
    binding_failure_conditions: list[str] = []
    share_id: str | None = msgspec.field(default=None, name="shareID")
    consumed_capacity: Quantities = {}

    @property
    def id(self) -> tuple[str, str, str]:
        """(driver, pool, device)."""
        return self.driver, self.pool, self.device


class Allocated(Struct):
    results: list[AllocatedDevice] = []
    config: list[DeviceConfiguration] = []


class Allocation(Struct):
    devices: Allocated = msgspec.field(default_factory=Allocated)
    node_selector: NodeSelector | None = None
    allocation_timestamp: str = ""


class Consumer(Struct):
    """A consumer for which a claim is reserved."""

    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class DeviceStatus(Struct):
    """The status of an allocated device, reported by its driver."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    share_id: str | None = msgspec.field(default=None, name="shareID")
    conditions: list[Condition] = []
    data: dict[str, Any] | None = None
    network_data: dict[str, Any] | None = None


class ResourceClaimStatus(Struct):
    allocation: Allocation | None = None
    reserved_for: list[Consumer] = []
    devices: list[DeviceStatus] = []


class ResourceClaim(Object):
    spec: ResourceClaimSpec = msgspec.field(default_factory=ResourceClaimSpec)
    status: ResourceClaimStatus = msgspec.field(default_factory=ResourceClaimStatus)

    def check(self, where: str) -> None:
        _check_devices_claim(self.spec.devices, where, "spec.devices")
        _few(self.status.reserved_for, MAX_CONSUMERS, where, "status.reservedFor")
        allocation = self.status.allocation
        if allocation is None:
            return
        _few(allocation.devices.results, MAX_RESULTS, where, "status.allocation.devices.results")
        for i, result in enumerate(allocation.devices.results):
            field = f"status.allocation.devices.results[{i}]"
            for name, text in (("driver", result.driver), ("pool", result.pool), ("device", result.device)):
                _named(text, where, f"{field}.{name}")
            _amounts(((f"{field}.consumedCapacity[{n[:63]!r}]", t) for n, t in result.consumed_capacity.items()), where)
        _check_node_selector(allocation.node_selector, where, "status.allocation.nodeSelector")


class ClaimTemplateMetadata(Struct):
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class ResourceClaimTemplateSpec(Struct):
    metadata: ClaimTemplateMetadata = msgspec.field(default_factory=ClaimTemplateMetadata)
    spec: ResourceClaimSpec = msgspec.field(default_factory=ResourceClaimSpec)


class ResourceClaimTemplate(Object):
    spec: ResourceClaimTemplateSpec = msgspec.field(default_factory=ResourceClaimTemplateSpec)

    def check(self, where: str) -> None:
        _check_devices_claim(self.spec.spec.devices, where, "spec.spec.devices")


class DeviceClassSpec(Struct):
    selectors: list[DeviceSelector] = []
    config: list[DeviceConfiguration] = []
    extended_resource_name: str = ""


class DeviceClass(Object):
    spec: DeviceClassSpec = msgspec.field(default_factory=DeviceClassSpec)

    def check(self, where: str) -> None:
        _check_selectors(self.spec.selectors, where, "spec.selectors")
        _few(self.spec.config, MAX_CONFIG, where, "spec.config")


class ResourcePool(Struct):
    name: str = ""
    generation: int = 0
    resource_slice_count: int = 0


class DeviceAttribute(Struct):
    """Exactly one of the four fields is set. Names that are Python keywords or types end in an underscore."""

    int_: int | None = msgspec.field(default=None, name="int")
    bool_: bool | None = msgspec.field(default=None, name="bool")
    string: str | None = None
    version: str | None = None


class CapacityRange(Struct):
    min: str | int | float | None = None
    max: str | int | float | None = None
    step: str | int | float | None = None


class CapacityPolicy(Struct):
    """The allowed quantities of a capacity; a request is rounded up to one of them."""

    default: str | int | float | None = None
    valid_values: list[str | int | float] = []
    valid_range: CapacityRange | None = None


class DeviceCapacity(Struct):
    value: str | int | float = "0"
    request_policy: CapacityPolicy | None = None


class Counter(Struct):
    value: str | int | float = "0"


class CounterSet(Struct):
    name: str = ""
    counters: dict[str, Counter] = {}


class CounterConsumption(Struct):
    counter_set: str = ""
    counters: dict[str, Counter] = {}


class BasicDevice(Struct):
    """The properties of a device. v1beta1 has them below `basic`."""

    attributes: dict[str, DeviceAttribute] = {}
    capacity: dict[str, DeviceCapacity] = {}
    consumes_counters: list[CounterConsumption] = []
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: list[Taint] = []
    binds_to_node: bool = False
    binding_conditions: list[str] = []
    binding_failure_conditions: list[str] = []
    allow_multiple_allocations: bool | None = None


class Device(BasicDevice):
    name: str = ""
    basic: BasicDevice | None = None


class ResourceSliceSpec(Struct):
    driver: str = ""
    pool: ResourcePool = msgspec.field(default_factory=ResourcePool)
    node_name: str = ""
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    per_device_node_selection: bool | None = None
    devices: list[Device] = []
    shared_counters: list[CounterSet] = []


class ResourceSlice(Object):
    spec: ResourceSliceSpec = msgspec.field(default_factory=ResourceSliceSpec)

    def check(self, where: str) -> None:
        spec = self.spec
        if spec != ResourceSliceSpec():
            _named(spec.driver, where, "spec.driver")
            _named(spec.pool.name, where, "spec.pool.name")
        _few(spec.devices, MAX_DEVICES, where, "spec.devices")
        _few(spec.shared_counters, MAX_COUNTERS, where, "spec.sharedCounters")
        _check_node_selector(spec.node_selector, where, "spec.nodeSelector")
        objects.check_number(spec.pool.generation, 0, objects.INT64_MAX, where, "spec.pool.generation")
        objects.check_number(
            spec.pool.resource_slice_count, 0, objects.INT64_MAX, where, "spec.pool.resourceSliceCount"
        )
        for i, counters in enumerate(spec.shared_counters):
            _named(counters.name, where, f"spec.sharedCounters[{i}].name")
            _check_counters(counters.counters, where, f"spec.sharedCounters[{i}].counters")
        for i, device in enumerate(spec.devices):
            _named(device.name, where, f"spec.devices[{i}].name")
            if device.basic is not None:  # v1beta1
                for name in BasicDevice.__struct_fields__:
                    setattr(device, name, getattr(device.basic, name))
                device.basic = None
            _check_device(device, where, f"spec.devices[{i}]")


class DeviceTaintSelector(Struct):
    """All criteria that are set must match."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class DeviceTaintRuleSpec(Struct):
    """Without a selector the scheduler applies the taint to all devices, although the API says to none."""

    device_selector: DeviceTaintSelector | None = None
    taint: Taint = msgspec.field(default_factory=Taint)


class DeviceTaintRule(Object):
    spec: DeviceTaintRuleSpec = msgspec.field(default_factory=DeviceTaintRuleSpec)

    def taints(self, driver: str, pool: str, device: str) -> bool:
        """Return whether the rule applies to a device."""
        wanted = self.spec.device_selector or DeviceTaintSelector()
        return all(
            want is None or want == have
            for want, have in ((wanted.driver, driver), (wanted.pool, pool), (wanted.device, device))
        )


objects.register(ResourceClaim, ResourceClaimTemplate, groups=("resource.k8s.io",))
objects.register(DeviceClass, ResourceSlice, DeviceTaintRule, groups=("resource.k8s.io",), namespaced=False)

# ---------------------------------------------------------------- API-server validation


def _few(things: Sequence[Any] | Mapping[str, Any], most: int, where: str, field: str) -> None:
    if len(things) > most:
        raise InputError(where, field, f"has {len(things):,} entries; at most {most} are allowed")


def _named(text: str, where: str, field: str) -> None:
    if not text:
        raise InputError(where, field, "is missing")
    if len(text) > 253 or not all(_NAME.fullmatch(part) for part in text.split("/")):
        raise InputError(where, field, f"{text[:63]!r} cannot be a name")


def _amounts(amounts: Iterable[tuple[str, Any]], where: str) -> None:
    for field, text in amounts:
        try:
            quantity.nano_value(text if text is not None else 0)
        except quantity.QuantityError as error:
            raise InputError(where, field, str(error)) from None


def _check_selectors(selectors: Sequence[DeviceSelector], where: str, field: str) -> None:
    _few(selectors, MAX_SELECTORS, where, field)
    for i, selector in enumerate(selectors):
        at, text = f"{field}[{i}].cel.expression", selector.cel.expression if selector.cel is not None else None
        if text is not None and not text.strip():
            raise InputError(where, at, "is empty")
        if text is not None and len(text) > MAX_EXPRESSION:
            raise InputError(where, at, f"is longer than {MAX_EXPRESSION:,} characters")


def _check_node_selector(selector: NodeSelector | None, where: str, field: str) -> None:
    if selector is not None:
        objects.check_node_terms(selector.node_selector_terms, where, f"{field}.nodeSelectorTerms")


def _check_exact(request: ExactRequest, where: str, field: str) -> None:
    _named(request.device_class_name, where, f"{field}.deviceClassName")
    _check_selectors(request.selectors, where, f"{field}.selectors")
    request.allocation_mode = request.allocation_mode or EXACT_COUNT
    if request.allocation_mode == EXACT_COUNT:
        request.count = request.count or 1
        objects.check_number(request.count, 1, objects.INT64_MAX, where, f"{field}.count")
    elif request.allocation_mode == ALL and request.count:
        raise InputError(where, f"{field}.count", "must not be set if all devices are requested")
    for i, toleration in enumerate(request.tolerations):
        objects.check_choice(
            toleration.operator, objects.TOLERATION_OPERATORS, where, f"{field}.tolerations[{i}].operator"
        )
    capacity = request.capacity or CapacityRequirements()
    _few(capacity.requests, MAX_ATTRIBUTES, where, f"{field}.capacity.requests")
    _amounts(((f"{field}.capacity.requests[{name[:63]!r}]", text) for name, text in capacity.requests.items()), where)


def _check_devices_claim(claim: DeviceClaim, where: str, at: str) -> None:
    _few(claim.requests, MAX_REQUESTS, where, f"{at}.requests")
    _few(claim.constraints, MAX_CONSTRAINTS, where, f"{at}.constraints")
    _few(claim.config, MAX_CONFIG, where, f"{at}.config")
    names: set[str] = set()
    for i, request in enumerate(claim.requests):
        field = f"{at}.requests[{i}]"
        _named(request.name, where, f"{field}.name")
        if request.name in names:
            raise InputError(where, f"{field}.name", f"{request.name[:63]!r} occurs twice")
        names.add(request.name)
        if request.exactly is None and not request.first_available:
            _make_exact(request)  # v1beta1
            _check_exact(request.exactly or ExactRequest(), where, field)
        elif request.exactly is not None:
            if request.first_available:
                raise InputError(where, field, "exactly one of exactly and firstAvailable is allowed")
            _check_exact(request.exactly, where, f"{field}.exactly")
        _few(request.first_available, MAX_SUB_REQUESTS, where, f"{field}.firstAvailable")
        inside: set[str] = set()
        for j, sub in enumerate(request.first_available):
            _named(sub.name, where, f"{field}.firstAvailable[{j}].name")
            if sub.name in inside:
                raise InputError(where, f"{field}.firstAvailable[{j}].name", f"{sub.name[:63]!r} occurs twice")
            inside.add(sub.name)
            _check_exact(sub, where, f"{field}.firstAvailable[{j}]")
    for i, constraint in enumerate(claim.constraints):
        if constraint.match_attribute is not None:
            _named(constraint.match_attribute, where, f"{at}.constraints[{i}].matchAttribute")
        if constraint.distinct_attribute is not None:
            _named(constraint.distinct_attribute, where, f"{at}.constraints[{i}].distinctAttribute")


def _make_exact(request: DeviceRequest) -> None:
    """Move the fields that v1beta1 has in the request itself to `exactly`."""
    blank, exactly = ExactRequest(), ExactRequest()
    for name in ExactRequest.__struct_fields__:
        if name != "name":
            setattr(exactly, name, getattr(request, name))
            setattr(request, name, getattr(blank, name))
    request.exactly = exactly


def _check_counters(counters: Mapping[str, Counter], where: str, field: str) -> None:
    _few(counters, MAX_COUNTERS, where, field)
    _amounts(((f"{field}[{name[:63]!r}].value", counter.value) for name, counter in counters.items()), where)


def _check_device(device: Device, where: str, field: str) -> None:
    _check_node_selector(device.node_selector, where, f"{field}.nodeSelector")
    _few([*device.attributes, *device.capacity], MAX_ATTRIBUTES, where, f"{field}.attributes")
    _few(device.taints, MAX_TAINTS, where, f"{field}.taints")
    _few(device.consumes_counters, MAX_COUNTERS, where, f"{field}.consumesCounters")
    for name, attribute in device.attributes.items():
        at = f"{field}.attributes[{name[:63]!r}]"
        values = (attribute.int_, attribute.bool_, attribute.string, attribute.version)
        if sum(value is not None for value in values) != 1:
            raise InputError(where, at, "exactly one of int, bool, string, version is needed")
        if attribute.int_ is not None and not ~objects.INT64_MAX <= attribute.int_ <= objects.INT64_MAX:
            raise InputError(where, f"{at}.int", f"must fit 64 bits, got {attribute.int_}")
        for kind, text in (("string", attribute.string), ("version", attribute.version)):
            if text is not None and len(text) > MAX_VALUE:
                raise InputError(where, f"{at}.{kind}", f"is longer than {MAX_VALUE} characters")
    for name, capacity in device.capacity.items():
        _check_capacity(capacity, where, f"{field}.capacity[{name[:63]!r}]")
    for i, consumption in enumerate(device.consumes_counters):
        _check_counters(consumption.counters, where, f"{field}.consumesCounters[{i}].counters")


def _check_capacity(capacity: DeviceCapacity, where: str, field: str) -> None:
    _amounts([(f"{field}.value", capacity.value)], where)
    policy = capacity.request_policy
    if policy is None:
        return
    at = f"{field}.requestPolicy"
    _few(policy.valid_values, 10, where, f"{at}.validValues")
    _amounts(((f"{at}.validValues[{i}]", text) for i, text in enumerate(policy.valid_values)), where)
    _amounts([(f"{at}.default", policy.default)], where)
    if policy.valid_range is not None:
        bounds = policy.valid_range
        named = {"min": bounds.min, "max": bounds.max, "step": bounds.step}
        _amounts(((f"{at}.validRange.{name}", text) for name, text in named.items()), where)
        if bounds.min is None:
            raise InputError(where, f"{at}.validRange.min", "is missing")
        if bounds.step is not None and quantity.value(bounds.step) <= 0:
            raise InputError(where, f"{at}.validRange.step", f"must be positive, got {bounds.step}")
