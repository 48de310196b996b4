"""The processes that read uploads, and who is next.

Each reader has one upload at a time, so one that dies takes nobody with it. Small uploads have a reader of their own
and never wait for large ones; of large ones the smaller go first, and nobody's second before another person's first.
"""

from __future__ import annotations

import logging
import multiprocessing
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings

from kubesched_ui.ingest import IngestError, chunked_store
from kubesched_ui.ingest.errors import Where
from kubesched_ui.outages import Trouble, Troubled
from kubesched_ui.scenarios import upload_worker
from kubesched_ui.scenarios.temp_files import tidy
from kubesched_ui.scenarios.upload_worker import Job

logger = logging.getLogger(__name__)

SMALL = 1024 * 1024  # bytes
PACE = 2 * 1024 * 1024  # bytes a second: so much a large upload may be passed by smaller ones that came later
MOST_WAITING = 200
KEPT_MB = 300  # a reader that grew larger is replaced, to give its memory back
TELL_EVERY_S = 1.0
NICE = 5  # of readers of large uploads: pages, small uploads and runs come first

BUSY = Trouble("Too many uploads wait to be read at present. Try again in a moment; nothing of this one was kept.", 30)


class NotSmall(Exception):
    """It takes more than it looked like: it is to wait with the large ones."""


class Reader:
    """One process, started when somebody needs it."""

    def __init__(self, nice: int = 0) -> None:
        context = multiprocessing.get_context("spawn")
        self.asking, theirs = context.Pipe()
        self.process = context.Process(target=upload_worker.serve, args=(theirs, nice), daemon=True)
        self.process.start()
        theirs.close()
        self.mb = 0

    def read(self, job: Job) -> Any:
        """What `making.read_and_store` gives. Raises IngestError, NotSmall, and what the database raises."""
        stored: int | None = None
        try:
            self.asking.send(job)
            what, value, self.mb = self.asking.recv()
            if what == upload_worker.STORES:
                stored = value
                what, value, self.mb = self.asking.recv()
        except (EOFError, OSError):
            raise IngestError(Where("upload"), self.death(stored)) from None
        if what == upload_worker.NOT_SMALL:
            raise NotSmall
        if what == upload_worker.REFUSED:
            raise value
        return value

    def death(self, stored: int | None) -> str:
        """Why it could not go on, in words. What it had stored is removed."""
        self.end()
        code = self.process.exitcode
        logger.warning("A reader of uploads ended with code %s", code)
        if stored is not None:
            chunked_store.remove(stored)
        if code == -signal.SIGALRM:
            return f"could not be read within {settings.INGEST_MAX_SECONDS} s"
        if code == upload_worker.OUT_OF_MEMORY:
            return f"could not be read within {settings.INGEST_MAX_MEMORY >> 20:,} MB of memory"
        if code == -signal.SIGKILL:
            return "could not be read: its reader was ended by the system, which may have run out of memory"
        return f"could not be read: its reader broke down (code {code}), and nothing of it was kept"

    @property
    def fit(self) -> bool:
        """Whether it may read another one."""
        return self.process.is_alive() and self.mb < KEPT_MB

    def end(self) -> None:
        """Has the process end, if it has not."""
        self.asking.close()
        self.process.join(timeout=1)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


@dataclass(eq=False)
class Ticket:
    """An upload that waits or is being read. `person`: whose it is, None where nobody knows."""

    size: int
    person: int | None = None
    at: float = field(default_factory=time.monotonic)

    @property
    def due(self) -> float:
        """What is due earlier comes first: a small one soon, a large one when it has waited for so long."""
        return self.at + self.size / PACE


Tell = Callable[[int], None]  # is told how many are before one


class Line:
    """Uploads in a row for some readers."""

    def __init__(self, readers: int, nice: int = 0) -> None:
        self.places, self.nice = readers, nice
        self.idle: list[Reader] = []
        self.waiting: list[Ticket] = []
        self.reading: list[Ticket] = []
        self.changed = threading.Condition()

    def read(self, job: Job, ticket: Ticket, tell: Tell) -> Any:
        """Waits for a reader and has it read. Raises what `Reader.read` does, and Troubled when too many wait."""
        self.wait(ticket, tell)
        try:
            with self.reader() as reader:
                return reader.read(job)
        finally:
            with self.changed:
                self.reading.remove(ticket)
                self.changed.notify_all()

    def wait(self, ticket: Ticket, tell: Tell) -> None:
        """Until it is this upload's turn."""
        with self.changed:
            if len(self.waiting) >= MOST_WAITING:
                raise Troubled(BUSY)
            self.waiting.append(ticket)
            try:
                while len(self.reading) >= self.places or self.order()[0] is not ticket:
                    tell(len(self.reading) + self.order().index(ticket))
                    self.changed.wait(TELL_EVERY_S)
            finally:
                self.waiting.remove(ticket)
                self.changed.notify_all()
            self.reading.append(ticket)

    def order(self) -> list[Ticket]:
        """Who waits, the next one first."""
        has: Counter[int | None] = Counter(ticket.person for ticket in self.reading if ticket.person is not None)
        return sorted(self.waiting, key=lambda ticket: (has[ticket.person], ticket.due))

    @contextmanager
    def reader(self) -> Iterator[Reader]:
        """One that has nothing to do, a new one if there is none."""
        with self.changed:
            found = self.idle.pop() if self.idle else None
        if found is None or not found.fit:
            if found is not None:
                found.end()
            found = Reader(self.nice)
        try:
            yield found
        finally:
            if found.fit:
                with self.changed:
                    self.idle.append(found)
            else:
                found.end()

    def end(self) -> None:
        """Ends those that have nothing to do."""
        with self.changed:
            idle, self.idle = self.idle, []
        for reader in idle:
            reader.end()


class Readers:
    """All of them, of this web process."""

    def __init__(self) -> None:
        self.small, self.large = Line(1), Line(max(1, settings.INGEST_READERS), NICE)

    def read(self, job: Job, size: int, tell: Tell) -> Any:
        """As `Line.read`. `size`: bytes of the upload."""
        if size <= SMALL:
            try:
                return self.small.read(job._replace(small=True), Ticket(size, job.owner_id), tell)
            except NotSmall:
                size = SMALL * 10  # a bomb, or YAML at its slowest; it is not to pass those that say how large they are
        return self.large.read(job, Ticket(size, job.owner_id), tell)

    def figures(self) -> dict[str, dict[str, float]]:
        """Line -> {waiting, reading, longest_wait_s}: for metrics, of this web process."""
        now = time.monotonic()
        return {
            name: {
                "waiting": len(line.waiting),
                "reading": len(line.reading),
                "longest_wait_s": round(now - min((ticket.at for ticket in list(line.waiting)), default=now), 3),
            }
            for name, line in (("small", self.small), ("large", self.large))
        }

    def end(self) -> None:
        """Ends those that have nothing to do."""
        self.small.end()
        self.large.end()


_readers: Readers | None = None
_making = threading.Lock()


def started() -> Readers | None:
    """Those of this process, if somebody has uploaded something."""
    return _readers


def readers() -> Readers:
    """Those of this process."""
    global _readers
    with _making:
        if _readers is None:
            tidy()
            _readers = Readers()
        return _readers
