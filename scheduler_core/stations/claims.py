"""Waits for claims: volumes and devices that must be there before a node is chosen."""

from collections.abc import Iterator

from scheduler_core.api.objects import Pod, PodResourceClaim
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.explain.answer import Answer
from scheduler_core.framework import causes
from scheduler_core.live.objects import Event
from scheduler_core.plugins.volumes import PROVISIONING, WAITS_FOR_CONSUMER, claim_problems
from scheduler_core.stations.surroundings import Surroundings
from scheduler_core.stations.times import seconds
from scheduler_core.stations.waits import CLAIMS, MOST_FACTS, ClaimWait, Wait, quoted

MESSAGE = 300  # characters of a provisioner's message
ABSENT_CLAIM = "device-claim-absent"
CLAIM_CONTROLLER = "resource_claim"
VOLUME_CONTROLLER = "persistentvolume-controller"
_OF_VOLUMES = (causes.CLAIM_MISSING, causes.CLAIM_UNBOUND)


def claim_waits(pod: PodInfo, around: Surroundings) -> list[ClaimWait]:
    """Return why each unusable or unbound claim of the pod is so. Claims that are bound with the pod come last."""
    found = []
    for one in claim_problems(around.cluster, pod):
        event = _report(one.claim, around) if one.cause in ("no-class", PROVISIONING, "immediate") else None
        reported = f"; last event: {event.reason}: {event.message[:MESSAGE].rstrip('.')}" if event is not None else ""
        reported = reported or "; it has reported nothing" * (one.cause == "immediate")
        found.append(ClaimWait(one.claim, one.cause, f"claim {one.claim} {one.text}{reported}", one.storage_class))
    return sorted(found, key=lambda wait: wait.cause == WAITS_FOR_CONSUMER)


def _report(key: str, around: Surroundings) -> Event | None:
    """Return the newest event about a claim: an error of the provisioner, or else another event of it, if there is one.
    kube-controller-manager only says that it waits for it."""
    claim = around.cluster.claims.get(key)
    found = around.events.about("PersistentVolumeClaim", claim) if claim is not None else []
    return max(
        found,
        key=lambda event: (event.reporter != VOLUME_CONTROLLER, event.type == "Warning", seconds(event.time)),
        default=None,
    )


def wait_of(pod: Pod, info: PodInfo, around: Surroundings, answer: Answer | None) -> Wait | None:
    """Return the wait for claims that must exist, or be bound, before a node is chosen; None if none keeps the pod.

    `answer`: why no node takes the pod. Its sentence is that of the wait.
    """
    cause = answer.cause.kind if answer is not None and answer.cause is not None else ""
    absent = list(_absent_devices(pod, around.cluster))
    if absent and cause in ("", causes.DEVICE_CLAIM, causes.GATED, causes.WAITS):
        event = around.events.last("Pod", pod, ("FailedResourceClaimCreation",), CLAIM_CONTROLLER)
        says = [_template_text(claim) for claim in absent]
        says += [quoted(event.message)] if event is not None else []
        text = "" if cause in (causes.DEVICE_CLAIM, causes.GATED) else f"Its {says[0]}."
        writer, since = (event.reporter, seconds(event.time)) if event is not None else ("", 0.0)
        return Wait(CLAIMS, text, says[:MOST_FACTS], writer, since, ABSENT_CLAIM)
    if cause not in ("", *_OF_VOLUMES, causes.WAITS):
        return None
    waits = [one for one in claim_waits(info, around) if one.cause != WAITS_FOR_CONSUMER]
    if cause not in _OF_VOLUMES:
        waits = [one for one in waits if one.cause == PROVISIONING]
    if not waits:
        return None
    event = _report(waits[0].claim, around)
    if not cause and (event is None or event.type != "Warning"):
        return None  # a node takes the pod, and no error shows that its claim keeps it
    claim = around.cluster.claims.get(waits[0].claim)
    since = seconds(claim.metadata.creation_timestamp) if claim is not None else 0.0
    sentence = f"{waits[0].sentence[:1].upper()}{waits[0].sentence[1:]}." if cause not in _OF_VOLUMES else ""
    writer = event.reporter if event is not None else ""
    return Wait(CLAIMS, sentence, [one.sentence for one in waits][:MOST_FACTS], writer, since, waits[0].cause)


def _absent_devices(pod: Pod, cluster: Cluster) -> Iterator[PodResourceClaim]:
    """Yield the device claims of the pod that do not exist."""
    made = {one.name: one for one in pod.status.resource_claim_statuses}
    for claim in pod.spec.resource_claims:
        if claim.resource_claim_template_name and claim.name in made:
            name = made[claim.name].resource_claim_name
            if name is None:
                continue  # none was needed
        else:
            name = claim.resource_claim_name
        if not name or f"{pod.namespace}/{name}" not in cluster.device_claims:
            yield claim


def _template_text(claim: PodResourceClaim) -> str:
    if claim.resource_claim_template_name:
        template = claim.resource_claim_template_name
        return f"device claim {claim.name} has not been created from ResourceClaimTemplate {template}"
    return f"device claim {claim.name} is ResourceClaim {claim.resource_claim_name}, which does not exist"
