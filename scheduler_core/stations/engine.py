"""START HERE: at which station a pod waits. Each neighbour of the scheduler has its own module."""

from __future__ import annotations

from typing import Literal

from scheduler_core.api.objects import Pod
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.explain.answer import Answer, Stop, no_fixes
from scheduler_core.framework import causes
from scheduler_core.stations import (
    claims,
    cluster_autoscaler,
    gates,
    groups,
    karpenter,
    kueue,
    other_schedulers,
    starting,
)
from scheduler_core.stations.surroundings import SCHEDULING_GATED, Surroundings, condition_of
from scheduler_core.stations.times import seconds
from scheduler_core.stations.waits import (
    CLAIMS,
    GROUP,
    NODE_COMING,
    SCHEDULER,
    STRIP,
    Wait,
    bounded,
    quoted,
)

PLACED = ("scheduled", "waiting")  # results of cycles
_ORDER = tuple(dict.fromkeys(STRIP.values()))
_ENDED_ELSEWHERE = {
    NODE_COMING: "an autoscaler has promised a node for the pod",
    kueue.KUEUE_CAUSE: "Kueue holds the pod, and no change for the scheduler ends that",
    claims.ABSENT_CLAIM: "a device claim of the pod must exist first",
}
"""Station or cause of a wait -> why nothing that is changed for the scheduler ends it."""
_NO_MATTER_OF_NODES = (causes.WAITS, causes.NOMINATED)


def wait_of(pod: Pod, info: PodInfo | None, around: Surroundings, answer: Answer | None) -> Wait | None:
    """Return where a pod waits, the first station that holds it; None if it has started, or ended.

    `info`: of a pod without a node. `answer`: why no node takes it, None if it is not known; it is the sentence of the
    station `scheduler`, and of others whose sentence is "".
    """
    if pod.terminated or (pod.spec.node_name and pod.status.phase not in ("", "Pending")):
        return None
    found = (
        starting.wait_of(pod, around)
        or gates.wait_of(pod, around)
        or groups.wait_of(pod, around, answer)
        or (claims.wait_of(pod, info, around, answer) if info is not None else None)
        or other_schedulers.wait_of(pod, around)
        or _autoscalers(pod, around, answer)
        or _scheduler(pod)
    )
    return bounded(found)


def _autoscalers(pod: Pod, around: Surroundings, answer: Answer | None) -> Wait | None:
    """Return the wait for a node that an autoscaler has promised, or the refusal of all of them."""
    cause = answer.cause.kind if answer is not None and answer.cause is not None else ""
    if cause in _NO_MATTER_OF_NODES or (answer is not None and answer.node):
        return None
    both = (karpenter.answer_about(pod, around), cluster_autoscaler.answer_about(pod, around))
    answers = [one for one in both if one is not None]
    for one in answers:
        if one.promise:
            return one.wait
    if not answers:
        return None
    first, *others = (one.wait for one in answers)
    for other in others:
        first.sentence += f" {other.sentence}"
        first.says = [*first.says, *other.says]
    return first


def _scheduler(pod: Pod) -> Wait:
    condition = condition_of(pod)
    if (
        condition is None
        or condition.status != "False"
        or condition.reason == SCHEDULING_GATED
        or not condition.message
    ):
        return Wait(SCHEDULER, since=seconds(pod.metadata.creation_timestamp))
    since = seconds(condition.last_transition_time or "")
    return Wait(SCHEDULER, "", [quoted(condition.message)], pod.spec.scheduler_name, since)


def apply(wait: Wait | None, answer: Answer) -> None:
    """Add to the scheduler's answer where the pod waits. Its suggested fixes go where only Kueue or an autoscaler, as
    far as it is known, ends the wait."""
    if wait is None:
        return
    if answer.result in PLACED and not holds_placed(wait):  # it would be placed now: its answer says where
        answer.station, answer.says = SCHEDULER, []
        return
    answer.station, answer.says = wait.station, wait.says
    answer.sentence = sentence_of(wait, answer.sentence)
    if why := why_no_fixes(wait):
        answer.fixes, answer.no_fixes = [], why


def holds_placed(wait: Wait) -> bool:
    """Whether a wait holds a pod that the simulated scheduler would place."""
    return wait.station == CLAIMS or (wait.station == GROUP and not wait.leads)


def why_no_fixes(wait: Wait) -> str:
    """Return why nothing that is changed for the scheduler ends the wait, as a sentence; "" if something can."""
    why = _ENDED_ELSEWHERE.get(wait.station) or _ENDED_ELSEWHERE.get(wait.cause)
    return no_fixes(why) if why else ""


def sentence_of(wait: Wait, sentence: str) -> str:
    """Return the sentence of a wait, given that of the scheduler's answer."""
    if wait.leads:
        return f"{wait.sentence} {sentence}".rstrip()
    return wait.sentence or sentence


def strip_of(pod: Pod, wait: Wait | None, around: Surroundings) -> list[Stop]:
    """Return the stations of a pod in their order."""
    order = _ORDER
    here = STRIP[wait.station] if wait is not None else ""
    at = order.index(here) if here else len(order)
    needed = {
        "admission": kueue.is_managed(pod) or around.kueue_workload(pod) is not None,
        "group": groups.has_group(pod),
        "claims": bool(pod.spec.resource_claims)
        or any(volume.persistent_volume_claim or volume.ephemeral for volume in pod.spec.volumes),
        "node": bool(around.events.about("Pod", pod, (karpenter.PROMISE,), karpenter.WRITER))
        or bool(around.events.about("Pod", pod, (cluster_autoscaler.PROMISE,), cluster_autoscaler.WRITER)),
    }
    stops = []
    state: Literal["done", "waiting", "not-needed", "ahead"]
    for number, name in enumerate(order):
        if name == here:
            state = "waiting"
        elif not needed.get(name, True):
            state = "not-needed"
        else:
            state = "done" if number < at else "ahead"
        stops.append(Stop(name, state))
    return stops


def strip_without_pod(wait: Wait) -> list[Stop]:
    """Return the stations of pods that were never created."""
    here = STRIP[wait.station]
    return [Stop(name, "waiting" if name == here else "ahead") for name in _ORDER]
