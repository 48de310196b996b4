"""A run: a cluster, a configuration, pods to place in order, one recorded cycle each.

for trace in Simulation(objects, release="1.34").run(): ...
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.config import load_configuration
from scheduler_core.errors import InputError
from scheduler_core.framework.interface import Plugin
from scheduler_core.framework.picker import Picker
from scheduler_core.framework.runtime import Framework
from scheduler_core.objects import Object, decode_all
from scheduler_core.plugins import REGISTRY, known_plugins
from scheduler_core.releases import get_release
from scheduler_core.schedule_one import Scheduler
from scheduler_core.trace import CycleTrace

EPOCH = 1769904000.0  # 2026-02-01T00:00:00Z: the k-th placed pod counts as started k seconds later


class Simulation:
    """One run over a snapshot.

    `objects`: Kubernetes objects as dicts (or decoded already). `pods`: which pending pods to schedule, in order, as
    `namespace/name`; None for all pending pods of the configured schedulers, by priority and then as listed.
    `retry_preemptors`: a pod that preempted gets a second cycle at once, else its nomination is where it ends.
    `tie_break`: "seed" or "name". `percentage`: percentageOfNodesToScore, before the configuration's. `registry`: the
    plugins there are, out-of-tree ones included. Raises InputError for anything wrong with the input.
    """

    def __init__(
        self,
        objects: Sequence[Any],
        *,
        release: str = "1.34",
        config: str | bytes | dict[str, Any] | None = None,
        seed: int = 0,
        tie_break: str = "seed",
        preemption: bool = True,
        percentage: int | None = None,
        pods: Sequence[str] | None = None,
        retry_preemptors: bool = False,
        registry: Mapping[str, type[Plugin]] = REGISTRY,
        unknown_plugins: str = "error",
        timer: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        if tie_break not in ("seed", "name"):
            raise InputError("run", "tie_break", f"must be seed or name, got {tie_break!r}")
        if percentage is not None and not 0 <= percentage <= 100:
            raise InputError("run", "percentage", f"must be in 0..100, got {percentage}")
        self.release = get_release(release)
        self.configuration = load_configuration(
            config,
            self.release,
            known=known_plugins(registry),
            unknown="warn" if unknown_plugins == "warn" else "error",
        )
        self.warnings = list(self.configuration.warnings)
        self.cluster = Cluster(self.release)
        typed: list[Object] = [o for o in objects if isinstance(o, Object)]
        if len(typed) != len(objects):
            typed = decode_all(objects)
        pending = self.cluster.load(typed)
        picker = Picker(seed if tie_break == "seed" else None)
        profiles = {}
        for profile in self.configuration.profiles:
            share = percentage if percentage is not None else self.configuration.percentage_of_nodes_to_score
            framework = Framework(profile, registry, self.cluster, picker, share)
            if percentage is not None:
                framework.percentage = percentage
            profiles[profile.scheduler_name] = framework
        self.scheduler = Scheduler(self.cluster, profiles, preemption, timer)
        for pod in pending:
            if pod.nominated_node:
                self.cluster.nominator.nominate(pod, pod.nominated_node)
        self._pending = self._chosen(pending, pods)
        self.pending = pending  # all pods that are on no node, whoever is to schedule them
        self._placed = 0
        self._retry_preemptors = retry_preemptors

    def _chosen(self, pending: list[PodInfo], wanted: Sequence[str] | None) -> list[PodInfo]:
        profiles = self.scheduler.profiles
        if wanted is None:
            mine = [pod for pod in pending if pod.pod.spec.scheduler_name in profiles]
            return sorted(mine, key=lambda pod: -pod.priority)
        by_key = {pod.key: pod for pod in pending}
        chosen = []
        for key in wanted:
            found = by_key.get(key)
            if found is None:
                where = self.cluster.pods.get(key)
                raise InputError(
                    f"Pod {key}", "", f"already runs on {where.node}" if where else "is not among the pending pods"
                )
            if found.pod.spec.scheduler_name not in profiles:
                problem = f"no profile is named {found.pod.spec.scheduler_name!r}; there are {', '.join(profiles)}"
                raise InputError(f"Pod {key}", "spec.schedulerName", problem)
            chosen.append(found)
        return chosen

    @property
    def nodes(self) -> list[str]:
        """The nodes in the order of every column's rows."""
        return self.cluster.nodes.names

    @property
    def pods(self) -> list[str]:
        """The pods that will be scheduled, in order."""
        return [pod.key for pod in self._pending]

    def run(self) -> Iterator[CycleTrace]:
        """One cycle per pod. Between cycles placed pods run, victims are gone, preemptors are nominated."""
        for pod in self._pending:
            trace = self.scheduler.schedule_one(pod)
            self._settle(pod, trace)
            yield trace
            if self._retry_preemptors and trace.nominated_node:
                trace = self.scheduler.schedule_one(pod, attempt=2)
                self._settle(pod, trace)
                yield trace

    def _settle(self, pod: PodInfo, trace: CycleTrace) -> None:
        nominator = self.cluster.nominator
        if trace.result == "scheduled":
            self._placed += 1
            pod.start_time = EPOCH + self._placed
            return
        if trace.postfilter is None:
            return
        for key in trace.victims:
            self.cluster.remove_pod(self.cluster.pods[key])
        if trace.nominated_node:
            for other in nominator.on(trace.nominated_node):
                if other.priority < pod.priority:
                    nominator.forget(other)
                    other.nominated_node = ""
            pod.nominated_node = trace.nominated_node
            nominator.nominate(pod, trace.nominated_node)
        elif trace.postfilter.status is not None and trace.postfilter.status.rejected and pod.nominated_node:
            pod.nominated_node = ""
            nominator.forget(pod)
