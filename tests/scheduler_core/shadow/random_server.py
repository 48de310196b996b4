"""A server of a small cluster at random, with what a source yields of it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from scheduler_core.api.objects import Object, Pod, decode
from scheduler_core.live.watch_events import (
    ADDED,
    DELETED,
    MODIFIED,
    Bookmark,
    Gap,
    Item,
    Listed,
    WatchEvent,
    differences,
)
from tests.scheduler_core.build import node, pod

KINDS = ("Node", "Pod", "Service", "PersistentVolume")
STEPS = (
    *("create", "create", "bind", "bind", "bind", "delete", "placed"),
    *("node", "bookmark", "wait", "relist", "break"),
)


class Server:
    """An API server with one watch for each kind, whose lines arrive in any order across kinds."""

    def __init__(self) -> None:
        self.version, self.time, self.number = 10, 1000.0, 0
        self.objects: dict[str, dict[str, Object]] = {kind: {} for kind in KINDS}
        self.seen: list[tuple[str, int]] = []  # bindings that the source has yielded
        self.known: dict[str, tuple[int, dict[str, Object]]] = {}  # kind -> what the source has yielded
        self.broken = False
        for name in ("a", "b", "c"):
            self.put_node(name)

    def put(self, raw: dict[str, Any]) -> WatchEvent:
        self.version += 1
        obj = decode(raw | {"metadata": raw["metadata"] | {"resourceVersion": str(self.version)}})
        assert obj is not None
        kind = raw["kind"]
        change = MODIFIED if obj.key in self.objects[kind] else ADDED
        self.objects[kind][obj.key] = obj
        return WatchEvent(kind, change, obj.key, self.version, obj, self.time)

    def put_node(self, name: str) -> WatchEvent:
        """Objects of two stores with the same name and resourceVersion are equal, as those of a recording."""
        return self.put(node(name, cpu=str(1 + self.version % 12)))

    def list(self, kind: str) -> Listed:
        self.known[kind] = self.version, dict(self.objects[kind])
        return Listed(kind, self.version, tuple(self.objects[kind].values()), self.time)

    def take(self, event: WatchEvent) -> Iterator[Item]:
        """Yield an event, unless the watch of pods is broken."""
        if event.kind == "Pod" and self.broken:
            return
        objects = self.known[event.kind][1]
        if event.type == DELETED:
            objects.pop(event.key, None)
        else:
            old = objects.get(event.key)
            bound, new = isinstance(old, Pod) and old.spec.node_name, event.object
            if isinstance(new, Pod) and new.spec.node_name and not bound:
                self.seen.append((event.key, event.resource_version))
            objects[event.key] = event.object
        self.known[event.kind] = event.resource_version, objects
        yield event

    def relist(self) -> Iterator[Item]:
        """The source lists pods again after a 410, and yields the differences."""
        after, before = self.known["Pod"]
        self.broken = False
        yield Gap("Pod", after, self.version, self.time)
        now = self.objects["Pod"]
        for key in before.keys() - now.keys():
            yield from self.take(WatchEvent("Pod", DELETED, key, self.version, before[key], self.time))
        for key, obj in now.items():
            if before.get(key) is not obj:
                version = int(obj.metadata.resource_version)
                change = MODIFIED if key in before else ADDED
                yield from self.take(WatchEvent("Pod", change, key, version, obj, self.time))
        yield self.list("Pod")

    def replace(self, rng: random.Random) -> Iterator[Item]:
        """Another server answers, with another store, perhaps an empty one. Each kind is listed again after the next
        change of it in the former store, if there is one."""
        self.version = rng.choice((rng.randint(1, 20), rng.randint(1, self.version), self.version + rng.randint(0, 50)))
        self.objects = {kind: {} for kind in KINDS}
        self.broken = False
        names = rng.sample("abcz", rng.randint(0, 4))
        pods = rng.randint(0, 3) if names else 0
        last = max(self.version, len(names) + pods)
        versions = sorted(rng.sample(range(1, last + 1), len(names) + pods))
        for version, name in zip(versions, [*names, *range(pods)], strict=True):
            self.version = version - 1
            if isinstance(name, str):
                self.put_node(name)
            else:
                self.number += 1
                on = rng.choice(("", *names))
                self.put(pod(f"p{self.number}", requests={"cpu": "1m"}, on=on))
        self.version = last
        for kind in rng.sample(KINDS, len(KINDS)):
            after, before = self.known.get(kind, (0, {}))
            self.time += rng.choice((0.001, 1.0))
            if before and rng.random() < 0.3:  # a change of the former store, which the source still reads
                key, obj = next(iter(before.items()))
                after += 1
                yield from self.take(WatchEvent(kind, DELETED, key, after, obj, self.time))
            yield Gap(kind, after, last, self.time)
            for event in differences(kind, dict(before), self.objects[kind], after, last, self.time):
                yield from self.take(event)
            yield self.list(kind)

    def bookmarks(self) -> Iterator[Item]:
        """Yield what shows the source the present state of all kinds."""
        self.time += 60
        if self.broken:
            yield from self.relist()
        self.version += 1
        for kind in KINDS:
            yield Bookmark(kind, self.version, self.time)

    def step(self, step: str, choice: int) -> Iterator[Item]:
        self.time += (0.001, 0.2, 3.0)[choice % 3]
        pods = self.objects["Pod"]
        waiting = [key for key, obj in pods.items() if isinstance(obj, Pod) and not obj.spec.node_name]
        if step in ("create", "placed"):
            self.number += 1
            on = "a" if step == "placed" else ""
            yield from self.take(self.put(pod(f"p{self.number}", requests={"cpu": "1m"}, on=on)))
        elif step == "bind" and waiting:
            name = waiting[choice % len(waiting)].partition("/")[2]
            yield from self.take(self.put(pod(name, requests={"cpu": "1m"}, on="abcz"[choice % 4])))
        elif step == "delete" and pods:
            key = list(pods)[choice % len(pods)]
            self.version += 1
            yield from self.take(WatchEvent("Pod", DELETED, key, self.version, pods.pop(key), self.time))
        elif step == "node":
            yield from self.take(self.put_node("abc"[choice % 3]))
        elif step == "bookmark":
            kind = KINDS[choice % len(KINDS)]
            if kind != "Pod" or not self.broken:
                yield Bookmark(kind, self.version, self.time)
        elif step == "wait":
            self.time += 60
        elif step == "break":
            self.broken = True
        elif step == "relist":
            yield from self.relist()
