"""The recordings of runs, read from the database; a few are kept decoded."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

from django.conf import settings

from kubesched_ui.models import RecordingBlock, Run
from kubesched_ui.offload.routes import LARGE
from scheduler_core.debugger.objects import objects_at, written
from scheduler_core.debugger.recording import FACTS_PART, MOVES_PART, OBJECTS_PART, Recording, objects_from

KEPT_BYTES = 200_000_000  # of decoded recordings; the one that was asked for last is kept whatever its size
KEPT_BYTES_WEB = 40_000_000  # in a web process that has others beside it: of small runs, where decoding is quick
TEXT_FACTOR = 3  # names and labels take about so much more than the columns that index them

_kept: OrderedDict[str, Recording] = OrderedDict()
_lock = threading.Lock()


class NotRecorded(Exception):
    """There is nothing to ask: a sentence that says why."""


def key_of(run: Run) -> str:
    """Names what is recorded of a run so far; another when there is more."""
    return f"{run.pk}/{run.created_at.timestamp()}/{run.last_seq}/{run.state}"


def recording_of(run: Run) -> Recording:
    """The run's moves. Raises NotRecorded, also in the web process for a run that is too large for it; InputError."""
    if settings.BESIDE and run.cycles_done > LARGE:
        raise NotRecorded(f"Run {run.pk} is too large to do this automatically; open the page to request it.")
    key = key_of(run)
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
    recording = Recording(blocks_of(run, MOVES_PART))
    if not run.active:
        with _lock:
            _kept[key] = recording
            most = KEPT_BYTES_WEB if settings.BESIDE else KEPT_BYTES
            while len(_kept) > 1 and sum(r.size * TEXT_FACTOR for r in _kept.values()) > most:
                _kept.popitem(last=False)
    return recording


def blocks_of(run: Run, part: str) -> list[bytes]:
    """The stored blocks of a part, in order. Raises NotRecorded for a run that has no opening."""
    rows = RecordingBlock.objects.filter(run=run, part=part).order_by("first").values_list("first", "data")
    blocks = [(first, bytes(data)) for first, data in rows]
    if part == MOVES_PART and (not blocks or blocks[0][0] != 0):
        raise NotRecorded(why_not(run))
    return [data for _, data in blocks]


def is_asked(run: Run) -> bool:
    """Return whether there is a recording to query, or will be: a run that failed before it began has none."""
    return run.active or RecordingBlock.objects.filter(run=run, part=MOVES_PART, first=0).exists()


def why_not(run: Run) -> str:
    """Why a run has no recording."""
    if run.active and not run.last_seq:
        return f"Run {run.pk} has not started yet. Try again in a few seconds."
    return f"Run {run.pk} has no recording. Run it again."


def parts_to_search(run: Run) -> dict[str, list[bytes]]:
    """What a search needs. Raises NotRecorded."""
    return {MOVES_PART: blocks_of(run, MOVES_PART), FACTS_PART: blocks_of(run, FACTS_PART)}


def object_at(run: Run, kind: str, key: str, moment: int) -> dict[str, Any] | None:
    """An object as it was after a moment, None if it was not there. `key`: namespace/name, or name. Raises
    NotRecorded."""
    found = (at for at in objects_at(recording_of(run), moment) if (at.kind, at.key) == (kind, key))
    return next((written(at, lambda number: stored_object(run, number)) for at in found), None)


def stored_object(run: Run, number: int) -> tuple[str, bytes]:
    """(kind, JSON) of the object of that number."""
    row = RecordingBlock.objects.filter(run=run, part=OBJECTS_PART, first__lte=number).order_by("-first").first()
    assert row is not None, f"object {number} of run {run.pk} is not stored"
    return objects_from(bytes(row.data))[number - row.first]
