"""Makes a Scenario in virtual time of recorded changes: what arrived, changed and left, decided anew.

Recordings are a database of etcd, an audit log of the API server, a trace of SimKube (MessagePack or JSON) and a
recording of kwok (objects and ResourcePatches as YAML). Decisions of the real scheduler are left out: pods arrive
without a node, unless another scheduler or a controller placed them.

Sources: simkube docs/ref/trace-files.md (version 2, and version 1 without a number); kwok
pkg/apis/action/v1alpha1/resource_patch_types.go.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

import msgspec

from scheduler_core.api.objects import KINDS, Object, is_namespaced
from scheduler_core.cluster.formatting import count
from scheduler_core.config.document import read_documents
from scheduler_core.errors import InputError
from scheduler_core.etcd.bbolt import is_database
from scheduler_core.live import recorded_audit_log, recorded_database
from scheduler_core.live.kinds import recorded_kind
from scheduler_core.live.ordering import in_order
from scheduler_core.live.recorded_folder import object_of
from scheduler_core.live.watch_events import DELETED, Listed, WatchEvent
from scheduler_core.snapshot.wrong_input_hints import MAX_EXAMINED, is_trace
from scheduler_core.virtual_time.scenario import API_VERSION

Raw = dict[str, Any]
Key = tuple[str, str, str]  # kind, namespace, name

MAX_BYTES = 64_000_000  # of a recording of kwok
MAX_CHANGES = 200_000
TAIL = 60.0  # seconds after the last change
DEFAULT_SCHEDULER = "default-scheduler"
_NOTHING = "is a recording without a change of an object that the scheduler uses"
_NO_ANSWERS = "is an audit log without pods and nodes in its answers: its policy must log them at level RequestResponse"
_OWN_PLACEMENT = ("Node", "DaemonSet")  # owners of pods that no decision places
_WORKLOADS = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob", "ReplicationController")
_IN_CONTAINERS = ("env", "envFrom", "command", "args", "lifecycle", "livenessProbe", "readinessProbe", "startupProbe",
                  "volumeMounts", "securityContext")  # fmt: skip
_METADATA = ("name", "namespace", "labels", "ownerReferences", "finalizers", "uid", "creationTimestamp")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_STATUS = ("allocatable", "capacity", "images", "nodeInfo", "phase", "allocation", "reservedFor")
_TOPOLOGY_LABELS = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
_KINDS = {  # plural -> kind, of resources that a recording of kwok patches
    "namespaces": "Namespace", "nodes": "Node", "pods": "Pod", "services": "Service",
    "persistentvolumes": "PersistentVolume",
    "persistentvolumeclaims": "PersistentVolumeClaim", "priorityclasses": "PriorityClass", "deployments": "Deployment",
    "replicasets": "ReplicaSet", "statefulsets": "StatefulSet", "daemonsets": "DaemonSet", "jobs": "Job",
    "cronjobs": "CronJob", "replicationcontrollers": "ReplicationController", "storageclasses": "StorageClass",
    "poddisruptionbudgets": "PodDisruptionBudget",
}  # fmt: skip
_MERGE_KEYS = {"containers": "name", "initContainers": "name", "ephemeralContainers": "name", "volumes": "name",
               "conditions": "type", "ownerReferences": "uid", "topologySpreadConstraints": "topologyKey",
               "imagePullSecrets": "name", "addresses": "type", "schedulingGates": "name",
               "resourceClaims": "name"}  # fmt: skip


class RawObject(Object):
    """An object with all its fields as JSON."""

    raw: Raw = {}


class RecordedChange(NamedTuple):
    """A change. `time`: seconds. `raw`: the whole object after it; of a deletion, at least its kind and name."""

    time: float
    operation: Literal["apply", "delete"]
    raw: Raw


def scenario_of(data: bytes, path: str, notes: list[str], last: float | None = None) -> Raw | None:
    """Return the Scenario document of a recording; None if the data is none of a known form.

    `last`: only so many seconds before its end; changes before them are in the state at the start. `notes` takes what
    was left out. Raises InputError with the path.
    """
    if is_database(data):
        return _document(*_of_items(recorded_database.read(data, path, notes, raw_object)), notes, last, path)
    if recorded_audit_log.is_audit_log(data):
        items = recorded_audit_log.read(data, path, notes, raw_object)
        if not items:
            raise InputError(path, "", _NO_ANSWERS)
        return _document(*_of_items(items), notes, last, path)
    if is_trace(data) or is_json_trace(data):
        return _document([], list(_of_simkube(data, path)), notes, last, path, workloads=True)
    if is_kwok_recording(data):
        return _document(*_of_kwok(data, path, notes), notes, last, path)
    return None


def raw_object(raw: Raw, where: str) -> RawObject:
    """Return an object that keeps its JSON. Raises InputError."""
    return RawObject(metadata=object_of(raw, where).metadata, raw=raw)


def is_kwok_recording(data: bytes) -> bool:
    """Return whether a text has patches of a recording of kwok."""
    return data[:1000].lstrip()[:1] != b"{" and b"action.kwok.x-k8s.io/" in data and b"ResourcePatch" in data


def is_json_trace(data: bytes) -> bool:
    """Return whether a text is a trace of SimKube as JSON."""
    head = data[:MAX_EXAMINED].lstrip()
    return head.startswith(b"{") and (b'"applied_objs"' in head or b'"trackedObjects"' in head)


# ---- recordings


def _of_items(items: Iterable[object]) -> tuple[list[Raw], list[RecordedChange]]:
    """Return the objects at the start and the changes of a recording of watches."""
    found = list(items)
    kinds = {item.kind for item in found if isinstance(item, Listed | WatchEvent)}
    initial: list[Raw] = []
    changes: list[RecordedChange] = []
    for item in in_order(iter(found), kinds):  # type: ignore[arg-type]
        if isinstance(item, Listed):
            initial += [one.raw for one in item.objects if isinstance(one, RawObject)]
        elif isinstance(item, WatchEvent) and isinstance(item.object, RawObject):
            changes.append(RecordedChange(item.time, "delete" if item.type == DELETED else "apply", item.object.raw))
    return initial, changes


class _TraceEvent(msgspec.Struct):
    ts: float
    applied_objs: list[Any] = []
    deleted_objs: list[Any] = []


class _SimKubeTrace(msgspec.Struct):
    """The keys of lifecycles are no keys of JSON, so these are not decoded."""

    events: list[_TraceEvent] = []


def _of_simkube(data: bytes, path: str) -> Iterator[RecordedChange]:
    decode = msgspec.json.decode if data.lstrip()[:1] == b"{" else msgspec.msgpack.decode
    try:
        trace = decode(data, type=_SimKubeTrace)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise InputError(path, "", f"is a SimKube trace that cannot be read: {problem}") from None
    if not trace.events:
        raise InputError(path, "", "is a SimKube trace without events")
    for event in trace.events:
        for raw in event.applied_objs:
            yield RecordedChange(event.ts, "apply", _named(raw, path))
        for raw in event.deleted_objs:
            yield RecordedChange(event.ts, "delete", _named(raw, path))


def _named(raw: Any, path: str) -> Raw:
    """Return an object with a kind and a name. Raises InputError."""
    metadata = raw.get("metadata") if isinstance(raw, dict) else None
    if (
        not isinstance(metadata, dict)
        or not isinstance(metadata.get("name"), str)
        or not isinstance(raw.get("kind"), str)
    ):
        raise InputError(path, "", "has an object without kind or metadata.name")
    found: Raw = raw
    return found


def _of_kwok(data: bytes, path: str, notes: list[str]) -> tuple[list[Raw], list[RecordedChange]]:
    initial: list[Raw] = []
    changes: list[RecordedChange] = []
    state: dict[Key, Raw] = {}
    unknown = 0
    for document in read_documents(data, path, MAX_BYTES):
        if not isinstance(document, dict):
            raise InputError(path, "", "has a document that is no object")
        if document.get("kind") != "ResourcePatch":
            initial.append(_named(document, path))
            state[_key(document)] = document
            continue
        change = _of_patch(document, state, path)
        unknown += change is None
        if change is not None:
            changes.append(change)
    if unknown:
        of = "a kind" if unknown == 1 else "kinds"
        which = "an unknown object" if unknown == 1 else "unknown objects"
        notes.append(f"left out: {count(unknown, 'patch')} of {of} that the scheduler does not use, or of {which}")
    return initial, sorted(changes, key=lambda change: change.time)


def _of_patch(document: Raw, state: dict[Key, Raw], path: str) -> RecordedChange | None:
    """Return the change of a ResourcePatch, and apply it to the state; None if it is about an unknown object."""
    resource, target = document.get("resource"), document.get("target")
    nanoseconds, template = document.get("durationNanosecond"), document.get("template")
    if not isinstance(resource, dict) or not isinstance(target, dict) or type(nanoseconds) is not int:
        raise InputError(path, "ResourcePatch", "must have resource, target and durationNanosecond")
    kind = _KINDS.get(str(resource.get("resource")), "")
    name, group, version = target.get("name"), resource.get("group"), str(resource.get("version"))
    if not kind or not isinstance(name, str):
        return None
    metadata: Raw = {"name": name}
    if is_namespaced(KINDS.get(kind)):
        metadata["namespace"] = str(target.get("namespace") or "default")
    raw: Raw = {"apiVersion": f"{group}/{version}" if group else version, "kind": kind, "metadata": metadata}
    key, time = _key(raw), nanoseconds / 1e9
    if document.get("method") == "delete":
        state.pop(key, None)
        return RecordedChange(time, "delete", raw)
    if not isinstance(template, dict) or (document.get("method") == "patch" and key not in state):
        return None
    merged = _merged(state.get(key, {}), template)
    merged |= raw | {"metadata": (merged["metadata"] if isinstance(merged.get("metadata"), dict) else {}) | metadata}
    state[key] = merged
    return RecordedChange(time, "apply", merged)


def _merged(old: Any, patch: Any, field: str = "") -> Any:
    """Return a value after a strategic merge patch: lists of named elements are merged by their names.

    Source: apimachinery/pkg/util/strategicpatch; the merge keys are those of k8s.io/api.
    """
    merge_key = _MERGE_KEYS.get(field)
    if isinstance(patch, list) and isinstance(old, list) and merge_key:
        found = {str(one.get(merge_key)): one for one in old if isinstance(one, dict)}
        for one in patch:
            if not isinstance(one, dict):
                continue
            name = str(one.get(merge_key))
            if one.get("$patch") == "delete":
                found.pop(name, None)
            else:
                found[name] = _merged(found.get(name), one)
        return list(found.values())
    if not isinstance(patch, dict):
        return patch
    result = dict(old) if isinstance(old, dict) and patch.get("$patch") != "replace" else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif not key.startswith("$"):
            result[key] = _merged(result.get(key), value, key)
    return result


# ---- the document


def _document(
    initial: list[Raw],
    changes: list[RecordedChange],
    notes: list[str],
    last: float | None,
    path: str,
    workloads: bool = False,
) -> Raw:
    """Return the Scenario document. `workloads`: whether controllers create the pods, which are not recorded."""
    if len(changes) > MAX_CHANGES:
        raise InputError(path, "", f"has more than {MAX_CHANGES:,} changes")
    changes = sorted((one for one in changes if _is_used(one.raw)), key=lambda change: change.time)
    state = {_key(raw): raw for raw in initial if _is_used(raw)}
    start = changes[0].time if changes else 0.0
    if last is not None and changes:
        start = max(start, changes[-1].time - last)
    first = next((i for i, one in enumerate(changes) if one.time > start or (one.time == start and not workloads)), 0)
    if workloads and changes and changes[-1].time <= start:
        first = len(changes)
    for change in changes[:first]:
        if change.operation == "delete":
            state.pop(_key(change.raw), None)
        else:
            state[_key(change.raw)] = change.raw
    timeline = list(_timeline(changes[first:], dict(state), start))
    if not state and not timeline:
        raise InputError(path, "", _NOTHING)
    spec: Raw = {
        "description": "Recorded changes; every decision is made anew.",
        "objects": [one for one in (_clean(raw, keep_node=True) for raw in state.values()) if one is not None],
        "timeline": timeline,
        "gracePeriods": False,
        "until": (timeline[-1]["at"] if timeline else 0.0) + TAIL,
    }
    if not workloads:
        spec["controllers"] = dict.fromkeys(("admission", "taintManager", "nodeLifecycle", "workloads"), False)
    else:
        notes.append("a trace of SimKube has no nodes, and how long pods ran is not read: add nodes in the same upload")
    return {"apiVersion": API_VERSION, "kind": "Scenario", "metadata": {"name": "recording"}, "spec": spec}


def _timeline(changes: list[RecordedChange], state: dict[Key, Raw], start: float) -> Iterator[Raw]:
    """Yield the entries of the changes that matter to the scheduler."""
    shown = {key: _clean(raw, keep_node=True) for key, raw in state.items()}
    for time, operation, raw in changes:
        key, at = _key(raw), round(time - start, 6)
        before = shown.get(key)
        if operation == "delete" or (key[0] == "Pod" and _has_ended(raw)):
            if shown.pop(key, None) is not None:
                yield {"at": at, "delete": _reference(key, raw)}
            continue
        after = _clean(raw, keep_node=before is None)
        if after is None:
            continue
        if before is None:
            shown[key] = after
            yield {"at": at, "create": after}
        elif not _equal(before, after):
            shown[key] = after
            yield {"at": at, "update": after}


def _equal(before: Raw, after: Raw) -> bool:
    """Return whether an update changes nothing: a pod's node is its scheduler's, its status the kubelet's, and its
    topology labels follow from its node."""
    return before == after if before["kind"] != "Pod" else _by_users(before) == _by_users(after)


def _by_users(pod: Raw) -> tuple[Raw, Raw]:
    metadata, spec = pod["metadata"], _map(pod.get("spec"))
    labels = {key: value for key, value in _map(metadata.get("labels")).items() if key not in _TOPOLOGY_LABELS}
    return metadata | {"labels": labels}, {key: value for key, value in spec.items() if key != "nodeName"}


def _map(value: Any) -> Raw:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_used(raw: Raw) -> bool:
    kind = str(raw.get("kind"))
    return bool(recorded_kind(raw) or kind in _WORKLOADS) and kind not in ("Event", "ConfigMap", "Secret", "Lease")


def _key(raw: Raw) -> Key:
    metadata = _map(raw.get("metadata"))
    return str(raw.get("kind")), str(metadata.get("namespace") or ""), str(metadata.get("name") or "")


def _reference(key: Key, raw: Raw) -> Raw:
    reference = {"apiVersion": str(raw.get("apiVersion") or ""), "kind": key[0], "namespace": key[1], "name": key[2]}
    return {name: value for name, value in reference.items() if value}


def _has_ended(pod: Raw) -> bool:
    return _map(pod.get("status")).get("phase") in ("Succeeded", "Failed")


def _clean(raw: Raw, keep_node: bool) -> Raw | None:
    """Return an object with what a scheduler reads; None for a pod that another scheduler has not yet placed.

    `keep_node`: of pods that are there at the start; a pod that arrives keeps only a node that no decision chose.
    """
    given, status = _map(raw.get("metadata")), _map(raw.get("status"))
    metadata = {key: value for key, value in given.items() if key in _METADATA}
    annotations = {key: value for key, value in _map(given.get("annotations")).items() if key != _LAST_APPLIED}
    metadata |= {"annotations": annotations} if annotations else {}
    cleaned = {key: value for key, value in raw.items() if key not in ("metadata", "status")} | {"metadata": metadata}
    if raw.get("kind") != "Pod":
        kept = {key: value for key, value in status.items() if key in _STATUS}
        return cleaned | ({"status": kept} if kept else {})
    spec = dict(_map(raw.get("spec")))
    for field in ("containers", "initContainers"):
        if field in spec:
            containers = [one for one in _list(spec[field]) if isinstance(one, dict)]
            spec[field] = [{name: one[name] for name in one if name not in _IN_CONTAINERS} for one in containers]
    owners = {str(owner.get("kind")) for owner in _list(metadata.get("ownerReferences")) if isinstance(owner, dict)}
    of_others = spec.get("schedulerName", DEFAULT_SCHEDULER) != DEFAULT_SCHEDULER
    if of_others and not spec.get("nodeName") and not keep_node:
        return None
    if not keep_node and not of_others and not owners & set(_OWN_PLACEMENT):
        spec.pop("nodeName", None)
    kept = {key: value for key, value in status.items() if key in ("phase", "nominatedNodeName")} if keep_node else {}
    return cleaned | {"spec": spec} | ({"status": kept} if kept else {})
