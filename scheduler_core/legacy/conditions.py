"""Properties of nodes and pods that only the old predicates and priorities use."""

from scheduler_core.api.objects import Node
from scheduler_core.cluster.pod_info import PodInfo


def status_of(node: Node, condition: str) -> str:
    """Return the status of a condition of the node; "" if it has none of that type."""
    return next((c.status for c in node.status.conditions if c.type == condition), "")


def is_best_effort(pod: PodInfo) -> bool:
    """Return whether no container of the pod requests or limits cpu or memory (quality of service BestEffort)."""
    from scheduler_core.api import quantity

    spec = pod.pod.spec
    return not any(
        quantity.nano_value(amounts[name])
        for container in (*spec.containers, *spec.init_containers)
        for amounts in (container.resources.requests, container.resources.limits)
        for name in ("cpu", "memory")
        if name in amounts
    )
