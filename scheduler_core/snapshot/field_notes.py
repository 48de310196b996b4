"""Sentences about fields of a snapshot that are not simulated or not known."""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from scheduler_core.api.fields import unknown_fields
from scheduler_core.api.newer_fields import UNKNOWN, collapsed, kind_of, newer_fields
from scheduler_core.cluster import formatting

MOST = 50  # fields per object, and different ones


def field_notes(objects: Iterable[Mapping[str, Any]], newer_cluster: bool) -> list[str]:
    """Return a sentence for each field that is not simulated, with the number of objects that have it. `newer_cluster`:
    the cluster is newer than the newest release, so that fields can be unknown here."""
    found: Counter[tuple[str, str, str]] = Counter()
    for obj in objects:
        kind = kind_of(obj)
        for field in newer_fields(obj, kind):
            found[kind, collapsed(field.path), field.problem] += 1
        for unknown in islice(unknown_fields(obj, kind), MOST) if newer_cluster else ():
            found[kind, collapsed(unknown.path), UNKNOWN] += 1
    return [
        f"{path} of {formatting.count(number, kind)} {problem}."
        for (kind, path, problem), number in found.most_common(MOST)
    ]
