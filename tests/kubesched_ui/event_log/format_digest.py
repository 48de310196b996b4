"""Digest of the recording format. A different digest means a different format."""

import hashlib
import json
import zlib
from typing import Any

import msgspec

from kubesched_ui.event_log import queue_sizes, timeline_markers
from kubesched_ui.models import (
    Cycle,
    CycleBatch,
    EventBlock,
    GroupCycle,
    Marks,
    Moves,
    NodeList,
    PodResult,
    RecordingBlock,
)
from scheduler_core.cycle import trace, trace_batch
from scheduler_core.recording import cycle_index, recording

TABLES = (EventBlock, Cycle, CycleBatch, GroupCycle, RecordingBlock, NodeList, Moves, Marks, PodResult)


def shape_of(value: Any) -> Any:
    """Return lists as their items, other values as their type."""
    if isinstance(value, list | tuple):
        return [shape_of(one) for one in value]
    return "number" if isinstance(value, int | float) else type(value).__name__


def _shared(document: list[Any]) -> list[Any]:
    """Return the names of the fields of a cycle that shares parts, and the type of each part of its encoding."""
    return [trace._OWN, trace._SHARED, trace._STATUSES, [type(part).__name__ for part in document]]


def shape(full: bytes, shared: bytes, batch: bytes) -> str:
    """Return the digest.

    `full`: the encoded trace of a cycle in which every field is set. `shared`: that of a cycle with parts that equal
    pods have in common, short enough not to be deflated. `batch`: a stored batch of such cycles.
    """
    document = msgspec.msgpack.decode(zlib.decompress(full[1:]))
    together = msgspec.msgpack.decode(zlib.decompress(batch[1:]))
    found = {
        "trace": [trace.VERSION, shape_of(document)],
        "shared trace": [trace.SHARED_VERSION, *_shared(msgspec.msgpack.decode(shared[2:]))],
        "batch": [
            trace_batch.VERSION,
            trace_batch._Document.__struct_fields__,
            shape_of([part[:1] for part in together]),
            _shared(together[3][-1]),
        ],
        "recording": [recording.VERSION, {name: dict(columns) for name, columns in recording.TABLES.items()}],
        "facts": dict(cycle_index.SCHEMA),
        "lanes": [queue_sizes.LANES, queue_sizes._Stored.__struct_fields__, timeline_markers.TimelineMark._fields],
        "tables": {model.__name__: sorted(field.name for field in model._meta.fields) for model in TABLES},
    }
    return hashlib.sha256(json.dumps(found, sort_keys=True, default=str).encode()).hexdigest()[:16]
