"""Default selector of a pod: merges the selectors of its services and its controller.

Spreading uses it when the pod has no constraints of its own. Upstream: pkg/scheduler/framework/plugins/helper/spread.go
(DefaultSelector).
"""

from scheduler_core.api import selectors
from scheduler_core.api.objects import ReplicaSet, ReplicationController, Service, StatefulSet
from scheduler_core.api.selectors import Selector
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.provenance.context import View
from scheduler_core.provenance.matching import below, label_equals, selected
from scheduler_core.provenance.tree import Tree, every

_SERVICES = "services by label"  # of `Cluster.shared`


def services_of(cluster: Cluster, pod: PodInfo) -> list[Service]:
    """Return the services whose selectors match the pod, in the order of the table."""
    version, by_label = cluster.shared.get(_SERVICES, (-1, {}))
    if version != cluster.services.version:
        by_label = {}
        for place, service in enumerate(cluster.services.values()):
            for label in [*service.spec.selector.items()][:1]:  # one that the pod must have; without any, it has none
                by_label.setdefault((service.namespace, *label), []).append((place, service))
        cluster.shared[_SERVICES] = cluster.services.version, by_label
    labels, found = pod.labels.items(), []
    for label in labels:
        for place, service in by_label.get((pod.namespace, *label), ()):
            if service.spec.selector.items() <= labels:
                found.append((place, service))
    return [service for _, service in sorted(found)]


Workload = ReplicaSet | StatefulSet


def default_sources(
    cluster: Cluster, pod: PodInfo
) -> tuple[dict[str, Service | ReplicationController], list[Workload]]:
    """Return (label -> the service or controller that selects by it, the workloads whose selectors are added)."""
    labels: dict[str, Service | ReplicationController] = {}
    for service in services_of(cluster, pod):
        labels.update(dict.fromkeys(service.spec.selector, service))
    if cluster.release.controllers_found_by_labels:
        for controller in cluster.replication_controllers.in_namespace(pod.namespace):
            wanted = controller.spec.selector
            if wanted and wanted.items() <= pod.labels.items():
                labels.update(dict.fromkeys(wanted, controller))
        return labels, _workloads_by_labels(cluster, pod)
    owner = next((ref for ref in pod.pod.metadata.owner_references if ref.controller), None)
    if owner is None:
        return labels, []
    key = f"{pod.namespace}/{owner.name}"
    kind = (owner.api_version, owner.kind)
    workload: Workload | None = None
    if kind == ("v1", "ReplicationController") and key in cluster.replication_controllers:
        controller = cluster.replication_controllers[key]
        labels.update(dict.fromkeys(controller.spec.selector, controller))
    elif kind == ("apps/v1", "ReplicaSet"):
        workload = cluster.replica_sets.get(key)
    elif kind == ("apps/v1", "StatefulSet"):
        workload = cluster.stateful_sets.get(key)
    return labels, [workload] if workload is not None and workload.spec.selector is not None else []


def _workloads_by_labels(cluster: Cluster, pod: PodInfo) -> list[Workload]:
    """Return the workloads whose selectors match the pod, as old releases do, regardless of its owner.

    No selector matches a pod without labels (upstream GetPodReplicaSets).
    """
    found: list[Workload] = []
    tables = cluster.replica_sets, cluster.stateful_sets
    workloads: list[Workload] = [one for table in tables for one in table.in_namespace(pod.namespace)]
    for workload in workloads if pod.labels else ():
        selector = selectors.compile_selector(workload.spec.selector)
        if selector.key and selector.matches(pod.labels):
            found.append(workload)
    return found


def default_selector(cluster: Cluster, pod: PodInfo) -> Selector:
    """Return the merged selector; it matches every pod if there are no sources."""
    last = cluster.last_selector  # a cycle asks up to three times
    if last is None or last[0] is not pod.pod or last[1] != cluster.version:
        last = cluster.last_selector = pod.pod, cluster.version, _merged_selector(cluster, pod)
    return last[2]


def _merged_selector(cluster: Cluster, pod: PodInfo) -> Selector:
    sources, workloads = default_sources(cluster, pod)
    if not sources and not workloads:
        return selectors.EVERYTHING
    labels = {key: source.spec.selector[key] for key, source in sources.items()}
    selector = selectors.from_labels(labels)
    for workload in workloads:
        selector = selectors.compile_selector(workload.spec.selector).and_(selector)
    return selector


def explain_selected(view: View, cluster: Cluster, other: PodInfo) -> list[Tree]:
    """Explain whether the default selector matches the other pod, one tree for each requirement."""
    labels, workloads = default_sources(cluster, view.pod)
    parts = [
        label_equals(view, other, key, view.field(source, "spec", "selector", key)) for key, source in labels.items()
    ]
    for workload in workloads:
        parts.append(selected(view, other, workload.spec.selector, below(view.field, workload, "spec", "selector")))
    return parts


def explain_counted(view: View, cluster: Cluster, other: PodInfo) -> Tree:
    """Return the trees of `explain_selected` as one tree."""
    parts = explain_selected(view, cluster, other)
    return parts[0] if len(parts) == 1 else every(parts, f"{other.key} counts")
