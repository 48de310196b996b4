"""Notifies processes that a live class has changed. This only reduces latency: sockets also poll every second.

Listeners in this process are called at once. Other processes are notified through the channel layer from a
background thread, so the caller never waits.
"""

import threading
from collections.abc import Callable
from functools import partial

from django.db import transaction
from django.db.models import F

from kubesched_ui.live_classes.models import LiveClass
from kubesched_ui.websockets.publisher import Publisher, group

KIND = "live_class"
listeners: list[Callable[[int], None]] = []  # listeners of this process; they are called from any thread


_lock = threading.Lock()
_publisher: Publisher | None = None


def publish(live_class_id: int) -> None:
    """Notify all processes that this live class has changed."""
    global _publisher
    for listener in list(listeners):
        listener(live_class_id)
    with _lock:
        _publisher = _publisher or Publisher("live-classes")
    _publisher.publish(group(live_class_id, KIND), {"type": "live_class.changed", KIND: live_class_id})


def publish_after_commit(live_class_id: int) -> None:
    """Call `publish` after the current transaction commits."""
    transaction.on_commit(partial(publish, live_class_id))


def publish_answers(live_class_id: int) -> None:
    """Count a message from a student, and publish it after the current transaction commits."""
    LiveClass.objects.filter(pk=live_class_id).update(answers_version=F("answers_version") + 1)
    publish_after_commit(live_class_id)
