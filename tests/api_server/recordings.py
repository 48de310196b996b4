"""Recorded streams of real API servers (`tests/recordings/`), served again."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tests.api_server.storage import Storage, object_key


class Recorded(NamedTuple):
    """A recorded change. `at`: seconds since the recording began."""

    revision: int
    at: float
    resource: str
    type: str
    key: str
    object: bytes


class Recording:
    """A folder of KIND.list.jsonl.gz and KIND.watch.jsonl.gz."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.version: dict[str, str] = msgspec.json.decode((folder / "version.json").read_bytes())
        self.resources = sorted(path.name.split(".")[0] for path in folder.glob("*.list.jsonl.gz"))

    def load(self, storage: Storage) -> None:
        """Put the listed objects into an empty storage. Resources that were not recorded are not served."""
        for resource in self.resources:
            collection = storage.collection(resource)
            for page in _lines(self.folder / f"{resource}.list.jsonl.gz"):
                revision = int(page["metadata"]["resourceVersion"])
                for item in page.get("items") or ():
                    collection.objects[object_key(item)] = _encode(item)
            collection.compacted = revision
            storage.revision = revision if collection.compacted > storage.revision else storage.revision
        recorded = {storage.collection(resource).resource.name for resource in self.resources}
        storage.unserved |= storage.collections.keys() - recorded

    @cached_property
    def changes(self) -> list[Recorded]:
        """The watch events of all resources in the order of their resourceVersion."""
        return sorted(change for resource in self.resources for change in self._changes(resource))

    async def play(self, storage: Storage, speed: float | None = None) -> None:
        """Write the recorded changes into the storage, `speed` times as fast as recorded, by default at once."""
        begin = asyncio.get_running_loop().time()
        for count, change in enumerate(self.changes):
            if speed is not None:
                await asyncio.sleep(max(0.0, begin + change.at / speed - asyncio.get_running_loop().time()))
            elif count % 100 == 0:
                await asyncio.sleep(0)
            storage.put(*change[2:], change.revision)

    def _changes(self, resource: str) -> Iterator[Recorded]:
        for entry in _lines(self.folder / f"{resource}.watch.jsonl.gz"):
            event = msgspec.json.decode(entry["line"])
            obj = event["object"]
            if event["type"] in ("ADDED", "MODIFIED", "DELETED"):
                revision = int(obj["metadata"]["resourceVersion"])
                yield Recorded(revision, entry["t"], resource, event["type"], object_key(obj), _encode(obj))


def _lines(path: Path) -> Iterator[Any]:
    with gzip.open(path, "rb") as file:
        yield from map(msgspec.json.decode, file)


def _encode(obj: dict[str, Any]) -> bytes:
    return msgspec.json.encode({name: value for name, value in obj.items() if name not in ("kind", "apiVersion")})
