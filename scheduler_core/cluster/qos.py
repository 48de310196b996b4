"""The quality-of-service class of a pod.

Upstream: pkg/apis/core/v1/helper/qos (qos.go: ComputePodQOS).
"""

from scheduler_core.api.objects import Pod
from scheduler_core.api.quantity import nano_value
from scheduler_core.cluster.resources import CPU, MEMORY


def qos_class(pod: Pod) -> str:
    """Return `Guaranteed`, `Burstable` or `BestEffort`. Raises QuantityError."""
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    guaranteed = True
    for container in (*pod.spec.containers, *pod.spec.init_containers):
        own = {name: nano_value(container.resources.limits.get(name, 0)) for name in (CPU, MEMORY)}
        guaranteed = guaranteed and all(own.values())
        for name, limit in own.items():
            limits[name] = limits.get(name, 0) + limit
            # the API server sets a missing request to the limit
            requests[name] = requests.get(name, 0) + nano_value(container.resources.requests.get(name, limit))
    if not any(requests.values()) and not any(limits.values()):
        return "BestEffort"
    return "Guaranteed" if guaranteed and requests == limits else "Burstable"
