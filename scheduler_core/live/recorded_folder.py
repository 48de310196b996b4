"""Reads a recorded folder: what a client saw of a real cluster, as files.

`version.json`: the answer of /version. `KIND.list.jsonl.gz`: the pages of a list, one on each line.
`KIND.watch.jsonl.gz`: `{"t": seconds since the recording began, "line": a line of the watch}`. The files may also be
uncompressed. KIND is the resource of the path, such as `pods`. A kind without files was not recorded.
"""

import gzip
import heapq
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from scheduler_core.api.objects import Object, convert, decode, describe, timestamp
from scheduler_core.errors import InputError
from scheduler_core.live.lines import LeftOut
from scheduler_core.live.watch_events import (
    ADDED,
    DELETED,
    MODIFIED,
    NEVER,
    Bookmark,
    Gap,
    Item,
    Listed,
    WatchEvent,
    differences,
)

LIST, WATCH = ".list.jsonl", ".watch.jsonl"
INITIAL_EVENTS_END = "k8s.io/initial-events-end"
_UNREADABLE = "cannot be read: "
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


Convert = Callable[[dict[str, Any], str], Object]
"""Makes a recorded object from its JSON and its place. Raises InputError."""


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


def read(folder: str | Path, notes: list[str] | None = None) -> Iterator[Item]:
    """Yield the items of a recorded folder in the order of arrival: first all lists, then the watches by time.

    `notes` takes a sentence for each watch that ends within a line, as one of a recorder that was killed: it is read
    up to this line; and one for each with other lines that are cut, which are left out. Raises InputError with file,
    line and field.
    """
    folder = Path(folder)
    notes = [] if notes is None else notes
    names = kinds_in(folder)
    start = _start_time(folder, names)
    last: dict[str, Listed] = {}
    for name in names:
        for listed in _lists(folder, name, start):
            last[name] = listed
            yield listed
    streams = [_watch(folder, name, start, last.get(name), notes) for name in names]
    yield from heapq.merge(*streams, key=lambda item: item.time)


def _lines(folder: Path, name: str, notes: list[str] | None = None) -> Iterator[tuple[str, bytes]]:
    """Yield (file and line number, line) of a file, which may be missing. A watch may end within a line."""
    for path in (folder / f"{name}.gz", folder / name):
        if not path.is_file():
            continue
        number = 0
        try:
            with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
                for number, line in enumerate(stream, 1):
                    if number > 1 and name.endswith(WATCH) and _is_cut(line):
                        raise EOFError("the last line is not complete")
                    if stripped := line.strip():
                        yield f"{path}, line {number}", stripped
        except (OSError, EOFError, zlib.error) as problem:
            if isinstance(problem, EOFError) and number and name.endswith(WATCH):
                if notes is not None:
                    notes.append(f"{path} ends within a line; it is read up to line {number - 1}.")
                return
            raise InputError(f"{path}, line {number + 1}", "", f"cannot be read: {problem}") from None
        return


def _is_cut(line: bytes) -> bool:
    """Whether this last line of a file is only the beginning of a JSON object."""
    if line.endswith(b"\n"):
        return False
    try:
        msgspec.json.decode(line)
    except msgspec.DecodeError as problem:
        return "truncated" in str(problem)
    return False


class _CutLine(InputError):
    """A line is not JSON."""


def _decode(line: bytes | str, cls: type[Any], where: str) -> Any:
    try:
        return msgspec.json.decode(line, type=cls)
    except msgspec.ValidationError as problem:
        raise InputError(where, "", f"{_UNREADABLE}{problem}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise _CutLine(where, "", f"{_UNREADABLE}{problem}") from None


def _changed(line: bytes, where: str) -> tuple[float, _Event]:
    """Return the seconds and the event of a line of a watch. Raises InputError."""
    entry = _decode(line, _Line, where)
    return entry.t, _decode(entry.line, _Event, where)


def object_of(raw: dict[str, Any], where: str) -> Object:
    """Return a recorded object, also of a kind that the scheduler does not use. Raises InputError with `where`."""
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
            try:
                seconds, event = _changed(line, where)
            except _CutLine:
                continue
            created = (event.object.get("metadata") or {}).get("creationTimestamp") if event.type == ADDED else None
            if created:
                latest = max(latest, timestamp(created, where, "metadata.creationTimestamp") - seconds)
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
            obj = object_of({"kind": kind, "apiVersion": page.api_version} | raw, where)
            objects.append(obj)
        if page.metadata.get("continue"):
            continue
        yield Listed(kind, _version(page.metadata, where), tuple(objects), start)
        objects, kind = [], ""
    if kind:
        raise InputError(where, "metadata.continue", "the last page of the list is missing")


def _watch(folder: Path, name: str, start: float, listed: Listed | None, notes: list[str]) -> Iterator[Item]:
    """Yield the items of a watch. `listed`: the list before it, None if there is none.

    Objects until a bookmark with the annotation k8s.io/initial-events-end are a list, at the beginning and after an
    error. A change of an object that is not known shows that changes are missing: a gap until the next list. So does a
    line that is cut: a gap until the next change.
    """
    ends = _ends_of_lists(folder, name)
    objects = {obj.key: obj for obj in listed.objects} if listed else {}
    initial: dict[str, Object] | None = {} if ends and not listed else None
    known = listed.resource_version if listed else -1
    lost, whole = False, True
    kind, count, left_out = "", 0, LeftOut()
    for count, (where, line) in enumerate(_lines(folder, name + WATCH, notes), 1):
        try:
            seconds, event = _changed(line, where)
        except _CutLine as problem:
            if initial is not None:  # it is a line of a list
                raise
            left_out.add(where, problem.problem.removeprefix(_UNREADABLE))
            lost = True
            continue
        time = start + seconds
        if event.type == "ERROR":  # the server no longer has the changes after the last one
            lost = True
            initial = {} if any(end > count for end in ends) else None
            continue
        raw = event.object
        kind = str(raw.get("kind") or kind)
        version = _version(raw.get("metadata"), where)
        if event.type == "BOOKMARK":
            if initial is not None and count in ends:
                if lost:
                    yield Gap(kind, known, version, time)
                    yield from differences(kind, objects, initial, known, version, time)
                yield Listed(kind, version, tuple(initial.values()), time)
                objects, initial, lost, whole = initial, None, False, True
            elif version >= known and initial is None and not lost:
                yield Bookmark(kind, version, time)
            if not lost:
                known = max(known, version)
            continue
        if event.type not in (ADDED, MODIFIED, DELETED):
            raise InputError(where, "type", f"{event.type[:63]!r} is not a type of watch event")
        obj = object_of(raw, where)
        if initial is not None:
            if event.type == DELETED:
                initial.pop(obj.key, None)
            else:
                initial[obj.key] = obj
            continue
        if version <= known:
            continue  # a watch that began again repeats changes
        if lost:
            yield Gap(kind, known, version, time)
            lost = False
        if whole and event.type != ADDED and obj.key not in objects:
            whole = False
            yield Gap(kind, known, NEVER, time)
        known = version
        if event.type == DELETED:
            objects.pop(obj.key, None)
        else:
            objects[obj.key] = obj
        yield WatchEvent(kind, event.type, obj.key, version, obj, time)
    if left_out.number and left_out.number == count:
        raise InputError(str(folder), "", f"no line of a watch can be read: {left_out.named}")
    if left_out.number:
        notes.append(left_out.note("not readable"))


def _ends_of_lists(folder: Path, name: str) -> list[int]:
    """Return the places of the bookmarks at the end of initial events, counted in lines of the watch."""
    end = INITIAL_EVENTS_END.encode()
    return [number for number, (_, line) in enumerate(_lines(folder, name + WATCH), 1) if end in line]
