"""Why a workload lacks pods: pods that were never created cannot be pending."""

from collections.abc import Iterator

from scheduler_core.api.objects import Condition, Object, Pod, ReplicaSet, StatefulSet
from scheduler_core.cluster.formatting import count
from scheduler_core.explain.answer import Part, PendingWorkload
from scheduler_core.live.objects import CronJob, DaemonSet, Deployment, Event, Job
from scheduler_core.live.store import Store
from scheduler_core.stations import cron_jobs, groups, kueue
from scheduler_core.stations.refusals import read_refusal
from scheduler_core.stations.resource_quotas import quota_lines, quota_uses
from scheduler_core.stations.surroundings import Surroundings
from scheduler_core.stations.times import seconds
from scheduler_core.stations.waits import MOST_READ, NOT_CREATED, Wait, bounded, quoted

CREATORS = {
    "ReplicaSet": "replicaset-controller",
    "StatefulSet": "statefulset-controller",
    "Job": "job-controller",
    "DaemonSet": "daemonset-controller",
    "CronJob": cron_jobs.CONTROLLER,
}
"""Kinds whose controllers create pods, or Jobs -> the component that writes their events."""
REFUSED = cron_jobs.REFUSED  # of a workload's pod: quota, limit range, admission
SUSPENDED = cron_jobs.SUSPENDED
WAITS_FOR_POD = "waits-for-pod"  # a StatefulSet that creates its pods in order
UNEXPLAINED = "not-created"  # nothing says why
_REPLICA_SET_REFUSED = "ReplicaSetCreateError"  # reason of a Deployment's condition Progressing


class MissingPods(Part):
    """Pods of a workload that do not exist. `owner`: what a person edits: a Deployment for its ReplicaSet."""

    kind: str
    namespace: str
    name: str
    missing: int
    wait: Wait
    owner: PendingWorkload


def missing_pods(around: Surroundings) -> Iterator[MissingPods]:
    """Yield what is known of each workload whose pods are refused, suspended or created one after the other."""
    for kind in CREATORS:
        for workload in around.store.objects(kind):
            found = _missing_pods(workload, kind, around)
            if found is not None and found.wait.cause != UNEXPLAINED:
                yield found
    for deployment in around.store.objects("Deployment"):
        if isinstance(deployment, Deployment) and (found := _missing_replica_set(deployment, around)) is not None:
            yield found


def missing_pods_of(around: Surroundings, kind: str, key: str) -> list[MissingPods]:
    """Return why one workload lacks pods; for a Deployment, why its ReplicaSets do, and for a CronJob, why its Jobs do
    as well. [] if none is missing."""
    store = around.store
    workloads = [(kind, obj) for obj in [store.get(kind, key)] if obj is not None]
    if kind == "Deployment":
        owned = store.objects("ReplicaSet")
        workloads = [("ReplicaSet", one) for one in owned if _owned_by(one, kind, key)]
    if kind == "CronJob":
        workloads += [("Job", one) for one in store.objects("Job") if _owned_by(one, kind, key)]
    found = [_missing_pods(workload, name, around) for name, workload in workloads]
    deployment = store.get(kind, key)
    if isinstance(deployment, Deployment):
        found.append(_missing_replica_set(deployment, around))
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


def _missing_pods(workload: Object, kind: str, around: Surroundings) -> MissingPods | None:
    if isinstance(workload, CronJob):
        return _missing_job(workload, around)
    pods = around.pods_of(kind, workload)
    wanted = _wanted(workload)
    missing = wanted - len(pods)
    if isinstance(workload, Job) and workload.spec.suspend and not pods:
        missing = _parallel(workload)
    if missing <= 0:
        return None
    wait = bounded(_wait(workload, kind, wanted, missing, pods, around))
    top = next((PendingWorkload(k, o.namespace, o.name, missing) for k, o in around.owners(workload)), None)
    owner = top or PendingWorkload(kind, workload.namespace, workload.name, missing)
    return MissingPods(kind, workload.namespace, workload.name, missing, wait, owner)


def _missing_replica_set(deployment: Deployment, around: Surroundings) -> MissingPods | None:
    """Return why a Deployment has no ReplicaSet for its pods: it is paused, or the API server refuses the ReplicaSet.

    Source: pkg/controller/deployment/sync.go.
    """
    conditions = deployment.status.conditions
    failed = (c for c in conditions if (c.type, c.status, c.reason) == ("Progressing", "False", _REPLICA_SET_REFUSED))
    refused = next(failed, None)
    if refused is None and not deployment.spec.paused:
        return None
    wanted = 1 if deployment.spec.replicas is None else deployment.spec.replicas
    owned = [one for one in around.store.objects("ReplicaSet") if _owned_by(one, "Deployment", deployment.key)]
    missing = wanted - sum(len(around.pods_of("ReplicaSet", one)) for one in owned)
    if missing <= 0 or (refused is None and owned):
        return None
    text = _lacks(missing, wanted)
    wait = Wait(NOT_CREATED, f"{text}: it is paused, so no ReplicaSet is created.", cause=SUSPENDED)
    if refused is not None:
        read = read_refusal(refused.message, deployment.namespace, around.store)
        wait = Wait(NOT_CREATED, f"{text}: the API server refuses its new ReplicaSet: {read}.", cause=REFUSED)
        wait.quotas = quota_uses(refused.message[:MOST_READ], deployment.namespace, around.store, [])
        wait.says = [quoted(refused.message), *quota_lines(wait.quotas, refused.message)]
        wait.writer = "deployment-controller"
    wait.since = seconds(deployment.metadata.creation_timestamp)
    owner = PendingWorkload("Deployment", deployment.namespace, deployment.name, missing)
    return MissingPods("Deployment", deployment.namespace, deployment.name, missing, bounded(wait), owner)


def _lacks(missing: int, wanted: int) -> str:
    return f"{missing:,} of {count(wanted, 'pod')} {'does' if missing == 1 else 'do'} not exist"


def _missing_job(cron_job: CronJob, around: Surroundings) -> MissingPods | None:
    wait = cron_jobs.wait_of(cron_job, around)
    if wait is None:
        return None
    missing = _parallel(Job(metadata=cron_job.metadata, spec=cron_job.spec.job_template.spec))
    owner = PendingWorkload("CronJob", cron_job.namespace, cron_job.name, missing)
    return MissingPods("CronJob", cron_job.namespace, cron_job.name, missing, bounded(wait), owner)


def _wait(workload: Object, kind: str, wanted: int, missing: int, pods: list[Pod], around: Surroundings) -> Wait:
    since = seconds(workload.metadata.creation_timestamp)
    lacks = _lacks(missing, wanted)
    if isinstance(workload, Job) and workload.spec.suspend and not pods:
        return _suspended(workload, missing, since, around)
    if (led := groups.leader_refusal(workload, around)) is not None:
        leader = groups.leader_of(workload, around)
        led.sentence = f"{led.sentence} before their leader{f' {leader}' if leader else ''} is scheduled."
        return led
    event, message = _refusal(workload, kind, around)
    if message:
        text = f"{lacks}: the API server refuses them: {read_refusal(message, workload.namespace, around.store)}."
        quotas = quota_uses(message[:MOST_READ], workload.namespace, around.store, pods)
        says = [quoted(message), *quota_lines(quotas, message)]
        writer, since = (event.reporter, seconds(event.time)) if event is not None else (CREATORS[kind], since)
        return Wait(NOT_CREATED, text, says, writer, since, REFUSED, quotas=quotas)
    namespace = around.store.get("Namespace", workload.namespace)
    if namespace is not None and namespace.metadata.deletion_timestamp:
        text = f"{lacks}: namespace {workload.namespace} is being deleted."
        return Wait(NOT_CREATED, text, since=seconds(namespace.metadata.deletion_timestamp), cause=REFUSED)
    if isinstance(workload, StatefulSet) and workload.spec.pod_management_policy != "Parallel" and pods:
        last = _first_unready(pods)
        if last:
            text = f"{lacks}: its pods are created one after the other, and {last} is not ready."
            return Wait(NOT_CREATED, text, since=since, cause=WAITS_FOR_POD)
    text = f"{lacks}, and no event says why: its controller may not run."
    return Wait(NOT_CREATED, text, since=since, cause=UNEXPLAINED)


def _suspended(job: Job, missing: int, since: float, around: Surroundings) -> Wait:
    """Return the wait of a suspended job: for Kueue, if it is in one of its queues, or else for a person."""
    owners = [job, *(owner for _, owner in around.owners(job))]
    managed = next((one for one in owners if kueue.is_managed(one) or around.kueue_workload(one) is not None), None)
    if managed is not None:
        found = kueue.wait_of(managed, around)
        if found is not None:
            found.sentence += (
                f" It creates no pod before: {count(missing, 'pod')} {'does' if missing == 1 else 'do'} not exist."
            )
            found.since = found.since or since
            return found
        return Wait(
            NOT_CREATED, "Kueue has admitted its Workload, and it is still suspended.", since=since, cause=SUSPENDED
        )
    return Wait(NOT_CREATED, "It is suspended (spec.suspend), so no pod is created.", since=since, cause=SUSPENDED)


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


def _refusal(workload: Object, kind: str, around: Surroundings) -> tuple[Event | None, str]:
    """Return the newest event about a refused pod, and the error: that of the event, or else of the condition.

    The condition keeps its first error until a sync has none: calculateStatus of pkg/controller/replicaset.
    """
    conditions: list[Condition] = getattr(getattr(workload, "status", None), "conditions", [])
    failed = next((c.message for c in conditions if c.type == "ReplicaFailure" and c.status == "True"), "")
    event = around.events.last(kind, workload, ("FailedCreate",), CREATORS[kind])
    event = event or around.events.last(kind, workload, ("FailedCreate",), "")
    return event, event.message if event is not None else failed


def _first_unready(pods: list[Pod]) -> str:
    """Return the first pod that is not ready, for which an ordered StatefulSet waits."""
    for pod in sorted(pods, key=lambda pod: (len(pod.name), pod.name)):
        if not any(condition.type == "Ready" and condition.status == "True" for condition in pod.status.conditions):
            return pod.key
    return ""
