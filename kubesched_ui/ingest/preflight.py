"""What a run would be told of a scenario's objects, said when they are stored (scheduler_core/snapshot/warnings.py)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from kubesched_ui.ingest.errors import printable
from kubesched_ui.ingest.result import Record
from scheduler_core.api.objects import KINDS as CORE
from scheduler_core.api.objects import Object, decode
from scheduler_core.controllers.pod_template import KINDS as WORKLOADS
from scheduler_core.errors import InputError
from scheduler_core.legacy.configuration import load
from scheduler_core.releases import NEWEST, get_release
from scheduler_core.snapshot.defaults import Filled, is_typed
from scheduler_core.snapshot.preflight import AS_UPSTREAM, DEFAULT_SCHEDULER, Outlook
from scheduler_core.snapshot.warnings import OF_SNAPSHOTS, Remark, remarks

MAKERS = (*WORKLOADS, "CronJob")
SEEN = ("Pod", "Node", "PersistentVolumeClaim", "PriorityClass", "StorageClass")
RELEASE = get_release(NEWEST)  # releases do not differ in what is said here

_DECODERS = {kind: msgspec.json.Decoder(CORE[kind]) for kind in SEEN}


def of_records(records: Iterable[Record], config: str) -> list[dict[str, Any]]:
    """The remarks on what was just read. `config`: the scheduler configuration that came along, or ""."""
    records = list(records)
    workloads = [record.object() for record in records if record.kind in MAKERS]
    seen = kinds_to_see(workloads)
    return told(workloads, (_decoded(record) for record in records if record.kind in seen), config)


def kinds_to_see(workloads: Iterable[dict[str, Any]]) -> list[str]:
    """The kinds of objects that `told` needs: nodes only for DaemonSets whose pods may be made."""
    daemons = any(raw.get("kind") == "DaemonSet" and is_typed(raw) for raw in workloads)
    return [kind for kind in SEEN if kind != "Node" or daemons]


def told(workloads: Iterable[dict[str, Any]], objects: Iterable[Object | None], config: str) -> list[dict[str, Any]]:
    """The remarks on objects. `workloads`: raw ones of MAKERS; `objects`: decoded ones of `kinds_to_see`."""
    try:
        outlook = Outlook(workloads, _schedulers(config), RELEASE)
    except InputError:  # a workload that was stored before workloads were checked; its run says so
        return []
    for obj in objects:
        if obj is not None:
            outlook.see(obj)
    return [as_dict(remark) for remark in remarks(outlook, AS_UPSTREAM)]


def as_dict(remark: Remark) -> dict[str, Any]:
    """A remark as a Scenario keeps it."""
    return {"code": remark.code, "message": printable(remark.message), "counts": dict(remark.counts)}


def filled_in(filled: Filled) -> list[dict[str, Any]]:
    """What to say of the fields that were filled in: one remark, or none."""
    return [as_dict(Remark("filled", filled.message, filled.counts))] if filled else []


def of_snapshot(told: list[Any]) -> list[dict[str, Any]]:
    """Of a scenario's remarks those on its objects as they are."""
    return [remark for remark in told if isinstance(remark, dict) and remark.get("code") in OF_SNAPSHOTS]


def of_files(told: list[Any]) -> list[Any]:
    """The others: on what was uploaded and edited."""
    return [remark for remark in told if not isinstance(remark, dict) or remark.get("code") not in OF_SNAPSHOTS]


def _schedulers(config: str) -> list[str]:
    try:
        return load(config or None, RELEASE, unknown="leave_out").schedulers
    except InputError:
        return [DEFAULT_SCHEDULER]


def _decoded(record: Record) -> Object | None:
    """From JSON at once; an object with nulls the long way."""
    try:
        return _DECODERS[record.kind].decode(record.data)
    except msgspec.ValidationError:
        return decode(record.object())
