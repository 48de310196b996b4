"""Devices and the requests of pods for them: the kinds of resource.k8s.io.

The structs are those of v1 (equal to v1beta2). Validation (`device_checks.py`) moves the fields of v1beta1 to their
place in v1: the flat fields of a request, and those below `basic` of a device. It also applies the API server's
defaults.

Source: k8s.io/api (resource/v1, v1beta1, v1beta2).
"""

from __future__ import annotations

from typing import Any

import msgspec

from scheduler_core.api.objects import Condition, NodeSelector, Object, Quantities, Struct

EXACT_COUNT, ALL = "ExactCount", "All"
NO_SCHEDULE, NO_EXECUTE = "NoSchedule", "NoExecute"
MAX_RESULTS = 32  # devices allocated to one claim
MAX_CONSUMERS = 256  # pods that can share a claim
EXTENDED_CLAIM = "resource.kubernetes.io/extended-resource-claim"  # annotation of claims that the scheduler creates


class CELSelector(Struct):
    expression: str = ""


class DeviceSelector(Struct):
    cel: CELSelector | None = None


class DeviceToleration(Struct):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


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
    tolerations: list[DeviceToleration] = []
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
    tolerations: list[DeviceToleration] = []
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


class ClaimTemplateMetadata(Struct):
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class ResourceClaimTemplateSpec(Struct):
    metadata: ClaimTemplateMetadata = msgspec.field(default_factory=ClaimTemplateMetadata)
    spec: ResourceClaimSpec = msgspec.field(default_factory=ResourceClaimSpec)


class ResourceClaimTemplate(Object):
    spec: ResourceClaimTemplateSpec = msgspec.field(default_factory=ResourceClaimTemplateSpec)


class DeviceClassSpec(Struct):
    selectors: list[DeviceSelector] = []
    config: list[DeviceConfiguration] = []
    extended_resource_name: str = ""


class DeviceClass(Object):
    spec: DeviceClassSpec = msgspec.field(default_factory=DeviceClassSpec)


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


class DeviceTaint(Struct):
    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: str = ""


class BasicDevice(Struct):
    """The properties of a device. v1beta1 has them below `basic`."""

    attributes: dict[str, DeviceAttribute] = {}
    capacity: dict[str, DeviceCapacity] = {}
    consumes_counters: list[CounterConsumption] = []
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: list[DeviceTaint] = []
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
