"""Notifies processes that a live class has changed. This only reduces latency: sockets also poll every second.

Listeners in this process are called at once. Other processes are notified through the channel layer from a
background thread, so the caller never waits.
"""

import asyncio
import logging
import threading
from collections.abc import Callable
from functools import partial

from channels.layers import get_channel_layer
from django.db import transaction
from django.db.models import F

from kubesched_ui.live_classes.models import LiveClass
from kubesched_ui.websockets.publisher import group

logger = logging.getLogger(__name__)

KIND = "live_class"
listeners: list[Callable[[int], None]] = []  # listeners of this process; they are called from any thread


class Publisher:
    """Sends notices one at a time. Repeated notices for the same live class are merged while they wait."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.pending: dict[int, None] = {}
        self.sending: asyncio.Task[None] | None = None
        threading.Thread(target=self.loop.run_forever, name="live-classes", daemon=True).start()

    def publish(self, live_class_id: int) -> None:
        """Queue a notice. Can be called from any thread."""
        self.loop.call_soon_threadsafe(self._add, live_class_id)

    def _add(self, live_class_id: int) -> None:
        self.pending[live_class_id] = None
        if self.sending is None or self.sending.done():
            self.sending = self.loop.create_task(self._send())

    async def _send(self) -> None:
        while self.pending:
            live_class_id = next(iter(self.pending))
            del self.pending[live_class_id]
            try:
                notice = {"type": "live_class.changed", KIND: live_class_id}
                await asyncio.wait_for(get_channel_layer().group_send(group(live_class_id, KIND), notice), timeout=2)
            except Exception as error:  # depends on the backend of the channel layer
                logger.debug("No notice for live class %s: %s", live_class_id, error)


_lock = threading.Lock()
_publisher: Publisher | None = None


def publish(live_class_id: int) -> None:
    """Notify all processes that this live class has changed."""
    global _publisher
    for listener in list(listeners):
        listener(live_class_id)
    with _lock:
        _publisher = _publisher or Publisher()
    _publisher.publish(live_class_id)


def publish_after_commit(live_class_id: int) -> None:
    """Call `publish` after the current transaction commits."""
    transaction.on_commit(partial(publish, live_class_id))


def publish_answers(live_class_id: int) -> None:
    """Count a message from a student, and publish it after the current transaction commits."""
    LiveClass.objects.filter(pk=live_class_id).update(answers_version=F("answers_version") + 1)
    publish_after_commit(live_class_id)
