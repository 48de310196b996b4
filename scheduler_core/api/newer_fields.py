"""Fields that change decisions only with a feature gate, or in a way, that is not simulated: each with its effect.

Source: k8s.io/api of 1.37 (core, batch, resource, scheduling) and the feature gates of kube-scheduler 1.37. Its API has
no field for the scheduler that 1.38 changes.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from scheduler_core.api.fields import DEPTH, MAP, types, values_of

UNKNOWN = "is not known: the cluster is newer than the newest release here, which ignores it"
_KEY = re.compile(r"\[[^\]]*\]")


class NewerField(NamedTuple):
    """A field of an object. `gate`: its feature gate, "" if there is none or it concerns other programs."""

    path: str
    effect: str
    gate: str

    @property
    def problem(self) -> str:
        """What a cluster does with the field."""
        without = (
            f"; without the feature gate {self.gate}, which is off by default, it has no effect" if self.gate else ""
        )
        return f"is not simulated: {self.effect}{without}"


Effects = Mapping[str, tuple[str, str]]

_AMOUNTS = (
    "a device uses resources of its node, such as cpu, which then count as requested",
    "DRANodeAllocatableResources",
)
_DEVICE: Effects = {"nodeAllocatableResources": _AMOUNTS, "nodeAllocatableResourceMappings": _AMOUNTS}
_VALUES = "a device can have several values of an attribute", "DRAListTypeAttributes"
_DERIVED = "devices are compared by values that an expression computes from their attributes", "DRADerivedAttributes"
_REQUEST: Effects = {"derivedAttributes": _DERIVED}
NOT_SIMULATED: Mapping[str, Effects] = {
    "NodeSpec": {
        "podPreemptionPolicy": (
            "kube-scheduler may evict pods of the node for a pod that grows in place, unless this forbids it",
            "InPlacePodVerticalScalingSchedulerPreemption",
        )
    },
    "PodSpec": {"evictionResponders": ("other programs react to a request for eviction; placements are the same", "")},
    "JobSpec": {"scheduling": ("the Job's controller creates a PodGroup for its pods; here it creates none", "")},
    "Device": _DEVICE,
    "BasicDevice": _DEVICE,
    "DeviceAttribute": {"bools": _VALUES, "ints": _VALUES, "strings": _VALUES, "versions": _VALUES},
    "DeviceCounterConsumption": {
        "compatibilityGroups": (
            "devices of one counter set are only allocated together if their groups intersect",
            "DRADeviceCompatibilityGroups",
        )
    },
    "DeviceRequest": _REQUEST,
    "ExactDeviceRequest": _REQUEST,
    "DeviceSubRequest": _REQUEST,
    "ResourceSliceSpec": {
        "partitionTypeAttribute": ("it labels the partitions of a device; placements are the same", ""),
        "skipNodeOperations": (
            "the kubelet prepares the device without its driver; placements are the same",
            "DRAOptionalNodeOperations",
        ),
    },
    "SchedulingPodGroupSpec": {
        "parentCompositePodGroupName": (
            "the PodGroups of a CompositePodGroup are placed together",
            "CompositePodGroup",
        ),
        "preemptionPolicy": ("with Never, the group does not preempt", "PodGroupPreemptionPolicy"),
        "resourceClaims": ("the pods of the group share claims made from templates", "DRAWorkloadResourceClaims"),
    },
}
"""Type -> field -> (effect, feature gate)."""

_AT_THE_TOP = {"Node": "NodeSpec", "Pod": "PodSpec", "Job": "JobSpec"}
_DEEP = ("ResourceClaim", "ResourceClaimTemplate", "ResourceSlice", "PodGroup.scheduling.k8s.io")


def newer_fields(obj: Mapping[str, Any], kind: str) -> Iterator[NewerField]:
    """Yield the fields of an object that are not simulated. `kind`: its name in `fields.txt`."""
    if kind in _DEEP:
        yield from _walk(obj, kind, "", 0)
    elif kind in _AT_THE_TOP and isinstance(spec := obj.get("spec"), Mapping):
        for name, (effect, gate) in NOT_SIMULATED[_AT_THE_TOP[kind]].items():
            if spec.get(name):
                yield NewerField(f"spec.{name}", effect, gate)


def collapsed(path: str) -> str:
    """Return the path without indices and keys, so that equal fields of several objects have one text."""
    return _KEY.sub("[]", path)


def kind_of(obj: Mapping[str, Any]) -> str:
    """Return the kind of an object as `fields.txt` names it."""
    kind, group = str(obj.get("kind", "")), str(obj.get("apiVersion", "")).rpartition("/")[0]
    return f"{kind}.{group}" if f"{kind}.{group}" in types() else kind


def _walk(obj: Any, kind: str, path: str, depth: int) -> Iterator[NewerField]:
    if depth > DEPTH or kind not in types():
        return
    if isinstance(obj, list):
        for item in obj:
            yield from _walk(item, kind, f"{path}[]", depth + 1)
    elif isinstance(obj, Mapping):
        fields, named = types()[kind], NOT_SIMULATED.get(kind, {})
        for name, value in obj.items():
            at = f"{path}.{name}" if path else str(name)
            if value and name in named:
                yield NewerField(at, *named[name])
            elif fields.get(name) and isinstance(value, list | Mapping):
                for inner, below in values_of(value, fields[name], at):
                    yield from _walk(inner, fields[name].lstrip(MAP), below, depth + 1)
