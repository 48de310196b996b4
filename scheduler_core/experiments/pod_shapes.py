"""The pods of a simulation as shapes: what they request, and which nodes the Filter plugins allow them.

The model has what no order of placement changes: resources, the number of pods, host ports, anti-affinity of a pod with
its own kind on a node, and the verdicts of plugins that only become stricter when pods are added. All else, such as
topology spread, is outside, so every way to place the pods is also one in the model.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scheduler_core.cluster import resources
from scheduler_core.cluster.pod_info import EVERY_IP, PodInfo
from scheduler_core.dra import extended_resources
from scheduler_core.experiments.cell import Check
from scheduler_core.experiments.node_catalog import HOSTNAME
from scheduler_core.experiments.purchase_model import Bool, Int64
from scheduler_core.framework.interface import CycleState, Status
from scheduler_core.framework.runtime import Framework
from scheduler_core.metrics.node_resources import PODS
from scheduler_core.plugins.node_resources_fit import NodeResourcesFit
from scheduler_core.search.headroom import FITS
from scheduler_core.simulation import Simulation

MAX_EXCLUSIVE = 200  # host ports and anti-affinity terms in the model
MONOTONE = frozenset(
    {
        *("NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit"),
        *("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"),
        *("EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits"),
        *("PodFitsResources", "HostName", "PodFitsHostPorts", "MatchNodeSelector", "GeneralPredicates"),
        *("CheckNodeUnschedulable", "PodToleratesNodeTaints", "CheckNodeCondition", "NoDiskConflict"),
        *("CheckVolumeBinding", "NoVolumeZoneConflict", "MaxEBSVolumeCount", "MaxGCEPDVolumeCount"),
        *("MaxAzureDiskVolumeCount", "MaxCinderVolumeCount", "MaxCSIVolumeCountPred"),
    }
)
"""Plugins and predicates that refuse a node for good: no pod that is added makes it feasible."""
PER_NODE = frozenset({"InterPodAffinity", "MatchInterPodAffinity"})  # the same, for pods without required affinity


@dataclass
class Shapes:
    """Shapes of pods. `members`: the pods of each shape in queue order. `resources`: the columns of `requests`, whose
    rows are shapes. `allowed`: shapes x rows of the node table. `reasons`: of each shape, why each of `samples` (rows)
    refuses it, "" if it does not."""

    members: list[list[PodInfo]]
    resources: list[Hashable]
    requests: Int64
    allowed: Bool
    reasons: list[list[str]]

    @property
    def demand(self) -> Int64:
        """The number of pods of each shape."""
        return np.array([len(pods) for pods in self.members], np.int64)

    def free(self, simulation: Simulation, rows: Sequence[int]) -> Int64:
        """Return the free quantity of each resource on nodes, rows x resources."""
        nodes = simulation.cluster.nodes
        found = np.zeros((len(rows), len(self.resources)), np.int64)
        at = np.array(rows, np.intp)
        for column, resource in enumerate(self.resources):
            if not isinstance(resource, str):
                found[:, column] = 1  # what only one pod of a node can have
            elif resource == PODS:
                found[:, column] = (nodes.allowed_pods - nodes.pod_count)[at]
            elif resource in nodes.allocatable:
                found[:, column] = (nodes.allocatable[resource] - nodes.requested[resource])[at]
        return found


def shapes_of(simulation: Simulation, pods: Sequence[PodInfo], samples: Sequence[int], check: Check) -> Shapes:
    """Return the shapes of pending pods, in queue order. `samples`: rows of empty nodes, one of each node type."""
    simulation.cluster.nodes.refresh()
    known = (*simulation.cluster.pods.values(), *pods)
    labels_count = any(pod.required_anti_affinity for pod in known)
    classes: dict[Hashable, list[PodInfo]] = {}  # pods that all plugins of the model treat alike
    exclusive = Counter[Hashable]()
    for pod in pods:
        check()
        alone = _exclusive(simulation.scheduler.framework_of(pod), pod)
        exclusive.update(alone)
        classes.setdefault(_key(pod, alone, labels_count), []).append(pod)
    kept = {one for one, count in exclusive.most_common(MAX_EXCLUSIVE) if count > 1}
    merged: dict[Hashable, tuple[dict[Hashable, int], list[PodInfo], Bool, list[str]]] = {}
    for alike in classes.values():
        check()
        framework = simulation.scheduler.framework_of(alike[0])
        alone = [one for one in _exclusive(framework, alike[0]) if one in kept]
        needs = _needs(simulation, framework, alike[0]) | dict.fromkeys(alone, 1)
        allowed, reasons = _verdicts(simulation, alike[0], samples)
        key = tuple(sorted(needs.items(), key=repr)), allowed.tobytes()
        merged.setdefault(key, (needs, [], allowed, reasons))[1].extend(alike)
    order = {pod.key: number for number, pod in enumerate(pods)}
    rows = list(merged.values())
    names = sorted({name for needs, *_ in rows for name in needs}, key=repr)
    requests = np.array([[needs.get(name, 0) for name in names] for needs, *_ in rows], np.int64)
    return Shapes(
        [sorted(members, key=lambda pod: order[pod.key]) for _, members, _, _ in rows],
        names,
        requests.reshape(len(rows), len(names)),
        np.array([allowed for *_, allowed, _ in rows], np.bool_).reshape(len(rows), len(simulation.cluster.nodes)),
        [reasons for *_, reasons in rows],
    )


def _key(pod: PodInfo, alone: Sequence[Hashable], labels_count: bool) -> Hashable:
    """Return a key that is equal for pods which the plugins of the model treat alike."""
    identity: tuple[Hashable, ...] = (pod.key,) if pod.volumes else ()
    if labels_count:
        terms = tuple(term.key for term in pod.required_anti_affinity)
        identity += (pod.namespace, tuple(sorted(pod.pod.metadata.labels.items())), terms)
    return (
        *(pod.pod.spec.scheduler_name, pod.node_selection, pod.tolerations, pod.host_ports),
        *(tuple(sorted(pod.requests.items())), tuple(sorted(pod.held.items())), tuple(alone)),
        *(bool(pod.required_affinity), identity),
    )


def _needs(simulation: Simulation, framework: Framework, pod: PodInfo) -> dict[Hashable, int]:
    """Return what the pod takes of a node, as NodeResourcesFit or the predicate of an old release counts it."""
    fit = next((plugin for plugin in framework.filter if plugin.name in FITS), None)
    if fit is None:
        return {}
    names = [name for name, amount in fit.resources_needed(pod)] if isinstance(fit, NodeResourcesFit) else pod.held
    needs: dict[Hashable, int] = {PODS: 1}
    for name in names:
        devices = resources.is_extended(name) and extended_resources.class_of(simulation.cluster, name) is not None
        if pod.held.get(name, 0) > 0 and not devices:
            needs[name] = pod.held[name]
    return needs


def _exclusive(framework: Framework, pod: PodInfo) -> list[Hashable]:
    """Return what the pod has of which no two pods of a node can have the same: host ports on every address, and a
    required anti-affinity by host name that matches the pod itself."""
    found: list[Hashable] = []
    active = {plugin.name for plugin in framework.filter}
    if pod.host_ports and active & {"NodePorts", "PodFitsHostPorts", "GeneralPredicates"}:
        found += [("port", protocol, port) for ip, protocol, port in pod.host_ports if ip == EVERY_IP]
    if pod.required_anti_affinity and active & PER_NODE:
        for term in pod.required_anti_affinity:
            mine = pod.namespace in term.namespaces and term.selector.matches(pod.pod.metadata.labels)
            if term.topology_key == HOSTNAME and mine:
                found.append(("anti", term.key))
    return found


def _verdicts(simulation: Simulation, pod: PodInfo, samples: Sequence[int]) -> tuple[Bool, list[str]]:
    """Return which nodes the plugins of the model allow the pod, and why each sample refuses it."""
    framework, state = simulation.scheduler.framework_of(pod), CycleState()
    table = simulation.cluster.nodes
    allowed = np.ones(len(table), np.bool_)
    reasons = [""] * len(samples)

    def refuse(status: Status, plugin: str, mask: Any) -> None:
        for number, row in enumerate(samples):
            if mask[row] and not reasons[number]:
                reasons[number] = f"{plugin}: {status.message}"
        allowed[mask] = False

    names = MONOTONE if pod.required_affinity else MONOTONE | PER_NODE
    for plugin in framework.pre_filter:
        outcome = plugin.pre_filter(state, pod) if plugin.name in names else None
        if isinstance(outcome, Status):
            if outcome.rejected or outcome.code == "Error":
                refuse(outcome, plugin.name, np.ones(len(table), np.bool_))
            else:
                state.skip_filter |= {plugin.name}
        elif outcome is not None and outcome.node_names is not None:
            mask = np.ones(len(table), np.bool_)
            mask[[table.rows[name] for name in outcome.node_names if name in table.rows]] = False
            refuse(Status("", ("selects nodes by name",)), plugin.name, mask)
    if not allowed.any():
        return allowed, reasons
    for check in framework.filter:
        if check.name in names and check.name not in state.skip_filter:
            verdict = check.filter(state, pod)
            if verdict.codes is not None:
                for code, status in enumerate(verdict.statuses, 1):
                    refuse(status, check.name, verdict.codes == code)
    return allowed, reasons
