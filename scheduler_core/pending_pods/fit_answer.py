"""Answers of pods that their scheduler has tried: why no node takes them now, and what is about time and messages."""

from scheduler_core.api.objects import Pod
from scheduler_core.cluster.formatting import count, listing, some
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import causes as kinds
from scheduler_core.pending_pods import pending_answer as causes
from scheduler_core.pending_pods.fit import Fit
from scheduler_core.pending_pods.pending_answer import (
    NEVER,
    NOT_NOW,
    UNDECIDED,
    PendingAnswer,
)
from scheduler_core.pending_pods.pod_state import answer_of
from scheduler_core.pending_pods.scheduler_message import compare, scheduler_message
from scheduler_core.stations.times import clock

NAMED = 3  # pods in a sentence
RETRIES = "within 5 minutes"  # upstream: the flush of unschedulable pods
SILENT = "The scheduler sets no condition and writes no event for such a pod."
HELD_BY_PODS = frozenset(
    {
        *(kinds.INSUFFICIENT_RESOURCE, kinds.PODS_LIMIT, kinds.HOST_PORT, kinds.VOLUME_LIMIT, kinds.VOLUME_CONFLICT),
        *(kinds.TOPOLOGY_SPREAD, kinds.POD_AFFINITY, kinds.POD_ANTI_AFFINITY, kinds.DOMAIN_FULL),
        *(kinds.NOMINATED, kinds.EXTENDER, kinds.PLUGIN),
    }
)
"""Causes that end when other pods go, or come."""
WITHOUT_NODES = frozenset(
    {
        *(kinds.GATED, kinds.CLAIM_MISSING, kinds.CLAIM_UNBOUND, kinds.DEVICE_CLAIM, kinds.POD_GROUP, kinds.WAITS),
        kinds.ERROR,
    }
)
"""Causes for which no node was asked, or one takes the pod now."""


def answer_of_fit(pod: PodInfo, fit: Fit, now: float) -> PendingAnswer:
    """Return the answer for a pod. Its sentence is that of `fit.answer`; its note is about time and messages."""
    category = NOT_NOW if fit.cause in HELD_BY_PODS else UNDECIDED if fit.cause in WITHOUT_NODES else NEVER
    found = answer_of(pod.pod, fit.cause, fit.answer.sentence, category=category)
    message, details = found.details.scheduler_message, found.details
    if fit.leaving:
        _describe_leaving(found, fit, now)
    elif fit.fits and message is not None and message.reason == "SchedulerError":
        found.cause = causes.SCHEDULER_ERROR
        details.note = f"Its last cycle ended in an error: {message.message.rstrip('.')}."
    elif fit.fits:
        at = f" at {clock(message.time)}" if message is not None and message.time else ""
        details.note = f"{pod.pod.spec.scheduler_name} last rejected it{at} and tries it again {RETRIES}."
    if fit.answer.result == "gated":
        details.note = SILENT
    describe(found, fit)
    return found


def answer_without_nodes(pod: Pod) -> PendingAnswer:
    """Return the answer if the nodes cannot be read: what the scheduler reported."""
    message = scheduler_message(pod)
    reported = f"The scheduler reported: {message.message}" if message is not None else ""
    text = reported or "The scheduler has reported nothing about it"
    return answer_of(pod, causes.NODES_UNKNOWN, f"{text.rstrip('.')}.", category=NOT_NOW)


def describe(found: PendingAnswer, fit: Fit) -> None:
    """Add to an answer why no node takes the pod now, and how the scheduler's message differs."""
    details, found.ladder = found.details, fit.ladder
    details.answer, details.nodes = fit.answer, fit.answer.nodes
    details.fits_on = fit.node if fit.fits else ""
    if details.scheduler_message is not None and details.scheduler_message.reason == "Unschedulable":
        compare(details.scheduler_message, fit.answer.message)


def _describe_leaving(found: PendingAnswer, fit: Fit, now: float) -> None:
    pods, details = fit.leaving, found.details
    until = max(one.until for one in pods)
    verb, whose = ("is", "its") if len(pods) == 1 else ("are", "their")
    end = "ends" if until > now else "ended"
    names = [one.pod for one in pods]
    who = listing(names) if len(names) <= NAMED else f"{count(len(names), 'pod')} ({some(names, NAMED)})"
    text = f"It fits on {fit.node} when {who} {verb} gone; {whose} grace period {end} at {clock(until)}."
    found.category, found.cause, details.note = NOT_NOW, causes.WAITS_FOR_VICTIMS, text
    details.leaving, details.until, details.node = list(pods), until, fit.node
