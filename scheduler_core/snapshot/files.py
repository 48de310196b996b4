"""Reads the objects in a file that `kubectl get -o json|yaml` writes."""

import gzip
import io
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from scheduler_core.config.document import read_documents
from scheduler_core.errors import InputError
from scheduler_core.etcd.bbolt import is_database
from scheduler_core.etcd.objects import objects
from scheduler_core.releases.remarks import is_newer
from scheduler_core.snapshot.described import described, has_described_node
from scheduler_core.snapshot.field_notes import field_notes
from scheduler_core.snapshot.wrong_input_hints import (
    binary_input_hint,
    unreadable_input_hint,
    useless_input_hint,
    wrong_input_hint,
)

HEAD = 1024  # bytes by which binary files are recognized
MAX_BYTES = 512_000_000
MAX_YAML_BYTES = 64_000_000
_MAX_LISTS = 8  # nested lists; kubectl writes one


@dataclass(slots=True)
class Snapshot:
    """The content of a file. `objects`: raw objects, and scheduler configurations among them. `version`: of the
    cluster, "" if the file does not name it. `notes`: what the reader left out or changed."""

    objects: list[dict[str, Any]]
    version: str = ""
    notes: list[str] = field(default_factory=list)


Reader = Callable[[bytes, str], Snapshot]
"""Reads the content of a file, given with its path. Raises InputError."""


def read_snapshot(data: bytes, path: str) -> Snapshot:
    """Return the content of a file: JSON, YAML, a database of etcd, or nodes and pods that `kubectl describe` prints.

    The file is a List, an object or several documents. Items of a typed list (`PodList`) get its kind. A scenario
    document is replaced by its objects and its configuration. The cluster's version is that of a scenario, that of
    `kubectl version -o json`, or that of most kubelets. Raises InputError naming the file and the place in it.
    """
    if has_described_node(data):
        raws, notes = described(data)
        return Snapshot(raws, kubelet_version(raws), notes)
    if what := binary_input_hint(data[:HEAD]) or wrong_input_hint(data):
        raise InputError(path, "", what)
    if is_database(data[:HEAD]):
        found = Snapshot([])
        found.objects += objects(data, path, found.notes)
        found.version = kubelet_version(found.objects)
        return found
    try:
        documents = _documents(data, path)
    except InputError as problem:
        if not (what := unreadable_input_hint(data)):
            raise
        raise InputError(path, "", f"{what} ({problem.problem})") from None
    several, found = len(documents) > 1, Snapshot([])
    for number, document in enumerate(documents, 1):
        if isinstance(document, dict) and "kind" not in document and (version := _version_in(document)):
            found.version = version
            continue
        for _, obj in each_object(document, path, f"document {number}" if several else ""):
            found.objects.append(obj)
        if isinstance(document, dict) and document.get("kind") == "Scenario":
            spec = document["spec"] if isinstance(document.get("spec"), dict) else {}
            found.version = str(spec.get("kubernetes") or found.version)
            found.objects += _configuration_of(spec, path)
    found.version = found.version or kubelet_version(found.objects)
    found.notes += field_notes(found.objects, is_newer(found.version))
    return found


def objects_in(data: bytes, path: str) -> list[dict[str, Any]]:
    """Return the objects that `read_snapshot` returns. Raises InputError."""
    return read_snapshot(data, path).objects


def kubelet_version(objects: Iterable[Any]) -> str:
    """Return the version of most kubelets; "" without one."""
    versions: Counter[str] = Counter()
    for obj in objects:
        if isinstance(obj, dict) and obj.get("kind") == "Node":
            status = obj.get("status")
            info = status.get("nodeInfo") if isinstance(status, dict) else None
            version = info.get("kubeletVersion") if isinstance(info, dict) else None
            versions[version if isinstance(version, str) else ""] += 1
    del versions[""]
    return versions.most_common(1)[0][0] if versions else ""


def _version_in(document: dict[str, Any]) -> str:
    """Return the version of the API server in the output of `kubectl version`; "" for any other document."""
    server = document.get("serverVersion", document)
    version = server.get("gitVersion") if isinstance(server, dict) else None
    return version if isinstance(version, str) else ""


def _configuration_of(spec: dict[str, Any], path: str) -> list[dict[str, Any]]:
    config = spec.get("config")
    found = read_documents(config, f"{path}: spec.config") if isinstance(config, str) else [config]
    return [document for document in found if isinstance(document, dict)]


def useless_objects_hint(raws: Iterable[dict[str, Any]]) -> str:
    """Return what a file without nodes and pods is, and what to use instead, as a phrase; "" if that is not known."""
    kinds, fields = [], list[str]()
    for raw in raws:
        group = str(raw.get("apiVersion") or "").rpartition("/")[0]
        if kind := raw.get("kind"):
            kinds.append(f"{kind}.{group}" if group else str(kind))
        else:
            fields += map(str, raw)
    return useless_input_hint(kinds, fields)


def read_bytes(path: str) -> bytes:
    """Read a file (`-`: standard input) and unzip it if it is gzipped. Raises InputError."""
    try:
        if path == "-":
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with open(path, "rb") as stream:
                data = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as problem:
        text = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
        raise InputError(path, "", f"cannot be read: {text}") from None
    return unpacked(data, path)


def unpacked(data: bytes, path: str) -> bytes:
    """Unzip the content of a file if it is gzipped. Raises InputError."""
    try:
        if data[:2] == b"\x1f\x8b":
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
                data = stream.read(MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error) as problem:
        raise InputError(path, "", f"cannot be read: {problem}") from None
    if len(data) > MAX_BYTES:
        raise InputError(path, "", f"is larger than {MAX_BYTES // 1_000_000} MB")
    return data


def _documents(data: bytes, path: str) -> list[Any]:
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        try:
            return [msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))]
        except RecursionError:
            raise InputError(path, "", "is nested too deeply") from None
        except (msgspec.DecodeError, UnicodeDecodeError) as problem:
            if path.removesuffix(".gz").endswith(".json"):
                raise InputError(path, "", f"is not valid JSON: {problem}") from None
    return read_documents(data, path, MAX_YAML_BYTES)


def is_list(value: dict[str, Any]) -> bool:
    """Return whether an object is a List or a typed list such as PodList. A custom resource may be called `...List`."""
    kind = str(value.get("kind"))
    return kind == "List" or (kind.endswith("List") and "items" in value)


def each_object(
    value: Any, path: str, place: str, kind: str = "", depth: int = 0
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and the value of an object, or of each object in a List. `place`: of `value` in the file `path`.
    `kind`: of an object that has none. Raises InputError."""
    if isinstance(value, list):
        value = {"kind": "List", "items": value}
    if not isinstance(value, dict):
        raise InputError(path, place, f"expected a Kubernetes object, got {type(value).__name__}")
    own, spec = value.get("kind"), value.get("spec")
    if own == "Scenario" and isinstance(spec, dict):
        field, items, kind = "spec.objects", spec.get("objects"), ""
    elif is_list(value):
        field, items, kind = "items", value.get("items"), str(own).removesuffix("List")
    else:
        yield place, {**value, "kind": kind} if own is None and kind else value
        return
    if not isinstance(items, list):
        raise InputError(path, f"{place}.{field}".lstrip("."), "must be a list")
    if depth == _MAX_LISTS:
        raise InputError(path, place, f"has more than {_MAX_LISTS} nested lists")
    for i, item in enumerate(items):
        if item is not None:
            yield from each_object(item, path, f"{place}.{field}[{i}]".lstrip("."), kind, depth + 1)
