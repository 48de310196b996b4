"""Whether any change of a pod's own fields places it: asked of the scheduler, with a pod that wants next to nothing.

It shares no code with `scheduler_core.debugger.suggestions`, whose answers it is held against.
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
from tests.scheduler_core.debugger.remedied import Again

Raw = dict[str, Any]
NEVER = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")  # to tolerate these is no remedy
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
    """Every set of labels that could matter to pods that keep others away: of each label that they name, none, one of
    the values that they name, or another."""
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
class Relaxed:
    """`parts`: what of the pod has to be let go for it to be placed, none of it superfluous; empty if nothing helps.
    `in_the_way`: what is said then. `preempts`: the victims where with all of it let go it needs a high priority, too:
    then it is not placed by its cycle, but nominated."""

    parts: tuple[str, ...]
    in_the_way: str
    preempts: tuple[str, ...] = ()


def relaxed(again: Again, pod: str) -> Relaxed:
    """What of a pod's own fields has to be let go. `again`: gives the cluster before its cycle, each time anew."""
    parts = list(PARTS)
    trace = tried(again, pod, parts)
    if trace.result != "scheduled" and ANTI_AFFINITY in trace.message:
        for labels in labellings(again()):
            if tried(again, pod, parts, labels=labels).result == "scheduled":
                return Relaxed(("labels", *(part for part in parts if part != "labels")), "")
    if trace.result != "scheduled":
        high = tried(again, pod, parts, priority=HIGHEST)
        return Relaxed((), trace.message, (tuple(high.victims) or ("nobody",)) if _helped(high) else ())
    for part in list(PARTS):
        fewer = [other for other in parts if other != part]
        if tried(again, pod, fewer).result == "scheduled":
            parts = fewer
    return Relaxed(tuple(parts), "")


def _helped(trace: CycleTrace) -> bool:
    return trace.result == "scheduled" or bool(trace.nominated_node)


def tried(
    again: Again, pod: str, parts: list[str], priority: int | None = None, labels: dict[str, str] | None = None
) -> CycleTrace:
    """The cycle of the pod with these parts let go, with other labels; with preemption where a priority is given."""
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
