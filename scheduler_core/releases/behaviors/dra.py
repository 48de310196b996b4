"""Dynamic resource allocation."""

from dataclasses import dataclass

from scheduler_core.releases.behaviors.behavior import WORDING, off, on


@dataclass(frozen=True, kw_only=True)
class DynamicResourceBehaviors:
    mixed_claims_score_fails: bool = off(
        "scoring fails for a pod that has both allocated and unallocated claims",
        "scoring also supports pods that have both allocated and unallocated claims",
        "pods with both allocated and unallocated claims are scheduled again",
        since="1.35",
        until="1.35.5, 1.36.1",
        pull=139017,
        picks=(139362, 139363),
    )
    allocates_from_incomplete_pools: bool = off(
        "devices of pools with missing slices are allocated",
        "pools with missing slices are not used",
        "claims wait until all slices of a pool are published",
        until="1.34",
    )
    class_configuration_names_requests: bool = on(
        "configurations of device classes name the requests that they apply to",
        "configurations of device classes do not name requests",
        "only the allocation in the claim's status differs",
        since="1.32.10, 1.33.6, 1.34.2, 1.35",
        picks=(135109, 135105, 135098),
    )
    configuration_for_all_names_no_requests: bool = on(
        "a configuration in an allocation occurs once, and names no requests if it applies to all",
        "a configuration in an allocation always names its requests, and is repeated for each that it matches",
        "only the allocation in the claim's status differs",
        since="1.37",
    )
    selector_errors_name_device: bool = on(
        "an error of a device selector names the device, and has a hint if a key is missing",
        "an error of a device selector does not name the device",
        WORDING,
        since="1.37",
        pull=136709,
    )
    reports_invalid_pools: bool = on(
        "an invalid pool is reported as a separate reason",
        "an invalid pool is left out without a reason",
        WORDING,
        since="1.35",
    )
    all_devices_alternatives_use_first: bool = off(
        "alternatives that request all devices use the devices of the first one",
        "each alternative uses its own devices",
        "claims with alternatives that request all devices get the right devices",
        until="1.35",
    )
    all_devices_with_counters_crash: bool = off(
        "kube-scheduler crashes if a request for all devices gets one that consumes counters",
        "requests for all devices can get devices that consume counters",
        "clusters with such claims have a scheduler again",
        until="1.35.5, 1.36.1",
        pull=138885,
        picks=(138989, 138988),
    )
    shared_devices_leave_counters: bool = off(
        "devices that claims share by capacity leave the counters of their pool as they are",
        "devices that claims share by capacity also consume the counters of their pool",
        "partitions of a device are not allocated beyond its counters, also if claims share devices",
        until="1.36.1",
        pull=139040,
        picks=(139211,),
    )
    device_taints: bool = on(
        "taints of devices repel claims",
        "taints of devices are ignored",
        "claims no longer get tainted devices without a toleration",
        since="1.36",
        gate="DRADeviceTaints",
        kep=5055,
    )
    device_taint_rules: bool = on(
        "DeviceTaintRules taint devices",
        "DeviceTaintRules are ignored",
        "claims no longer get devices that a rule taints without a toleration",
        since="1.37",
        gate="DRADeviceTaintRules",
        kep=5055,
    )
    shared_counters: bool = on(
        "devices can share counters and can have their own node selection",
        "shared counters are ignored",
        "partitions of a device are not allocated beyond its counters",
        since="1.36",
        gate="DRAPartitionableDevices",
        kep=4815,
    )
    counters_of_pool_everywhere: bool = off(
        "a slice with shared counters is part of its pool on every node",
        "a slice with shared counters is part of its pool on its own nodes, and on those of other slices of the pool",
        "nodes without a device of a pool no longer see it; a pool with a problem no longer concerns them",
        until="1.36",
    )
    consumable_capacity: bool = on(
        "several claims can share the capacity of a device",
        "a device is allocated to one claim",
        "more claims can fit on a device that allows several allocations",
        since="1.36",
        gate="DRAConsumableCapacity",
        kep=5075,
    )
    fractional_capacity_ranges: bool = on(
        "ranges of a device's capacity can be in thousandths",
        "amounts of a device's capacity are rounded up to whole numbers where a range has a step",
        "claims can share a device in fractions",
        since="1.37",
        gate="DRAFractionalCapacityRange",
        kep=5075,
    )
    binding_conditions: bool = on(
        "devices become ready before pods are bound",
        "pods are bound at once",
        "pods wait for their devices before they are bound",
        since="1.36",
        gate="DRADeviceBindingConditions",
        kep=5007,
    )
    extended_resources: bool = on(
        "device classes can provide extended resources",
        "only device plugins provide extended resources",
        "pods that request an extended resource can fit through a device class",
        since="1.36",
        gate="DRAExtendedResource",
        kep=5004,
    )
    claim_owner_message_capitalized: bool = on(
        "the message 'Pod is not owner' of a claim begins with a capital letter",
        "the message begins with a small letter",
        WORDING,
        since="1.36",
    )
