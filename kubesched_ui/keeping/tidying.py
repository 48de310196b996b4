"""What a worker tidies up between runs, and when it looks whether there is something to tidy."""

from __future__ import annotations

import logging
from typing import Any

from celery import shared_task
from celery.signals import worker_ready
from django.conf import settings
from django.db import connection
from kombu.exceptions import OperationalError

from kubesched_ui.celery import app
from kubesched_ui.keeping import retention, room

logger = logging.getLogger(__name__)

TIDY = "kubesched.tidy"


@shared_task(name=TIDY)
def tidy() -> None:
    """Deletes what is over, and gives the room of deleted runs back."""
    retention.sweep()
    if freed := room.give_back():
        logger.info("%s MB that deleted runs had left were given back", freed >> 20)


@worker_ready.connect
def look_regularly(sender: Any, **_: Any) -> None:
    """Every worker looks from time to time; to look costs next to nothing."""
    sender.timer.call_repeatedly(settings.TIDY_EVERY_S, look)


def look() -> None:
    """Sends a task where there is something to do: not the timer's thread does it, which hears the broker."""
    try:
        if room.worth() or retention.due():
            app.send_task(TIDY, expires=settings.TIDY_EVERY_S)
    except (OperationalError, OSError) as error:
        logger.warning("Could not tidy up: %s", error)
    except Exception as error:  # a timer must not fail
        logger.warning("Could not look for what to tidy up: %s", error)
    finally:
        connection.close()
