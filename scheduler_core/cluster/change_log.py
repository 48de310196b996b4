"""What changes in a cluster, as it happens: for whoever wants to know later how it was."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

POD, GONE = "pod", "gone"
PLACED, TAKEN, ASSUMED, BOUND = "placed", "taken", "assumed", "bound"
NOMINATED, TRIED = "nominated", "tried"
OBJECT, REMOVED = "object", "removed"


class Change(NamedTuple):
    """One change.

    | kind | subject | node |
    | --- | --- | --- |
    | `pod` | PodInfo: it exists from now on, or is another than before | |
    | `gone` | the key of a pod that ceases to exist | |
    | `placed`, `taken` | PodInfo: it counts on a node from now on, or does not any more | the node |
    | `assumed`, `bound` | PodInfo: it is on its node for the scheduler alone, or for all | |
    | `nominated` | the key of a pod | the node, "" for none |
    | `tried` | the key of a pod whose cycle begins, in a run in one pass | |
    | `object`, `removed` | an Object other than a pod, or a workload as a dict: it is as given from now on, or gone | |
    """

    kind: str
    subject: Any
    node: str = ""


class Journal:
    """`entries`: where changes are noted, None for nowhere. Whoever reads them puts a list there."""

    __slots__ = ("entries",)

    def __init__(self) -> None:
        self.entries: list[Change] | None = None

    def note(self, kind: str, subject: Any, node: str = "") -> None:
        if self.entries is not None:
            self.entries.append(Change(kind, subject, node))

    def take(self) -> list[Change]:
        """What was noted so far, which is then forgotten; for who notes it again in another order."""
        taken, self.entries = self.entries or [], None if self.entries is None else []
        return taken

    def put(self, changes: Iterable[Change]) -> None:
        """Notes what was taken."""
        if self.entries is not None:
            self.entries += changes
