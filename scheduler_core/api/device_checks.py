"""API-server validation and defaults of the kinds of resource.k8s.io, and the conversion of v1beta1 to v1."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from scheduler_core.api import quantity
from scheduler_core.api.devices import (
    ALL,
    EXACT_COUNT,
    MAX_CONSUMERS,
    MAX_RESULTS,
    BasicDevice,
    CapacityRequirements,
    Counter,
    Device,
    DeviceCapacity,
    DeviceClaim,
    DeviceClass,
    DeviceRequest,
    DeviceSelector,
    ExactRequest,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
    ResourceSliceSpec,
)
from scheduler_core.api.objects import NodeSelector, check_node_terms, register
from scheduler_core.errors import InputError

# Source: k8s.io/api/resource/v1 (types.go), the constants of that name.
MAX_SELECTORS = 32
MAX_EXPRESSION = 10 * 1024
MAX_REQUESTS = 32
MAX_SUB_REQUESTS = 8
MAX_CONSTRAINTS = 32
MAX_CONFIG = 32
MAX_DEVICES = 128
MAX_ATTRIBUTES = 32  # per device, including capacities
MAX_TAINTS = 16
MAX_VALUE = 64  # characters of an attribute
MAX_COUNTERS = 32
_INT64 = 1 << 63
_NAME = re.compile(r"[a-zA-Z0-9]([-a-zA-Z0-9._]*[a-zA-Z0-9])?")
_BASIC = tuple(BasicDevice.__struct_fields__)


def _few(things: Sequence[Any] | Mapping[str, Any], most: int, where: str, field: str) -> None:
    if len(things) > most:
        raise InputError(where, field, f"has {len(things):,} entries; at most {most} are allowed")


def _named(text: str, where: str, field: str) -> None:
    if not text:
        raise InputError(where, field, "is missing")
    if len(text) > 253 or not all(_NAME.fullmatch(part) for part in text.split("/")):
        raise InputError(where, field, f"{text[:63]!r} cannot be a name")


def _amount(text: Any, where: str, field: str) -> None:
    try:
        quantity.nano_value(text)
    except quantity.QuantityError as error:
        raise InputError(where, field, str(error)) from None


def _amounts(amounts: Iterable[tuple[str, Any]], where: str) -> None:
    for field, text in amounts:
        if text is not None:
            _amount(text, where, field)


def _check_selectors(selectors: Sequence[DeviceSelector], where: str, field: str) -> None:
    _few(selectors, MAX_SELECTORS, where, field)
    for i, selector in enumerate(selectors):
        if selector.cel is None:
            continue
        if not selector.cel.expression.strip():
            raise InputError(where, f"{field}[{i}].cel.expression", "is empty")
        if len(selector.cel.expression) > MAX_EXPRESSION:
            problem = f"is longer than {MAX_EXPRESSION:,} characters"
            raise InputError(where, f"{field}[{i}].cel.expression", problem)


def _check_node_selector(selector: NodeSelector | None, where: str, field: str) -> None:
    if selector is not None:
        check_node_terms(selector.node_selector_terms, where, f"{field}.nodeSelectorTerms")


def _check_exact(request: ExactRequest, where: str, field: str) -> None:
    _named(request.device_class_name, where, f"{field}.deviceClassName")
    _check_selectors(request.selectors, where, f"{field}.selectors")
    request.allocation_mode = request.allocation_mode or EXACT_COUNT
    if request.allocation_mode == EXACT_COUNT:
        request.count = request.count or 1
        if not 0 < request.count < _INT64:
            raise InputError(where, f"{field}.count", f"must be 1 or more, got {request.count}")
    elif request.allocation_mode == ALL and request.count:
        raise InputError(where, f"{field}.count", "must not be set if all devices are requested")
    for i, toleration in enumerate(request.tolerations):
        if toleration.operator not in ("", "Equal", "Exists"):
            problem = f"{toleration.operator[:63]!r} is not one of Exists, Equal"
            raise InputError(where, f"{field}.tolerations[{i}].operator", problem)
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
            raise InputError(where, f"{field}.name", f"{request.name[:63]!r} is there twice")
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
                raise InputError(where, f"{field}.firstAvailable[{j}].name", f"{sub.name[:63]!r} is there twice")
            inside.add(sub.name)
            _check_exact(sub, where, f"{field}.firstAvailable[{j}]")
    for i, constraint in enumerate(claim.constraints):
        for name, text in (
            ("matchAttribute", constraint.match_attribute),
            ("distinctAttribute", constraint.distinct_attribute),
        ):
            if text is not None:
                _named(text, where, f"{at}.constraints[{i}].{name}")


def _make_exact(request: DeviceRequest) -> None:
    """Move the fields that v1beta1 has in the request itself to `exactly`."""
    blank = ExactRequest()
    exactly = ExactRequest()
    for name in ExactRequest.__struct_fields__:
        if name != "name":
            setattr(exactly, name, getattr(request, name))
            setattr(request, name, getattr(blank, name))
    request.exactly = exactly


def check_claim(claim: ResourceClaim, where: str) -> None:
    _check_devices_claim(claim.spec.devices, where, "spec.devices")
    _few(claim.status.reserved_for, MAX_CONSUMERS, where, "status.reservedFor")
    allocation = claim.status.allocation
    if allocation is None:
        return
    _few(allocation.devices.results, MAX_RESULTS, where, "status.allocation.devices.results")
    for i, result in enumerate(allocation.devices.results):
        field = f"status.allocation.devices.results[{i}]"
        for name, text in (("driver", result.driver), ("pool", result.pool), ("device", result.device)):
            _named(text, where, f"{field}.{name}")
        _amounts(((f"{field}.consumedCapacity[{n[:63]!r}]", t) for n, t in result.consumed_capacity.items()), where)
    _check_node_selector(allocation.node_selector, where, "status.allocation.nodeSelector")


def check_template(template: ResourceClaimTemplate, where: str) -> None:
    _check_devices_claim(template.spec.spec.devices, where, "spec.spec.devices")


def check_class(device_class: DeviceClass, where: str) -> None:
    _check_selectors(device_class.spec.selectors, where, "spec.selectors")
    _few(device_class.spec.config, MAX_CONFIG, where, "spec.config")


def check_slice(piece: ResourceSlice, where: str) -> None:
    spec = piece.spec
    if spec != ResourceSliceSpec():
        _named(spec.driver, where, "spec.driver")
        _named(spec.pool.name, where, "spec.pool.name")
    _few(spec.devices, MAX_DEVICES, where, "spec.devices")
    _few(spec.shared_counters, MAX_COUNTERS, where, "spec.sharedCounters")
    _check_node_selector(spec.node_selector, where, "spec.nodeSelector")
    for name, number in (
        ("generation", spec.pool.generation),
        ("resourceSliceCount", spec.pool.resource_slice_count),
    ):
        if not 0 <= number < _INT64:
            raise InputError(where, f"spec.pool.{name}", f"must not be negative, got {number}")
    for i, counters in enumerate(spec.shared_counters):
        _named(counters.name, where, f"spec.sharedCounters[{i}].name")
        _check_counters(counters.counters, where, f"spec.sharedCounters[{i}].counters")
    for i, device in enumerate(spec.devices):
        _named(device.name, where, f"spec.devices[{i}].name")
        if device.basic is not None:  # v1beta1
            for name in _BASIC:
                setattr(device, name, getattr(device.basic, name))
            device.basic = None
        _check_device(device, where, f"spec.devices[{i}]")


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
        if attribute.int_ is not None and not -_INT64 <= attribute.int_ < _INT64:
            raise InputError(where, f"{at}.int", f"must fit 64 bits, got {attribute.int_}")
        for kind, text in (("string", attribute.string), ("version", attribute.version)):
            if text is not None and len(text) > MAX_VALUE:
                raise InputError(where, f"{at}.{kind}", f"is longer than {MAX_VALUE} characters")
    for name, capacity in device.capacity.items():
        _check_capacity(capacity, where, f"{field}.capacity[{name[:63]!r}]")
    for i, consumption in enumerate(device.consumes_counters):
        _check_counters(consumption.counters, where, f"{field}.consumesCounters[{i}].counters")


def _check_capacity(capacity: DeviceCapacity, where: str, field: str) -> None:
    _amount(capacity.value, where, f"{field}.value")
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


_GROUP = ("resource.k8s.io",)
register(ResourceClaim, _GROUP, check_claim)
register(ResourceClaimTemplate, _GROUP, check_template)
register(DeviceClass, _GROUP, check_class, namespaced=False)
register(ResourceSlice, _GROUP, check_slice, namespaced=False)
