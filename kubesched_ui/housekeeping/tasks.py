"""Cleanup that a worker does between runs, and the regular check whether it is needed."""

import logging
from collections.abc import Callable
from typing import NamedTuple

from celery import shared_task
from django.conf import settings

from kubesched_ui.celery import app, periodic
from kubesched_ui.housekeeping import retention, vacuum

logger = logging.getLogger(__name__)

TIDY = "kubesched.tidy"


class Cleanup(NamedTuple):
    """Cleanup of another package: a check whether it is needed, and the cleanup itself."""

    due: Callable[[], bool]
    sweep: Callable[[], None]


cleanups: list[Cleanup] = []


@shared_task(name=TIDY)
def tidy() -> None:
    """Delete expired objects, and return the disk space of deleted runs."""
    retention.sweep()
    for cleanup in cleanups:
        cleanup.sweep()
    if freed := vacuum.vacuum():
        logger.info("%s MB of deleted runs returned to the file system", freed >> 20)


@periodic("TIDY_EVERY_S")
def request_cleanup() -> None:
    """Send a task if cleanup is needed. The check is cheap."""
    if vacuum.is_worthwhile() or retention.due() or any(cleanup.due() for cleanup in cleanups):
        app.send_task(TIDY, expires=settings.TIDY_EVERY_S)
