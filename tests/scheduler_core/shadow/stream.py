"""A stream of changes of a small cluster, as a source yields it."""

from __future__ import annotations

from typing import Any

from scheduler_core.api.objects import Object, decode
from scheduler_core.live.watch_events import ADDED, DELETED, MODIFIED, Bookmark, Gap, Item, Listed, WatchEvent
from scheduler_core.releases import get_release
from scheduler_core.shadow.judge import Judge
from scheduler_core.shadow.judgement import Judgement

Raw = dict[str, Any]
SPACED = 10.0  # seconds, beyond all bounds


class Stream:
    """Collects items with ascending versions. Each change happens `later` seconds after the one before."""

    def __init__(self, *objects: Raw) -> None:
        self.version = 100
        self.time = 1000.0
        self.known: dict[tuple[str, str], Raw] = {}
        kinds: dict[str, list[Object]] = {"Node": [], "Pod": []}
        for raw in objects:
            obj = self._decode(raw)
            kinds.setdefault(raw["kind"], []).append(obj)
            self.known[raw["kind"], obj.key] = raw
        self.items: list[Item] = [Listed(kind, 100, tuple(found), self.time) for kind, found in kinds.items()]

    def _decode(self, raw: Raw) -> Object:
        raw = raw | {"metadata": {"uid": "u", **raw["metadata"], "resourceVersion": str(self.version)}}
        obj = decode(raw)
        assert obj is not None
        return obj

    def put(self, raw: Raw, later: float = SPACED) -> None:
        """Add or change an object."""
        self.version += 1
        self.time += later
        obj = self._decode(raw)
        change = MODIFIED if (raw["kind"], obj.key) in self.known else ADDED
        self.known[raw["kind"], obj.key] = raw
        self.items.append(WatchEvent(raw["kind"], change, obj.key, self.version, obj, self.time))

    def remove(self, kind: str, key: str, later: float = SPACED) -> None:
        self.version += 1
        self.time += later
        obj = self._decode(self.known.pop((kind, key)))
        self.items.append(WatchEvent(kind, DELETED, key, self.version, obj, self.time))

    def bind(self, name: str, node: str, later: float = 0.005) -> None:
        """Bind a pod of the namespace default."""
        raw = self.known["Pod", f"default/{name}"]
        self.put(raw | {"spec": raw["spec"] | {"nodeName": node}}, later)

    def condition(self, name: str, message: str, later: float = 0.005, **status: Any) -> None:
        """Set PodScheduled=False of a pod."""
        raw = self.known["Pod", f"default/{name}"]
        why = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
        self.put(raw | {"status": {"phase": "Pending", "conditions": [why], **status}}, later)

    def bookmark(self, kind: str, time: float) -> None:
        """A bookmark of the present version that arrives at a time."""
        self.items.append(Bookmark(kind, self.version, time))

    def gap(self, kind: str, until: int) -> None:
        self.items.append(Gap(kind, self.version, until, self.time))
        self.version = until

    def judge(self, release: str = "1.36", configuration: Any = None) -> list[Judgement]:
        """Return the judgements of all decisions and messages."""
        self.judged = Judge(get_release(release), configuration)
        found = [judgement for item in self.items for judgement in self.judged.feed(item)]
        return [*found, *self.judged.finish()]

    def outcomes(self, release: str = "1.36", configuration: Any = None) -> list[str]:
        return [judgement.outcome for judgement in self.judge(release, configuration)]
