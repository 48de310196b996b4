"""Finds the objects in a document: a single object, Lists, cluster-info dumps, simulator exports, the own Scenario
format."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from kubesched_ui.ingest.errors import IngestError, LimitError, NoObjectError, Where, shown
from kubesched_ui.ingest.json_values import Json, elements, is_array, is_object, read_object
from kubesched_ui.ingest.kinds import named
from kubesched_ui.ingest.limits import Limits
from kubesched_ui.ingest.path_hints import kind_of
from kubesched_ui.ingest.run_file import RunFile, read_part
from kubesched_ui.ingest.scenario_time import ABOUT
from scheduler_core.config.configz import KEYS as CONFIGZ_KEYS
from scheduler_core.config.configz import configz
from scheduler_core.config.discovery import is_configuration

OUR_GROUP = "kubesched.dev/"
OUR_API = f"{OUR_GROUP}v1alpha1"
SCENARIO_KIND, RUN_KIND, TABLES_KIND, LOAD_KIND = "Scenario", "Run", "Tables", "NodeLoad"
WATCHER_KEY = "NodeMetricsMap"  # in `data` of the answer of a load watcher
LIST_ANNOTATIONS = ("name", "description", "kubernetes")  # annotations (kubesched.dev/name ...) of an exported List
# Keys of a kube-scheduler-simulator export that contain objects, which may lack apiVersion and kind.
EXPORT_KEYS = ("namespaces", "priorityClasses", "storageClasses", "pvcs", "pvs", "nodes", "pods")

_Maybe = Raw | UnsetType


class ObjectHead(msgspec.Struct):
    """The fields of an object or a container of objects that are examined before it is decoded."""

    kind: str | None = None
    api_version: str | None = msgspec.field(default=None, name="apiVersion")
    metadata: _Maybe = UNSET
    reason: _Maybe = UNSET
    internal_reason: _Maybe = msgspec.field(default=UNSET, name="Reason")
    internal_spec: _Maybe = msgspec.field(default=UNSET, name="Spec")
    git_version: _Maybe = msgspec.field(default=UNSET, name="gitVersion")
    info: _Maybe = UNSET
    spec: _Maybe = UNSET
    status: _Maybe = UNSET
    data: _Maybe = UNSET
    items: _Maybe = UNSET
    internal_items: _Maybe = msgspec.field(default=UNSET, name="Items")
    server_version: _Maybe = msgspec.field(default=UNSET, name="serverVersion")
    scheduler_config: _Maybe = msgspec.field(default=UNSET, name="schedulerConfig")
    namespaces: _Maybe = UNSET
    priority_classes: _Maybe = msgspec.field(default=UNSET, name="priorityClasses")
    storage_classes: _Maybe = msgspec.field(default=UNSET, name="storageClasses")
    pvcs: _Maybe = UNSET
    pvs: _Maybe = UNSET
    nodes: _Maybe = UNSET
    pods: _Maybe = UNSET
    configz: _Maybe = msgspec.field(default=UNSET, name=CONFIGZ_KEYS[0])
    scheduler_configz: _Maybe = msgspec.field(default=UNSET, name=CONFIGZ_KEYS[1])


class _Meta(msgspec.Struct):
    name: str = ""


class _ListMeta(msgspec.Struct):
    annotations: dict[str, str] = {}


class _ScenarioSpec(msgspec.Struct):
    description: str = ""
    kubernetes: str = ""
    config: _Maybe = UNSET
    objects: _Maybe = UNSET


class _Version(msgspec.Struct):
    git_version: str = msgspec.field(default="", name="gitVersion")


class _WatchedMetric(msgspec.Struct):
    type: str = ""
    operator: str = ""
    value: float = 0.0


class _WatchedNode(msgspec.Struct):
    metrics: list[_WatchedMetric] | None = None


_WATCHER = re.compile(rb"\s*\{\s*\"" + WATCHER_KEY.encode() + rb'"\s*:\s*\{')
_EXPORTS = {
    key: next(f.name for f in msgspec.structs.fields(ObjectHead) if f.encode_name == key) for key in EXPORT_KEYS
}
_HEAD = msgspec.json.Decoder(ObjectHead)
_FIRST_KEY = re.compile(rb"\s*\{\s*\"([^\"]+)\"")


@dataclass(slots=True)
class UploadedObject:
    """One object, not decoded yet. `kind` and `api_version` come from the object or its context; may be ""."""

    value: Json
    where: Where
    kind: str
    api_version: str
    head: ObjectHead


@dataclass(slots=True)
class ClusterInfo:
    """Data of documents other than objects. Unknown texts are ""."""

    name: str = ""
    description: str = ""
    kubernetes: str = ""


@dataclass(slots=True)
class Config:
    """An uploaded scheduler configuration: JSON of an object, or of its text."""

    value: Json
    where: Where


@dataclass(slots=True)
class Time:
    """The virtual-time part of the spec of a Scenario document: JSON of an object, possibly empty."""

    value: Json
    where: Where


@dataclass(slots=True)
class KnownObject:
    """An object of a List that was not examined. `found`: what the caller's `known` says about it."""

    found: Any
    where: Where


# An error stands for a value that should be an object.
Part = UploadedObject | KnownObject | ClusterInfo | Config | Time | RunFile | IngestError
Known = Callable[[Json], Any]


@dataclass(frozen=True, slots=True)
class Hint:
    """The kind of objects without one, from their context. `sure`: from the kind of a list, not from the name
    of a file or folder."""

    kind: str = ""
    api_version: str = ""
    sure: bool = False

    @classmethod
    def from_path(cls, path: str) -> Hint:
        """Return the hint of a path or key (`.../kube-system/pods.json`, `/api/v1/nodes`)."""
        return cls(*kind_of(path))


NO_HINT = Hint()


def objects(
    value: Json, where: Where, limits: Limits, hint: Hint = NO_HINT, nesting: int = 0, known: Known | None = None
) -> Iterator[Part]:
    """Yield the parts of a JSON document in order. Raises LimitError if Lists are nested too deeply.

    `known`: says about the text of an element of the outermost List what the caller knows of it; None if nothing.
    """
    if nesting > limits.max_nesting + 1:
        raise LimitError(where, f"Lists are nested more than {limits.max_nesting} deep")
    if is_array(value):
        yield from _each(value, where, limits, hint, nesting, known)
        return
    try:
        head = _head(value, where)
    except IngestError as error:
        yield error
        return
    kind = head.kind or ""
    if head.items is not UNSET and (not kind or kind.endswith("List")):
        inner = Hint(kind[:-4], head.api_version or "", True) if kind not in ("", "List") else hint
        yield from _of_list(head, where)
        yield from _each(head.items, where, limits, inner, nesting, known)
    elif head.internal_items is not UNSET and not kind.removesuffix("List"):
        yield from _each(head.internal_items, where, limits, Hint(hint.kind, "", True), nesting)
    elif kind == "List":
        return
    elif (head.api_version or "").startswith(OUR_GROUP):
        yield from _ours(value, head, where, limits, nesting)
    elif is_configuration(kind, head.api_version):
        yield Config(value, where)
    elif kind:
        yield UploadedObject(value, where, kind, head.api_version or "", head)
    else:
        yield from _without_kind(value, head, where, limits, hint, nesting)


def _without_kind(
    value: Json, head: ObjectHead, where: Where, limits: Limits, hint: Hint, nesting: int
) -> Iterator[Part]:
    if head.metadata is not UNSET or head.internal_spec is not UNSET or hint.sure:
        yield UploadedObject(value, where, hint.kind, head.api_version or hint.api_version, head)
    elif head.server_version is not UNSET:
        yield ClusterInfo(kubernetes=_part(head.server_version, _Version, where, "serverVersion").git_version)
    elif head.git_version is not UNSET:
        yield ClusterInfo(kubernetes=_part(value, _Version, where, "").git_version)
    elif head.info is not UNSET and b"gitVersion" in bytes(memoryview(head.info)[:400]):
        yield ClusterInfo(kubernetes=_part(head.info, _Version, where, "info").git_version)
    elif any(_is_list(getattr(head, field)) for field in _EXPORTS.values()) or head.scheduler_config is not UNSET:
        yield from _export(head, where, limits, nesting)
    elif config := _configz(value, head, where, limits):
        yield config
    elif head.data is not UNSET and _WATCHER.match(memoryview(head.data)[:100]):
        yield from _watcher(head, where)
    elif parts := _by_key(value, where):
        for key, part in parts.items():
            inner = where.at(file=f"{where.file}, {key}")
            yield from objects(part, inner, limits, Hint.from_path(key), nesting if is_array(part) else nesting + 1)
    else:
        yield UploadedObject(value, where, "", head.api_version or "", head)


def _watcher(head: ObjectHead, where: Where) -> Iterator[Part]:
    """Yield a NodeLoad for each node in the answer of a load watcher (paypal/load-watcher, `GET /watcher`)."""
    data = _part(head.data, dict[str, dict[str, _WatchedNode]], where, "data")
    for name, load in data[WATCHER_KEY].items():
        metrics = [metric for metric in load.metrics or () if metric.type in ("CPU", "Memory")]
        raw = {"apiVersion": OUR_API, "kind": LOAD_KIND, "metadata": {"name": name}, "metrics": metrics}
        value = msgspec.json.encode(raw)
        yield UploadedObject(value, where, LOAD_KIND, OUR_API, _head(value, where))


def _configz(value: Json, head: ObjectHead, where: Where, limits: Limits) -> Config | None:
    """Return the configuration in an answer of kube-scheduler's /configz; None if the document is none."""
    if head.configz is UNSET and head.scheduler_configz is UNSET:
        return None
    found = configz(read_object(value, where, limits.max_depth))
    return None if found is None else Config(msgspec.json.encode(found), where)


def _is_list(held: Any) -> bool:
    return held is not UNSET and (is_array(memoryview(held)) or bytes(memoryview(held)) == b"null")


def _by_key(value: Json, where: Where) -> dict[str, memoryview]:
    """Return the members of a map whose keys are paths or kinds (`/api/v1/nodes`, `config/node/n1.json`, `nodes`).
    Return {} if the first key is none of these: then it may be any large file."""
    first = _FIRST_KEY.match(memoryview(value)[:1000])
    if first is None or not kind_of(first[1].decode(errors="replace"))[0]:
        return {}
    fields = {key: memoryview(raw) for key, raw in _part(value, dict[str, Raw], where, "").items() if kind_of(key)[0]}
    return {key: part for key, part in fields.items() if is_array(part) or is_object(part)}


def _each(
    raw: Json | Raw, where: Where, limits: Limits, hint: Hint, nesting: int, known: Known | None = None
) -> Iterator[Part]:
    array = memoryview(raw)
    if bytes(array[:8]).strip() == b"null":
        return  # Go writes an empty list as null
    if not is_array(array):
        yield IngestError(where, f"expected a list, found {shown(bytes(array[:60]).decode(errors='replace'))}", "items")
        return
    yield from each(elements(array), where, limits, hint, nesting, known)


def each(
    texts: Iterable[memoryview], where: Where, limits: Limits, hint: Hint, nesting: int, known: Known | None = None
) -> Iterator[Part]:
    """Yield the parts of the elements of a List, as `objects` does."""
    for number, element in enumerate(texts, 1):
        place = Where(*where[:2], number, *where[3:])  # `at` takes twice as long, for each object
        if known is not None and (found := known(element)) is not None:
            yield KnownObject(found, place)
        else:
            yield from objects(element, place, limits, hint, nesting + 1)


def _ours(value: Json, head: ObjectHead, where: Where, limits: Limits, nesting: int) -> Iterator[Part]:
    if head.kind == SCENARIO_KIND:
        yield from _scenario(head, where, limits, nesting)
    elif head.kind == RUN_KIND:
        yield from _run(value, head, where, limits, nesting)
    elif head.kind == LOAD_KIND:
        yield UploadedObject(value, where, LOAD_KIND, head.api_version or "", head)
    elif head.kind != TABLES_KIND:  # a description of the tables in an exported run
        yield IngestError(where, f"is unknown; there are {SCENARIO_KIND} and {RUN_KIND}", "kind")


def _run(value: Json, head: ObjectHead, where: Where, limits: Limits, nesting: int) -> Iterator[Part]:
    """Yield the run, then the parts of its scenario."""
    where = where.at(kind=RUN_KIND)
    fields = _part(value, dict[str, Raw], where, "")
    spec = _part(head.spec, dict[str, Raw], where, "spec")
    scenario = _head(memoryview(spec.pop("scenario", Raw(b"null"))), where.at(name="its scenario"))
    if scenario.kind != SCENARIO_KIND:
        raise IngestError(where, f"must be of kind {SCENARIO_KIND}", "spec.scenario")
    name = _part(head.metadata, _Meta, where, "metadata").name
    status = memoryview(fields.get("status", Raw(b"{}")))
    yield RunFile(
        where,
        name,
        read_part(msgspec.json.encode(spec), where, "spec", limits.max_depth),
        read_part(status, where, "status", limits.max_depth),
    )
    yield from _scenario(scenario, where, limits, nesting)


def _scenario(head: ObjectHead, where: Where, limits: Limits, nesting: int) -> Iterator[Part]:
    meta = _part(head.metadata, _Meta, where, "metadata")
    spec = _part(head.spec, _ScenarioSpec, where, "spec")
    yield ClusterInfo(meta.name, spec.description, spec.kubernetes)
    fields = _part(head.spec, dict[str, Raw], where, "spec")
    yield Time(msgspec.json.encode({key: value for key, value in fields.items() if key not in ABOUT}), where)
    if spec.config is not UNSET:
        yield Config(bytes(memoryview(spec.config)), where)
    if spec.objects is not UNSET:
        yield from _each(spec.objects, where, limits, NO_HINT, nesting)


def _of_list(head: ObjectHead, where: Where) -> Iterator[Part]:
    """Yield the data about the cluster in the annotations of an exported List."""
    if head.metadata is UNSET or OUR_GROUP.encode() not in bytes(memoryview(head.metadata)):
        return
    annotations = _part(head.metadata, _ListMeta, where, "metadata").annotations
    yield ClusterInfo(*(annotations.get(f"{OUR_GROUP}{name}", "") for name in LIST_ANNOTATIONS))
    if config := annotations.get(f"{OUR_GROUP}config"):
        yield Config(msgspec.json.encode(config), where)


def _export(head: ObjectHead, where: Where, limits: Limits, nesting: int) -> Iterator[Part]:
    for key, field in _EXPORTS.items():
        held = getattr(head, field)
        if held is not UNSET and is_object(memoryview(held)):
            yield from objects(bytes(memoryview(held)), where, limits, Hint(named(key)), nesting + 1)
        elif held is not UNSET:
            yield from _each(held, where, limits, Hint(named(key), "", True), nesting)
    config = head.scheduler_config
    if config is not UNSET and is_object(memoryview(config)):
        yield Config(bytes(memoryview(config)), where)


def is_list_of_objects(value: Json, where: Where) -> bool:
    """Return whether a document is a List that says nothing about its cluster. Raises IngestError."""
    head = _head(value, where)
    return head.items is not UNSET and (head.kind or "List").endswith("List") and not any(_of_list(head, where))


def _head(value: Json, where: Where) -> ObjectHead:
    if not is_object(value):
        found = shown(bytes(value[:60]).decode(errors="replace").strip())
        raise NoObjectError(where, f"expected a Kubernetes object, found {found}")
    try:
        return _HEAD.decode(value)
    except msgspec.ValidationError as error:
        problem, _, field = str(error).partition(" - at ")
        raise IngestError(where, problem.lower(), field.strip("`$.")) from None
    except RecursionError:
        raise IngestError(where, "is nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise IngestError(where, f"is not valid JSON: {error}") from None


def _part(value: Any, cls: Any, where: Where, field: str) -> Any:
    """Decode a part of a document that must have a certain shape. Raises IngestError with the field."""
    if value is UNSET:
        return cls()
    try:
        return msgspec.json.decode(value, type=cls)
    except msgspec.ValidationError as error:
        problem, _, inner = str(error).partition(" - at ")
        path = ".".join(part for part in (field, inner.strip("`$.")) if part)
        raise IngestError(where, problem.lower(), path) from None


def scenario_document(
    name: str,
    objects: Iterable[dict[str, Any]],
    description: str = "",
    kubernetes: str = "",
    config: str = "",
    time: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the document that `ingest_files` reads as the same scenario. Write it with `to_yaml` or as JSON."""
    spec = {"description": description, "kubernetes": kubernetes, "config": config}
    return {
        "apiVersion": OUR_API,
        "kind": SCENARIO_KIND,
        "metadata": {"name": name},
        "spec": {**{key: value for key, value in spec.items() if value}, "objects": list(objects), **(time or {})},
    }
