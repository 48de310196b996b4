"""Waits for a scheduler that is not one of the configured profiles."""

from scheduler_core.api.objects import Pod
from scheduler_core.cluster.formatting import count, listing
from scheduler_core.cluster.spelling import nearest
from scheduler_core.snapshot.foreign_schedulers import NAMES
from scheduler_core.stations.surroundings import Surroundings, condition_of
from scheduler_core.stations.times import clock, seconds
from scheduler_core.stations.waits import SCHEDULER, Wait, quoted

OTHER_SCHEDULER = "other-scheduler"
NO_SCHEDULER = "no-scheduler"
QUEUES = (
    *("yunikorn.apache.org/queue", "queue", "kai.scheduler/queue", "scheduling.volcano.sh/queue-name"),
    "quota.scheduling.koordinator.sh/name",
)
"""Labels and annotations that name the pod's queue: of YuniKorn, KAI, Volcano and koordinator."""


def wait_of(pod: Pod, around: Surroundings) -> Wait | None:
    """Return the wait of a pod for its scheduler; None if it is one of the configured profiles."""
    name = pod.spec.scheduler_name
    if name in around.schedulers:
        return None
    activity = around.activity
    text = f"Scheduler {name} decides about it, not {listing(sorted(around.schedulers), 'or')}"
    placed, last = activity.placed.get(name, 0), around.last_act(name)
    cause = OTHER_SCHEDULER
    if placed:
        text += f"; that scheduler placed {count(placed, 'pod')} of this cluster"
        text += f" and last acted at {clock(last)}." if last else "."
    elif last:
        text += f"; that scheduler last acted at {clock(last)}."
    else:
        cause = NO_SCHEDULER
        text += (
            f"; {'nothing shows that it' if name in NAMES else 'no scheduler of that name'} has acted in this cluster."
        )
        if name not in NAMES and (like := nearest(name, sorted({*around.schedulers, *activity.placed}))):
            text += f" Its name is close to {like[0]}."
    own = {**pod.metadata.annotations, **pod.metadata.labels}
    says = [f"its queue is {own[key]}" for key in QUEUES if own.get(key)][:1]
    condition, event = condition_of(pod), around.events.last("Pod", pod, writer=name)
    if condition is not None and condition.status == "False" and condition.message:
        says.append(quoted(condition.message))
    elif event is not None:
        says.append(f"{event.reason}: {quoted(event.message)}")
    since = seconds(event.time) if event is not None else seconds(pod.metadata.creation_timestamp)
    return Wait(SCHEDULER, text, says, name if event is not None else "", since, cause)
