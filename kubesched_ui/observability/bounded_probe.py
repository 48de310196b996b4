"""Checks with a timeout, for a database or a broker that may not answer."""

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")


class BoundedProbe(Generic[T]):
    """Runs a check in its own thread, one at a time. Concurrent callers, and those soon after, share a result.

    `seconds`: how long a caller waits. `keep`: seconds for which a result is valid. There is only one thread, because
    Celery creates a reply queue for each thread.
    """

    def __init__(self, ask: Callable[[], T], seconds: float, keep: float = 0) -> None:
        self.ask, self.seconds, self.keep = ask, seconds, keep
        self.lock = threading.Lock()
        self.wanted: queue.SimpleQueue[Future[T]] = queue.SimpleQueue()
        self.thread: threading.Thread | None = None
        self.latest: Future[T] | None = None
        self.begun_at = 0.0

    def __call__(self) -> T:
        """Return the result. Raises TimeoutError after `seconds`, and the exceptions of the check."""
        return self.begin().result(self.seconds)

    def begin(self) -> Future[T]:
        """Start the check unless one runs or its result is still valid. Does not wait."""
        with self.lock:
            now, latest = time.monotonic(), self.latest
            if latest is not None and (not latest.done() or now - self.begun_at < self.keep):
                return latest
            self.latest, self.begun_at = Future(), now
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
