"""What a worker tidies up between runs, and when it looks whether there is something to tidy."""

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
    """What others have to tidy up: whether there is something, and doing it."""

    due: Callable[[], bool]
    sweep: Callable[[], None]


also: list[Also] = []


@shared_task(name=TIDY)
def tidy() -> None:
    """Deletes what is over, and gives the room of deleted runs back."""
    retention.sweep()
    for one in also:
        one.sweep()
    if freed := vacuum.give_back():
        logger.info("%s MB of deleted runs returned to the file system", freed >> 20)


@worker_ready.connect
def look_regularly(sender: Any, **_: Any) -> None:
    """Every worker looks from time to time; to look costs next to nothing."""
    sender.timer.call_repeatedly(settings.TIDY_EVERY_S, look)


def look() -> None:
    """Sends a task where there is something to do: not the timer's thread does it, which hears the broker."""
    try:
        if vacuum.worth() or retention.due() or any(one.due() for one in also):
            app.send_task(TIDY, expires=settings.TIDY_EVERY_S)
    except (OperationalError, OSError) as error:
        logger.warning("Cleanup failed: %s", error)
    except Exception as error:  # a timer must not fail
        logger.warning("Cleanup check failed: %s", error)
    finally:
        connection.close()
