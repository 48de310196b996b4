"""Search for changes of a pod's own fields that place it: remove requirements and ask the scheduler.

Independent of `scheduler_core.debugger.suggestions`, whose results it checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import msgspec

from scheduler_core.api.objects import Pod, decode
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.debugger.mutations import Edit
from scheduler_core.simulation import Simulation
from tests.scheduler_core.debugger.suggestion_checks import Again

Raw = dict[str, Any]
NEVER = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")  # tolerating these is no fix
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
HIGHEST = 2_000_000_000
ANTI_AFFINITY = "existing pods anti-affinity"


def _containers(spec: Raw) -> list[Raw]:
    return [*spec.get("containers", []), *spec.get("initContainers", [])]


def _requests(pod: Raw, _: Simulation) -> None:
    for holder in (*_containers(pod["spec"]), pod["spec"]):
        for part in ("requests", "limits"):
            holder.get("resources", {}).pop(part, None)
    pod["spec"].pop("overhead", None)


def _ports(pod: Raw, _: Simulation) -> None:
    for container in _containers(pod["spec"]):
        container.pop("ports", None)


def _devices(pod: Raw, _: Simulation) -> None:
    pod["spec"].pop("resourceClaims", None)
    for container in _containers(pod["spec"]):
        container.get("resources", {}).pop("claims", None)


def _tolerations(pod: Raw, simulation: Simulation) -> None:
    taints = [taint for node in simulation.cluster.nodes.nodes for taint in node.spec.taints]
    keys = {taint.key for taint in taints} - set(NEVER) | {"node.kubernetes.io/unschedulable"}
    pod["spec"]["tolerations"] = [{"key": key, "operator": "Exists"} for key in sorted(keys)]


def _required(side: str) -> Callable[[Raw, Simulation], None]:
    def relax(pod: Raw, _: Simulation) -> None:
        (pod["spec"].get("affinity") or {}).get(side, {}).pop(REQUIRED, None)

    return relax


def _without(*fields: str) -> Callable[[Raw, Simulation], None]:
    def relax(pod: Raw, _: Simulation) -> None:
        for field in fields:
            pod["spec"].pop(field, None)

    return relax


def _labels(pod: Raw, _: Simulation) -> None:
    pod["metadata"].pop("labels", None)


def labellings(simulation: Simulation) -> Iterator[dict[str, str]]:
    """Return every relevant set of labels for pods with anti-affinity: for each label that they name, none, one of the
    named values, or another value.
    """
    values: dict[str, set[str]] = {}
    for pod in simulation.cluster.pods.values():
        anti = pod.pod.spec.affinity.pod_anti_affinity if pod.pod.spec.affinity else None
        for term in anti.required if anti else ():
            selector = term.label_selector
            for key, value in selector.match_labels.items() if selector else ():
                values.setdefault(key, {"another"}).add(value)
            for requirement in selector.match_expressions if selector else ():
                values.setdefault(requirement.key, {"another"}).update(requirement.values)
    for way in product(*[["", *sorted(known)] for known in values.values()]):
        yield {key: value for key, value in zip(values, way, strict=True) if value}


PARTS: dict[str, Callable[[Raw, Simulation], None]] = {
    "gates": _without("schedulingGates"),
    "nodeSelector": _without("nodeSelector"),
    "nodeAffinity": _required("nodeAffinity"),
    "podAffinity": _required("podAffinity"),
    "podAntiAffinity": _required("podAntiAffinity"),
    "spread": _without("topologySpreadConstraints"),
    "tolerations": _tolerations,
    "requests": _requests,
    "ports": _ports,
    "volumes": _without("volumes"),
    "devices": _devices,
    "labels": _labels,
}


@dataclass
class Relaxation:
    """`parts`: the minimal parts of the pod to remove so that it is placed, empty if nothing helps.
    `in_the_way`: the message then. `preempts`: the victims if the relaxed pod also needs a high priority. Such a pod is
    nominated, not placed by its cycle.
    """

    parts: tuple[str, ...]
    in_the_way: str
    preempts: tuple[str, ...] = ()


def relaxed(again: Again, pod: str) -> Relaxation:
    """Return the minimal relaxation of the pod. `again`: returns the cluster before its cycle, each time rebuilt."""
    parts = list(PARTS)
    trace = try_relaxed(again, pod, parts)
    if trace.result != "scheduled" and ANTI_AFFINITY in trace.message:
        for labels in labellings(again()):
            if try_relaxed(again, pod, parts, labels=labels).result == "scheduled":
                return Relaxation(("labels", *(part for part in parts if part != "labels")), "")
    if trace.result != "scheduled":
        high = try_relaxed(again, pod, parts, priority=HIGHEST)
        return Relaxation((), trace.message, (tuple(high.victims) or ("none",)) if _helped(high) else ())
    for part in list(PARTS):
        fewer = [other for other in parts if other != part]
        if try_relaxed(again, pod, fewer).result == "scheduled":
            parts = fewer
    return Relaxation(tuple(parts), "")


def _helped(trace: CycleTrace) -> bool:
    return trace.result == "scheduled" or bool(trace.nominated_node)


def try_relaxed(
    again: Again, pod: str, parts: list[str], priority: int | None = None, labels: dict[str, str] | None = None
) -> CycleTrace:
    """Run a cycle of the pod without these parts and with other labels. A priority enables preemption."""
    simulation = again()
    old = next(one for one in simulation.pending if one.key == pod)
    document = msgspec.to_builtins(old.pod)
    for part in parts:
        PARTS[part](document, simulation)
    if labels is not None:
        document["metadata"]["labels"] = labels
    if priority is not None:
        document["spec"] |= {"priority": priority, "preemptionPolicy": "PreemptLowerPriority"}
    changed = decode({"kind": "Pod", **document})
    assert isinstance(changed, Pod)
    simulation.to_try = [Edit(simulation).replace_pod(old, changed)]
    simulation.scheduler.preemption = priority is not None
    return next(iter(simulation.run()))
