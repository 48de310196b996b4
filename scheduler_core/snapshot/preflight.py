"""What is to be known of a snapshot before a run: who waits for whom, what it lacks, which pods are to be made."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from scheduler_core.api.objects import Node, Object, PersistentVolumeClaim, Pod, PriorityClass, StorageClass
from scheduler_core.controllers.admission import SYSTEM_CLASSES
from scheduler_core.errors import InputError
from scheduler_core.releases import Release
from scheduler_core.snapshot.missing_claims import claims_of
from scheduler_core.snapshot.workload_pods import Bare

DEFAULT_SCHEDULER = "default-scheduler"
OTHER_SCHEDULERS = ("leave", "take")
ABSENT_CLAIMS = ("error", "bound")


@dataclass(frozen=True, slots=True)
class Choices:
    """What a run does about what a snapshot leaves open.

    `other_schedulers`: pods that name a scheduler which the configuration does not have are left alone, or taken by its
    default profile. `absent_claims`: a claim that the snapshot does not hold is an error, as to the scheduler, or taken
    as bound to a volume without constraints.
    """

    other_schedulers: Literal["leave", "take"] = "leave"
    absent_claims: Literal["error", "bound"] = "error"

    @classmethod
    def of(cls, other_schedulers: str, absent_claims: str) -> Choices:
        """The same from text. Raises InputError."""
        for name, value, allowed in (
            ("other_schedulers", other_schedulers, OTHER_SCHEDULERS),
            ("absent_claims", absent_claims, ABSENT_CLAIMS),
        ):
            if value not in allowed:
                raise InputError("Run", name, f"must be {' or '.join(allowed)}, got {value[:63]!r}")
        return cls(other_schedulers, absent_claims)  # type: ignore[arg-type]


AS_UPSTREAM = Choices()


class Outlook:
    """Sees the objects of a snapshot one by one, in any order, and keeps little of each.

    `workloads`: its workloads as raw dicts; other objects among them do not matter. `only`: as of Bare. `schedulers`:
    names of the profiles that will run. Raises InputError for a broken workload.
    """

    def __init__(
        self,
        workloads: Iterable[Any],
        schedulers: Collection[str],
        release: Release,
        only: Collection[str] | None = None,
    ) -> None:
        self.bare = Bare(workloads, only)
        self.schedulers: Sequence[str] = sorted(schedulers, key=lambda name: name != DEFAULT_SCHEDULER)
        self.release = release
        self.deleting: list[str] = []
        self.nodes: list[Node] = []
        self.classes: dict[str, PriorityClass] = {}
        self.storage_classes: dict[str, StorageClass] = {}
        self.claims: set[str] = set()
        self._others: dict[str, str] = {}  # pod -> its scheduler
        self._claims_named: dict[str, list[str]] = {}  # claim -> pods
        self._classes_named: dict[str, list[str]] = {}  # priority class -> pods without a priority of their own

    def see(self, obj: Object) -> None:
        match obj:
            case Pod():
                self.bare.see(obj)
                self.see_pod(obj)
                self.see_class(obj)
            case Node():
                self.nodes.append(obj)
            case PersistentVolumeClaim():
                self.claims.add(obj.key)
            case PriorityClass():
                self.classes[obj.name] = obj
            case StorageClass():
                self.storage_classes[obj.name] = obj

    def see_pod(self, pod: Pod) -> None:
        """A pod of the snapshot, or one that is made for the run."""
        if pod.terminated:
            return
        for key, _ in claims_of(pod):
            self._claims_named.setdefault(key, []).append(pod.key)
        if pod.spec.node_name:
            return
        if pod.metadata.deletion_timestamp:
            self.deleting.append(pod.key)
        elif pod.spec.scheduler_name not in self.schedulers:
            self._others[pod.key] = pod.spec.scheduler_name

    def see_class(self, pod: Pod) -> None:
        """The PriorityClass that a pod names; one that comes later is refused if there is none."""
        spec = pod.spec
        if spec.priority is None and spec.priority_class_name and not pod.terminated:
            self._classes_named.setdefault(spec.priority_class_name, []).append(pod.key)

    @property
    def others(self) -> dict[str, list[str]]:
        """Schedulers that are not ours -> the pods that wait for them, most pods first."""
        found: dict[str, list[str]] = {}
        for pod, scheduler in self._others.items():
            found.setdefault(scheduler, []).append(pod)
        return dict(sorted(found.items(), key=lambda item: -len(item[1])))

    @property
    def absent_claims(self) -> dict[str, list[str]]:
        """Claims that the snapshot does not hold -> the pods that name them."""
        return {key: pods for key, pods in self._claims_named.items() if key not in self.claims}

    @property
    def unknown_classes(self) -> dict[str, list[str]]:
        """PriorityClasses that do not exist -> the pods that name them."""
        return {
            name: pods
            for name, pods in self._classes_named.items()
            if name not in self.classes and name not in SYSTEM_CLASSES
        }
