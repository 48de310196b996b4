"""A run file, our own `kind: Run`: what makes a run again, and what was decided in it (docs/formats.md, Run).

Here it is only read, within limits; what it asks for is checked where runs are made (runs/import_run.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kubesched_ui.ingest.errors import IngestError, LimitError, Where
from kubesched_ui.ingest.json_values import Json, read_object

MAX_BYTES = 32 * 1024 * 1024  # without the scenario; a million cycles are 11 MB
ALONE = "a run file is imported alone: the upload holds more than this run and its scenario"


@dataclass(slots=True)
class Carried:
    """A run file as it is found: JSON of its fields, but for the scenario, which follows."""

    name: str
    spec: Json
    status: Json
    where: Where


@dataclass(frozen=True)
class RunFile:
    """`spec` (without the scenario) and `status` as JSON has them, of any shape."""

    where: Where
    name: str
    spec: dict[str, Any]
    status: dict[str, Any]


def read(found: Carried, max_depth: int) -> RunFile:
    """Raises IngestError for what is too large, too deep, or no JSON of ours."""
    return RunFile(
        found.where,
        found.name,
        _object(found.spec, found.where, "spec", max_depth),
        _object(found.status, found.where, "status", max_depth),
    )


def _object(value: Json, where: Where, field: str, max_depth: int) -> dict[str, Any]:
    if len(value) > MAX_BYTES:
        raise LimitError(where, f"is larger than {MAX_BYTES:,} bytes without the scenario", field)
    try:
        return read_object(value, where, max_depth)
    except IngestError as error:
        raise IngestError(where, error.problem, field) from None
