"""The journal of changes in a cluster, from which earlier states can be reconstructed."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

POD, GONE = "pod", "gone"
PLACED, TAKEN, ASSUMED, BOUND = "placed", "taken", "assumed", "bound"
NOMINATED, TRIED = "nominated", "tried"
OBJECT, REMOVED = "object", "removed"


class LoggedChange(msgspec.Struct, frozen=True):
    """One change.

    | kind | subject | node |
    | --- | --- | --- |
    | `pod` | PodInfo: a new pod, or a new version of one | |
    | `gone` | the key of a pod that no longer exists | |
    | `placed`, `taken` | PodInfo: it now counts on the node, or no longer does | the node |
    | `assumed`, `bound` | PodInfo: it is assumed on its node by the scheduler, or bound | |
    | `nominated` | the key of a pod | the node, "" for none |
    | `tried` | the key of a pod whose cycle begins, in a single-pass run | |
    | `object`, `removed` | a new version of an Object other than a pod, or of a workload as a dict; or its removal | |
    """

    kind: str
    subject: Any
    node: str = ""


@dataclass(slots=True)
class Journal:
    """A journal. `entries`: the list of changes; None disables it. The reader sets the list."""

    entries: list[LoggedChange] | None = None

    def note(self, kind: str, subject: Any, node: str = "") -> None:
        if self.entries is not None:
            self.entries.append(LoggedChange(kind, subject, node))

    def take(self) -> list[LoggedChange]:
        """Remove and return the recorded changes, so that the caller can record them again in another order."""
        taken, self.entries = self.entries or [], None if self.entries is None else []
        return taken

    def put(self, changes: Iterable[LoggedChange]) -> None:
        """Record changes again that `take` returned."""
        if self.entries is not None:
            self.entries += changes
