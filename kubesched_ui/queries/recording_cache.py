"""The recordings of runs, read from the database, with a cache of decoded ones."""

import threading
from collections import OrderedDict
from typing import Any

from django.conf import settings

from kubesched_ui.models import RecordingBlock, Run
from kubesched_ui.offload.middleware import LARGE
from scheduler_core.recording.objects import objects_at, written
from scheduler_core.recording.recording import MOVES_PART, OBJECTS_PART, Recording, objects_from

KEPT_BYTES = 200_000_000  # of decoded recordings; the latest is cached regardless of its size
KEPT_BYTES_WEB = 40_000_000  # in the web process, which only decodes small runs itself
TEXT_FACTOR = 3  # estimated size with names and labels, relative to the columns alone

_kept: OrderedDict[str, Recording] = OrderedDict()
_lock = threading.Lock()


class NotRecorded(Exception):
    """Raised if there is nothing to query. The message is a sentence with the reason."""


def key_of(run: Run) -> str:
    """Return a key of the run's current recording; it changes when more is recorded."""
    return f"{run.pk}/{run.created_at.timestamp()}/{run.last_seq}/{run.state}"


def recording_of(run: Run, requested: bool = False) -> Recording:
    """Return the run's moves. `requested`: a user waits for it, so the web process decodes a large run as well.

    Raises NotRecorded, in the web process also if the run is too large for it. Raises InputError.
    """
    large = settings.OFFLOAD and run.cycles_done > LARGE
    if large and not requested:
        raise NotRecorded(f"Run {run.pk} is too large to do this automatically; open the page to request it.")
    key = key_of(run)
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
    recording = Recording(blocks_of(run, MOVES_PART))
    if not run.active and not large:
        with _lock:
            _kept[key] = recording
            most = KEPT_BYTES_WEB if settings.OFFLOAD else KEPT_BYTES
            while len(_kept) > 1 and sum(r.size * TEXT_FACTOR for r in _kept.values()) > most:
                _kept.popitem(last=False)
    return recording


def blocks_of(run: Run, part: str) -> list[bytes]:
    """Return the stored blocks of a part in order. Raises NotRecorded if the run has no opening block."""
    rows = RecordingBlock.objects.filter(run=run, part=part).order_by("first").values_list("first", "data")
    blocks = [(first, bytes(data)) for first, data in rows]
    if part == MOVES_PART and (not blocks or blocks[0][0] != 0):
        if run.active and not run.last_seq:
            raise NotRecorded(f"Run {run.pk} has not started yet. Try again in a few seconds.")
        raise NotRecorded(f"Run {run.pk} has no recording. Run it again.")
    return [data for _, data in blocks]


def has_recording(run: Run) -> bool:
    """Return whether the run has or will have a recording. A run that failed before it began has none."""
    return run.active or RecordingBlock.objects.filter(run=run, part=MOVES_PART, first=0).exists()


def object_at(run: Run, kind: str, key: str, moment: int) -> dict[str, Any] | None:
    """Return an object after a timepoint, None if it does not exist then. `key`: namespace/name, or name.

    Raises NotRecorded.
    """
    found = (at for at in objects_at(recording_of(run), moment) if (at.kind, at.key) == (kind, key))
    return next((written(at, lambda number: stored_object(run, number)) for at in found), None)


def stored_object(run: Run, number: int) -> tuple[str, bytes]:
    """Return (kind, JSON) of the object with this number."""
    row = RecordingBlock.objects.filter(run=run, part=OBJECTS_PART, first__lte=number).order_by("-first").first()
    assert row is not None, f"object {number} of run {run.pk} is not stored"
    return objects_from(bytes(row.data))[number - row.first]
