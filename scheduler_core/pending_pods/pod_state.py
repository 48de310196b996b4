"""Why no node was asked about a pod: what its own fields, its claims, its group and its scheduler say."""

from msgspec.structs import replace

from scheduler_core.api.objects import Pod
from scheduler_core.cluster.formatting import listing, some
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.pending_pods import pending_answer as causes
from scheduler_core.pending_pods.pending_answer import NOT_NOW, UNDECIDED, Category, PendingAnswer, PendingDetails
from scheduler_core.pending_pods.scheduler_message import scheduler_message
from scheduler_core.stations.creation import MissingPods
from scheduler_core.stations.engine import sentence_of, strip_of, strip_without_pod, wait_of, why_no_fixes
from scheduler_core.stations.surroundings import SCHEDULING_GATED, Surroundings, condition_of
from scheduler_core.stations.times import clock, seconds
from scheduler_core.stations.waits import NODE_COMING, ClaimWait, Wait, quoted

RECENT = 10.0  # seconds in which a scheduler normally tries a new pod
SHOWN = 3


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
    """Return why the pod is in the queue of no configured scheduler; None if it is in one."""
    if pod.metadata.deletion_timestamp and not pod.terminated:
        return _deleted(pod)
    if pod.terminated or (pod.spec.node_name and pod.status.phase not in ("", "Pending")):
        where = f" on {pod.spec.node_name}" if pod.spec.node_name else ""
        return answer_of(pod, causes.NOT_PENDING, f"Its phase is {pod.status.phase}{where}.")
    if not pod.spec.node_name and pod.spec.scheduler_name in around.schedulers:
        return None
    wait = wait_of(pod, None, around, None)
    assert wait is not None
    found = answer_of(pod, wait.cause, "", PendingDetails(node=pod.spec.node_name))
    say_where(found, pod, wait, around)
    return found


def say_where(found: PendingAnswer, pod: Pod, wait: Wait | None, around: Surroundings) -> None:
    """Add to an answer where the pod waits."""
    if wait is not None:
        found.sentence = sentence_of(wait, found.sentence)
        condition = condition_of(pod)
        known = quoted(condition.message) if condition is not None and found.details.scheduler_message else ""
        found.details.station = wait.station
        found.details.says = [text for text in wait.says if text != known]  # `scheduler_message` has it
        found.category = NOT_NOW if wait.station == NODE_COMING else found.category
        found.cause = causes.KUEUE if wait.cause == causes.KUEUE else found.cause
        if found.details.answer is not None and (why := why_no_fixes(wait)):
            found.details.answer = replace(found.details.answer, no_fixes=why)
    found.details.stations = strip_of(pod, wait, around)


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


def untried(pod: Pod, around: Surroundings, now: float) -> PendingAnswer | None:
    """Return an answer if no scheduler has reported about the pod; None otherwise."""
    name, created, activity = pod.spec.scheduler_name, since(pod), around.activity
    condition = condition_of(pod)
    if condition is not None and condition.reason != SCHEDULING_GATED:
        return None
    if any(event.reporter in ("", name) for event in around.events.about("Pod", pod, ("FailedScheduling",))):
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


def answer_of_missing(missing: MissingPods) -> PendingAnswer:
    """Return the answer for a workload that lacks pods."""
    wait = missing.wait
    details = PendingDetails(since=wait.since, missing=missing.missing, station=wait.station, says=wait.says)
    details.stations, details.quotas = strip_without_pod(wait), wait.quotas
    key = f"{missing.namespace}/{missing.kind} {missing.name}"
    return PendingAnswer(key, UNDECIDED, wait.cause, wait.sentence, missing.kind, details)


def provisioning(pod: PodInfo, waits: list[ClaimWait]) -> PendingAnswer | None:
    """Return an answer if the pod has a node and waits there for the volume of a claim."""
    found = next((wait for wait in waits if wait.cause == "provisioning"), None)
    if found is None:
        return None
    text = found.sentence[:1].upper() + found.sentence[1:]
    return answer_of(pod.pod, causes.PROVISIONING, f"{text}.", PendingDetails(claims=waits))
