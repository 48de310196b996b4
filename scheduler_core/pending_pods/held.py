"""Pods that a PreEnqueue plugin holds out of the queue. kube-scheduler sets no condition and writes no event for them.

Source: pkg/scheduler/backend/queue/scheduling_queue.go (runPreEnqueuePlugins), metric scheduler_pending_pods with
queue="gated".
"""

from __future__ import annotations

from scheduler_core.api.objects import PodResourceClaim
from scheduler_core.cluster.formatting import count
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.dra.claims import problem_of
from scheduler_core.explain.summary import reason_text
from scheduler_core.framework.interface import Status
from scheduler_core.pending_pods import pending_answer as causes
from scheduler_core.pending_pods.event_index import EventIndex
from scheduler_core.pending_pods.groups import group_of
from scheduler_core.pending_pods.pending_answer import PendingAnswer, PendingDetails
from scheduler_core.pending_pods.pod_state import Surroundings, answer_of

READS = {
    "DynamicResources": frozenset({"ResourceClaim"}),
    "GangScheduling": frozenset({"PodGroup.scheduling.k8s.io"}),
}
"""PreEnqueue plugin -> kinds without which its result is not known."""
CLAIM_NOT_CREATED = "FailedResourceClaimCreation"  # reason of an event of kube-controller-manager
MESSAGE = 300  # characters of such an event
SILENT = "The scheduler sets no condition and writes no event for such a pod."


def answer_of_held(pod: PodInfo, held: Status, group: str, around: Surroundings) -> PendingAnswer:
    """Return the answer for a pod that a PreEnqueue plugin holds. `group`: why its group holds it; "" if it does not.

    `held`: the status of the plugin.
    """
    details, why = PendingDetails(), f"{held.plugin} keeps it out of the queue: {reason_text(held)}"
    cause = causes.GATED
    if group:
        details.group, cause, why = group_of(pod), causes.GROUP, group.rstrip(".")
    elif held.plugin == "DynamicResources":
        cause, why = causes.DEVICE_CLAIM, _missing_claims(pod, around) or why
    return answer_of(pod.pod, cause, f"{why}. {SILENT}", details)


def _missing_claims(pod: PodInfo, around: Surroundings) -> str:
    """Return which claims for devices hold the pod, as a part of a sentence; "" if none does."""
    problems = []
    for used in pod.pod.spec.resource_claims:
        if problem := problem_of(pod, used, around.cluster.device_claims):
            problems.append(_missing_claim(pod, used, problem, around))
    if not problems:
        return ""
    more = f" (and {count(len(problems) - 1, 'other claim')})" if len(problems) > 1 else ""
    return f"{problems[0]}{more}"


def _missing_claim(pod: PodInfo, used: PodResourceClaim, problem: str, around: Surroundings) -> str:
    name, template = used.resource_claim_name, used.resource_claim_template_name
    if name is not None:
        if f"{pod.namespace}/{name}" not in around.cluster.device_claims:
            return f"ResourceClaim {pod.namespace}/{name} does not exist"
        return problem
    created = any(status.name == used.name for status in pod.pod.status.resource_claim_statuses)
    if template is None or created:
        return problem
    text = f"its ResourceClaim for {used.name} has not been created from ResourceClaimTemplate "
    return f"{text}{pod.namespace}/{template}{_reported(pod, used, around.events)}"


def _reported(pod: PodInfo, used: PodResourceClaim, events: EventIndex) -> str:
    """Return the message of the controller that creates claims, as the end of a sentence."""
    found = events.about("Pod", pod.key, (CLAIM_NOT_CREATED,))
    about = [event for event in found if f" {used.name}:" in event.message] or found
    if not about:
        return ""
    return f"; last event of {about[-1].reporter or 'its controller'}: {about[-1].message[:MESSAGE].rstrip('.')}"
