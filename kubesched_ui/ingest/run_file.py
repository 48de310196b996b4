"""A run file, this project's `kind: Run`: the inputs of a run and its decisions (docs/formats.md, Run).

This module only reads it within limits; runs/import_run.py checks the contents when it creates the run.
"""

from dataclasses import dataclass
from typing import Any

from kubesched_ui.ingest.errors import IngestError, LimitError, Where
from kubesched_ui.ingest.json_values import Json, read_object

MAX_BYTES = 32 * 1024 * 1024  # without the scenario; a million cycles take 11 MB
ALONE = "a run file must be uploaded alone; this upload contains other objects"


@dataclass(frozen=True)
class RunFile:
    """A decoded run file. `spec` (without the scenario) and `status` may have any shape."""

    where: Where
    name: str
    spec: dict[str, Any]
    status: dict[str, Any]


def read_part(value: Json, where: Where, field: str, max_depth: int) -> dict[str, Any]:
    """Decode `spec` or `status`. Raises IngestError if it is too large, nested too deeply or invalid JSON."""
    if len(value) > MAX_BYTES:
        raise LimitError(where, f"is larger than {MAX_BYTES:,} bytes without the scenario", field)
    try:
        return read_object(value, where, max_depth)
    except IngestError as error:
        raise IngestError(where, error.problem, field) from None
