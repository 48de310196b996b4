"""Who holds a run or a preview, and how it is handed back by a worker that has to leave it.

A worker that is killed cannot; what it held is found by its silence. What is handed back does not count as a start that
cost a worker its life.
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

# Of this worker: made before its processes are forked, so that they have it, too.
LIFE = f"{socket.gethostname()[:100]}:{uuid.uuid4().hex[:12]}"


def token() -> str:
    """What a claim is made with: another one each time."""
    return f"{LIFE}:{os.getpid()}:{uuid.uuid4().hex[:12]}"


def wait_for_the_database(work: Run | Upgrade) -> None:
    """Lets go of what the database's trouble has stopped. It is taken up again after a while, as a lost one is."""
    if not connection.in_atomic_block:
        connection.close()  # it may be one to a server that is gone
    try:
        let_go(work, heartbeat_at=Now())
    except Error as error:
        logger.info("%s is taken up again when the database is back: %s", work, error)


def let_go(work: Run | Upgrade, **changes: Any) -> bool:
    """Whether it was still held: from now on whoever held it writes nothing any more."""
    held = type(work)._default_manager.filter(pk=work.pk, worker=work.worker, state=Work.State.RUNNING)
    return bool(held.update(worker="", starts=F("starts") - 1, **changes))


def hand_back() -> None:
    """Lets others take up at once what this worker holds."""
    for model in (Run, Upgrade):
        for work in model._default_manager.filter(state=Work.State.RUNNING, worker__startswith=f"{LIFE}:"):
            if let_go(work, heartbeat_at=None):
                logger.info("%s is handed back", work)
                if isinstance(work, Run):
                    services.enqueue(work.pk)


class HandBack(bootsteps.StartStopStep):
    """Stops after the worker takes no more tasks, and before its processes end."""

    requires = {"celery.worker.components:Pool"}

    def stop(self, worker: Any) -> None:
        try:
            hand_back()
        except Error as error:
            logger.warning("Nothing could be handed back: %s", error)
        connection.close()

    terminate = stop


app.steps["worker"].add(HandBack)
