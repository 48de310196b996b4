"""ProvisioningRequests of cluster-autoscaler: their state, and the pods that consume one.

Source: kubernetes/autoscaler, cluster-autoscaler/apis/provisioningrequest and
processors/provreq/provisioning_request_pods_filter.go (1.36.1).
"""

from scheduler_core.api.objects import Pod
from scheduler_core.live.neighbours import ProvisioningRequest
from scheduler_core.stations.autoscaler_answer import AutoscalerAnswer
from scheduler_core.stations.surroundings import Surroundings, condition_in
from scheduler_core.stations.times import seconds
from scheduler_core.stations.waits import AUTOSCALER_REFUSED, Wait, quoted

_CONSUMES = (
    "autoscaling.x-k8s.io/consume-provisioning-request",
    "cluster-autoscaler.kubernetes.io/consume-provisioning-request",
)
_ENDED = ("Failed", "CapacityRevoked", "BookingExpired")


def answer_about(pod: Pod, around: Surroundings) -> AutoscalerAnswer | None:
    """Return that no node is added for a pod because it consumes a ProvisioningRequest without capacity; else None."""
    name = next((name for key in _CONSUMES if (name := pod.metadata.annotations.get(key))), "")
    request = around.store.get("ProvisioningRequest", f"{pod.namespace}/{name}") if name else None
    if not isinstance(request, ProvisioningRequest):
        return None
    kind, provisioned, since = _newest(request)
    if kind == "Provisioned" and provisioned:
        return None
    text = f"cluster-autoscaler adds no node for the pod itself, which consumes {state_of(request)}."
    return AutoscalerAnswer(False, Wait(AUTOSCALER_REFUSED, text, [], "", since, AUTOSCALER_REFUSED, leads=True))


def state_of(request: ProvisioningRequest) -> str:
    """Return the name of a ProvisioningRequest and the condition that counts, in its words."""
    kind, _, _ = _newest(request)
    condition = condition_in(request.status.conditions, kind)
    if condition is None:
        return f"ProvisioningRequest {request.name}, which has no condition"
    text = f"{kind} is {condition.status}: {condition.reason}: {quoted(condition.message)}"
    return f"ProvisioningRequest {request.name}: {text}"


def _newest(request: ProvisioningRequest) -> tuple[str, bool, float]:
    """Return the condition that counts, whether it is True, and since when; "" without one."""
    for kind in (*_ENDED, "Provisioned", "Accepted"):
        condition = condition_in(request.status.conditions, kind)
        if condition is not None and (condition.status == "True" or kind not in _ENDED):
            return kind, condition.status == "True", seconds(condition.last_transition_time or "")
    return "", False, seconds(request.metadata.creation_timestamp)
