"""Why a workload lacks pods: pods that were never created cannot be pending."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from scheduler_core.api.objects import Condition, Object, Pod, ReplicaSet, StatefulSet
from scheduler_core.cluster.formatting import count
from scheduler_core.live.objects import DaemonSet, Deployment, Job
from scheduler_core.live.store import Store
from scheduler_core.pending_pods import pending_answer as causes
from scheduler_core.pending_pods.event_index import EventIndex
from scheduler_core.pending_pods.pending_answer import UNDECIDED, PendingAnswer, PendingDetails
from scheduler_core.pending_pods.times import seconds

CREATORS = ("ReplicaSet", "StatefulSet", "Job", "DaemonSet")  # kinds whose controllers create pods
MESSAGE = 500  # characters of a refusal
_FORBIDDEN = "is forbidden: "


def missing_pods(store: Store, events: EventIndex) -> Iterator[PendingAnswer]:
    """Yield an answer for each workload whose pods are refused, suspended or created one after the other."""
    pods = _pods_by_owner(store)
    for kind in CREATORS:
        for workload in store.objects(kind):
            found = _answer(store, workload, kind, pods, events)
            if found is not None and found.cause != causes.NOT_CREATED:
                yield found


def missing_pods_of(store: Store, events: EventIndex, kind: str, key: str) -> list[PendingAnswer]:
    """Return why one workload lacks pods; for a Deployment, why its ReplicaSets do. [] if none is missing."""
    pods = _pods_by_owner(store)
    workloads = [(kind, obj) for obj in [store.get(kind, key)] if obj is not None]
    if kind == "Deployment":
        owned = store.objects("ReplicaSet")
        workloads = [("ReplicaSet", one) for one in owned if _owned_by(one, kind, key)]
    found = [_answer(store, workload, name, pods, events) for name, workload in workloads]
    return [answer for answer in found if answer is not None]


def pods_of(store: Store, kind: str, key: str) -> list[Pod]:
    """Return the pods of a workload; those of a Deployment belong to its ReplicaSets."""
    pods = [pod for pod in store.objects("Pod") if isinstance(pod, Pod)]
    owners = {(kind, key)}
    if kind == "Deployment":
        owners = {("ReplicaSet", one.key) for one in store.objects("ReplicaSet") if _owned_by(one, kind, key)}
    if kind == "CronJob":
        owners = {("Job", one.key) for one in store.objects("Job") if _owned_by(one, kind, key)}
    return [pod for pod in pods if any(_owned_by(pod, *owner) for owner in owners)]


def _owned_by(obj: Object, kind: str, key: str) -> bool:
    namespace, _, name = key.rpartition("/")
    return obj.namespace == namespace and any((o.kind, o.name) == (kind, name) for o in obj.metadata.owner_references)


def _pods_by_owner(store: Store) -> Counter[tuple[str, str, str]]:
    """Count the pods that have not ended, by (kind, namespace, name) of their owner."""
    found: Counter[tuple[str, str, str]] = Counter()
    for pod in store.objects("Pod"):
        if isinstance(pod, Pod) and not pod.terminated:
            found.update((owner.kind, pod.namespace, owner.name) for owner in pod.metadata.owner_references)
    return found


def _answer(
    store: Store, workload: Object, kind: str, pods: Counter[tuple[str, str, str]], events: EventIndex
) -> PendingAnswer | None:
    wanted, there = _wanted(workload), pods[kind, workload.namespace, workload.name]
    if isinstance(workload, Job) and workload.spec.suspend and not there:
        text = "It is suspended (spec.suspend), so no pod is created."
        return _missing(workload, kind, causes.SUSPENDED, text, _parallel(workload))
    missing = wanted - there
    if missing <= 0:
        return None
    lacks = f"{missing:,} of {count(wanted, 'pod')} {'does' if missing == 1 else 'do'} not exist"
    message = _refusal(workload, kind, events)
    if message:
        return _missing(workload, kind, causes.REFUSED, f"{lacks}: the API server refuses them: {message}.", missing)
    if isinstance(workload, StatefulSet) and workload.spec.pod_management_policy != "Parallel" and there:
        last = _first_unready(store, workload)
        if last:
            text = f"{lacks}: its pods are created one after the other, and {last} is not ready."
            return _missing(workload, kind, causes.WAITS_FOR_POD, text, missing)
    if isinstance(workload, Deployment) and workload.spec.paused:
        return _missing(workload, kind, causes.SUSPENDED, f"{lacks}: it is paused.", missing)
    text = f"{lacks}, and no event says why: its controller may not run."
    return _missing(workload, kind, causes.NOT_CREATED, text, missing)


def _missing(workload: Object, kind: str, cause: str, text: str, missing: int) -> PendingAnswer:
    details = PendingDetails(since=seconds(workload.metadata.creation_timestamp), missing=missing)
    key = f"{workload.namespace}/{kind} {workload.name}"
    return PendingAnswer(key, UNDECIDED, cause, text, kind, details)


def _wanted(workload: Object) -> int:
    match workload:
        case ReplicaSet() | StatefulSet():
            return 1 if workload.spec.replicas is None else workload.spec.replicas
        case DaemonSet():
            return workload.status.desired_number_scheduled
        case Job():
            return _parallel(workload)
    return 0


def _parallel(job: Job) -> int:
    """Return how many pods of a job should exist now."""
    if any(c.type in ("Complete", "Failed") and c.status == "True" for c in job.status.conditions):
        return 0
    parallel = 1 if job.spec.parallelism is None else job.spec.parallelism
    if job.spec.completions is None:
        return 0 if job.status.succeeded else parallel
    return max(min(parallel, job.spec.completions - (job.status.succeeded or 0)), 0)


def _refusal(workload: Object, kind: str, events: EventIndex) -> str:
    """Return why the API server refused a pod of the workload, from its conditions or its last event."""
    conditions: list[Condition] = getattr(getattr(workload, "status", None), "conditions", [])
    failed = next((c.message for c in conditions if c.type == "ReplicaFailure" and c.status == "True"), "")
    event = events.last(kind, workload.key, ("FailedCreate",))
    text = failed or (event.message if event is not None else "")
    _, found, reason = text.partition(_FORBIDDEN)
    return (reason if found else text)[:MESSAGE].rstrip(".")


def _first_unready(store: Store, workload: StatefulSet) -> str:
    """Return the first pod that is not ready, for which an ordered StatefulSet waits."""
    pods = [pod for pod in store.objects("Pod") if isinstance(pod, Pod) and _owned_by(pod, "StatefulSet", workload.key)]
    for pod in sorted(pods, key=lambda pod: (len(pod.name), pod.name)):
        if not any(condition.type == "Ready" and condition.status == "True" for condition in pod.status.conditions):
            return pod.key
    return ""
