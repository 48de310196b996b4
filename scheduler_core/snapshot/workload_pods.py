"""Workloads without pods that a user wrote, and the pods that their controllers would create at once.

A workload from a cluster has a uid or a status. Its pods are in the snapshot, or were left out of it.
"""

import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from scheduler_core.api import selectors
from scheduler_core.api.objects import Node, Object, Pod, StorageClass
from scheduler_core.api.selectors import Selector
from scheduler_core.controllers import pod_template as workload_pods
from scheduler_core.controllers.pod_template import KINDS, Workload
from scheduler_core.releases import Release
from scheduler_core.snapshot.defaults import is_typed

Raw = dict[str, Any]
_JOB_NAMES = ("batch.kubernetes.io/job-name", "job-name")


class BareWorkloads:
    """The workloads without pods.

    `raws`: objects of a snapshot, including workloads. `only`: titles (`Deployment default/web`) of the workloads whose
    pods may be created; None for all. `cron_jobs`: titles of CronJobs; their pods are never created here. Raises
    InputError for an invalid workload.
    """

    def __init__(self, raws: Iterable[Any], only: Collection[str] | None = None) -> None:
        written = [raw for raw in raws if isinstance(raw, dict) and is_typed(raw)]
        if only is not None:
            written = [raw for raw in written if title(raw) in only]
        found = [workload_pods.read(raw) for raw in written if workload_pods.makes_pods(raw)]
        there = {workload.key for workload in found}
        self._by_namespace: dict[str, list[tuple[Workload, Selector]]] = {}
        for workload in found:
            if not _made_by_another(workload, there):
                self._by_namespace.setdefault(workload.namespace, []).append((workload, _selector(workload)))
        self.cron_jobs = [title(raw) for raw in written if raw.get("kind") == "CronJob"]

    def add(self, pod: Pod) -> None:
        """Add a pod of the snapshot: its workload has pods."""
        waiting = self._by_namespace.get(pod.namespace)
        if not waiting:
            return
        labels, owners = pod.metadata.labels, {(o.kind, o.name) for o in pod.metadata.owner_references}
        waiting[:] = [
            (workload, selector)
            for workload, selector in waiting
            if not selector.matches(labels) and (workload.kind, workload.name) not in owners
        ]

    @property
    def workloads(self) -> list[Workload]:
        """The workloads without pods."""
        return [workload for found in self._by_namespace.values() for workload, _ in found]


def _selector(workload: Workload) -> Selector:
    if workload.kind == "Job":
        return selectors.from_labels({_JOB_NAMES[0]: workload.name})
    if workload.spec.selector is not None:
        return selectors.compile_selector(workload.spec.selector)
    return selectors.from_labels(workload.base.metadata.labels)


def _made_by_another(workload: Workload, there: set[tuple[str, str, str]]) -> bool:
    """Whether a workload of the snapshot created this one, as a Deployment creates its ReplicaSets."""
    metadata = workload.raw["metadata"]
    references = [reference for reference in metadata.get("ownerReferences") or () if reference]  # an entry may be null
    owners = [(o["kind"], o.get("name")) for o in references if o.get("kind") in KINDS]
    if workload.kind == "ReplicaSet" and workload_pods.HASH in workload.base.metadata.labels:
        owners.append(("Deployment", workload.name.rpartition("-")[0]))  # the reference may be missing
    return any((kind, workload.namespace, name) in there for kind, name in owners)


def title(raw: Raw) -> str:
    """Return the title of an object: `Deployment default/web`."""
    metadata = raw.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return f"{raw.get('kind')} {metadata.get('namespace') or 'default'}/{metadata.get('name')}"


def number_of_pods(workload: Workload, nodes: Iterable[Node], release: Release) -> int:
    """Return the number of pods that `pods_of` returns."""
    match workload.kind:
        case "DaemonSet":
            return sum(workload.takes(node, release) for node in nodes)
        case "Job":
            return workload.spec.at_once
    return workload.spec.replicas


def pods_of(workload: Workload, nodes: Iterable[Node], release: Release, chance: random.Random) -> Iterator[Pod]:
    """Yield the pods that the controller creates at once, including all ordinals of a StatefulSet.

    `nodes`: in the snapshot's order. `chance`: the source of name suffixes, as in a virtual-time run.
    """
    match workload.kind:
        case "StatefulSet":
            yield from (workload.pod(f"{workload.name}-{ordinal}") for ordinal in workload.spec.ordinals_wanted)
        case "DaemonSet":
            fitting = (node.name for node in nodes if workload.takes(node, release))
            yield from (workload.pod(workload.suffixed(chance), node) for node in fitting)
        case _:
            number = number_of_pods(workload, (), release)
            yield from (workload.pod(workload.suffixed(chance)) for _ in range(number))


def other_objects(workload: Workload, pods: Sequence[Pod], classes: Mapping[str, StorageClass]) -> Iterator[Object]:
    """Yield the other objects of a controller: a Deployment's ReplicaSet, the claims of a StatefulSet's pods."""
    if workload.set is not None:
        yield workload.set
    for pod in pods:
        yield from (c for c in workload.claims_of(pod.name) if workload_pods.waits_for_a_pod(c, classes))
