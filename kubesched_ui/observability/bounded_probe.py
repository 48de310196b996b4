"""Questions that may hang, asked with patience for so long: a database or a broker that is away need not answer."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")


class Bounded(Generic[T]):
    """Asks in a thread of its own, once at a time; who comes meanwhile, or soon after, shares the answer.

    However many ask, at most one question is under way. `seconds`: how long one waits for it. `keep`: seconds for
    which an answer holds. The thread is always the same: Celery makes a queue for the replies to each.
    """

    def __init__(self, ask: Callable[[], T], seconds: float, keep: float = 0) -> None:
        self.ask, self.seconds, self.keep = ask, seconds, keep
        self.lock = threading.Lock()
        self.wanted: queue.SimpleQueue[Future[T]] = queue.SimpleQueue()
        self.thread: threading.Thread | None = None
        self.latest: Future[T] | None = None
        self.asked_at = 0.0

    def __call__(self) -> T:
        """The answer. Raises TimeoutError if there is none in time, else whatever the question raises."""
        return self.begin().result(self.seconds)

    def begin(self) -> Future[T]:
        """Asks, unless somebody has; without waiting."""
        with self.lock:
            now, latest = time.monotonic(), self.latest
            if latest is not None and (not latest.done() or now - self.asked_at < self.keep):
                return latest
            self.latest, self.asked_at = Future(), now
            if self.thread is None:
                self.thread = threading.Thread(target=self._answer, name=f"ask-{self.ask.__name__}", daemon=True)
                self.thread.start()
            self.wanted.put(self.latest)
            return self.latest

    def _answer(self) -> None:
        while True:
            future = self.wanted.get()
            try:
                future.set_result(self.ask())
            except Exception as error:
                future.set_exception(error)
