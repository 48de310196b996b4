"""The Celery application; workers start with `celery -A kubesched_ui worker`."""

import logging
import os
from collections.abc import Callable
from typing import Any

from celery import Celery
from celery.signals import worker_ready

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kubesched_ui.settings")

app = Celery("kubesched_ui")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["kubesched_ui.runs", "kubesched_ui.upgrades", "kubesched_ui.experiments"])
app.autodiscover_tasks(["kubesched_ui.observability"], related_name="task_correlation")  # request ids in the log
app.autodiscover_tasks(["kubesched_ui.observability"], related_name="worker_watchdog")
app.autodiscover_tasks(["kubesched_ui.housekeeping"], related_name="tasks")
app.autodiscover_tasks(["kubesched_ui.live_classes"], related_name="cleanup")  # deletes expired live classes
app.autodiscover_tasks(["kubesched_ui.clusters"], related_name="cleanup")  # deletes the older history

logger = logging.getLogger(__name__)


def periodic(setting: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Let every worker call a function when it is ready, and then every `settings.SETTING` seconds.

    The calls are made by the event loop of the worker's main process, which also serves the broker, so they must be
    short. An exception is logged.
    """
    from django.conf import settings
    from django.db import connection

    def register(function: Callable[[], None]) -> Callable[[], None]:
        def call() -> None:
            try:
                function()
            except Exception as error:
                logger.warning("%s.%s failed: %s", function.__module__, function.__name__, error)
            connection.close()

        def start(sender: Any, **_: Any) -> None:
            call()
            sender.timer.call_repeatedly(getattr(settings, setting), call)

        worker_ready.connect(start, weak=False)
        return function

    return register
