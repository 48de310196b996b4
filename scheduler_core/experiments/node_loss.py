"""One drain or loss of some nodes: its changes as those of a fork, and what happens to each pod.

Drain: the nodes are cordoned and their pods evicted. Loss: the nodes and their pods are deleted. In both cases the pods
that have a controller are created again under the same name, and the scheduler tries them in queue order.

Source: staging/src/k8s.io/kubectl/pkg/drain (filters.go), pkg/controller/podgc.
"""

import gc
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from scheduler_core.api.objects import Object, PersistentVolumeClaim, Pod, PodStatus
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.controllers import device_claims
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.dra.claims import claims_used, owned
from scheduler_core.experiments.cell import Check
from scheduler_core.experiments.disruption_budgets import SEVERAL, DisruptionBudgets
from scheduler_core.experiments.loaded_cluster import LoadedCluster
from scheduler_core.forks.mutations import Change
from scheduler_core.forks.stages import Stage, plan_single_pass
from scheduler_core.simulation import Simulation

Raw = dict[str, Any]
Mode = Literal["drain", "loss"]

PLACED, PENDING, NOMINATED, PREEMPTED = "placed", "pending", "nominated", "preempted"
LOST, STAYS, ENDS, DELETING = "lost", "stays", "ends", "deleting"
OUTCOMES = {
    PENDING: "is created again and stays pending",
    NOMINATED: "is created again, preempts other pods and waits for their node",
    PREEMPTED: "runs on another node and is preempted",
    LOST: "has no controller that creates it again",
    PLACED: "is created again and placed",
    STAYS: "stays on the drained node: a pod of a DaemonSet or of the kubelet",
    ENDS: "ends with its node: a pod of a DaemonSet or of the kubelet",
    DELETING: "was being deleted before",
}
"""What can happen to a pod, the worst first."""
MAX_PODS = 3_000  # pods of one loss that its result lists
COLLECT_EVERY = 10  # losses
NOT_TRIED = "scheduler {scheduler} is not part of the run"


def loss_changes(simulation: Simulation, nodes: Sequence[str], mode: Mode) -> list[Raw]:
    """Return the changes of a fork that drains or deletes the nodes and creates their pods again, in queue order."""
    cluster = simulation.cluster
    changes: list[Raw] = []
    again: list[Pod] = []
    created: list[Raw] = []
    for node in nodes:
        pods = list(cluster.nodes.entries[node].pods.values())
        changes.append({"drain": node})
        for info in pods:
            if mode == "loss" and info.pod.stays_in_drain:
                changes.append(deletion("Pod", info.key))
            if info.pod.created_again:
                again.append(_pending(info.pod))
                created += _claims_again(cluster, info)
        if mode == "loss":
            changes.append(deletion("Node", node))
    return changes + created + create_again(simulation, [PodInfo(pod, cluster.release) for pod in again])


def create_again(simulation: Simulation, pods: list[PodInfo]) -> list[Raw]:
    """Return the changes of a fork that create deleted pods and their ResourceClaims again, in queue order."""
    cluster, created = simulation.cluster, list[Raw]()
    infos = simulation.in_queue_order(pods)
    known = dict(cluster.device_claims)
    for claim in [claim for info in infos for claim in claims_used(info, known) if owned(claim, info)]:
        del known[claim.key]  # it is deleted with its pod
    for info in infos:
        pod = replace(info.pod, status=PodStatus())
        for made in device_claims.make(pod, cluster.claim_templates, known):
            known[made.key] = made
            created.append({"create": _raw(made)})
        created.append({"create": _raw(pod)})
    return created


def _pending(pod: Pod) -> Pod:
    """Return the pod as its controller creates it. It has the same name, so that a comparison shows the move."""
    spec = replace(pod.spec, node_name="")
    status = PodStatus(resource_claim_statuses=pod.status.resource_claim_statuses)
    return replace(pod, metadata=replace(pod.metadata, finalizers=[]), spec=spec, status=status)


def _claims_again(cluster: Cluster, info: PodInfo) -> list[Raw]:
    """Return the changes that replace the claims of generic ephemeral volumes: they are deleted with their pod."""
    changes: list[Raw] = []
    for volume in info.volumes:
        claim = cluster.claims.get(f"{info.namespace}/{info.name}-{volume.name}") if volume.ephemeral else None
        if claim is None or claim.metadata.deletion_timestamp:
            continue
        changes.append(deletion("PersistentVolumeClaim", claim.key))
        template = (volume.ephemeral.volume_claim_template or {}) if volume.ephemeral else {}
        raw = _raw(replace(claim, metadata=replace(claim.metadata, annotations={})))
        changes.append({"create": raw | {"spec": template.get("spec") or {}, "status": {}}})
    return changes


def deletion(kind: str, key: str) -> Raw:
    """Return the change that deletes an object."""
    namespace, _, name = key.rpartition("/")
    return {"delete": {"kind": kind, "namespace": namespace, "name": name}}


def _raw(obj: Object) -> Raw:
    version = {Pod: "v1", PersistentVolumeClaim: "v1"}.get(type(obj), "resource.k8s.io/v1")
    return {"apiVersion": version, "kind": type(obj).__name__, **msgspec.to_builtins(obj)}


class NodeLosses:
    """Losses of nodes of a loaded cluster, each computed on its own. `workload_of`: pod -> its workload. `budgets`: for
    drains."""

    def __init__(
        self, loaded: LoadedCluster, mode: Mode, workload_of: Mapping[str, str], budgets: DisruptionBudgets | None
    ) -> None:
        self._loaded, self._mode, self._workload_of, self._budgets = loaded, mode, workload_of, budgets
        self._runs = 0

    def run(self, name: str, nodes: Sequence[str], check: Check) -> Raw:
        """Return the result of one loss, as docs/experiments.md describes it."""
        check()
        self._runs += 1
        if self._runs % COLLECT_EVERY == 0:
            gc.collect()  # restored clusters are in the oldest generation, which Python rarely collects
        simulation = self._loaded.continuation()
        there = [info for node in nodes for info in simulation.cluster.nodes.entries[node].pods.values()]
        was = {info.key: (info.node, info.pod) for info in there}
        evicted = [info for info in there if not info.pod.stays_in_drain]
        refused, needed = self._budgets.evict(evicted) if self._budgets is not None else ({}, {})
        changes = loss_changes(simulation, nodes, self._mode)
        stage = Stage(at=self._loaded.cycles + 1, changes=[msgspec.convert(one, Change) for one in changes])
        plan_single_pass(simulation, [stage], 0)
        traces: dict[str, CycleTrace] = {}
        for trace in simulation.run():
            check()
            traces[trace.pod] = trace
        pods = [self._row(key, node, pod, simulation, traces, refused) for key, (node, pod) in was.items()]
        victims = {victim: trace.pod for trace in traces.values() for victim in trace.victims}
        pods += self._preempted(victims, was)
        order = list(OUTCOMES)
        pods.sort(key=lambda row: (order.index(row["outcome"]), row["pod"]))
        workloads = Counter(row["workload"] for row in pods if row["outcome"] in (PENDING, PREEMPTED))
        found: Raw = {
            "name": name,
            "nodes": list(nodes),
            "pods": len(was),
            "counts": dict(Counter(row["outcome"] for row in pods)),
            "workloads": dict(workloads),
            "local_data": sum(_has_local_data(info.pod) for info in evicted),
            **listed(pods),
        }
        if self._budgets is not None:
            found["budgets"] = self._blocking(self._budgets, refused, needed, pods)
            found["blocked"] = len(refused)
        return found

    @staticmethod
    def _blocking(
        budgets: DisruptionBudgets, refused: Mapping[str, str], needed: Mapping[str, int], pods: Sequence[Raw]
    ) -> list[Raw]:
        """Return the budgets that refuse evictions. `blocks`: whether the drain never ends: the budget allows nothing,
        or pods that it counts stay pending. Otherwise the drain evicts its pods in turns."""
        stuck = {row["pod"] for row in pods if row["outcome"] in (PENDING, PREEMPTED, NOMINATED, LOST)}
        found: list[Raw] = []
        for state in budgets.states:
            if needed.get(state.key, 0) <= state.allowed:
                continue
            counted = {row["pod"] for row in pods if state.key in budgets.selecting(row["pod"])}
            blocks = state.allowed == 0 or bool(counted & stuck)
            numbers = {"allowed": state.allowed, "needed": needed[state.key], "blocks": blocks}
            found.append({"name": state.key, "text": state.text, **numbers})
        several = {name for pod, why in refused.items() if why == SEVERAL for name in budgets.selecting(pod)}
        found += [
            {"name": name, "text": SEVERAL, "allowed": 0, "needed": 0, "blocks": True} for name in sorted(several)
        ]
        return found

    def _row(
        self,
        key: str,
        node: str,
        pod: Pod,
        simulation: Simulation,
        traces: Mapping[str, CycleTrace],
        refused: Mapping[str, str],
    ) -> Raw:
        row: Raw = {"pod": key, "from": node, "workload": self._workload_of.get(key, key)}
        if key in refused:
            row["refused"] = refused[key]
        if not pod.stays_in_drain and _has_local_data(pod):
            row["local_data"] = True
        if pod.stays_in_drain:
            row["outcome"] = STAYS if self._mode == "drain" else ENDS
        elif pod.metadata.deletion_timestamp:
            row["outcome"] = DELETING
        elif not pod.created_again:
            row["outcome"] = LOST
        elif (placed := simulation.cluster.pods.get(key)) is not None:
            row |= {"outcome": PLACED, "to": placed.node}
        else:
            trace = traces.get(key)
            if trace is None:
                return row | {"outcome": PENDING, "reason": NOT_TRIED.format(scheduler=pod.spec.scheduler_name)}
            if trace.nominated_node:
                row |= {"outcome": NOMINATED, "to": trace.nominated_node, "victims": list(trace.victims)}
            elif trace.result == "scheduled":  # preempted by a later pod
                row |= {"outcome": PREEMPTED, "to": trace.node}
            else:
                row["outcome"] = PENDING
            held = trace.preenqueue.message if trace.preenqueue is not None else ""
            row["reason"] = held or trace.message or trace.error
        return row

    def _preempted(self, victims: Mapping[str, str], was: Mapping[str, Any]) -> list[Raw]:
        pods = self._loaded.end.cluster.pods
        return [
            {
                "pod": key,
                "from": pods[key].node,
                "workload": self._workload_of.get(key, key),
                "outcome": PREEMPTED,
                "by": by,
            }
            for key, by in victims.items()
            if key not in was and key in pods
        ]


def listed(rows: Sequence[Raw]) -> Raw:
    """Return the first MAX_PODS rows of pods, how many `more` there are, and the `reasons`: `why` of a row is an index
    into them, because many pods have the same one."""
    reasons: dict[str, int] = {}
    for row in rows:
        if reason := row.pop("reason", ""):
            row["why"] = reasons.setdefault(reason, len(reasons))
    return {"reasons": list(reasons), "rows": rows[:MAX_PODS], "more": max(0, len(rows) - MAX_PODS)}


def _has_local_data(pod: Pod) -> bool:
    return any(volume.empty_dir is not None for volume in pod.spec.volumes)
