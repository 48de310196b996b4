"""Ends a worker whose event loop is stuck, so that supervisord or Docker starts another one.

The loop of a worker's main process receives messages and runs timers. An error in the client of the broker can leave it
waiting forever although its process lives. The loop also stands still while the broker is unreachable: that is normal.
"""

import logging
import os
import threading
import time

import redis
from celery.signals import worker_ready
from django.conf import settings

from kubesched_ui.celery import periodic

CHECK_S = 10.0
MAX_SILENT_CHECKS = 6  # longer than Celery waits between two attempts to connect

logger = logging.getLogger(__name__)

_alive = threading.Event()
beat = periodic("WORKER_BEAT_S")(_alive.set)


@worker_ready.connect
def start(**_: object) -> None:
    threading.Thread(target=watch, name="watchdog", daemon=True).start()


def watch() -> None:
    """End this process after MAX_SILENT_CHECKS checks in a row without a beat of the event loop."""
    silent = 0
    while silent < MAX_SILENT_CHECKS:
        time.sleep(CHECK_S)
        silent = 0 if _alive.is_set() or not broker_answers() else silent + 1
        _alive.clear()
    logger.critical("The event loop has been stuck for %.0f s; this worker exits", MAX_SILENT_CHECKS * CHECK_S)
    os._exit(1)


def broker_answers() -> bool:
    try:
        with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2, socket_connect_timeout=2) as broker:
            return bool(broker.ping())
    except (redis.RedisError, OSError):
        return False
