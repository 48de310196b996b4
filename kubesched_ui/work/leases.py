"""Leases of claimed work: heartbeats, what happens to work that an exception ends, release and recovery.

A killed worker cannot release its leases; they expire without heartbeats. Released work does not count as a start that
lost a worker.
"""

import logging
import os
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from celery import bootsteps
from django.conf import settings
from django.db import Error, connection
from django.db.models import F, QuerySet
from django.db.models.functions import Now
from django.dispatch import Signal
from kombu.exceptions import OperationalError

from kubesched_ui.celery import app
from kubesched_ui.runtime.outages import DATABASE
from kubesched_ui.work.models import Cancelled, LostClaim, Work, WorkQuerySet
from scheduler_core.errors import InputError

logger = logging.getLogger(__name__)

# Identifies this worker. It is created before the worker forks its processes, which inherit it.
LIFE = f"{socket.gethostname()[:100]}:{uuid.uuid4().hex[:12]}"

released = Signal()  # sent with `number` by a worker that stops, for each work that it has released

_W = TypeVar("_W", bound=Work)


def lease_token() -> str:
    """Return a new token for a claim."""
    return f"{LIFE}:{os.getpid()}:{uuid.uuid4().hex[:12]}"


@contextmanager
def heartbeats(held: QuerySet[Any], seconds: float) -> Iterator[None]:
    """Update the heartbeat of `held` work every so many seconds, also while a cluster is loaded."""
    over = threading.Event()

    def send() -> None:
        while not over.wait(seconds):
            try:
                held.all().update(heartbeat_at=Now())
            except Exception as error:  # the next one may succeed; without any, the work counts as lost
                logger.warning("No heartbeat: %s", error)
        connection.close()

    thread = threading.Thread(target=send, name="heartbeats", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(timeout=5)


@contextmanager
def hold(work: Work, end: Callable[[str, str, bool], None]) -> Iterator[None]:
    """Keep the lease of claimed work inside the `with` block, which ends with an end of the work.

    If an exception leaves the block, the work ends by `end(state, sentence, unexpected)`, which may raise LostClaim. It
    waits if the database fails, and stays as it is if another worker has it.
    """
    with heartbeats(work.held(), settings.RUN_HEARTBEAT_S):
        try:
            try:
                yield
            except Cancelled:
                end(Work.State.CANCELLED, "", False)
            except InputError as error:
                end(Work.State.FAILED, str(error), False)
            except (LostClaim, *DATABASE):
                raise
            except Exception as error:
                logger.exception("%s failed", work)
                message = f"Internal error ({type(error).__name__}); see the worker log for details."
                end(Work.State.FAILED, message, True)
        except LostClaim:
            logger.info("%s was cancelled or taken over by another worker", work)
        except DATABASE as error:
            logger.warning("%s waits for the database: %s", work, error)
            release_on_outage(work)


def release_on_outage(work: Work) -> None:
    """Release work that database errors have stopped. It is claimed again later like lost work."""
    if not connection.in_atomic_block:
        connection.close()  # its server may be gone
    try:
        release(work, heartbeat_at=Now())
    except Error as error:
        logger.info("%s waits for the database: %s", work, error)


def release(work: Work, **changes: Any) -> bool:
    """Release work so that its holder can no longer write it. Return whether it was still held."""
    return bool(work.held().update(worker="", starts=F("starts") - 1, **changes))


def send(task: str, number: int) -> None:
    """Send a message that wakes a worker. If the broker is unavailable, `sweep` sends it again."""
    try:
        app.send_task(task, [number])
    except (OperationalError, OSError) as error:
        logger.warning("%s of %s waits for the broker: %s", task, number, error)


def sweep(rows: WorkQuerySet[_W], fail: Callable[[_W, str], None], resend: Callable[[int], None] | None = None) -> None:
    """Find work without an active worker and send its message again. Work that has lost several workers fails instead,
    since it would probably lose the next one. Safe to run in any process."""
    for work in rows.stalled():
        if work.starts < settings.RUN_MAX_STARTS:
            resend and resend(work.pk)
        elif claimed := rows.claim(work.pk, f"sweep:{work.pk}"):
            kind = str(work._meta.verbose_name).split()[-1]
            with suppress(LostClaim):
                fail(claimed, f"The worker was lost {work.starts} times; the {kind} may need more memory.")


def requeue_all() -> None:
    """Release everything that this worker holds, so that others can claim it at once."""
    for model in Work.__subclasses__():
        for work in model._base_manager.filter(state=Work.State.RUNNING, worker__startswith=f"{LIFE}:"):
            if release(work, heartbeat_at=None):
                logger.info("%s is released by a worker that stops", work)
                released.send(model, number=work.pk)


class Requeue(bootsteps.StartStopStep):
    """Releases the leases when the worker no longer accepts tasks, before its processes end."""

    requires = {"celery.worker.components:Pool"}

    def stop(self, worker: Any) -> None:
        try:
            requeue_all()
        except Error as error:
            logger.warning("The leases could not be released: %s", error)
        connection.close()

    terminate = stop


app.steps["worker"].add(Requeue)
