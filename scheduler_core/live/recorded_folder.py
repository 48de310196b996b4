"""Reads a recorded folder: what a client saw of a real cluster, as files.

`version.json`: the answer of /version. `KIND.list.jsonl.gz`: the pages of a list, one on each line.
`KIND.watch.jsonl.gz`: `{"t": seconds since the recording began, "line": a line of the watch}`. The files may also be
uncompressed. KIND is the resource of the path, such as `pods`. A kind without files was not recorded.
"""

from __future__ import annotations

import gzip
import heapq
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from scheduler_core.api.objects import Object, convert, decode, describe, timestamp
from scheduler_core.errors import InputError
from scheduler_core.live.watch_events import ADDED, DELETED, MODIFIED, Bookmark, Gap, Item, Listed, WatchEvent

LIST, WATCH = ".list.jsonl", ".watch.jsonl"
INITIAL_EVENTS_END = "k8s.io/initial-events-end"
_HEAD = 50  # objects from which the time of the recording is estimated


class _Line(msgspec.Struct):
    t: float
    line: str


class _Page(msgspec.Struct):
    metadata: dict[str, Any] = {}
    items: list[dict[str, Any]] | None = None
    kind: str = ""
    api_version: str = msgspec.field(default="", name="apiVersion")


class _Event(msgspec.Struct):
    type: str
    object: dict[str, Any]


def version_of(folder: str | Path) -> dict[str, Any]:
    """Return the answer of /version; {} if it was not recorded. Raises InputError."""
    path = Path(folder) / "version.json"
    if not path.is_file():
        return {}
    try:
        version = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError) as problem:
        raise InputError(str(path), "", f"cannot be read: {problem}") from None
    if not isinstance(version, dict):
        raise InputError(str(path), "", "expected an object with gitVersion")
    return version


def kinds_in(folder: str | Path) -> list[str]:
    """Return the resources of which the folder has a list or a watch, such as `pods`. Raises InputError."""
    path = Path(folder)
    if not path.is_dir():
        raise InputError(str(folder), "", "is not a folder" if path.exists() else "does not exist")
    files = [entry.name for entry in path.iterdir() if LIST in entry.name or WATCH in entry.name]
    if not files:
        problem = "is not a recorded folder: it holds neither KIND.list.jsonl.gz nor KIND.watch.jsonl.gz"
        raise InputError(str(folder), "", problem)
    return sorted({name.partition(".")[0] for name in files})


def scheduler_objects(folder: str | Path) -> Iterator[dict[str, Any]]:
    """Yield the listed objects that say something about the scheduler, as JSON: its pods, and ConfigMaps."""
    for name, kind in (("pods", "Pod"), ("configmaps", "ConfigMap")):
        for where, line in _lines(Path(folder), name + LIST):
            for raw in _decode(line, _Page, where).items or ():
                if kind == "ConfigMap" or "sched" in str((raw.get("metadata") or {}).get("name")):
                    yield {"kind": kind, "apiVersion": "v1"} | raw


def read(folder: str | Path) -> Iterator[Item]:
    """Yield the items of a recorded folder in the order of arrival: first all lists, then the watches by time.

    Raises InputError with file, line and field.
    """
    folder = Path(folder)
    names = kinds_in(folder)
    start = _start_time(folder, names)
    last: dict[str, int] = {}
    for name in names:
        for listed in _lists(folder, name, start):
            last[name] = listed.resource_version
            yield listed
    streams = [_watch(folder, name, start, last.get(name)) for name in names]
    yield from heapq.merge(*streams, key=lambda item: item.time)


def _lines(folder: Path, name: str) -> Iterator[tuple[str, bytes]]:
    """Yield (file and line number, line) of a file, which may be missing."""
    for path in (folder / f"{name}.gz", folder / name):
        if not path.is_file():
            continue
        number = 0
        try:
            with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
                for number, line in enumerate(stream, 1):
                    if line.strip():
                        yield f"{path}, line {number}", line
        except (OSError, EOFError, zlib.error) as problem:
            raise InputError(f"{path}, line {number + 1}", "", f"cannot be read: {problem}") from None
        return


def _decode(line: bytes | str, cls: type[Any], where: str) -> Any:
    try:
        return msgspec.json.decode(line, type=cls)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise InputError(where, "", f"cannot be read: {problem}") from None


def _object(raw: dict[str, Any], where: str) -> Object:
    try:
        return decode(raw) or convert(raw, Object, describe(raw))
    except InputError as problem:
        raise InputError(f"{where}: {problem.where}", problem.field, problem.problem) from None


def _version(raw: Any, where: str) -> int:
    text = raw.get("resourceVersion") if isinstance(raw, dict) else None
    if not isinstance(text, str) or not text.isdecimal():
        raise InputError(where, "metadata.resourceVersion", f"must be a number in a string, got {text!r}")
    return int(text)


def _start_time(folder: Path, names: list[str]) -> float:
    """Return the Unix seconds at which the recording began, from the first objects that were created during it.

    A creation time is in whole seconds and not after the arrival of the object, so the latest start counts.
    """
    latest = 0.0
    for name in ("pods", *(other for other in names if other != "pods")):
        found = 0
        for where, line in _lines(folder, name + WATCH):
            entry = _decode(line, _Line, where)
            event = _decode(entry.line, _Event, where)
            created = (event.object.get("metadata") or {}).get("creationTimestamp") if event.type == ADDED else None
            if created:
                latest = max(latest, timestamp(created, where, "metadata.creationTimestamp") - entry.t)
                found += 1
            if found == _HEAD:
                break
        if latest:
            return latest
    return 0.0


def _lists(folder: Path, name: str, start: float) -> Iterator[Listed]:
    objects: list[Object] = []
    kind, where = "", ""
    for where, line in _lines(folder, name + LIST):
        page = _decode(line, _Page, where)
        if not page.kind.endswith("List"):
            raise InputError(where, "kind", f"must be that of a list, got {page.kind!r}")
        kind = page.kind.removesuffix("List")
        for raw in page.items or ():
            obj = _object({"kind": kind, "apiVersion": page.api_version} | raw, where)
            objects.append(obj)
        if page.metadata.get("continue"):
            continue
        yield Listed(kind, _version(page.metadata, where), tuple(objects), start)
        objects, kind = [], ""
    if kind:
        raise InputError(where, "metadata.continue", "the last page of the list is missing")


def _watch(folder: Path, name: str, start: float, last: int | None) -> Iterator[Item]:
    """Yield the items of a watch. `last`: the resourceVersion of the list, None if there is none.

    Without a list, the events until the bookmark with the annotation k8s.io/initial-events-end are the list.
    """
    initial: dict[str, Object] | None = {} if last is None and _begins_with_list(folder, name) else None
    known, lost = last if last is not None else -1, False
    kind = ""
    for where, line in _lines(folder, name + WATCH):
        entry = _decode(line, _Line, where)
        event = _decode(entry.line, _Event, where)
        time = start + entry.t
        if event.type == "ERROR":  # the server no longer has the changes after the last one
            lost = True
            continue
        raw = event.object
        kind = str(raw.get("kind") or kind)
        version = _version(raw.get("metadata"), where)
        if event.type == "BOOKMARK":
            if initial is not None and INITIAL_EVENTS_END in (raw["metadata"].get("annotations") or {}):
                yield Listed(kind, version, tuple(initial.values()), time)
                initial = None
            elif version >= known and initial is None and not lost:
                yield Bookmark(kind, version, time)
            known = max(known, version)
            continue
        if event.type not in (ADDED, MODIFIED, DELETED):
            raise InputError(where, "type", f"{event.type[:63]!r} is not a type of watch event")
        obj = _object(raw, where)
        if initial is not None:
            initial[obj.key] = obj
            continue
        if version <= known:
            continue  # a watch that began again repeats changes
        if lost:
            yield Gap(kind, known, version, time)
            lost = False
        known = version
        yield WatchEvent(kind, event.type, obj.key, version, obj, time)


def _begins_with_list(folder: Path, name: str) -> bool:
    return any(INITIAL_EVENTS_END in line.decode(errors="replace") for _, line in _lines(folder, name + WATCH))
