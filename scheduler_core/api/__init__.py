"""Decodes Kubernetes objects, quantities, selectors and durations."""

from scheduler_core.api import (
    devices,  # noqa: F401  (registers the kinds of resource.k8s.io)
    scheduler_plugins,  # noqa: F401  (registers the kinds of scheduler-plugins)
    workloads,  # noqa: F401  (registers PodGroup of scheduling.k8s.io)
)
