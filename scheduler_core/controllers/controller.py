"""What a controller is told, and what it may do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.objects import Node

if TYPE_CHECKING:
    from scheduler_core.api_server import ApiServer


class Controller:
    """Hears of every change after the scheduler has; acts by writing to the `api` and by asking it for the time."""

    def __init__(self, api: ApiServer) -> None:
        self.api = api

    def pod_changed(self, old: PodInfo | None, new: PodInfo) -> None:
        """A pod came (`old` None), was bound or changed."""

    def pod_gone(self, pod: PodInfo, finished: bool) -> None:
        """A pod ended its work (`finished`) or was removed before it did."""

    def node_changed(self, old: Node | None, new: Node | None) -> None:
        """A node came (`old` None), changed or went (`new` None)."""
