"""What a Scenario document says about time: what of it is kept."""

from __future__ import annotations

from collections import Counter
from typing import Any

import yaml

from kubesched_ui.ingest import redact as door
from kubesched_ui.ingest.errors import Where
from kubesched_ui.ingest.kinds import PRIVATE, lookup
from kubesched_ui.ingest.result import Record
from scheduler_core.controllers.workloads import KINDS as WORKLOADS
from scheduler_core.scenario import line_of

MAX_BYTES = 32 * 1024 * 1024
MAX_LOCATED = 1024 * 1024  # bytes of a file that is worth reading once more to tell the line


def redact(spec: dict[str, Any], dropped: Counter[str], unknown: Counter[str]) -> None:
    """Removes in place what is confidential from objects to come, and entries about kinds that are not kept.

    `spec`: checked (intime.check).
    """
    if "timeline" in spec:
        spec["timeline"] = [entry for entry in spec["timeline"] if _kept(entry, dropped, unknown)]
    for arrivals in spec.get("arrivals", ()):
        door.redact(arrivals["template"], dropped)


def _kept(entry: dict[str, Any], dropped: Counter[str], unknown: Counter[str]) -> bool:
    operation = next((name for name in ("create", "update", "patch", "delete") if entry.get(name) is not None), None)
    if operation is None:
        return True
    obj = entry[operation]
    kind, version = str(obj.get("kind", "")), str(obj.get("apiVersion", ""))
    if lookup(kind, version) is None:
        if kind in PRIVATE:
            dropped[kind] += 1
        else:
            unknown[kind[:60]] += 1
        return False
    door.redact(obj["patch"] if operation == "patch" else obj, dropped)
    return True


def line(text: bytes, where: Where, path: str) -> str:
    """`line 12: ` for the place of `path` in a file that is one document; else ""."""
    if where.document > 1 or where.item or len(text) > MAX_LOCATED:
        return ""
    try:
        return f"line {line_of(text, path)}: "
    except (yaml.YAMLError, RecursionError, UnicodeError):
        return ""


def to_be_made(record: Record) -> bool:
    """Whether an object is a workload that somebody wrote down: one of a cluster has a status."""
    return record.kind in WORKLOADS and "status" not in record.object()
