"""Reads an audit log of the API server as a recording: the changes of objects that it logs with the answers.

An answer has the object at level RequestResponse alone. A binding is answered without the pod, so it is applied to the
last known state of the pod, after the changes that were answered before it. What was there before the log began and
did not change is not in it. A line can be cut: the log is being written, or a shipper or a crash has cut it.

Source: apiserver/pkg/apis/audit/v1/types.go; apiserver/plugin/pkg/audit/truncate/truncate.go;
pkg/registry/core/pod/storage/storage.go (assignPod).
"""

import io
import re
from typing import Any

import msgspec

from scheduler_core.api.objects import timestamp
from scheduler_core.cluster.formatting import count
from scheduler_core.errors import InputError
from scheduler_core.live.decode import shortened
from scheduler_core.live.kinds import KINDS, recorded_kind
from scheduler_core.live.lines import LeftOut
from scheduler_core.live.recorded_folder import Convert, object_of
from scheduler_core.live.watch_events import ADDED, DELETED, MODIFIED, Item, Listed, WatchEvent

_OBJECTS = {"create": ("", "status"), "update": ("", "status"), "patch": ("", "status"), "delete": ("",)}
_RESOURCES = {kind.resource for kind in KINDS.values()}
_TRUNCATED = "audit.k8s.io/truncated"  # annotation of an entry that was too large, without its objects
_HEAD = 2_000_000  # bytes in which the first whole line begins
_WHOLE = re.compile(rb'\n\{"kind":"Event","apiVersion":"audit\.k8s\.io/')  # Go writes the fields in this order
Key = tuple[str, str, str]  # kind, namespace, name


class _AuditReference(msgspec.Struct):
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    resource: str = ""


class _AuditStatus(msgspec.Struct):
    code: int = 0


class _AuditEntry(msgspec.Struct, rename="camel"):
    """An entry of the log. The objects are decoded only for changes that count: others can hold tokens."""

    kind: str = ""
    stage: str = ""
    verb: str = ""
    stage_timestamp: str = ""
    object_ref: _AuditReference = msgspec.field(default_factory=_AuditReference)
    response_status: _AuditStatus = msgspec.field(default_factory=_AuditStatus)
    annotations: dict[str, str] | None = None
    request_object: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    response_object: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)


def is_audit_log(data: bytes) -> bool:
    """Return whether the first line of a file is an entry of an audit log, or a part of a line before another entry."""
    head = data[:4000].lstrip()
    first = head.startswith(b"{") and b'"audit.k8s.io/' in head.partition(b"\n")[0]
    return first or _WHOLE.search(data[:_HEAD]) is not None


def read(data: bytes, path: str, notes: list[str], convert: Convert = object_of) -> list[Item]:
    """Return the items of an audit log: first a list of each kind with the objects that existed before the log, then
    their changes in the order of resourceVersion.

    `notes` takes which lines cannot be read and are left out, and how many entries the API server has truncated.
    `convert`: makes the object of an item from its JSON. Raises InputError with file, line and object; for a line that
    cannot be read only if there is no other.
    """
    log, left_out, whole = _AuditLog(convert), LeftOut(), False
    for number, line in enumerate(io.BytesIO(data), 1):
        if line.isspace():
            continue
        where = f"{path}, line {number}"
        try:
            entry = msgspec.json.decode(line.rstrip(), type=_AuditEntry)
            log.add(entry, where)
            whole = True
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            left_out.add(f"line {number}", shortened(problem))
    if left_out.number and not whole:
        raise InputError(path, "", f"no line can be read: {left_out.named}")
    if left_out.number:
        notes.append(left_out.note("not readable"))
    if log.truncated:
        entries = count(log.truncated, "entry", "entries")
        notes.append(f"objects are missing, because the API server has truncated {entries}")
    events = sorted(log.events, key=lambda event: event.resource_version)
    first = min((event.resource_version for event in events), default=1) - 1
    start = min((event.time for event in events), default=0.0)
    lists = [Listed(kind, first, tuple(objects), start) for kind, objects in log.before.items()]
    return [*lists, *events]


class _AuditLog:
    """`before`: kind -> objects that existed when the log began, as they are seen first. `events`: the changes.
    `truncated`: entries about changes that the API server has written without their objects."""

    def __init__(self, convert: Convert) -> None:
        self._convert = convert
        self.before: dict[str, list[Any]] = {}
        self.events: list[WatchEvent] = []
        self._objects: dict[Key, dict[str, Any]] = {}
        self.truncated = 0
        self._newest = 0  # resourceVersion

    def add(self, entry: _AuditEntry, where: str) -> None:
        """Add the change of an entry, if it is one."""
        of, code = entry.object_ref, entry.response_status.code
        if entry.stage != "ResponseComplete" or not 200 <= code < 300:
            return
        of_pod = of.resource == "pods" and of.subresource in ("binding", "eviction")
        answered = of.subresource in _OBJECTS.get(entry.verb, ())
        if (entry.annotations or {}).get(_TRUNCATED) == "true":
            self.truncated += of_pod or (answered and of.resource in _RESOURCES)
        elif of_pod:
            self._pod(entry, where)
        elif answered and entry.response_object:
            raw = msgspec.json.decode(entry.response_object)
            if isinstance(raw, dict) and recorded_kind(raw) and isinstance(raw.get("metadata"), dict):
                gone = _is_gone(raw) if entry.verb in ("delete", "patch", "update") else False
                self._change(raw, entry, gone, where)

    def _pod(self, entry: _AuditEntry, where: str) -> None:
        """Apply a binding or an eviction, which is answered without the pod."""
        of = entry.object_ref
        pod = self._objects.get(("Pod", of.namespace, of.name))
        if pod is None or not entry.request_object:
            return
        status, metadata = pod.get("status") or {}, pod["metadata"] | {"resourceVersion": str(self._newest)}
        if of.subresource == "eviction":
            pod = pod | {"metadata": metadata | {"deletionTimestamp": entry.stage_timestamp}}
        else:
            target = msgspec.json.decode(entry.request_object, type=_BindingRequest).target.name
            scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": entry.stage_timestamp}
            others = [one for one in status.get("conditions") or () if one.get("type") != "PodScheduled"]
            spec = (pod.get("spec") or {}) | {"nodeName": target}
            pod = pod | {"metadata": metadata, "spec": spec, "status": status | {"conditions": [*others, scheduled]}}
        self._change(pod, entry, False, where)

    def _change(self, raw: dict[str, Any], entry: _AuditEntry, gone: bool, where: str) -> None:
        kind, metadata = recorded_kind(raw), raw["metadata"]
        key = kind, str(metadata.get("namespace") or ""), str(metadata.get("name") or "")
        version = str(metadata.get("resourceVersion"))
        if not version.isdecimal():
            raise InputError(where, "responseObject.metadata.resourceVersion", "must be a number in a string")
        self._newest = max(self._newest, int(version))
        obj, known = self._convert(raw, where), key in self._objects
        listed = self.before.setdefault(kind, [])
        if gone:
            self._objects.pop(key, None)
        else:
            self._objects[key] = raw
        if not known and entry.verb != "create":
            if not gone:
                listed.append(obj)
            return
        type_ = DELETED if gone else MODIFIED if known else ADDED
        time = timestamp(entry.stage_timestamp, where, "stageTimestamp")
        self.events.append(WatchEvent(kind, type_, obj.key, int(version), obj, time))


class _BindingTarget(msgspec.Struct):
    name: str = ""


class _BindingRequest(msgspec.Struct):
    target: _BindingTarget = msgspec.field(default_factory=_BindingTarget)


def _is_gone(raw: dict[str, Any]) -> bool:
    """Return whether an answer to a deletion, or to the removal of a finalizer, is the last state of an object."""
    metadata = raw["metadata"]
    if metadata.get("finalizers"):
        return False
    return "deletionTimestamp" in metadata and not metadata.get("deletionGracePeriodSeconds")
