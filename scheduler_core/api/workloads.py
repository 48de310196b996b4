"""PodGroup of scheduling.k8s.io (GenericWorkload, 1.36): pods to schedule together.

The structs are those of v1alpha2. `check` converts what v1beta1 of 1.37 writes in another way.

Workload objects are ignored, because the scheduler uses only PodGroups.

Source: k8s.io/api/scheduling/v1alpha2, v1beta1.
"""

from typing import Any

import msgspec

from scheduler_core.api.objects import INT32_MAX, Object, Struct, check_choice, check_number, register_namesake

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
    disruption_mode: str | dict[str, Any] = ""
    priority: int = 0

    @property
    def topology_key(self) -> str:
        """The topology key whose value all pods must share; "" for none."""
        found = self.scheduling_constraints
        return found.topology[0].key if found is not None and found.topology else ""


class PodGroup(Object):
    spec: PodGroupSpec = msgspec.field(default_factory=PodGroupSpec)

    def check(self, where: str) -> None:
        gang = self.spec.scheduling_policy.gang
        if gang is not None:
            check_number(gang.min_count, 1, INT32_MAX, where, "spec.schedulingPolicy.gang.minCount")
        mode = self.spec.disruption_mode
        if isinstance(mode, dict):  # v1beta1
            mode = self.spec.disruption_mode = WHOLE if "all" in mode else "Pod"
        check_choice(mode, ("", "Pod", WHOLE), where, "spec.disruptionMode")


register_namesake(PodGroup, GROUP, VERSION)
