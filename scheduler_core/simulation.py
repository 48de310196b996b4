"""A single-pass run: a cluster, a configuration and pods to schedule in order, with one recorded cycle each.

for trace in Simulation(objects, release="1.34").run(): ...
"""

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from scheduler_core.api.objects import Object, decode_all
from scheduler_core.cluster.change_log import BOUND, GONE, TRIED
from scheduler_core.cluster.cluster import START_OF_2026_FEBRUARY, Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.config import Configuration, Unknown
from scheduler_core.config.loader import load
from scheduler_core.cycle.schedule_one import Scheduler
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.errors import InputError
from scheduler_core.framework.equivalence import share_keys
from scheduler_core.framework.interface import SUCCESS, CycleState, Plugin
from scheduler_core.framework.plugin_kinds import kind_warnings
from scheduler_core.framework.runtime import Framework
from scheduler_core.framework.tie_break import Picker
from scheduler_core.framework.waiting_pods import timeout_message
from scheduler_core.legacy.algorithms import ALGORITHMS
from scheduler_core.legacy.framework import LegacyFramework
from scheduler_core.legacy.generic_scheduler import GenericScheduler
from scheduler_core.plugins import PLUGINS
from scheduler_core.pod_groups.group_cycle import GroupScheduler
from scheduler_core.pod_groups.trace import GroupTrace, condition_of
from scheduler_core.preemption.victims import clears_nominations
from scheduler_core.releases import NEWEST, Release, get_release

START_TIME_BASE = START_OF_2026_FEBRUARY  # the k-th placed pod has a start time k seconds later


class _WaitingPod(NamedTuple):
    """A pod held by Permit plugins, with the state of its scheduling cycle."""

    framework: Framework
    state: CycleState
    pod: PodInfo
    trace: CycleTrace


class Simulation:
    """A single-pass run. It takes objects unchanged; `snapshot.prepare` prepares those of a snapshot.

    `objects`: Kubernetes objects as dicts or decoded. `config`: a configuration, as text or loaded. `pods`: the pending
    pods to schedule, in order, as `namespace/name`; None for all pending pods of the configured schedulers that are not
    being deleted, by priority and then as listed. `retry_preemptors`: a pod that preempted gets a second cycle at once;
    otherwise it ends nominated. `retry_groups`: a group is tried again for each of its pods that is still pending;
    otherwise once. `tie_break`: "seed" or "name". `percentage`: percentageOfNodesToScore, which overrides the
    configuration. `registry`: the available plugins, including out-of-tree ones. `unknown_plugins`: whether other
    plugins that the configuration enables are an error or left out. `cluster`: the cluster into which the objects are
    loaded; an empty one by default. Raises InputError for any invalid input.

    A pod held by Permit stays assumed on its node. Its cycle is yielded when the pod is bound or rejected. No time
    passes: pods that still wait after all pods were tried are rejected with a timeout.
    """

    def __init__(
        self,
        objects: Sequence[Any],
        *,
        release: str | Release = NEWEST,
        config: str | bytes | dict[str, Any] | Configuration | None = None,
        seed: int = 0,
        tie_break: str = "seed",
        preemption: bool = True,
        percentage: int | None = None,
        pods: Sequence[str] | None = None,
        retry_preemptors: bool = False,
        retry_groups: bool = False,
        registry: Mapping[str, type[Plugin]] = PLUGINS,
        unknown_plugins: Unknown = "error",
        timer: Callable[[], int] = time.perf_counter_ns,
        cluster: Cluster | None = None,
    ) -> None:
        if tie_break not in ("seed", "name"):
            raise InputError("run", "tie_break", f"must be seed or name, got {tie_break!r}")
        if percentage is not None and not 0 <= percentage <= 100:
            raise InputError("run", "percentage", f"must be in 0..100, got {percentage}")
        self.release = get_release(release)
        if isinstance(config, Configuration):
            self.configuration = config
        else:
            self.configuration = load(config, self.release, registry, unknown_plugins)
        self.warnings = list(self.configuration.warnings)
        self.cluster = cluster if cluster is not None else Cluster(self.release)
        typed: list[Object] = [o for o in objects if isinstance(o, Object)]
        if len(typed) != len(objects):
            typed = decode_all(objects)
        self.warnings += kind_warnings(self.configuration.profiles, typed) if cluster is None else []
        pending = self.cluster.load(typed)
        self.registry = ALGORITHMS if self.release.predicates else registry
        profiles = self.frameworks(seed if tie_break == "seed" else None, percentage)
        make = GenericScheduler if self.release.predicates else Scheduler
        self.scheduler = make(self.cluster, profiles, preemption, timer)
        for pod in pending:
            if pod.nominated_node:
                self.cluster.nominator.nominate(pod, pod.nominated_node)
        self.pending = pending  # all pods without a node, of every scheduler
        for framework in profiles.values():
            framework.list_pods = self._all_pods
        self.to_try = self._chosen(pending, pods)  # in order
        self.stages: dict[int, list[Callable[[], None]]] = {}  # cycle number -> what to call before that cycle
        self._waiting: dict[str, _WaitingPod] = {}
        self._first_tried: dict[str, int] = {}  # pods of groups, in the order of their first attempt
        self._scheduled_groups: dict[str, dict[str, str]] = {}  # group -> its condition, once it is scheduled
        self.placed = 0  # cycles that placed a pod
        self.activated: dict[str, list[str]] = {}  # waiting pod -> the pods that Permit activated with it
        self.timing_out = False  # all pods were tried; those that still wait time out
        self._retry_preemptors = retry_preemptors
        self._retry_groups = retry_groups
        self.group: GroupTrace | None = None  # the group whose member cycles `run` yields

    def frameworks(self, seed: int | None, percentage: int | None) -> dict[str, Framework]:
        """Return the frameworks of the configuration by scheduler name. `seed`: None breaks ties by name."""
        picker, profiles = Picker(seed), {}
        for profile in self.configuration.profiles:
            share = percentage if percentage is not None else self.configuration.percentage_of_nodes_to_score
            make = LegacyFramework if self.release.predicates else Framework
            framework = make(profile, self.registry, self.cluster, picker, share)
            if percentage is not None:
                framework.percentage = percentage
            profiles[profile.scheduler_name] = framework
        return profiles

    def _chosen(self, pending: list[PodInfo], wanted: Sequence[str] | None) -> list[PodInfo]:
        profiles = self.scheduler.profiles
        if wanted is None:
            # Source: pkg/scheduler/schedule_one.go (skipPodSchedule)
            mine = [p for p in pending if p.pod.spec.scheduler_name in profiles and not p.terminating]
            return self.in_queue_order(mine)
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

    def in_queue_order(self, pods: list[PodInfo]) -> list[PodInfo]:
        """Sort pods, given as listed, in the order in which the queue pops them."""
        sort = next(iter(self.scheduler.profiles.values())).queue_sort
        keys = {pod.key: sort.sort_key(pod, float(index)) for index, pod in enumerate(pods)}
        return sorted(pods, key=lambda pod: keys[pod.key])

    def sort_pods(self) -> None:
        """Sort the pods to schedule, which the caller named in any order, in queue order."""
        chosen = {pod.key for pod in self.to_try}
        self.to_try = self.in_queue_order([pod for pod in self.pending if pod.key in chosen])

    @property
    def nodes(self) -> list[str]:
        """The nodes in the row order of all columns."""
        return self.cluster.nodes.names

    @property
    def pods(self) -> list[str]:
        """The pods to schedule, in order."""
        return [pod.key for pod in self.to_try]

    def _all_pods(self) -> Iterable[PodInfo]:
        known = {pod.key for pod in self.pending}
        yield from (self.cluster.pods.get(pod.key, pod) for pod in self.pending)
        yield from (pod for key, pod in self.cluster.pods.items() if key not in known)

    def run(self) -> Iterator[CycleTrace]:
        """Yield one cycle per pod. The cycles of a group's members follow each other.

        Before the next cycle, placed pods run, victims are removed and preemptors are nominated.
        """
        for group_trace in self.attempts():
            if isinstance(group_trace, GroupTrace):
                self.group = group_trace
                yield from self._members_of(group_trace)
                self.group = None
            else:
                yield group_trace

    def _members_of(self, group_trace: GroupTrace) -> Iterator[CycleTrace]:
        """Yield the members' cycles and write the journal.

        The journal has each member's cycle after the placements of the members before it. The changes of the group as a
        whole are journaled with the last member.
        """
        journal = self.cluster.journal
        for member in group_trace.members:
            journal.note(TRIED, member.trace.pod)
            journal.put(member.changes)
            if member is group_trace.members[-1]:
                journal.put(group_trace.changes)
                for one in group_trace.members:
                    if one.trace.result == "scheduled":
                        journal.note(BOUND, self.cluster.pods[one.trace.pod])
            yield member.trace

    def attempts(self) -> Iterator[CycleTrace | GroupTrace]:
        """Yield the cycles as `run` does, but one GroupTrace for the cycle of a group."""
        if not self.release.predicates:
            share_keys(self.to_try)
        done = 0
        while True:
            if done == len(self.to_try):
                yield from self._time_out()
            if self.stages and (stages := self.stages.pop(self.scheduler.cycles + 1, None)):
                del self.to_try[:done]
                done = 0
                for stage in stages:
                    stage()
            if done == len(self.to_try):
                break
            pod = self.to_try[done]
            done += 1
            if pod.key in self.cluster.pods:
                continue  # placed with its group
            if self.release.pod_groups and pod.pod.spec.scheduling_group is not None:
                yield from self._try_group_of(pod)
                continue
            trace = yield from self._try(pod, 1)
            if self._retry_preemptors and trace.nominated_node:
                yield from self._try(pod, 2)

    def _try(self, pod: PodInfo, attempt: int) -> Generator[CycleTrace, None, CycleTrace]:
        """Run a cycle. Yield its trace unless Permit holds the pod, and the traces of waiting pods decided by it."""
        self.cluster.journal.note(TRIED, pod.key)
        framework, state, trace = self.scheduler.try_pod(pod, attempt)
        if trace.result == "waiting":
            framework.waiting_pods.add(pod, trace.node, trace.permit_waits)
            self._waiting[pod.key] = _WaitingPod(framework, state, pod, trace)
            if state.to_activate:
                self.activated[pod.key] = state.to_activate
        else:
            alone = not self._waiting
            if trace.result == "scheduled":
                if not alone:  # the pods that it releases are bound before it
                    yield from self._decided()
                self.scheduler.binding_cycle(framework, state, pod, trace)
            self._settle(pod, trace, logged=alone)
            yield trace
        if self._waiting:
            yield from self._decided()
        return trace

    def _try_group_of(self, pod: PodInfo) -> Iterator[CycleTrace | GroupTrace]:
        if pod.key in self._first_tried and not self._retry_groups:
            return  # tried with its group
        group_trace = self._try_group(pod)
        yield group_trace
        if self._retry_preemptors and isinstance(group_trace, GroupTrace) and group_trace.waits_for_preemption:
            yield self._try_group(pod)

    def _try_group(self, popped: PodInfo) -> CycleTrace | GroupTrace:
        """Run a cycle of the pod's group; for a gated pod, run its own cycle."""
        framework = self.scheduler.framework_of(popped)
        key = popped.group
        group = self.cluster.scheduling_groups.get(key)
        own = self.scheduler.profiles
        waiting = [p for p in self.pending if p.key not in self.cluster.pods and not p.terminating]
        waiting = [p for p in waiting if p.pod.spec.scheduler_name in own and p.group == key]
        held = framework.run_pre_enqueue(popped)
        if held is None and self.release.groups_are_queued:  # a gated pod gates its group
            statuses = [self.scheduler.framework_of(pod).run_pre_enqueue(pod) for pod in waiting]
            held = next((status for status in statuses if status is not None), None)
        if held is not None or group is None:
            self.cluster.journal.note(TRIED, popped.key)
            trace = self.scheduler.begin(popped, 1)
            trace.preenqueue, trace.result = held, "gated"
            return trace
        group_trace = GroupTrace(key, popped.key, group.spec)
        before = self.cluster.journal.take()
        members = waiting  # from 1.37 on, in the order of their arrival
        if not self.release.groups_are_queued:
            members = sorted(members, key=lambda pod: (pod is not popped, pod.key))
        group_trace.held = {p.key: status for p in members if (status := framework.run_pre_enqueue(p)) is not None}
        members = [pod for pod in members if pod.key not in group_trace.held]
        for pod in members:
            self._first_tried.setdefault(pod.key, len(self._first_tried))
        scheduling = GroupScheduler(self.scheduler, framework, group)
        members.sort(key=lambda pod: (-pod.priority, self._first_tried[pod.key]))
        for one in scheduling.schedule_group(members, group_trace, self._evict):
            trace = one.member.trace
            if trace.result == "scheduled":
                self.placed += 1
                self._start(one.pod)
                continue
            self.cluster.nominator.forget(one.pod)
            one.pod.nominated_node = one.member.nominated
            if one.member.nominated:
                self.cluster.nominator.nominate(one.pod, one.member.nominated)
        if group_trace.status.code == SUCCESS:
            self._scheduled_groups[key] = condition_of(group_trace.status)
        # once true, the condition stays true
        group_trace.condition = self._scheduled_groups.get(key) or condition_of(group_trace.status)
        group_trace.changes += self.cluster.journal.take()
        self.cluster.journal.put(before)
        return group_trace

    def _evict(self, key: str) -> None:
        self.cluster.remove_pod(self.cluster.pods[key])
        self.cluster.journal.note(GONE, key)

    def _decided(self) -> Iterator[CycleTrace]:
        """Finish the pods that Permit no longer holds. A rejection can decide further pods."""
        for framework in self.scheduler.profiles.values():
            while decided := framework.waiting_pods.take_decided():
                for waiting in decided:
                    _, state, pod, trace = self._waiting.pop(waiting.pod.key)
                    if waiting.rejected is None:
                        trace.result = "scheduled"
                        self.scheduler.binding_cycle(framework, state, pod, trace)
                    else:
                        self.scheduler.reject_waiting(framework, state, pod, trace, waiting.rejected)
                    self._settle(pod, trace)
                    yield trace

    def _time_out(self) -> Iterator[CycleTrace]:
        """Time out the waiting pods after all pods were tried.

        The earliest deadline comes first, then the pod that has waited longest.
        """
        self.timing_out = True
        while self._waiting:
            key = min(self._waiting, key=lambda one: min(self._waiting[one].trace.permit_waits.values()))
            held = self._waiting[key]
            waiting = held.framework.waiting_pods.get(key)
            assert waiting is not None
            plugin = min(waiting.pending, key=lambda name: (held.trace.permit_waits[name], name))
            waiting.reject(plugin, timeout_message(plugin, held.trace.permit_waits[plugin]))
            yield from self._decided()
        self.timing_out = False

    def _settle(self, pod: PodInfo, trace: CycleTrace, logged: bool = False) -> None:
        nominator = self.cluster.nominator
        if trace.result == "scheduled":
            self.placed += 1
            self._start(pod, logged)
            return
        if trace.postfilter is None:
            ends = (
                trace.result == "unschedulable" and self.scheduler.cluster.release.failed_preemption_clears_nomination
            )
            if ends and pod.nominated_node and not self.scheduler.framework_of(pod).post_filter:
                pod.nominated_node = ""  # no plugin preempts, so nothing keeps the nomination
                nominator.forget(pod)
            return
        clears = clears_nominations(self.cluster.release, [self.cluster.pods[key] for key in trace.victims])
        for key in trace.victims:
            held = self._waiting.get(key)
            waiting = held.framework.waiting_pods.get(key) if held is not None else None
            if waiting is not None:
                waiting.reject(trace.postfilter.status.plugin if trace.postfilter.status else "", "preempted")
            else:
                self.cluster.remove_pod(self.cluster.pods[key])
                self.cluster.journal.note(GONE, key)
        for key in trace.postfilter.cleared:
            self._clear_nomination(key)
        if trace.nominated_node:
            for other in nominator.on(trace.nominated_node):
                if clears and other.priority < pod.priority:
                    nominator.forget(other)
                    other.nominated_node = ""
            pod.nominated_node = trace.nominated_node
            nominator.nominate(pod, trace.nominated_node)
        elif trace.postfilter.decides and pod.nominated_node:
            pod.nominated_node = ""
            nominator.forget(pod)

    def _start(self, pod: PodInfo, logged: bool = False) -> None:
        """Set the start time. `logged`: nothing has read which nodes changed since the pod was added to its node."""
        pod.start_time = START_TIME_BASE + self.placed
        if not logged:
            self.cluster.nodes.started(pod)

    def _clear_nomination(self, key: str) -> None:
        pod = next((pod for pod in self.pending if pod.key == key), None)
        if pod is not None:
            pod.nominated_node = ""
            self.cluster.nominator.forget(pod)
