"""Progress on a terminal, for commands that take long."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import IO, TypeVar

T = TypeVar("T")

AFTER_SECONDS = 2.0  # commands that are faster show nothing
EVERY_SECONDS = 0.2
ERASE = "\r\x1b[K"


class Progress:
    """One line on standard error, such as `1,200 of 3,000 pods`, that is erased at the end.

    It appears after two seconds, and only on a terminal. `total`: 0 if it is not known. `out`: where the command writes
    its lines while it runs; None if it writes at the end. Nothing is shown if that is the same terminal.
    """

    def __init__(
        self,
        what: str,
        total: int = 0,
        out: IO[str] | None = None,
        stream: IO[str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.what, self.total, self.done = what, total, 0
        self._stream, self._clock = stream or sys.stderr, clock
        self._on = self._stream.isatty() and not (out is not None and out.isatty())
        self._next = clock() + AFTER_SECONDS
        self._shown = False

    def step(self, done: int | None = None) -> None:
        """Count one more, or set how many are done."""
        self.done = self.done + 1 if done is None else done
        if self._on and self._clock() >= self._next:
            self._next = self._clock() + EVERY_SECONDS
            self._shown = True
            of = f"{self.done:,} of {self.total:,}" if self.total else f"{self.done:,}"
            self._stream.write(f"{ERASE}{of} {self.what}")
            self._stream.flush()

    def end(self) -> None:
        """Erase the line."""
        if self._shown:
            self._shown = False
            self._stream.write(ERASE)
            self._stream.flush()


def shown(items: Iterable[T], what: str, total: int = 0, out: IO[str] | None = None) -> Iterator[T]:
    """Yield the items and show how many were yielded; see `Progress`."""
    progress = Progress(what, total, out)
    try:
        for item in items:
            progress.step()
            yield item
    finally:
        progress.end()
