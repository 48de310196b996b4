"""Warnings that a run would have about a scenario's objects, made when they are stored
(scheduler_core/snapshot/warnings.py)."""

from collections.abc import Iterable
from typing import Any

from kubesched_ui.ingest.errors import printable
from kubesched_ui.ingest.result import Record
from scheduler_core.api.objects import Object, decode_valid
from scheduler_core.config.loader import load
from scheduler_core.controllers.pod_template import KINDS as WORKLOADS
from scheduler_core.errors import InputError
from scheduler_core.releases import NEWEST, RELEASES, get_release
from scheduler_core.releases.versions import numbered
from scheduler_core.snapshot.defaults import Filled, is_typed
from scheduler_core.snapshot.preflight import AS_UPSTREAM, DEFAULT_SCHEDULER, Preflight
from scheduler_core.snapshot.warnings import OF_SNAPSHOTS, Remark, remarks

MAKERS = (*WORKLOADS, "CronJob")
NEEDED = ("Pod", "Node", "PersistentVolumeClaim", "PriorityClass", "StorageClass")
NAMING = (b'"persistentVolumeClaim"', b'"ephemeral"', b'"priorityClassName"')  # fields of a pod
RELEASE = get_release(NEWEST)  # these warnings are the same in all releases


def warnings_of_records(records: Iterable[Record], config: str) -> list[dict[str, Any]]:
    """Return the warnings about newly read objects. `config`: the uploaded scheduler configuration, or ""."""
    records = list(records)
    workloads = [record.object() for record in records if record.kind in MAKERS]
    seen = needed_kinds(workloads)
    created = any(map(is_typed, workloads))  # then each pod may be one of a workload
    models = {id(record.model): record.model for record in records if record.model is not None}
    naming = {number for number, model in models.items() if _names_others(model)}
    objects = (
        decode_valid(record.data, record.kind)
        for record in records
        if record.kind in seen
        # about a bound pod there may only be a warning if it names other objects
        and (created or not record.has_node or (id(record.model) in naming if record.model else _names_others(record)))
    )
    return warnings_about(workloads, objects, config)


def _names_others(pod: Record) -> bool:
    return any(field in pod.data for field in NAMING)


def needed_kinds(workloads: Iterable[dict[str, Any]]) -> list[str]:
    """Return the kinds of objects that `warnings_about` needs; nodes only if pods of DaemonSets may be created."""
    daemons = any(raw.get("kind") == "DaemonSet" and is_typed(raw) for raw in workloads)
    return [kind for kind in NEEDED if kind != "Node" or daemons]


def warnings_about(
    workloads: Iterable[dict[str, Any]], objects: Iterable[Object | None], config: str
) -> list[dict[str, Any]]:
    """Return the warnings about `workloads`, raw objects of MAKERS, and `objects`, decoded ones of `needed_kinds`."""
    try:
        outlook = Preflight(workloads, _schedulers(config), RELEASE)
    except InputError:  # an old stored workload that was never checked; its run reports the error
        return []
    for obj in objects:
        if obj is not None:
            outlook.add(obj)
    return [as_dict(remark) for remark in remarks(outlook, AS_UPSTREAM)]


def as_dict(remark: Remark) -> dict[str, Any]:
    """Return a warning in the form that a Scenario stores."""
    return {"code": remark.code, "message": printable(remark.message), "counts": dict(remark.counts)}


def defaults_warning(filled: Filled) -> list[dict[str, Any]]:
    """Return the warning about defaults that were set, if any."""
    return [as_dict(Remark("filled", filled.message, filled.counts))] if filled else []


def snapshot_warnings(warnings: list[Any]) -> list[dict[str, Any]]:
    """Return the warnings of a scenario about its current objects."""
    return [remark for remark in warnings if isinstance(remark, dict) and remark.get("code") in OF_SNAPSHOTS]


def upload_warnings(warnings: list[Any]) -> list[Any]:
    """Return the other warnings: about the uploaded files and edits."""
    return [remark for remark in warnings if not isinstance(remark, dict) or remark.get("code") not in OF_SNAPSHOTS]


def about_files(warnings: list[Any]) -> list[Any]:
    """Return `upload_warnings` for people: with what follows for the object or file."""
    return [
        one | {"message": with_effect(one["code"], one["message"])} if isinstance(one, dict) and "code" in one else one
        for one in upload_warnings(warnings)
    ]


def with_effect(code: str, message: str) -> str:
    """Return the message of a warning about an object or file, which says if it is left out."""
    return f"Left out: {message}" if code in ("broken", "unreadable-member") else message


def _schedulers(config: str) -> list[str]:
    """Return the profiles of a configuration, in the newest release that accepts it."""
    for name in sorted(RELEASES, key=numbered, reverse=True):
        try:
            return load(config or None, get_release(name), unknown="leave_out").schedulers
        except InputError:
            continue
    return [DEFAULT_SCHEDULER]
