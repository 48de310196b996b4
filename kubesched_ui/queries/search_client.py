"""Searches runs by an expression, in a worker process."""

from typing import Any

from kubesched_ui.models import Run, current_viewer
from kubesched_ui.offload.pool import Crashed, OutOfMemory, Ticket, TimedOut, Worker
from kubesched_ui.offload.pools import get_pool
from kubesched_ui.queries import search_worker
from kubesched_ui.queries.recording_cache import blocks_of, key_of
from scheduler_core.recording.recording import FACTS_PART, MOVES_PART
from scheduler_core.search.search import WrongExpression

SECONDS = 2.0  # for the evaluation; the pool stops a worker that ignores the limit
LOAD_SECONDS = 20.0  # for decoding a recording

TOO_LONG = f"was stopped after {SECONDS:g} s; use a simpler expression"
CRASHED = "needs too much memory; use a simpler expression"


def find_cycles(run: Run, where: str, start: int | None, direction: str, limit: int) -> dict[str, Any]:
    """Search a run as `Search.find` does. Raises WrongExpression, NotRecorded, PoolBusy."""
    key = key_of(run)
    try:
        with get_pool("search").worker(Ticket(key, current_viewer.owner_id())) as worker:
            if not worker.run(search_worker.has_recording, key, seconds=LOAD_SECONDS):
                load(worker, key, run)
            found: dict[str, Any] = worker.run(search_worker.find_cycles, key, where, start, direction, limit, SECONDS)
            return found
    except TimedOut:
        raise WrongExpression(TOO_LONG) from None
    except (Crashed, OutOfMemory):
        raise WrongExpression(CRASHED) from None


def load(worker: Worker, key: str, run: Run) -> None:
    """Send the recording of a run to a worker. Raises NotRecorded."""
    parts = {part: blocks_of(run, part) for part in (MOVES_PART, FACTS_PART)}
    try:
        worker.run(search_worker.load_recording, key, parts, seconds=LOAD_SECONDS)
    except OutOfMemory:
        raise WrongExpression("this run is too large to be searched") from None
