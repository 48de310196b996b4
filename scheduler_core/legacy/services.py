"""Services and controllers that select a pod.

Source: k8s.io/client-go/listers/core/v1 and apps/v1 (GetPodServices and similar functions).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scheduler_core.api import selectors
from scheduler_core.api.objects import Service
from scheduler_core.api.selectors import Selector
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo


def services_of(cluster: Cluster, pod: PodInfo) -> Iterator[Service]:
    """Yield the services that select the pod. A service without a selector selects no pod."""
    for service in cluster.services.values():
        wanted = service.spec.selector
        if wanted and service.namespace == pod.namespace and wanted.items() <= pod.labels.items():
            yield service


def controllers_of(cluster: Cluster, pod: PodInfo) -> Iterator[Any]:
    """Yield replication controllers, replica sets and stateful sets whose selectors match the pod, regardless of its
    owner."""
    for controller in cluster.replication_controllers.values():
        wanted = controller.spec.selector
        if wanted and controller.namespace == pod.namespace and wanted.items() <= pod.labels.items():
            yield controller
    for table in (cluster.replica_sets, cluster.stateful_sets):
        for workload in table.values():
            if pod.labels and workload.namespace == pod.namespace:
                selector = selectors.compile_selector(workload.spec.selector)
                if selector.key and selector.matches(pod.labels):
                    yield workload


def selector_of(owner: Any) -> Selector:
    """Return the selector of a service or controller."""
    wanted = owner.spec.selector
    return selectors.from_labels(wanted) if isinstance(wanted, dict) else selectors.compile_selector(wanted)
