"""Leases of runs and upgrade previews, and their release by a worker that shuts down.

A killed worker cannot release its leases; they expire without heartbeats. A released run does not count as a start that
lost a worker.
"""

from __future__ import annotations

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


def token() -> str:
    """Return a new token for a claim."""
    return f"{LIFE}:{os.getpid()}:{uuid.uuid4().hex[:12]}"


def wait_for_the_database(work: Run | Upgrade) -> None:
    """Release work that database errors have stopped. It is claimed again later like lost work."""
    if not connection.in_atomic_block:
        connection.close()  # its server may be gone
    try:
        let_go(work, heartbeat_at=Now())
    except Error as error:
        logger.info("%s is taken up again when the database is back: %s", work, error)


def let_go(work: Run | Upgrade, **changes: Any) -> bool:
    """Release work so that its holder can no longer write it. Return whether it was still held."""
    held = type(work)._default_manager.filter(pk=work.pk, worker=work.worker, state=Work.State.RUNNING)
    return bool(held.update(worker="", starts=F("starts") - 1, **changes))


def hand_back() -> None:
    """Release everything that this worker holds, so that others can claim it at once."""
    for model in (Run, Upgrade):
        for work in model._default_manager.filter(state=Work.State.RUNNING, worker__startswith=f"{LIFE}:"):
            if let_go(work, heartbeat_at=None):
                logger.info("%s is handed back", work)
                if isinstance(work, Run):
                    services.enqueue(work.pk)


class HandBack(bootsteps.StartStopStep):
    """Releases the leases when the worker no longer accepts tasks, before its processes end."""

    requires = {"celery.worker.components:Pool"}

    def stop(self, worker: Any) -> None:
        try:
            hand_back()
        except Error as error:
            logger.warning("Nothing could be handed back: %s", error)
        connection.close()

    terminate = stop


app.steps["worker"].add(HandBack)
