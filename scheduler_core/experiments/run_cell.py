"""Runs a cell, in a single pass or in virtual time, without a recording, and computes its metrics."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from scheduler_core.api.objects import Pod
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.experiments.cell import Cell, Check, Result
from scheduler_core.experiments.outcomes import EVICTED, PodOutcome
from scheduler_core.experiments.scenario_input import ScenarioInput
from scheduler_core.forks.mutations import read_changes
from scheduler_core.framework.interface import WAIT
from scheduler_core.metrics.cluster_metrics import cluster_metrics
from scheduler_core.metrics.groups import workloads
from scheduler_core.metrics.node_resources import Requests
from scheduler_core.metrics.waits import wait_metrics
from scheduler_core.virtual_time.engine import Record
from scheduler_core.virtual_time.scenario import Reference
from scheduler_core.virtual_time.scenario_run import ScenarioRun

MAX_REASONS = 20
REASON_LENGTH = 200
NOT_TRIED = ("", "not tried before the end of the run")


@dataclass
class RunOutcome:
    """A run and what came of it. `cluster`: at the end. `outcomes`: of the pods that the run tried to schedule, and of
    those that were evicted. `bottlenecks`: of the pending pods, (plugin, reason). `disturbed`: pods that lost their
    node. `requests`, `priorities`, `workload_of`: of all pods that existed. `metrics`: those that do not follow from
    the cluster."""

    cluster: Cluster
    outcomes: dict[str, PodOutcome] = field(default_factory=dict)
    bottlenecks: dict[str, tuple[str, str]] = field(default_factory=dict)
    disturbed: set[str] = field(default_factory=set)
    requests: dict[str, Requests] = field(default_factory=dict)
    priorities: dict[str, int] = field(default_factory=dict)
    workload_of: Mapping[str, str] = field(default_factory=dict)
    preemptions: int = 0
    metrics: dict[str, float] = field(default_factory=dict)

    def place(self, pod: str, node: str) -> None:
        """Set the node of a pod."""
        self.outcomes[pod] = PodOutcome(node)
        self.bottlenecks.pop(pod, None)

    def leave_pending(self, pod: str, bottleneck: tuple[str, str]) -> None:
        """Set the reason why a pod is pending."""
        self.bottlenecks[pod] = bottleneck
        self.outcomes[pod] = PodOutcome("", ": ".join(filter(None, bottleneck)))

    def evict(self, pod: str) -> None:
        """Note that a pod lost its node."""
        self.outcomes[pod] = PodOutcome("", EVICTED)
        self.bottlenecks.pop(pod, None)
        self.disturbed.add(pod)

    def exists(self, pods: Iterable[PodInfo]) -> None:
        """Note pods. The requests of those that belong to a node do not count."""
        for pod in pods:
            self.priorities[pod.key] = pod.priority
            if not pod.pod.stays_in_drain:
                self.requests[pod.key] = pod.requests


def run_of(scenario: ScenarioInput, cell: Cell, check: Check) -> RunOutcome:
    """Run a cell to its end. Raises InputError."""
    return run_in_virtual_time(scenario, cell, check) if cell.virtual_time else run_single_pass(scenario, cell, check)


def result_of(run: RunOutcome) -> Result:
    """Return the result of a finished run: `metrics`, `fullness`, `skews` and `unit` (`cluster_metrics`), and
    `bottlenecks` (plugin, reason, number of pods)."""
    pending = Counter(run.bottlenecks.values())
    plugins = Counter[str]()
    for (plugin, _), count in pending.items():
        plugins[plugin or "other"] += count
    result = cluster_metrics(run.cluster, list(run.requests.values()), run.workload_of)
    result["metrics"] = {
        "placed": sum(bool(outcome.node) for outcome in run.outcomes.values()),
        "pending": len(run.bottlenecks),
        "nominated": len(run.cluster.nominator.nominations()),
        **{f"pending_by:{plugin}": count for plugin, count in sorted(plugins.items())},
        **result["metrics"],
        "preemptions": run.preemptions,
        "disturbed": len(run.disturbed),
        **run.metrics,
    }
    ranked = sorted(pending.items(), key=lambda item: (-item[1], item[0]))[:MAX_REASONS]
    result["bottlenecks"] = [[plugin, reason, count] for (plugin, reason), count in ranked]
    return result


# ---- single pass


def run_single_pass(scenario: ScenarioInput, cell: Cell, check: Check) -> RunOutcome:
    """Run a cell in a single pass. Raises InputError."""
    simulation = scenario.simulation(cell)
    cluster, names = simulation.cluster, scenario.stable_names(cell)
    run = RunOutcome(cluster, workload_of=scenario.workload_of(cell))
    run.exists(simulation.pending)
    run.exists(cluster.pods.values())
    before = list(cluster.pods)
    for trace in simulation.run():
        check()
        pod = names.get(trace.pod, trace.pod)
        if trace.placed_on:
            run.place(pod, trace.placed_on)
        else:
            run.leave_pending(pod, bottleneck_of(trace))
        run.preemptions += bool(trace.victims)
    deleted = {f"{one.namespace or 'default'}/{one.name}" for one in _deleted(cell) if one.kind == "Pod"}
    for pod in before:
        if pod not in cluster.pods and pod not in deleted:
            run.evict(pod)
    there = {names.get(pod, pod) for pod in cluster.pods}
    for pod in [pod for pod, outcome in run.outcomes.items() if outcome.node and pod not in there]:
        run.evict(pod)
    return run


def _deleted(cell: Cell) -> Iterable[Reference]:
    return (change.delete for change in read_changes(cell.changes) if change.delete is not None)


def bottleneck_of(trace: CycleTrace) -> tuple[str, str]:
    """Return the (plugin, reason) that kept the pod of a cycle pending."""
    for status in (trace.reserve, trace.permit, trace.prebind, trace.bind):
        if status is not None and status.code != WAIT:
            return status.plugin, status.message[:REASON_LENGTH]
    plugin, reason = _excluding(trace)
    return plugin, reason[:REASON_LENGTH]


def _excluding(trace: CycleTrace) -> tuple[str, str]:
    """Return the (plugin, reason) that excludes a pending pod from most nodes.

    Nodes that only one plugin rejects count; if there are none, the first plugin that rejects each node.
    """
    whole = trace.preenqueue or trace.prefilter
    if whole is not None:
        return whole.plugin, whole.message
    alone: Counter[tuple[str, str]] = Counter()
    codes = {plugin: verdict.codes for plugin, verdict in trace.verdicts.items() if verdict.codes is not None}
    number = sum((column > 0 for column in codes.values()), np.zeros(trace.nodes, np.int64))
    for plugin, column in codes.items():
        for code, status in enumerate(trace.verdicts[plugin].statuses, 1):
            count = int(((column == code) & (number == 1)).sum())
            if count:
                alone[plugin, status.message] += count
    if alone:
        return alone.most_common(1)[0][0]
    decisive: Counter[tuple[str, str]] = Counter()
    for status, rows in trace.decisive_statuses():
        decisive[status.plugin, status.message] += len(rows)
    return decisive.most_common(1)[0][0] if decisive else ("", trace.message or trace.error)


# ---- virtual time


def run_in_virtual_time(scenario: ScenarioInput, cell: Cell, check: Check) -> RunOutcome:
    """Run a cell in virtual time. Raises InputError."""
    started = scenario.virtual_time_run(cell)
    observer = _Observer(started)
    for record in started.run():
        check()
        observer.observe(record)
    return observer.finish()


class _Observer:
    """Follows the records of a run in virtual time.

    `_created`: waiting pod -> when it was created. `_reasons`: pod -> bottleneck of its last attempt that failed.
    """

    def __init__(self, started: ScenarioRun) -> None:
        self.started, self.api = started, started.api
        self.run = RunOutcome(started.simulation.cluster)
        self.run.exists(self.api.pods.values())
        self.pods: dict[str, Pod] = {pod.key: pod.pod for pod in self.api.pods.values()}
        self.waits: list[tuple[int, float]] = []
        self.attempts = self.wasted = 0
        self.first: float | None = None
        self.drained = 0.0
        self._created: dict[str, float] = {}
        self._reasons: dict[str, tuple[str, str]] = {}

    def observe(self, record: Record) -> None:
        """Count a record."""
        data, run = record.data, self.run
        match record.kind:
            case "pod.created":
                self._appeared(data["pod"], record.time, bool(data["node"]))
            case "attempt":
                assert record.trace is not None
                self.attempts += 1
                run.preemptions += bool(record.trace.victims)
                if not record.trace.placed_on:
                    self.wasted += 1
                    self._reasons[record.trace.pod] = bottleneck_of(record.trace)
            case "permit.rejected" | "bind.failed":
                self.wasted += 1
                plugin = (data.get("plugins") or [""])[0]
                self._reasons[data["pod"]] = (plugin, str(data["message"])[:REASON_LENGTH])
            case "pod.bound":
                run.place(data["pod"], data["node"])
                pod = self.pods.get(data["pod"])
                created = self._leave_queue(data["pod"], record.time)
                if pod is not None and created is not None:
                    self.waits.append((pod.spec.priority or 0, record.time - created))
            case "pod.evicted":
                run.evict(data["pod"])
            case "pod.deleted":
                if self._leave_queue(data["pod"], record.time) is not None:
                    run.outcomes.pop(data["pod"], None)

    def _appeared(self, key: str, now: float, bound: bool) -> None:
        info = self.api.pods.get(key)
        if info is None:  # created and deleted in the same instant
            return
        self.pods[key] = info.pod
        self.run.exists([info])
        self.run.outcomes.pop(key, None)
        if not bound and info.pod.spec.scheduler_name in self.started.simulation.scheduler.profiles:
            self._created[key] = now
            self.first = now if self.first is None else self.first

    def _leave_queue(self, key: str, now: float) -> float | None:
        """Return when a waiting pod was created; None if it did not wait."""
        created = self._created.pop(key, None)
        self._reasons.pop(key, None)
        if created is not None and not self._created:
            self.drained = now
        return created

    def finish(self) -> RunOutcome:
        """Return the outcome at the end."""
        run, queue = self.run, self.started.engine.queue
        for key in self._created:
            queued = queue.get(key)
            gate = queued.gating_plugin if queued is not None else ""
            run.leave_pending(key, self._reasons.get(key) or ((gate, "gated") if gate else NOT_TRIED))
        run.workload_of = workloads(self.pods.values())
        run.metrics = {"attempts": self.attempts, "wasted_attempts": self.wasted, **wait_metrics(self.waits)}
        if self.first is not None and not self._created:
            run.metrics["drain_seconds"] = round(self.drained - self.first, 6)
        return run
