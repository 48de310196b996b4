"""Compares our reasons with those that the real scheduler reported in the condition PodScheduled=False."""

from scheduler_core.api.objects import Pod
from scheduler_core.cluster.formatting import some
from scheduler_core.messages.text import read_message
from scheduler_core.pending_pods.pending_answer import Report, SchedulerMessage
from scheduler_core.stations.event_index import EventIndex
from scheduler_core.stations.surroundings import SCHEDULING_GATED, condition_of
from scheduler_core.stations.times import seconds

REPORTS = ("FailedScheduling", "NotTriggerScaleUp", "TriggeredScaleUp", "Nominated", "FailedResourceClaimCreation")
"""Reasons of events about the scheduling of a pod: of schedulers, Karpenter, cluster-autoscaler and
kube-controller-manager."""
MOST_WRITERS = 5
MOST = 2_000  # characters of a message that are kept


def reports_of(pod: Pod, events: EventIndex) -> list[Report]:
    """Return the last event about the scheduling of the pod of each component that is not its scheduler."""
    found: dict[str, Report] = {}
    for event in events.about("Pod", pod, REPORTS):
        if event.reporter not in ("", pod.spec.scheduler_name):
            report = Report(event.reporter, event.reason, event.message[:MOST], seconds(event.time))
            found[event.reporter] = report
    return list(found.values())[-MOST_WRITERS:]


def scheduler_message(pod: Pod) -> SchedulerMessage | None:
    """Return what the scheduler reported about a pod without a node; None if it reported nothing."""
    condition = condition_of(pod)
    if condition is None or condition.status != "False" or not (condition.reason or condition.message):
        return None
    if condition.reason == SCHEDULING_GATED and not pod.spec.scheduling_gates:
        return None
    return SchedulerMessage(condition.reason, condition.message[:MOST], seconds(condition.last_transition_time or ""))


def reasons(message: str) -> dict[str, int]:
    """Return reason -> number of nodes, of a message such as `0/3 nodes are available: 3 Insufficient cpu.`

    What PostFilter added is left out. A message of PreFilter has one reason, for all nodes.
    """
    read = read_message(message)
    if read is None:
        return {message: 0} if message else {}
    return {read.prefilter: read.nodes} if read.prefilter else {reason: number for number, reason in read.reasons}


def compare(theirs: SchedulerMessage, ours: str) -> None:
    """Set whether our message gives the same reasons as the scheduler's, and how they differ."""
    theirs.ours = ours
    reported, found = reasons(theirs.message), reasons(ours)
    if not reported or not found:
        return
    only_theirs, only_ours = sorted(reported.keys() - found.keys()), sorted(found.keys() - reported.keys())
    theirs.agrees = not only_theirs and not only_ours
    if theirs.agrees:
        if reported != found:
            theirs.difference = "The scheduler gave the same reasons, for other numbers of nodes."
        return
    parts = [f"the scheduler also reported {some(only_theirs, 3)}"] if only_theirs else []
    parts += [f"now there is also {some(only_ours, 3)}"] if only_ours else []
    theirs.difference = f"The state changed after the scheduler's last attempt: {'; '.join(parts)}."
