"""What answers about waits look up: objects by kind, events by writer, pods by owner."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from scheduler_core.api.objects import Object, Pod, PodCondition
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.live.neighbours import KUEUE, KueueWorkload
from scheduler_core.live.store import Store
from scheduler_core.stations.event_index import EventIndex
from scheduler_core.stations.times import seconds

SCHEDULING_GATED = "SchedulingGated"
"""Reason of a condition that the API server writes in a new pod with gates, and leaves when the gates are removed."""
GROUP_ANNOTATIONS = (
    *("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name", "pod-group-name"),
    *("gang.scheduling.koordinator.sh/name", "scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io"),
    *("pod-group.scheduling.sigs.k8s.io/name", "jobset.sigs.k8s.io/jobset-name"),
)
"""Annotations and labels that name the group of a pod: of Volcano, KAI, koordinator, coscheduling and JobSet."""
_OF_OTHERS = GROUP_ANNOTATIONS[:3]
_KOORDINATOR = GROUP_ANNOTATIONS[3]
_COSCHEDULING = GROUP_ANNOTATIONS[4:7]  # labels; koordinator reads the older ones as well
MOST_OWNERS = 5  # owners of owners
Owner = tuple[str, str, str]  # kind, namespace, name


@dataclass(slots=True)
class Activity:
    """When each scheduler last acted. `pods`: scheduler -> Unix seconds; `placed`: scheduler -> pods that it placed.

    `ours`: pods of kube-scheduler in kube-system -> whether they run.
    """

    pods: dict[str, float] = field(default_factory=dict)
    placed: dict[str, int] = field(default_factory=dict)
    ours: dict[str, bool] = field(default_factory=dict)

    @staticmethod
    def of_store(store: Store) -> Activity:
        found = Activity()
        for pod in store.objects("Pod"):
            if isinstance(pod, Pod):
                found.add(pod)
        return found

    def add(self, pod: Pod, counted: bool = False) -> None:
        """Add what a pod shows. `counted`: whether it had its node before."""
        name = pod.spec.scheduler_name
        condition = condition_of(pod)
        if condition is not None and condition.reason != SCHEDULING_GATED:
            self.pods[name] = max(self.pods.get(name, 0.0), seconds(condition.last_transition_time or ""))
        if pod.spec.node_name and not counted and not pod.placed_by:
            self.placed[name] = self.placed.get(name, 0) + 1
        if pod.namespace == "kube-system" and pod.metadata.labels.get("component") == "kube-scheduler":
            self.ours[pod.name] = pod.status.phase == "Running"


class Surroundings:
    """What answers look up besides the pod. `schedulers`: the names of the configured profiles.

    The indexes over objects are made when they are first used; `forget` drops them after objects have changed.
    """

    def __init__(self, store: Store, cluster: Cluster, schedulers: frozenset[str]) -> None:
        self.store = store
        self.cluster = cluster
        self.schedulers = schedulers
        self.events = EventIndex(store.objects("Event"))
        self._activity: Activity | None = None
        self.kueue_queues: dict[str, list[tuple[int, float, str]]] | None = None  # the order in each ClusterQueue
        self.node_groups: tuple[Object, Sequence[Any]] | None = (
            None  # the ConfigMap of cluster-autoscaler, and its groups
        )
        self._workloads: dict[tuple[str, str], KueueWorkload] | None = None
        self._pods: dict[Owner, list[Pod]] | None = None
        self._last_jobs: dict[Owner, float] | None = None
        self._members: Counter[tuple[str, str]] = Counter()  # (namespace, group of another scheduler) -> pods
        self._placed: Counter[tuple[str, str]] = Counter()  # the same -> pods with a node

    @property
    def activity(self) -> Activity:
        """When each scheduler last acted."""
        if self._activity is None:
            self._activity = Activity.of_store(self.store)
        return self._activity

    def forget(self, kind: str) -> None:
        """Drop the index over the objects of a kind, after one of them has changed."""
        if kind == "Pod":
            self._pods = None
        elif kind == "Job":
            self._last_jobs = None
        elif kind in (f"Workload.{KUEUE}", "LocalQueue"):
            self._workloads = self.kueue_queues = None

    def last_act(self, scheduler: str) -> float:
        """Return the Unix seconds at which a scheduler last acted; 0 if it never did."""
        return max(self.activity.pods.get(scheduler, 0.0), self.events.activity.get(scheduler, 0.0))

    def pods_of(self, kind: str, obj: Object) -> list[Pod]:
        """Return the pods of an owner that have not ended."""
        return self._index_pods().get((kind, obj.namespace, obj.name), [])

    def last_job_of(self, cron_job: Object) -> float:
        """Return the Unix seconds at which the newest known Job of a CronJob was created; 0 if there is none."""
        if self._last_jobs is None:
            self._last_jobs = {}
            for job in self.store.objects("Job"):
                if (ref := job.metadata.controller_ref) is not None:
                    owner = ref.kind, job.namespace, ref.name
                    created = seconds(job.metadata.creation_timestamp)
                    self._last_jobs[owner] = max(created, self._last_jobs.get(owner, 0.0))
        return self._last_jobs.get(("CronJob", cron_job.namespace, cron_job.name), 0.0)

    def group_of(self, pod: Pod) -> str:
        """Return the name of the pod's group of Volcano, KAI, coscheduling or koordinator; "" if there is none."""
        named = next((name for key in _OF_OTHERS if (name := pod.metadata.annotations.get(key))), "")
        return named or coscheduling_group(pod)

    def members(self, namespace: str, group: str) -> tuple[int, int]:
        """Return the number of pods of a group, as of `group_of`, that have not ended, and how many have a node."""
        self._index_pods()
        return self._members[namespace, group], self._placed[namespace, group]

    def _index_pods(self) -> dict[Owner, list[Pod]]:
        if self._pods is None:
            self._pods, self._members, self._placed = defaultdict(list), Counter(), Counter()
            for pod in self.store.objects("Pod"):
                if isinstance(pod, Pod) and not pod.terminated:
                    for owner in pod.metadata.owner_references:
                        self._pods[owner.kind, pod.namespace, owner.name].append(pod)
                    if group := self.group_of(pod):
                        self._members[pod.namespace, group] += 1
                        self._placed[pod.namespace, group] += bool(pod.spec.node_name)
        return self._pods

    def owners(self, obj: Object) -> Iterator[tuple[str, Object]]:
        """Yield the owners of an object that are known, with their kinds: its controller, the controller's, ..."""
        for _ in range(MOST_OWNERS):
            ref = obj.metadata.controller_ref
            found = self.store.get(ref.kind, f"{obj.namespace}/{ref.name}") if ref is not None else None
            if ref is None or found is None:
                return
            yield ref.kind, found
            obj = found

    def kueue_workload(self, obj: Object) -> KueueWorkload | None:
        """Return the Workload of Kueue that owns the admission of a pod or of its owners; None if none is known."""
        if self._workloads is None:
            self._workloads = self._index_workloads()
        meta, found = obj.metadata, None
        for name in (
            meta.annotations.get(f"{KUEUE}/workload"),
            meta.labels.get(f"{KUEUE}/pod-group-name") or meta.annotations.get(f"{KUEUE}/pod-group-name"),
            meta.labels.get(f"{KUEUE}/prebuilt-workload-name"),
        ):
            found = found or (self._workloads.get(("", f"{obj.namespace}/{name}")) if name else None)
        if found is not None:
            return found
        uids = [meta.uid, *(owner.uid for owner in meta.owner_references)]
        for _, owner in self.owners(obj):
            uids += [owner.metadata.uid, *(one.uid for one in owner.metadata.owner_references)]
        known = (self._workloads.get((obj.namespace, uid)) for uid in uids if uid)
        return next((workload for workload in known if workload is not None), None)

    def _index_workloads(self) -> dict[tuple[str, str], KueueWorkload]:
        """Return the Workloads by ("", namespace/name), and by (namespace, UID of their job or pods): of several, one
        that has not finished."""
        found: dict[tuple[str, str], KueueWorkload] = {}
        for workload in self.store.objects(f"Workload.{KUEUE}"):
            if isinstance(workload, KueueWorkload):
                found["", workload.key] = workload
                finished = condition_in(workload.status.conditions, "Finished")
                uids = [owner.uid for owner in workload.metadata.owner_references]
                for uid in (*uids, workload.metadata.labels.get(f"{KUEUE}/job-uid", "")):
                    if uid and (
                        finished is None or finished.status != "True" or (workload.namespace, uid) not in found
                    ):
                        found[workload.namespace, uid] = workload
        return found


def coscheduling_group(pod: Pod) -> str:
    """Return the name of the pod's group of coscheduling or koordinator; "" if it has none."""
    named = next((name for key in _COSCHEDULING if (name := pod.metadata.labels.get(key))), "")
    return named or pod.metadata.annotations.get(_KOORDINATOR, "")


def condition_of(pod: Pod, kind: str = "PodScheduled") -> PodCondition | None:
    """Return a condition, or None."""
    return next((condition for condition in pod.status.conditions if condition.type == kind), None)


def condition_in(conditions: list[PodCondition], kind: str) -> PodCondition | None:
    """Return the condition of a type, or None."""
    return next((condition for condition in conditions if condition.type == kind), None)
