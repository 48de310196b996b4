"""Steps offered for the rejections of each plugin."""

from __future__ import annotations

from collections.abc import Callable

from scheduler_core.config.policy_plugins import successor
from scheduler_core.debugger.suggestions import devices, evict_pods, labels, pod_constraints, requests, volumes
from scheduler_core.debugger.suggestions.node_context import Spot
from scheduler_core.debugger.suggestions.steps import POD, Raw, Step

Ways = Callable[[Spot], list[Step]]


def _gates(spot: Spot) -> list[Step]:
    gates = [gate.name for gate in spot.pod.pod.spec.scheduling_gates]
    named = ", ".join(gates)

    def edit(document: Raw) -> None:
        document["spec"].pop("schedulingGates", None)

    return [Step(f"remove scheduling gate{'s' if len(gates) > 1 else ''} {named}", POD, 0.5, edit)] if gates else []


def _group(spot: Spot) -> list[Step]:
    keys = [key for key in spot.pod.labels if key.startswith(("scheduling.x-k8s.io/", "pod-group.scheduling.sigs"))]

    def edit(document: Raw) -> None:
        for key in keys:
            document["metadata"]["labels"].pop(key, None)

    return [Step("run without its pod group", POD, 5.0, edit)] if keys else []


WAYS: dict[str, tuple[Ways, ...]] = {
    "SchedulingGates": (_gates,),
    "NodeResourcesFit": (requests.steps, evict_pods.room),
    "NodeAffinity": (labels.affinity,),
    "TaintToleration": (labels.taints,),
    "NodeUnschedulable": (labels.cordon,),
    "NodePorts": (pod_constraints.ports,),
    "PodTopologySpread": (pod_constraints.spread,),
    "InterPodAffinity": (pod_constraints.affinity,),
    "VolumeBinding": (volumes.volumes,),
    "VolumeZone": (volumes.volumes,),
    "VolumeRestrictions": (volumes.disk_users, volumes.volumes),
    "NodeVolumeLimits": (volumes.fewer_volumes, volumes.volumes),
    "EBSLimits": (volumes.fewer_volumes, volumes.volumes),
    "GCEPDLimits": (volumes.fewer_volumes, volumes.volumes),
    "AzureDiskLimits": (volumes.fewer_volumes, volumes.volumes),
    "CinderLimits": (volumes.fewer_volumes, volumes.volumes),
    "DynamicResources": (devices.steps,),
    "Coscheduling": (_group,),
    "": (labels.affinity, volumes.volumes),
}
_GENERAL = (*WAYS["NodeResourcesFit"], labels.affinity, pod_constraints.ports)


def ways_of(plugin: str) -> tuple[Ways, ...]:
    """Return the strategies for a plugin. A legacy predicate uses those of its successor."""
    return _GENERAL if plugin == "GeneralPredicates" else WAYS.get(successor(plugin), ())
