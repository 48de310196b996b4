"""What a controller is told, and what it may do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

from scheduler_core.api.objects import Condition, Node, Object
from scheduler_core.cluster.cache_states import Lifecycle
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.queue import Clock


class Loop(Protocol):
    """The run, as far as controllers need it."""

    @property
    def clock(self) -> Clock: ...

    def at(self, time: float, action: Callable[[], None]) -> None:
        """Has something happen later."""

    def record(self, kind: str, **data: Any) -> int:
        """Notes what happens; the record's number."""

    def caused(self, seq: int) -> AbstractContextManager[None]:
        """What happens inside, and what is asked for there, was caused by that record."""


class Api(Protocol):
    """The API server, as far as controllers ask it and write to it."""

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
    """Hears of every change after the scheduler has; acts by writing to the `api` and by asking it for the time."""

    def __init__(self, api: Api) -> None:
        self.api = api

    def pod_changed(self, old: PodInfo | None, new: PodInfo) -> None:
        """A pod came (`old` None), was bound or changed."""

    def pod_gone(self, pod: PodInfo, finished: bool) -> None:
        """A pod ended its work (`finished`) or was removed before it did."""

    def node_changed(self, old: Node | None, new: Node | None) -> None:
        """A node came (`old` None), changed or went (`new` None)."""
