"""The objects of the test API server and their history by revision.

Objects are stored as encoded JSON without kind and apiVersion, so that a list or a watch only joins bytes. A generator
of large clusters stores templates instead, which are rendered when they are sent.
"""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from tests.api_server.patches import merge_patch
from tests.api_server.resources import EXTENSIONS, RESOURCES, Resource

# An encoded object, or a function that encodes it.
Encoded = bytes | Callable[[], bytes]
Raw = dict[str, Any]


class Change(NamedTuple):
    """A change in the history. `object`: after it, for DELETED the last state. `previous`: None if it was added."""

    revision: int
    type: str
    key: str
    object: Encoded
    previous: Encoded | None
    time: float


class Conflict(Exception):
    """The object exists already, or does not exist."""


class Expired(Exception):
    """The history of this revision has been compacted."""


class Collection:
    """The objects of one resource: their state and their history since the last compaction."""

    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        self.objects: dict[str, Encoded] = {}
        self.history: list[Change] = []
        self.compacted = 0
        self.dropped = 0  # the revision of the last change that compaction dropped
        self.watchers: set[Callable[[], None]] = set()
        self.snapshots: dict[int, list[tuple[str, Encoded]]] = {}

    def at(self, revision: int) -> list[tuple[str, Encoded]]:
        """Return (key, object) by key at a revision. Raises Expired if it has been compacted."""
        if revision < self.compacted:
            raise Expired
        found = self.snapshots.get(revision)
        if found is None:
            objects = self.objects
            if self.history and self.history[-1].revision > revision:
                objects = dict(objects)
                for change in reversed(self.history):
                    if change.revision <= revision:
                        break
                    if change.previous is None:
                        objects.pop(change.key, None)
                    else:
                        objects[change.key] = change.previous
            found = sorted(objects.items())
            while len(self.snapshots) >= 3:
                self.snapshots.pop(next(iter(self.snapshots)))
            self.snapshots[revision] = found
        return found

    def position(self, revision: int) -> int:
        """Return the index in the history of the first change after a revision. Raises Expired."""
        if revision < self.compacted:
            raise Expired
        low, high = 0, len(self.history)
        while low < high:
            middle = (low + high) // 2
            if self.history[middle].revision <= revision:
                low = middle + 1
            else:
                high = middle
        return low


class Storage:
    """All objects of a cluster. Every write gets the next revision, as in etcd."""

    def __init__(self, revision: int = 1000) -> None:
        self.revision = revision
        self.collections = {resource.name: Collection(resource) for resource in RESOURCES}
        self.unserved: set[str] = set(EXTENSIONS)
        self._uids = itertools.count(1)

    def collection(self, name: str) -> Collection:
        """Return a collection by the name of its resource: pods, or deployments.apps; the group may be left out."""
        if name not in self.collections:
            name = next(full for full in self.collections if full.split(".")[0] == name)
        return self.collections[name]

    def get(self, name: str, key: str) -> Raw | None:
        """Return an object with its resourceVersion, or None."""
        found = self.collection(name).objects.get(key)
        return None if found is None else msgspec.json.decode(encoded(found))

    def keys(self, name: str) -> Iterator[str]:
        """Yield the keys of the objects of a resource."""
        yield from self.collection(name).objects

    def create(self, name: str, obj: Raw) -> Raw:
        """Add an object. Sets uid, creationTimestamp and resourceVersion. Raises Conflict if it exists."""
        collection = self.collection(name)
        obj = self._complete(collection, obj)
        key = object_key(obj)
        if key in collection.objects:
            raise Conflict(f'{collection.resource.name} "{obj["metadata"]["name"]}" already exists')
        return self._write(collection, "ADDED", key, obj)

    def update(self, name: str, obj: Raw) -> Raw:
        """Replace an object. Raises Conflict if it does not exist."""
        collection = self.collection(name)
        key = object_key(obj)
        previous = self.get(name, key)
        if previous is None:
            raise Conflict(f'{collection.resource.name} "{obj["metadata"]["name"]}" not found')
        for field in ("uid", "creationTimestamp"):
            if field in previous["metadata"]:
                obj["metadata"].setdefault(field, previous["metadata"][field])
        return self._write(collection, "MODIFIED", key, obj)

    def patch(self, name: str, key: str, patch: Any, apply: Callable[[Any, Any], Any] = merge_patch) -> Raw:
        """Apply a patch to an object, a merge patch by default. Raises Conflict if it does not exist."""
        obj = self.get(name, key)
        if obj is None:
            raise Conflict(f'{self.collection(name).resource.name} "{key.split("/")[-1]}" not found')
        return self.update(name, apply(obj, patch))

    def delete(self, name: str, key: str) -> Raw:
        """Remove an object. Raises Conflict if it does not exist."""
        obj = self.get(name, key)
        if obj is None:
            raise Conflict(f'{self.collection(name).resource.name} "{key.split("/")[-1]}" not found')
        return self._write(self.collection(name), "DELETED", key, obj)

    def bind(self, key: str, node: str) -> Raw:
        """Bind a pod to a node, as a scheduler does. Raises Conflict if the pod is bound already."""
        pod = self.get("pods", key)
        if pod is None:
            raise Conflict(f'pods "{key.split("/")[-1]}" not found')
        if pod.get("spec", {}).get("nodeName"):
            raise Conflict(f"pod {key.split('/')[-1]} is already assigned to node {pod['spec']['nodeName']}")
        pod["spec"]["nodeName"] = node
        status = pod.setdefault("status", {})
        conditions = [c for c in status.get("conditions", []) if c["type"] != "PodScheduled"]
        bound = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": timestamp()}
        status["conditions"] = [*conditions, bound]
        return self.update("pods", pod)

    def refuse(self, key: str, message: str) -> Raw:
        """Set a pod's condition PodScheduled to False, as a scheduler does that finds no node."""
        refused = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
        refused["lastTransitionTime"] = timestamp()
        return self.patch("pods", key, {"status": {"phase": "Pending", "conditions": [refused]}})

    def put(self, name: str, type_: str, key: str, obj: Encoded, revision: int | None = None) -> int:
        """Write an encoded object that contains its resourceVersion, and return the revision (default: the next).

        The object has no kind and apiVersion. Revisions must not decrease within a resource.
        """
        collection = self.collection(name)
        revision = self.revision + 1 if revision is None else revision
        previous = collection.objects.get(key)
        if type_ == "DELETED":
            collection.objects.pop(key, None)
        else:
            collection.objects[key] = obj
        collection.history.append(Change(revision, type_, key, obj, previous, time.time()))
        self.revision = max(self.revision, revision)
        if collection.snapshots and revision <= max(collection.snapshots):
            collection.snapshots.clear()
        for wake in collection.watchers:
            wake()
        return revision

    def advance(self, revisions: int = 1) -> None:
        """Advance the revision as writes to other resources do."""
        self.revision += revisions

    def compact(self, name: str | None = None, revision: int | None = None) -> None:
        """Drop the history up to a revision (default: now) of one resource or of all."""
        revision = self.revision if revision is None else revision
        for collection in [self.collection(name)] if name else self.collections.values():
            kept = collection.position(max(revision, collection.compacted))
            if kept:
                collection.dropped = collection.history[kept - 1].revision
                del collection.history[:kept]
            collection.compacted = max(collection.compacted, revision)
            collection.snapshots = {at: found for at, found in collection.snapshots.items() if at >= revision}

    def _complete(self, collection: Collection, obj: Raw) -> Raw:
        obj = {**obj, "metadata": dict(obj.get("metadata") or {})}
        metadata = obj["metadata"]
        if collection.resource.namespaced:
            metadata.setdefault("namespace", "default")
        if "name" not in metadata and "generateName" in metadata:
            metadata["name"] = f"{metadata['generateName']}{next(self._uids):05x}"
        metadata.setdefault("uid", str(uuid.UUID(int=next(self._uids))))
        metadata.setdefault("creationTimestamp", timestamp())
        if collection.resource.plural == "pods":
            obj.setdefault("status", {"phase": "Pending", "qosClass": "BestEffort"})
        return obj

    def _write(self, collection: Collection, type_: str, key: str, obj: Raw) -> Raw:
        revision = self.revision + 1
        obj.pop("kind", None)
        obj.pop("apiVersion", None)
        obj["metadata"]["resourceVersion"] = str(revision)
        self.put(collection.resource.name, type_, key, msgspec.json.encode(obj), revision)
        return obj


def encoded(obj: Encoded) -> bytes:
    """Return the JSON of a stored object."""
    return obj if isinstance(obj, bytes) else obj()


def object_key(obj: Raw) -> str:
    """Return namespace/name, or the name of a cluster-scoped object."""
    metadata = obj["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else metadata["name"]


def timestamp() -> str:
    """Return the time of now as objects have it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
