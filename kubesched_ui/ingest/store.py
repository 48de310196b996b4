"""Stores the result of reading an upload in the database."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from django.db import transaction

from kubesched_ui.ingest import chunked_store, redact, unsupported_kinds
from kubesched_ui.ingest.errors import printable
from kubesched_ui.ingest.preflight import defaults_warning
from kubesched_ui.ingest.result import IngestResult
from kubesched_ui.models import MAX_NAME, Scenario
from kubesched_ui.models.fields import pack
from scheduler_core.api.scheduler_plugins import READS
from scheduler_core.framework.plugin_kinds import kind_sentences


def store(
    result: IngestResult,
    name: str = "",
    origin: str = Scenario.Origin.UPLOAD,
    description: str = "",
    parent: Scenario | None = None,
    begun: Callable[[int], object] | None = None,
    check: Callable[[bool], None] | None = None,
) -> Scenario:
    """Create a Scenario with all objects of the result, or nothing if the database refuses any of them. `check`: as for
    `storing`.

    An empty `name` or `description` is replaced by that of the Scenario document. A small scenario is stored in one
    transaction, a large one in parts; then `begun` is called with its ID.
    """
    columns: dict[str, Any] = {
        "name": printable(name or result.name or "Unnamed cluster")[:MAX_NAME],
        "description": description or result.description,
        "origin": origin,
        "parent": parent,
        "kubernetes": result.kubernetes[:40],
        "config": result.config,
        "counts": result.counts,
        "pending": sum(record.kind == "Pod" and not record.has_node for record in result.records.values()),
        "warnings": scenario_warnings(result),
        "time": result.time,
    }
    rows = (
        (position, record.kind, record.api_version, record.namespace, record.name, pack(record.data))
        for position, record in enumerate(result.records.values())
    )
    small = len(result.records) <= chunked_store.PART
    in_one = transaction.atomic() if small else nullcontext()
    with in_one, chunked_store.storing(None if small else begun, check, **columns) as scenario:
        chunked_store.add(scenario, rows)
    return scenario


def scenario_warnings(result: IngestResult) -> list[dict[str, Any]]:
    """Return the messages about an upload: about the cluster, about kinds that are missing or not read (`unsupported`),
    warnings, defaults that were set (`filled`), removed data (`dropped`) and kinds that are not stored (`unknown`)."""
    more_there, others = unsupported_kinds.split(result.unknown, result.counts)
    enabled = [plugin for plugin in READS if plugin in result.config]
    more_there += [{"code": unsupported_kinds.CODE, "message": one} for one in kind_sentences(enabled, result.counts)]
    found = [*result.outlook, *more_there, *(warning.as_dict() for warning in result.warnings)]
    found += defaults_warning(result.filled)
    if notes := redact.notes(result.dropped):
        found.append({"code": "dropped", "message": f"Not stored: {', '.join(notes)}", "notes": notes})
    if unknown := others.most_common():
        kinds = ", ".join(f"{number:,} {kind}" for kind, number in unknown[:20])
        more = f" and {len(unknown) - 20} other kinds" if len(unknown) > 20 else ""
        message = f"Not stored, because the scheduler does not use them: {kinds}{more}"
        found.append({"code": "unknown", "message": message, "counts": dict(unknown[:200])})
    return found
