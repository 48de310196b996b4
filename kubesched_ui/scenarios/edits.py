"""Edits an object of a scenario. The edit creates a new scenario, a version of the old one."""

from collections import Counter
from itertools import islice
from typing import Any

from kubesched_ui.housekeeping import disk_space, quota
from kubesched_ui.ingest import IngestError, Limits, chunked_store, ingest_files, preflight
from kubesched_ui.ingest.errors import Warn, Where
from kubesched_ui.ingest.result import IngestResult, Record
from kubesched_ui.ingest.warnings import UNKNOWN_FIELD
from kubesched_ui.models import ClusterObject, Scenario
from kubesched_ui.models.fields import pack
from scheduler_core.api.fields import unknown_fields

FILE = "the text"


def read_one(text: str) -> IngestResult:
    """Return the single object in `text` (YAML or JSON), checked and completed like an upload. Raises IngestError."""
    result: IngestResult = ingest_files([(FILE, text.encode("utf-8", "surrogatepass"))], Limits.from_settings())
    broken = next((warn for warn in result.warnings if warn.code in ("broken", "cleaned")), None)
    if broken:
        raise IngestError(Where(""), broken.message)  # the message already includes FILE
    if len(result.records) != 1:
        raise IngestError(Where(FILE), "must contain exactly one object")
    return result


def create_version(scenario: Scenario, obj: ClusterObject, text: str | None) -> Scenario:
    """Return a copy of `scenario` in which `obj` is replaced by the object in `text`, or removed if `text` is None.

    Defaults that were set in the object become a warning of the version. Raises IngestError if the text is no valid
    object or names another existing object, and OverQuota.
    """
    disk_space.check_space()
    read = read_one(text) if text is not None else None
    record = next(iter(read.records.values())) if read else None
    if record:
        same = scenario.cluster_objects.filter(kind=record.kind, namespace=record.namespace, name=record.name)
        if same.exclude(pk=obj.pk).exists():
            raise IngestError(Where(FILE), f"the scenario already has {record.kind} {record.namespace}/{record.name}")
    counts = Counter(scenario.counts)
    counts[obj.kind] -= 1
    if record:
        counts[record.kind] += 1
    columns = {
        "name": scenario.name,
        "description": scenario.description,
        "origin": Scenario.Origin.EDIT,
        "parent": scenario,
        "kubernetes": scenario.kubernetes,
        "config": scenario.config,
        "counts": dict(+counts),
        "pending": scenario.pending,  # approximate: not adjusted for the edited object
        "time": scenario.time,
    }
    with chunked_store.storing(check=quota.check_storing, **columns) as version:
        chunked_store.copy(version, scenario, obj)
        if record:
            row = (obj.position, record.kind, record.api_version, record.namespace, record.name, pack(record.data))
            chunked_store.add(version, [row])
        filled = preflight.defaults_warning(read.filled) if read else []
        kept = preflight.upload_warnings(scenario.warnings)
        version.warnings = [*_snapshot_warnings(version), *kept, *unknown_field_warnings(record), *filled]
        version.save(update_fields=["warnings"])
    return version


def _snapshot_warnings(version: Scenario) -> list[dict[str, Any]]:
    """Return the warnings about the current objects."""
    workloads = list(version.objects_of(preflight.MAKERS))
    objects = version.decoded(preflight.needed_kinds(workloads))
    return preflight.warnings_about(workloads, objects, version.config)


def unknown_field_warnings(record: Record | None) -> list[dict[str, Any]]:
    """Return warnings about fields that the API does not define. The user typed them, even if an API server stored the
    original object."""
    if record is None:
        return []
    where = Where(FILE, kind=record.kind, namespace=record.namespace, name=record.name)
    found = islice(unknown_fields(record.object(), record.kind), 20)
    return [Warn.from_error(UNKNOWN_FIELD, IngestError(where, field.problem, field.path)).as_dict() for field in found]
