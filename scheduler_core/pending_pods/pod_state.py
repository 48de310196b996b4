"""Why no node was asked about a pod: what its own fields, its claims, its group and its scheduler say."""

from __future__ import annotations

from dataclasses import dataclass, field

from scheduler_core.api.objects import Pod
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.formatting import count, listing, some
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cluster.spelling import nearest
from scheduler_core.live.store import Store
from scheduler_core.pending_pods import pending_answer as causes
from scheduler_core.pending_pods.event_index import EventIndex
from scheduler_core.pending_pods.pending_answer import UNDECIDED, Category, ClaimWait, PendingAnswer, PendingDetails
from scheduler_core.pending_pods.scheduler_message import SCHEDULING_GATED, condition_of, scheduler_message
from scheduler_core.pending_pods.times import clock, seconds

RECENT = 10.0  # seconds in which a scheduler normally tries a new pod
SHOWN = 3
ONE_NODE = {"ReadWriteOnce", "ReadWriteOncePod"}  # access modes of volumes that one node mounts


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


@dataclass(slots=True)
class Surroundings:
    """What answers look up besides the pod. `schedulers`: the names of the configured profiles."""

    store: Store
    cluster: Cluster
    schedulers: frozenset[str]
    events: EventIndex
    activity: Activity

    def last_act(self, scheduler: str) -> float:
        """Return the Unix seconds at which a scheduler last acted; 0 if it never did."""
        return max(self.activity.pods.get(scheduler, 0.0), self.events.activity.get(scheduler, 0.0))


def since(pod: Pod) -> float:
    """Return the Unix seconds of the pod's creation."""
    return seconds(pod.metadata.creation_timestamp)


def answer_of(
    pod: Pod, cause: str, text: str, details: PendingDetails | None = None, category: Category = UNDECIDED
) -> PendingAnswer:
    """Return an answer. `text`: the sentence."""
    details = details or PendingDetails()
    details.since, details.scheduler = since(pod), pod.spec.scheduler_name
    details.priority = pod.spec.priority or 0
    details.scheduler_message = scheduler_message(pod) if not pod.spec.node_name else None
    return PendingAnswer(pod.key, category, cause, text, details=details)


def before_the_queue(pod: Pod, around: Surroundings) -> PendingAnswer | None:
    """Return why the pod is not in the queue of its scheduler; None if nothing keeps it out."""
    if pod.metadata.deletion_timestamp and not pod.terminated:
        return _deleted(pod)
    if pod.terminated or (pod.spec.node_name and pod.status.phase not in ("", "Pending")):
        where = f" on {pod.spec.node_name}" if pod.spec.node_name else ""
        return answer_of(pod, causes.NOT_PENDING, f"Its phase is {pod.status.phase}{where}.")
    if pod.spec.node_name:
        return _bound(pod, around)
    if pod.spec.scheduler_name not in around.schedulers:
        return _of_another_scheduler(pod, around)
    return None


def _deleted(pod: Pod) -> PendingAnswer:
    until, finalizers = seconds(pod.metadata.deletion_timestamp), pod.metadata.finalizers
    text = "It is being deleted, and the scheduler skips it"
    if pod.spec.node_name:
        text = f"It is being deleted; the kubelet of {pod.spec.node_name} ends it, by {clock(until)} at the latest"
    if finalizers:
        text += f"; finalizer{'s' if len(finalizers) > 1 else ''} {listing(finalizers)} keep"
        text += f"{'' if len(finalizers) > 1 else 's'} the object"
    details = PendingDetails(until=until, finalizers=list(finalizers), node=pod.spec.node_name)
    return answer_of(pod, causes.DELETED, f"{text}.", details)


def _bound(pod: Pod, around: Surroundings) -> PendingAnswer:
    name = pod.spec.node_name
    condition = condition_of(pod)
    at = seconds((condition.last_transition_time if condition is not None else "") or "")
    when = f" at {clock(at)}" if at else ""
    text = f"It was bound to {name}{when}; "
    entry = around.cluster.nodes.entries.get(name)
    node = entry.node if entry is not None else None
    if node is None:
        text += "no node of that name exists."
    elif not node.ready:
        text += f"{name} is not ready, so its kubelet does not start the pod."
    else:
        text += f"the kubelet of {name} has not started it{_attached_elsewhere(pod, around.cluster) or _unready(pod)}."
    return answer_of(pod, causes.BOUND, text, PendingDetails(node=name))


def _attached_elsewhere(pod: Pod, cluster: Cluster) -> str:
    """Return the volume of the pod that is still attached to another node, as the end of a sentence."""
    names = [volume.persistent_volume_claim.claim_name for volume in pod.spec.volumes if volume.persistent_volume_claim]
    claims = [claim for name in names if (claim := cluster.claims.get(f"{pod.namespace}/{name}")) is not None]
    exclusive = {one.spec.volume_name for one in claims if set(one.spec.access_modes) <= ONE_NODE}
    for attachment in cluster.attachments.values() if exclusive else ():
        volume, node = attachment.spec.source.persistent_volume_name, attachment.spec.node_name
        if volume in exclusive and node != pod.spec.node_name:
            return f": volume {volume} is still attached to {node}"
    return ""


def _unready(pod: Pod) -> str:
    """Return what the kubelet reports that is not yet true, as the end of a sentence."""
    false = {c.type: c.message for c in pod.status.conditions if c.status == "False"}
    if "PodReadyToStartContainers" in false:
        return ": its sandbox, volumes or network are not ready"
    for kind in ("Initialized", "ContainersReady"):
        if false.get(kind):
            return f" ({false[kind][:200]})"
    return ""


def _of_another_scheduler(pod: Pod, around: Surroundings) -> PendingAnswer:
    name, activity = pod.spec.scheduler_name, around.activity
    text = f"Scheduler {name} decides about it, not {listing(sorted(around.schedulers), 'or')}"
    placed, last = activity.placed.get(name, 0), around.last_act(name)
    cause = causes.OTHER_SCHEDULER
    if placed or last:
        text += f"; that scheduler placed {count(placed, 'pod')} of this cluster"
        text += f" and last acted at {clock(last)}." if last else "."
    else:
        cause = causes.NO_SCHEDULER
        text += "; no scheduler of that name has acted in this cluster."
        if like := nearest(name, sorted({*around.schedulers, *activity.placed})):
            text += f" Its name is close to {like[0]}."
    return answer_of(pod, cause, text)


def untried(pod: Pod, around: Surroundings, now: float) -> PendingAnswer | None:
    """Return an answer if no scheduler has reported about the pod; None otherwise."""
    name, created, activity = pod.spec.scheduler_name, since(pod), around.activity
    condition = condition_of(pod)
    if condition is not None and condition.reason != SCHEDULING_GATED:
        return None
    if any(event.reporter in ("", name) for event in around.events.about("Pod", pod.key, ("FailedScheduling",))):
        return None
    if created and now - created < RECENT:
        return answer_of(
            pod, causes.JUST_CREATED, f"It was created at {clock(created)}; no scheduler has tried it yet."
        )
    stopped = sorted(pod for pod, runs in activity.ours.items() if not runs)
    last = around.last_act(name)
    if last and last >= created:
        text = f"{name} has not tried it{_since_creation(created)}, but acted at {clock(last)}."
        return answer_of(pod, causes.NOT_TRIED, text)
    text = f"No scheduler has tried it{_since_creation(created)}"
    acted = f"last acted at {clock(last)}" if last else "has never acted in this cluster"
    text += f"; {name} {acted}."
    if stopped and not any(activity.ours.values()):
        text += f" {some(stopped, SHOWN)} in kube-system {'does' if len(stopped) == 1 else 'do'} not run."
    return answer_of(pod, causes.NO_SCHEDULER, text)


def _since_creation(created: float) -> str:
    return f" since its creation at {clock(created)}" if created else ""


def provisioning(pod: PodInfo, waits: list[ClaimWait]) -> PendingAnswer | None:
    """Return an answer if the pod has a node and waits there for the volume of a claim."""
    found = next((wait for wait in waits if wait.cause == "provisioning"), None)
    if found is None:
        return None
    text = found.sentence[:1].upper() + found.sentence[1:]
    return answer_of(pod.pod, causes.PROVISIONING, f"{text}.", PendingDetails(claims=waits))
