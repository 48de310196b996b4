"""Cleanup that a worker does between runs, and the regular check whether it is needed."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, NamedTuple

from celery import shared_task
from celery.signals import worker_ready
from django.conf import settings
from django.db import connection
from kombu.exceptions import OperationalError

from kubesched_ui.celery import app
from kubesched_ui.housekeeping import retention, vacuum

logger = logging.getLogger(__name__)

TIDY = "kubesched.tidy"


class Also(NamedTuple):
    """Cleanup of another package: a check whether it is needed, and the cleanup itself."""

    due: Callable[[], bool]
    sweep: Callable[[], None]


also: list[Also] = []


@shared_task(name=TIDY)
def tidy() -> None:
    """Delete expired objects, and return the disk space of deleted runs."""
    retention.sweep()
    for one in also:
        one.sweep()
    if freed := vacuum.give_back():
        logger.info("%s MB of deleted runs returned to the file system", freed >> 20)


@worker_ready.connect
def look_regularly(sender: Any, **_: Any) -> None:
    """Start the regular check in every worker. A check is cheap."""
    sender.timer.call_repeatedly(settings.TIDY_EVERY_S, look)


def look() -> None:
    """Send a task if cleanup is needed. The thread of the timer must not do the work, because it also serves the
    broker."""
    try:
        if vacuum.worth() or retention.due() or any(one.due() for one in also):
            app.send_task(TIDY, expires=settings.TIDY_EVERY_S)
    except (OperationalError, OSError) as error:
        logger.warning("Cleanup failed: %s", error)
    except Exception as error:  # a timer must not fail
        logger.warning("Cleanup check failed: %s", error)
    finally:
        connection.close()
