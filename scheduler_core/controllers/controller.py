"""The interfaces of controllers: notifications, the run and the API server."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

from scheduler_core.api.objects import Condition, Node, Object
from scheduler_core.cluster.cache_states import Lifecycle
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.queue.clock import Clock


class Loop(Protocol):
    """The part of the run that controllers use."""

    clock: Clock

    def at(self, time: float, action: Callable[[], None]) -> None:
        """Schedule an action for a later time."""

    def record(self, kind: str, **data: Any) -> int:
        """Record an event. Return the number of the record."""

    def caused(self, seq: int) -> AbstractContextManager[None]:
        """A context in which this record is the cause of new records and scheduled actions."""


class Api(Protocol):
    """The part of the API server that controllers use."""

    @property
    def loop(self) -> Loop: ...
    @property
    def cluster(self) -> Cluster: ...
    @property
    def lifecycle(self) -> Lifecycle: ...
    @property
    def pods(self) -> Mapping[str, PodInfo]: ...

    def create(self, obj: Object) -> None: ...
    def update(self, obj: Object) -> None: ...
    def evict(self, pod: PodInfo, reason: str, by: str = "", condition: Condition | None = None) -> None: ...
    def remove(self, pod: PodInfo, reason: str, finished: bool = False) -> None: ...
    def end(self, pod: PodInfo, reason: str, condition: Condition | None = None) -> None: ...


class Controller:
    """Base class of controllers. It is notified of every change after the scheduler; it writes through `api`."""

    def __init__(self, api: Api) -> None:
        self.api = api

    def pod_changed(self, old: PodInfo | None, new: PodInfo) -> None:
        """Handle a pod that was created (`old` None), bound or changed."""

    def pod_gone(self, pod: PodInfo, finished: bool) -> None:
        """Handle a pod that finished (`finished`) or was removed before that."""

    def node_changed(self, old: Node | None, new: Node | None) -> None:
        """Handle a node that was added (`old` None), changed or removed (`new` None)."""
