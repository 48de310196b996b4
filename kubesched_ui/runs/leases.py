"""Leases of runs, upgrade previews and cells, and their release by a worker that shuts down.

A killed worker cannot release its leases; they expire without heartbeats. A released run does not count as a start that
lost a worker.
"""

import logging
import os
import socket
import uuid
from typing import Any

from celery import bootsteps
from django.db import Error, connection
from django.db.models import F
from django.db.models.functions import Now

from kubesched_ui.celery import app
from kubesched_ui.models import Run, Upgrade, Work
from kubesched_ui.runs import services

logger = logging.getLogger(__name__)

# Identifies this worker. It is created before the worker forks its processes, which inherit it.
LIFE = f"{socket.gethostname()[:100]}:{uuid.uuid4().hex[:12]}"

HELD: list[type[Work]] = [Run, Upgrade]  # the models whose rows a worker holds


def lease_token() -> str:
    """Return a new token for a claim."""
    return f"{LIFE}:{os.getpid()}:{uuid.uuid4().hex[:12]}"


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
    held = type(work)._default_manager.filter(pk=work.pk, worker=work.worker, state=Work.State.RUNNING)
    return bool(held.update(worker="", starts=F("starts") - 1, **changes))


def requeue_all() -> None:
    """Release everything that this worker holds, so that others can claim it at once."""
    for model in HELD:
        for work in model._default_manager.filter(state=Work.State.RUNNING, worker__startswith=f"{LIFE}:"):
            if release(work, heartbeat_at=None):
                logger.info("%s is released by a worker that stops", work)
                if isinstance(work, Run):
                    services.enqueue(work.pk)


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
