"""Fields of uploaded objects that the API does not define. Objects with the same unknown field share one warning."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from kubesched_ui.ingest.errors import IngestError, Where, shown
from scheduler_core.api.fields import types, unknown_fields

MOST = 50  # per object, and different ones per upload
CODE = "unknown-field"
_INDEX = re.compile(r"\[[0-9]+\]")


class UnknownFields:
    """Collects unknown fields. Objects with a uid are skipped: the API server that stored them has removed such
    fields."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, str, str], tuple[Where, int]] = {}

    def look(self, kind: str, obj: dict[str, Any], where: Where) -> None:
        if kind not in types() or (obj.get("metadata") or {}).get("uid"):
            return
        for unknown in islice(unknown_fields(obj, kind), MOST):
            key = (kind, _INDEX.sub("[]", unknown.path), unknown.problem)
            if key in self.found or len(self.found) < MOST:
                first, number = self.found.get(key, (where.at(kind=kind), 0))
                self.found[key] = (first, number + 1)

    def remarks(self) -> Iterator[IngestError]:
        """Yield one warning per field."""
        for (_, path, problem), (where, number) in self.found.items():
            others = f" ({number:,} objects have it)" if number > 1 else ""
            yield IngestError(where, f"{shown(problem)}{others}", shown(path))
