"""Changing an object of a scenario: the change makes a new scenario, a version of the old one."""

from __future__ import annotations

from itertools import islice
from typing import Any

from kubesched_ui.fields import pack
from kubesched_ui.housekeeping import disk_space, quota
from kubesched_ui.ingest import IngestError, Limits, chunked_store, ingest_files, preflight
from kubesched_ui.ingest.errors import Warn, Where
from kubesched_ui.ingest.result import IngestResult, Record
from kubesched_ui.ingest.unknown_fields import CODE
from kubesched_ui.ingest.yaml_writer import to_yaml
from kubesched_ui.models import ClusterObject, Scenario
from scheduler_core.api.fields import unknown_fields
from scheduler_core.api.objects import decode

FILE = "the text"


def as_yaml(data: dict[str, Any]) -> str:
    """An object as the editor shows it."""
    return to_yaml(data)


def read_one(text: str) -> IngestResult:
    """The one object that `text` (YAML or JSON) holds, checked and filled in as any upload. Raises IngestError."""
    result: IngestResult = ingest_files([(FILE, text.encode("utf-8", "surrogatepass"))], Limits.from_settings())
    broken = next((warn for warn in result.warnings if warn.code in ("broken", "cleaned")), None)
    if broken:
        raise IngestError(Where(""), broken.message)  # which names the text itself
    if len(result.records) != 1:
        raise IngestError(Where(FILE), "must hold exactly one object")
    return result


def edited(scenario: Scenario, obj: ClusterObject, text: str | None) -> Scenario:
    """A copy of `scenario` in which `obj` is what `text` says, or is gone where `text` is None.

    What was filled in of the text is one of the version's remarks. Raises IngestError when the text is no object, or
    names one that is there already, and OverQuota.
    """
    disk_space.check_room()
    quota.check_scenario()
    read = read_one(text) if text is not None else None
    record = next(iter(read.records.values())) if read else None
    if record and _taken(scenario, obj, record):
        raise IngestError(Where(FILE), f"the scenario already has {record.kind} {record.namespace}/{record.name}")
    columns = {
        "name": scenario.name,
        "description": scenario.description,
        "origin": Scenario.Origin.EDIT,
        "parent": scenario,
        "kubernetes": scenario.kubernetes,
        "config": scenario.config,
        "counts": _counts(scenario, obj, record),
        "pending": scenario.pending,  # but for one
        "time": scenario.time,
    }
    with chunked_store.storing(**columns) as version:
        chunked_store.copy(version, scenario, obj)
        if record:
            row = (obj.position, record.kind, record.api_version, record.namespace, record.name, pack(record.data))
            chunked_store.add(version, [row])
        about_files = [*preflight.of_files(scenario.warnings), *misspelt(record)]
        version.warnings = [*_told(version), *about_files, *(preflight.filled_in(read.filled) if read else [])]
        version.save(update_fields=["warnings"])
    return version


def _told(version: Scenario) -> list[dict[str, Any]]:
    """What there is to say of the objects as they are now."""
    workloads = list(version.objects_of(preflight.MAKERS))
    objects = (decode(raw) for raw in version.objects_of(preflight.kinds_to_see(workloads)))
    return preflight.told(workloads, objects, version.config)


def misspelt(record: Record | None) -> list[dict[str, Any]]:
    """What is to be said of fields that the API does not have; they were typed, whoever stored the object before."""
    if record is None:
        return []
    where = Where(FILE, kind=record.kind, namespace=record.namespace, name=record.name)
    found = islice(unknown_fields(record.object(), record.kind), 20)
    return [Warn.of(CODE, where, unknown.problem, unknown.path).as_dict() for unknown in found]


def _taken(scenario: Scenario, obj: ClusterObject, record: Record) -> bool:
    same = scenario.cluster_objects.filter(kind=record.kind, namespace=record.namespace, name=record.name)
    return same.exclude(pk=obj.pk).exists()


def _counts(scenario: Scenario, obj: ClusterObject, record: Record | None) -> dict[str, int]:
    counts = dict(scenario.counts)
    counts[obj.kind] = counts.get(obj.kind, 1) - 1
    if record:
        counts[record.kind] = counts.get(record.kind, 0) + 1
    return {kind: number for kind, number in counts.items() if number}
