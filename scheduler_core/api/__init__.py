"""What is read: Kubernetes objects, quantities, selectors, spans of time."""

from scheduler_core.api import (
    device_checks,  # noqa: F401  (makes the kinds of resource.k8s.io known)
    workloads,  # noqa: F401  (makes PodGroup of scheduling.k8s.io known)
)
