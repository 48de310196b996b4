"""Answers from the analysis on the nodes: `never`, `not now`, or the pod fits and waits for its scheduler."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.api.objects import Pod
from scheduler_core.cluster.formatting import count, listing, some
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.explain.summary import reason_text, refusals
from scheduler_core.pending_pods import pending_answer as causes
from scheduler_core.pending_pods.fit import Fit
from scheduler_core.pending_pods.pending_answer import NEVER, NOT_NOW, InTheWay, PendingAnswer, PendingDetails
from scheduler_core.pending_pods.pod_state import answer_of, since
from scheduler_core.pending_pods.scheduler_message import compare, scheduler_message
from scheduler_core.pending_pods.times import clock

NAMED = 3  # pods in the way that a sentence names
LISTED = 200  # pods in the way that the details list
RETRIES = "within 5 minutes"  # upstream: the flush of unschedulable pods


def answer_of_fit(pod: PodInfo, fit: Fit, now: float) -> PendingAnswer:
    """Return the answer for a pod that its scheduler tried at least once, and that no PreEnqueue plugin holds."""
    trace = fit.trace
    if fit.fits:
        found = _fits(pod.pod, fit)
    elif not trace.nodes:
        found = _answer(pod.pod, NEVER, causes.NO_NODES, "Never: the cluster has no nodes.")
    elif trace.error:
        found = answer_of(pod.pod, causes.SCHEDULER_ERROR, f"its cycle ends in an error: {trace.error}.")
    elif fit.never:
        found = _answer(pod.pod, NEVER, causes.NO_NODE_FITS, f"Never: {_even_empty(fit)}")
    else:
        found = _not_now(pod, fit, now)
    _describe(found, fit)
    return found


def answer_without_nodes(pod: Pod) -> PendingAnswer:
    """Return the answer if the nodes cannot be read: what the scheduler reported."""
    message = scheduler_message(pod)
    text = (
        "the scheduler has reported nothing about it"
        if message is None
        else f"the scheduler reported: {message.message}"
    )
    found = _answer(pod, NOT_NOW, causes.NODES_UNKNOWN, f"Not now: {text.rstrip('.')}.")
    found.details.scheduler_message = message
    return found


def describe_fit(found: PendingAnswer, fit: Fit) -> None:
    """Add to an answer whether the pod fits now."""
    if fit.fits:
        found.details.fits_on = fit.node
        found.sentence += f" It fits on {fit.node}."
    elif not fit.trace.error:
        found.sentence += f" {_reasons(fit)}"
    _describe(found, fit)


def _answer(pod: Pod, category: causes.Category, cause: str, sentence: str) -> PendingAnswer:
    details = PendingDetails(since=since(pod), scheduler=pod.spec.scheduler_name)
    details.scheduler_message = scheduler_message(pod)
    return PendingAnswer(pod.key, category, cause, sentence, details=details)


def _reasons(fit: Fit) -> str:
    if fit.trace.prefilter is not None:
        return f"No node is asked: {reason_text(fit.trace.prefilter)}."
    return f"No node fits: {refusals(fit.answer.groups)}."


def _even_empty(fit: Fit) -> str:
    empty = fit.even_empty
    if empty is None:
        why = refusals(fit.answer.groups)
        return f"no node takes it, even without its other pods but those that it must be near: {why}."
    if not empty.groups:
        why = f": {reason_text(fit.trace.prefilter)}" if fit.trace.prefilter is not None else ""
        return f"no node takes it, even without its other pods{why}."
    return f"no node takes it, even without its other pods: {refusals(empty.groups)}."


def _fits(pod: Pod, fit: Fit) -> PendingAnswer:
    message, node = scheduler_message(pod), fit.node
    nominated = pod.status.nominated_node_name
    if message is not None and message.reason == "SchedulerError":
        text = f"it fits on {node}, but its last cycle ended in an error: {message.message.rstrip('.')}."
        return answer_of(pod, causes.SCHEDULER_ERROR, text)
    on = f"{node}, to which it is nominated" if nominated == node else node
    at = f" at {clock(message.time)}" if message is not None and message.time else ""
    text = f"it fits on {on}; {pod.spec.scheduler_name} last rejected it{at} and tries it again {RETRIES}."
    return answer_of(pod, causes.FITS_NOW, text)


def _not_now(pod: PodInfo, fit: Fit, now: float) -> PendingAnswer:
    if not fit.node:
        text = f"Not now: pods on several nodes are in the way. {_reasons(fit)}"
        return _answer(pod.pod, NOT_NOW, causes.PODS_IN_THE_WAY, text)
    pods = fit.in_the_way
    names = _names(pods)
    leaving = [one for one in pods if one.until]
    until = max((one.until for one in pods), default=0.0) if len(leaving) == len(pods) else 0.0
    verb = "is" if len(pods) == 1 else "are"
    cause = causes.PODS_IN_THE_WAY
    if until:
        end = "ends" if until > now else "ended"
        text = f"it fits on {fit.node} when {names} {verb} gone; "
        text += f"{'its' if len(pods) == 1 else 'their'} grace period {end} at {clock(until)}."
        if pod.nominated_node == fit.node:
            cause = causes.WAITS_FOR_VICTIMS
            text = f"it is nominated to {fit.node}: {text}"
    else:
        text = f"{fit.node} would take it without {names}{_remarks(pods)}. {_reasons(fit)}"
    found = _answer(pod.pod, NOT_NOW, cause, f"Not now: {text}")
    found.details.in_the_way, found.details.until = pods if len(pods) <= LISTED else pods[:LISTED], until
    found.details.node = fit.node
    return found


def _names(pods: Sequence[InTheWay]) -> str:
    if len(pods) > NAMED:
        return f"{count(len(pods), 'pod')} ({some([one.pod for one in pods], NAMED)})"
    return listing([one.pod for one in pods])


def _remarks(pods: Sequence[InTheWay]) -> str:
    """Return what is special about the pods, as the end of a sentence."""
    returning = sum(one.returns for one in pods)
    nominated = sum(one.nominated for one in pods)
    parts = []
    if returning:
        parts.append(f"{returning:,} of a DaemonSet or kubelet return{'s' * (returning == 1)} at once")
    if nominated:
        parts.append(f"{nominated:,} {'is' if nominated == 1 else 'are'} only nominated to it")
    return f"; {listing(parts)}" if parts else ""


def _describe(found: PendingAnswer, fit: Fit) -> None:
    details, trace = found.details, fit.trace
    details.nodes = trace.nodes
    details.fits_on = fit.node if fit.fits else ""
    if not fit.fits:
        details.groups, details.closest = fit.answer.groups, fit.answer.closest
    if fit.even_empty is not None:
        details.even_empty = fit.even_empty.groups
    if details.scheduler_message is not None and details.scheduler_message.reason == "Unschedulable":
        compare(details.scheduler_message, trace.message)
