"""Facts about a snapshot that matter before a run: other schedulers, missing objects, workloads without pods."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from scheduler_core.api.objects import Node, Object, PersistentVolumeClaim, Pod, PriorityClass, StorageClass
from scheduler_core.controllers.admission import SYSTEM_CLASSES
from scheduler_core.errors import InputError
from scheduler_core.releases import Release
from scheduler_core.snapshot import foreign_schedulers
from scheduler_core.snapshot.missing_claims import claims_of
from scheduler_core.snapshot.workload_pods import BareWorkloads

DEFAULT_SCHEDULER = "default-scheduler"
OTHER_SCHEDULERS = ("leave", "take")
ABSENT_CLAIMS = ("error", "bound")


@dataclass(frozen=True, slots=True)
class Choices:
    """A run's choices for pods of other schedulers and for missing claims.

    `other_schedulers`: pods of a scheduler that the configuration lacks are left alone ("leave"), or scheduled by its
    default profile ("take"). `absent_claims`: a missing claim is an error, as in the scheduler ("error"), or counts as
    bound to a volume without constraints ("bound").
    """

    other_schedulers: Literal["leave", "take"] = "leave"
    absent_claims: Literal["error", "bound"] = "error"

    @classmethod
    def parse(cls, other_schedulers: str, absent_claims: str) -> Self:
        """Return the choices from text. Raises InputError."""
        for name, value, allowed in (
            ("other_schedulers", other_schedulers, OTHER_SCHEDULERS),
            ("absent_claims", absent_claims, ABSENT_CLAIMS),
        ):
            if value not in allowed:
                raise InputError("Run", name, f"must be {' or '.join(allowed)}, got {value[:63]!r}")
        return cls(other_schedulers, absent_claims)  # type: ignore[arg-type]


AS_UPSTREAM = Choices()


class Preflight:
    """Collects facts from the objects of a snapshot, one by one and in any order. It stores little of each.

    `workloads`: the workloads as raw dicts; other objects among them are ignored. `only`: see Bare. `schedulers`: the
    names of the profiles. Raises InputError for an invalid workload.
    """

    def __init__(
        self,
        workloads: Iterable[Any],
        schedulers: Collection[str],
        release: Release,
        only: Collection[str] | None = None,
    ) -> None:
        self.bare = BareWorkloads(workloads, only)
        self.schedulers: Sequence[str] = sorted(schedulers, key=lambda name: name != DEFAULT_SCHEDULER)
        self.release = release
        self.deleting: list[str] = []
        self.nodes: list[Node] = []
        self.classes: dict[str, PriorityClass] = {}
        self.storage_classes: dict[str, StorageClass] = {}
        self.claims: set[str] = set()
        self.marked: dict[str, list[str]] = {}  # project of another scheduler -> pods that have its labels
        self._others: dict[str, str] = {}  # pod -> its scheduler
        self._claims_named: dict[str, list[str]] = {}  # claim -> pods
        self._classes_named: dict[str, list[str]] = {}  # priority class -> pods without their own priority

    def add(self, obj: Object) -> None:
        match obj:
            case Pod():
                self.bare.add(obj)
                self.add_pod(obj)
                self.add_class(obj)
            case Node():
                self.nodes.append(obj)
            case PersistentVolumeClaim():
                self.claims.add(obj.key)
            case PriorityClass():
                self.classes[obj.name] = obj
            case StorageClass():
                self.storage_classes[obj.name] = obj

    def add_pod(self, pod: Pod) -> None:
        """Add a pod of the snapshot, or one that is created for the run."""
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
        elif project := foreign_schedulers.marks(pod):
            self.marked.setdefault(project, []).append(pod.key)

    def add_class(self, pod: Pod) -> None:
        """Record the PriorityClass that a pod names. A pod created later is refused if the class does not exist."""
        spec = pod.spec
        if spec.priority is None and spec.priority_class_name and not pod.terminated:
            self._classes_named.setdefault(spec.priority_class_name, []).append(pod.key)

    @property
    def others(self) -> dict[str, list[str]]:
        """Schedulers that are not configured -> their pending pods, most pods first."""
        found: dict[str, list[str]] = {}
        for pod, scheduler in self._others.items():
            found.setdefault(scheduler, []).append(pod)
        return dict(sorted(found.items(), key=lambda item: -len(item[1])))

    @property
    def absent_claims(self) -> dict[str, list[str]]:
        """Claims that the snapshot lacks -> the pods that name them."""
        return {key: pods for key, pods in self._claims_named.items() if key not in self.claims}

    @property
    def unknown_classes(self) -> dict[str, list[str]]:
        """PriorityClasses that do not exist -> the pods that name them."""
        return {
            name: pods
            for name, pods in self._classes_named.items()
            if name not in self.classes and name not in SYSTEM_CLASSES
        }
