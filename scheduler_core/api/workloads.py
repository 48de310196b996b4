"""PodGroup of scheduling.k8s.io (GenericWorkload, 1.36): pods to schedule together.

Source: k8s.io/api/scheduling/v1alpha2. Workload objects are ignored, because the scheduler uses only PodGroups.
"""

from __future__ import annotations

import msgspec

from scheduler_core.api.objects import Object, Struct, register_as
from scheduler_core.errors import InputError

GROUP, VERSION = "scheduling.k8s.io", "v1alpha2"
WHOLE = "PodGroup"  # a disruptionMode: the pods of the group are evicted together or not at all


class Gang(Struct):
    min_count: int = 0


class SchedulingPolicy(Struct):
    gang: Gang | None = None


class TopologyConstraint(Struct):
    key: str = ""


class SchedulingConstraints(Struct):
    topology: list[TopologyConstraint] = []


class PodGroupSpec(Struct):
    scheduling_policy: SchedulingPolicy = msgspec.field(default_factory=SchedulingPolicy)
    scheduling_constraints: SchedulingConstraints | None = None
    disruption_mode: str = ""
    priority: int = 0

    @property
    def topology_key(self) -> str:
        """The topology key whose value all pods must share; "" for none."""
        found = self.scheduling_constraints
        return found.topology[0].key if found is not None and found.topology else ""


class PodGroup(Object):
    spec: PodGroupSpec = msgspec.field(default_factory=PodGroupSpec)


def _check(group: PodGroup, where: str) -> None:
    gang = group.spec.scheduling_policy.gang
    if gang is not None and not 1 <= gang.min_count < 1 << 31:
        raise InputError(where, "spec.schedulingPolicy.gang.minCount", f"must be 1 or more, got {gang.min_count}")
    if group.spec.disruption_mode not in ("", "Pod", WHOLE):
        problem = f"{group.spec.disruption_mode[:63]!r} is not one of Pod, {WHOLE}"
        raise InputError(where, "spec.disruptionMode", problem)


register_as(PodGroup, GROUP, VERSION, _check)
