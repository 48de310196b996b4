"""Waits for a group: pods that are scheduled together, or not before their leader.

Sources: volcano.sh/apis (scheduling/v1beta1), KAI-Scheduler (pkg/scheduler/framework), sigs.k8s.io/jobset
(pkg/webhooks/pod_admission_webhook.go), sigs.k8s.io/lws (pkg/controllers), koordinator
(pkg/scheduler/plugins/coscheduling/core).
"""

from scheduler_core.api.objects import Object, Pod, PodGroup
from scheduler_core.cluster.formatting import count
from scheduler_core.explain.answer import Answer
from scheduler_core.framework import causes
from scheduler_core.live.neighbours import KAI, VOLCANO, ForeignPodGroup, LeaderWorkerSet, Queue
from scheduler_core.live.objects import Job
from scheduler_core.stations.surroundings import (
    GROUP_ANNOTATIONS,
    Surroundings,
    condition_in,
    condition_of,
    coscheduling_group,
)
from scheduler_core.stations.times import seconds
from scheduler_core.stations.waits import GROUP, Wait, quoted

LEADER_FIRST = "leader pod not yet scheduled"
"""Part of the message with which JobSet's webhook refuses the pods of a job before its leader has a node."""
JOB_CONTROLLER = "job-controller"
_INDEX = "batch.kubernetes.io/job-completion-index"
_GANG = "in gang unschedulable"  # of Volcano's messages about groups
_REFUSALS = ("NotReady", "Unschedulable")  # reasons of events of KAI and Volcano about groups
_UNSCHEDULABLE = ("Unschedulable", "UnschedulableOnNodePool")  # conditions of PodGroups of Volcano and KAI
_KAI_GROUP = "pod-group-name"  # annotation
_COSCHEDULING = (
    *("cannot find enough sibling pods", "in the same PodGroup", "failed recently", "PodGroup not found"),
    *("rejection in Unreserve", "optimistic rejection in PostFilter", "resource gap: "),
    *("gang child pod not collect enough", "can't find gang", "gang has not init", "gang scheduleCycle not valid"),
    *("pod's schedule cycle too large", "gets rejected due to"),
)
"""Parts of the messages with which Coscheduling, and koordinator's plugin of that name, reject a pod because of its
group."""
_LEAST = ("gang.scheduling.koordinator.sh/min-available", "pod-group.scheduling.sigs.k8s.io/min-available")
"""Annotation and label with koordinator's size of a group without a PodGroup."""
_SIZE, _WORKER = "leaderworkerset.sigs.k8s.io/size", "leaderworkerset.sigs.k8s.io/worker-index"
_NAME = "leaderworkerset.sigs.k8s.io/name"


def wait_of(pod: Pod, around: Surroundings, answer: Answer | None) -> Wait | None:
    """Return the wait of a pod for its group; None if no group keeps it. `answer`: why no node takes the pod."""
    if answer is not None and answer.cause is not None and answer.cause.kind == causes.POD_GROUP:
        return Wait(GROUP, cause=causes.POD_GROUP)
    return _leader(pod, around) or _of_coscheduling(pod, around) or _of_another_scheduler(pod, around)


def _of_coscheduling(pod: Pod, around: Surroundings) -> Wait | None:
    """Return the wait of a pod for its group of Coscheduling or koordinator; None if nothing shows it.

    Of a configured profile, which is simulated, only a group that is too small counts, and if the plugin says so.
    """
    name, scheduler = coscheduling_group(pod), pod.spec.scheduler_name
    if not name:
        return None
    group, condition = around.store.get("PodGroup", f"{pod.namespace}/{name}"), condition_of(pod)
    event = around.events.last("Pod", pod, ("FailedScheduling",), scheduler)
    reported = condition.message if condition is not None and condition.status == "False" else ""
    reported = reported or (event.message if event is not None else "")
    refused = any(part in reported for part in _COSCHEDULING)
    exist, placed = around.members(pod.namespace, name)
    wanted = group.spec.min_member if isinstance(group, PodGroup) else _least(pod)
    if scheduler in around.schedulers:
        if not refused or exist >= wanted:
            return None
    elif not refused and (placed >= wanted or (reported and exist >= wanted)):
        return None
    text = (
        f"{scheduler} places the pods of {'PodGroup' if isinstance(group, PodGroup) else 'group'} {name} only together"
    )
    says = []
    if exist < wanted:
        text += f": it needs {count(wanted, 'pod')}, and {exist:,} exist{'s' * (exist == 1)}"
    elif wanted:
        text += f": {count(wanted, 'pod')} must have a node at once, until then they wait at Permit"
    if isinstance(group, PodGroup):
        says = [f"minMember of PodGroup {name} is {wanted:,}; {count(exist, 'pod')} exist, {placed:,} with a node"]
    if refused:
        says = [quoted(reported), *says]
    since = seconds((condition.last_transition_time if condition is not None else "") or (event.time if event else ""))
    return Wait(GROUP, f"{text}.", says, scheduler if refused else "", since, causes.POD_GROUP)


def _least(pod: Pod) -> int:
    """Return the size of the pod's group by its own annotation or label, 0 if none says it."""
    value = pod.metadata.annotations.get(_LEAST[0]) or pod.metadata.labels.get(_LEAST[1], "")
    return int(value) if value.isdecimal() and len(value) < 7 else 0


def _leader(pod: Pod, around: Surroundings) -> Wait | None:
    """Return the wait of a leader that other pods are not created before."""
    owners = list(around.owners(pod))
    job = next((obj for kind, obj in owners if kind == "Job"), None)
    index = pod.metadata.labels.get(_INDEX) or pod.metadata.annotations.get(_INDEX)
    if job is not None and index == "0" and (found := leader_refusal(job, around)) is not None:
        found.sentence = f"{found.sentence} before their leader {pod.name} is scheduled."
        found.leads = True
        return found
    workers = pod.metadata.annotations.get(_SIZE) or pod.metadata.labels.get(_SIZE) or ""
    lws = around.store.get("LeaderWorkerSet", f"{pod.namespace}/{pod.metadata.labels.get(_NAME, '')}")
    if not isinstance(lws, LeaderWorkerSet) or pod.metadata.labels.get(_WORKER) != "0":
        return None
    size = int(workers) if workers.isdecimal() and len(workers) < 7 else lws.spec.leader_worker_template.size or 1
    if lws.spec.startup_policy != "LeaderReady" or size < 2:
        return None
    text = f"{count(size - 1, 'worker')} of LeaderWorkerSet {lws.name} are not created before"
    return Wait(GROUP, f"{text} their leader {pod.name} is ready.", cause=causes.POD_GROUP, leads=True)


def leader_refusal(job: Object, around: Surroundings) -> Wait | None:
    """Return that JobSet creates the other pods of a job after their leader, as the beginning of a sentence; None if
    nothing says so."""
    event = around.events.last("Job", job, ("FailedCreate",), JOB_CONTROLLER)
    if not isinstance(job, Job) or event is None or LEADER_FIRST not in event.message:
        return None
    missing = (job.spec.parallelism or 1) - len(around.pods_of("Job", job))
    if missing <= 0:
        return None
    text = f"{count(missing, 'pod')} of Job {job.name} {'is' if missing == 1 else 'are'} not created"
    says = ["JobSet creates the pods of an exclusive topology domain after their leader", quoted(event.message)]
    return Wait(GROUP, text, says, event.reporter, seconds(event.time), causes.POD_GROUP)


def leader_of(job: Object, around: Surroundings) -> str:
    """Return the pod with completion index 0 of a job; "" if it does not exist."""
    for pod in around.pods_of("Job", job):
        if (pod.metadata.labels.get(_INDEX) or pod.metadata.annotations.get(_INDEX)) == "0":
            return pod.key
    return ""


def _of_another_scheduler(pod: Pod, around: Surroundings) -> Wait | None:
    """Return the wait of a pod for a group of Volcano or KAI."""
    name, scheduler = around.group_of(pod), pod.spec.scheduler_name
    if not name or scheduler in around.schedulers:
        return None
    key = f"{pod.namespace}/{name}"
    group = around.store.get(f"PodGroup.{VOLCANO}", key) or around.store.get(f"PodGroup.{KAI}", key)
    (members, _), condition = around.members(pod.namespace, name), condition_of(pod)
    reported = condition.message if condition is not None and condition.status == "False" else ""
    if not isinstance(group, ForeignPodGroup):
        events = around.events.about("Pod", pod, _REFUSALS, scheduler)
        events = events or around.events.named("PodGroup", key, _REFUSALS, scheduler)
        kai = _KAI_GROUP in pod.metadata.annotations and condition is not None and condition.reason == "Unschedulable"
        if _GANG in reported or (reported and kai):
            since = seconds((condition and condition.last_transition_time) or "")
        elif events:
            reported, since = events[-1].message, seconds(events[-1].time)
        else:
            return None
        text = f"{scheduler} schedules its group {name} only as a whole: {quoted(reported)}."
        return Wait(GROUP, text, [], scheduler, since, causes.POD_GROUP)
    wanted, conditions = group.spec.min_member, [*group.status.conditions, *group.status.scheduling_conditions]
    refused = next((one for kind in _UNSCHEDULABLE if (one := condition_in(conditions, kind)) is not None), None)
    event = around.events.last("PodGroup", group, writer=scheduler)
    short, unschedulable = members < wanted, refused is not None and refused.status == "True"
    gang = event is not None and event.reason in _REFUSALS
    if not short and not unschedulable and not gang and group.status.phase != "Pending":
        return None
    text = f"{scheduler} schedules PodGroup {name} only as a whole: it needs {count(wanted, 'pod')}"
    text += f", and {members:,} exist{'s' * (members == 1)}" if short else f" at once, and {members:,} exist"
    says = [f"minMember of PodGroup {name} is {wanted}"]
    if group.status.phase == "Pending":
        text += f"; queue {group.spec.queue} has no room for it"
    if unschedulable and refused is not None:
        says.append(f"{refused.reason}: {quoted(refused.message)}")
    if event is not None:
        says.append(f"{event.reason}: {quoted(event.message)}")
    queue = around.store.get(f"Queue.{VOLCANO}", group.spec.queue)
    if isinstance(queue, Queue) and queue.status.state not in ("", "Open"):
        says.append(f"queue {queue.name} is {queue.status.state}")
    since = seconds((refused.last_transition_time if refused is not None else "") or (event.time if event else ""))
    return Wait(GROUP, f"{text}.", says, scheduler, since, causes.POD_GROUP)


def has_group(pod: Pod) -> bool:
    """Whether a pod belongs to a group of any kind."""
    labels, annotations = pod.metadata.labels, pod.metadata.annotations
    named = any(key in annotations or key in labels for key in GROUP_ANNOTATIONS)
    return named or pod.spec.scheduling_group is not None or _NAME in labels
