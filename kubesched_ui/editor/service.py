"""Analyses and edits texts: small ones in this process, large ones in a worker process with memory and time limits.

Only the newest text of a page matters: a newer text cancels the previous one.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings

from kubesched_ui.editor import worker
from kubesched_ui.editor.limits import MAX_BYTES, SMALL
from kubesched_ui.models import current_viewer
from kubesched_ui.offload.pool import Crashed, OutOfMemory, TaskCancelled, Ticket, TimedOut
from kubesched_ui.offload.pools import get_pool
from scheduler_core.errors import InputError

GRACE_SECONDS = 1.0  # time for a superseded text to finish; about as long as starting another worker

_newest: dict[str, Ticket] = {}  # page -> ticket of its newest text
_lock = threading.Lock()


class Superseded(Exception):
    """A newer text of the same page was sent."""


def read(text: str, page: str = "") -> bytes:
    """Return the analysis of a text as JSON. `page`: any string that identifies the page. Raises InputError for a text
    that is too large or needs too many resources, Superseded, and PoolBusy."""
    with _newest_of(page) as ticket:
        return _run(ticket, worker.analyze, text)


def change(text: str, changes: Any) -> bytes:
    """Return the edit of `apply_changes` as JSON. Raises the same errors as `read`, and those of `apply_changes`."""
    return _run(Ticket("text"), worker.apply_edits, text, changes)


@contextmanager
def _newest_of(page: str) -> Iterator[Ticket]:
    """Create a ticket for the newest text of a page and cancel the previous one."""
    ticket = Ticket("text", current_viewer.owner_id())
    if not page:
        yield ticket
        return
    with _lock:
        old = _newest.get(page)
        _newest[page] = ticket
    if old is not None:
        _supersede(old)
    try:
        yield ticket
    finally:
        with _lock:
            if _newest.get(page) is ticket:
                del _newest[page]


def _supersede(ticket: Ticket) -> None:
    """Cancel a waiting text at once, and a running one after a grace period."""
    grace = ticket.started + GRACE_SECONDS - time.monotonic() if ticket.started else 0.0
    timer = threading.Timer(max(0.0, grace), lambda: get_pool("editor").cancel(ticket))
    timer.daemon = True
    timer.start()


def _run(ticket: Ticket, function: Callable[..., bytes], text: str, *args: Any) -> bytes:
    if len(text) > MAX_BYTES:
        raise InputError("the text", "", f"is larger than {MAX_BYTES:,} bytes, the limit of the editor")
    # with aliases, a small text can become very large
    if not settings.OFFLOAD or (len(text) <= SMALL and "*" not in text):
        return function(text, *args)
    try:
        text.encode()
    except UnicodeError:
        raise InputError("the text", "", "contains an unpaired surrogate, which is not valid Unicode") from None
    pool = get_pool("editor")
    try:
        return pool.run(function, text, *args, ticket=ticket)
    except TaskCancelled:
        raise Superseded from None
    except TimedOut:
        why = f"takes longer than {pool.config.seconds:g} s"
    except (OutOfMemory, Crashed):
        why = f"takes more than {pool.config.memory >> 20:,} MB of memory"
    raise InputError("the text", "", f"{why} to analyze; shorten it")
