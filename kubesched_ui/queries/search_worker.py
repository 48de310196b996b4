"""The part of a search that runs in a worker process. It does not import Django."""

import time
from typing import Any

from scheduler_core.recording.cycle_index import Facts
from scheduler_core.recording.recording import FACTS_PART, MOVES_PART, Recording, facts_from
from scheduler_core.search.search import CycleSearch

MAX_RECORDINGS = 2  # cached recordings

_recordings: dict[str, tuple[Recording, Facts]] = {}


def prepare() -> None:
    """Load CEL before memory is limited."""
    from cel_expr_python import cel  # noqa: F401


def has_recording(key: str) -> bool:
    """Return whether a recording is cached."""
    return key in _recordings


def load_recording(key: str, parts: dict[str, list[bytes]]) -> None:
    """Decode a recording and cache it."""
    while len(_recordings) >= MAX_RECORDINGS:
        del _recordings[next(iter(_recordings))]
    _recordings[key] = Recording(parts[MOVES_PART]), facts_from(parts[FACTS_PART])


def find_cycles(key: str, where: str, start: int | None, direction: str, limit: int, seconds: float) -> dict[str, Any]:
    """Search a cached recording as `CycleSearch.find` does."""
    end = time.monotonic() + seconds
    return CycleSearch(*_recordings[key], lambda: time.monotonic() > end).find(where, start, direction, limit)
