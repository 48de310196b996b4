"""The columns of a live cluster with escapes for characters that pages must not show."""

from collections.abc import Iterable
from typing import Any

import msgspec

from kubesched_ui.scenarios.cluster_columns import columns_of_objects
from scheduler_core.api.objects import Object
from scheduler_core.api.text_checks import escaped_values


def safe_columns(objects: Iterable[Object]) -> dict[str, Any]:
    """Return the cluster in the format of `/api/scenarios/{id}/map`."""
    columns = columns_of_objects(objects)
    text = msgspec.json.encode(columns).decode()
    if text.isprintable() and "\\" not in text:  # checked as a whole, because the columns can be large
        return columns
    found: dict[str, Any] = escaped_values(columns)
    return found
