"""Pools of worker processes, built on pebble.

Each worker is a pebble pool of one process, so that a task can choose the worker that has cached its data, and a worker
that hangs, dies or exceeds its memory limit fails only its own task.
"""

from __future__ import annotations

import logging
import multiprocessing
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from typing import Any

from pebble import ProcessExpired, ProcessFuture, ProcessPool

from kubesched_ui.offload import worker as worker_process
from kubesched_ui.work.turns import in_turns

logger = logging.getLogger(__name__)

CHECK_SECONDS = 1.0  # between two checks of a queue position or of a silent pool
BYTES_PER_SECOND = 2 * 1024 * 1024  # a task of this size may be overtaken for one second by smaller, newer tasks
SPAWN = multiprocessing.get_context("spawn")  # the web process has threads, so it must not fork


@dataclass(frozen=True)
class PoolConfig:
    """The limits of a pool."""

    workers: int
    memory: int  # bytes of data of one worker
    seconds: float | None  # of one task; None: the caller stops it
    setup: str  # "module:function" that a worker runs once, before its memory is limited
    setup_args: tuple[Any, ...] = ()
    wait_seconds: float = inf  # for a free worker
    queue: int = 200  # waiting tasks
    per_user: int = 50  # waiting tasks of one user
    running_per_user: int = 0  # tasks of one user that run at once; 0: no limit
    memory_kept: int = 0  # a worker that holds more bytes is replaced after its task; 0: three quarters of `memory`
    nice: int = 0
    environment: bool = True  # whether workers keep the environment, which may hold secrets


class OffloadError(Exception):
    """A worker gave no result. The message is a sentence for the user."""

    retry_after = 0  # seconds; 0: the same task would fail again


class PoolBusy(OffloadError):
    """Too many tasks wait, or the task waited too long."""

    retry_after = 10

    def __init__(self) -> None:
        super().__init__("The server is busy. Try again in a few seconds.")


class TimedOut(OffloadError):
    """The task exceeded its time limit."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"This took longer than {seconds:g} s and was stopped.")


class OutOfMemory(OffloadError):
    """The task exceeded its memory limit."""

    def __init__(self, memory: int) -> None:
        super().__init__(f"This needs more than {memory >> 20:,} MB of memory.")


class Crashed(OffloadError):
    """The worker died. `code`: its exit code, negative for a signal."""

    def __init__(self, memory: int, code: int) -> None:
        super().__init__(f"This could not be answered with {memory >> 20:,} MB of memory.")
        self.code = code


class TaskCancelled(OffloadError):
    """The caller cancelled the task."""


@dataclass(eq=False)
class Ticket:
    """A waiting or running task. `key`: the data that it needs, which a worker may have cached. `user`: the user ID or
    the address of an anonymous client, None if unknown. `size`: bytes that it reads. `on_wait`: called with the number
    of tasks before it."""

    key: str = ""
    user: int | str | None = None
    size: int = 0
    on_wait: Callable[[int], None] | None = None
    created: float = field(default_factory=time.monotonic)
    started: float = 0.0
    cancelled: bool = False
    worker: Worker | None = None

    @property
    def due(self) -> float:
        """Return the time that orders waiting tasks: smaller and older tasks first."""
        return self.created + self.size / BYTES_PER_SECOND


class Worker:
    """One process, started for its first task and restarted after it has ended."""

    def __init__(self, config: PoolConfig) -> None:
        self.config = config
        self.key = ""  # of its last task
        self._pool: ProcessPool | None = None
        self._future: ProcessFuture[Any] | None = None

    @property
    def active(self) -> bool:
        return self._pool is not None and bool(self._pool.active)

    def start(self) -> ProcessPool:
        """Start the process unless it runs."""
        if self._pool is None or not self._pool.active:
            self.stop()
            of = self.config
            options = (of.memory, of.nice, of.environment, of.setup, of.setup_args)
            self._pool = ProcessPool(1, initializer=worker_process.prepare, initargs=options, context=SPAWN)
        assert self._pool.active  # this property starts it
        return self._pool

    def run(self, function: Callable[..., Any], *args: Any, seconds: float | None = None) -> Any:
        """Run `function` in the process and return its result. Raises its exceptions, and OffloadError."""
        seconds = seconds or self.config.seconds
        for _ in range(2):
            try:
                return self.result(self.submit(function, *args, seconds=seconds), seconds)
            except BrokenProcessPool:  # the process ended before it began
                self.stop()
        raise Crashed(self.config.memory, 1)

    def submit(self, function: Callable[..., Any], *args: Any, seconds: float | None = None) -> ProcessFuture[Any]:
        """Start `function` in the process. Raises BrokenProcessPool."""
        try:
            self._future = self.start().schedule(worker_process.execute, args=(function, args), timeout=seconds)
        except RuntimeError as error:  # it broke meanwhile
            raise BrokenProcessPool from error
        return self._future

    def result(self, future: ProcessFuture[Any], seconds: float | None = None) -> Any:
        """Return the result of a submitted function. Raises as `run`, and BrokenProcessPool if it never began."""
        config = self.config
        try:
            value, memory = self._await(future)
        except TimeoutError:
            logger.warning("A request for %s was stopped after %s s", self.key, seconds)
            raise TimedOut(seconds or 0) from None
        except CancelledError:
            self.stop()
            raise TaskCancelled from None
        except MemoryError:
            self.stop()
            raise OutOfMemory(config.memory) from None
        except ProcessExpired as error:
            logger.warning("A worker of %s died with code %s", config.setup, error.exitcode)
            raise Crashed(config.memory, error.exitcode) from None
        if memory > (config.memory_kept or config.memory * 3 // 4):
            self.stop()
        return value

    def _await(self, future: ProcessFuture[Any]) -> Any:
        while True:
            try:
                return future.result(CHECK_SECONDS)
            except TimeoutError:
                if future.done():
                    raise
                if not self.active and not future.done():
                    raise BrokenProcessPool from None

    def cancel(self) -> None:
        """Cancel the running task, from any thread."""
        if self._future is not None:
            self._future.cancel()

    def stop(self, wait: bool = False) -> None:
        """Stop the process; the next task starts another one."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        pool.stop()
        if wait:
            pool.join()
        else:
            threading.Thread(target=pool.join, daemon=True).start()


class Pool:
    """Workers, and the tasks that wait for them."""

    def __init__(self, config: PoolConfig) -> None:
        self.config = config
        self.workers: list[Worker] = []
        self.waiting: list[Ticket] = []
        self.running: list[Ticket] = []
        self._changed = threading.Condition()

    def run(self, function: Callable[..., Any], *args: Any, ticket: Ticket | None = None) -> Any:
        """Wait for a worker, run `function` in it and return its result. Raises as `Worker.run`, and PoolBusy."""
        with self.worker(ticket or Ticket()) as worker:
            return worker.run(function, *args)

    @contextmanager
    def worker(self, ticket: Ticket) -> Iterator[Worker]:
        """Reserve a worker, preferably the one with the ticket's key. Raises PoolBusy, Cancelled."""
        worker = self._reserve(ticket)
        try:
            yield worker
        except BaseException as error:
            if not isinstance(error, Exception):
                worker.stop()  # its state is unknown
            raise
        finally:
            with self._changed:
                self.running.remove(ticket)
                ticket.worker = None
                self._changed.notify_all()

    def cancel(self, ticket: Ticket) -> None:
        """Cancel a task that waits or runs."""
        with self._changed:
            ticket.cancelled = True
            self._changed.notify_all()
            if ticket.worker is not None:
                ticket.worker.cancel()

    def order(self) -> Iterator[Ticket]:
        """Yield the waiting tasks that may run, next first."""
        running = Counter(one.user for one in self.running if one.user is not None)
        waiting = sorted(self.waiting, key=lambda ticket: ticket.due)
        most = self.config.running_per_user or inf
        return in_turns(waiting, lambda one: one if one.user is None else one.user, running, most=most)

    def figures(self) -> dict[str, float]:
        """Return the numbers of waiting and running tasks, and the longest wait so far in seconds."""
        now = time.monotonic()
        longest = now - min((ticket.created for ticket in list(self.waiting)), default=now)
        return {"waiting": len(self.waiting), "running": len(self.running), "longest_wait_s": round(longest, 3)}

    def warm(self) -> None:
        """Start a worker if there is none, so that the first task does not wait for it."""
        with self._changed:
            if not self.workers:
                self.workers.append(Worker(self.config))
                self.workers[0].start()

    def stop(self) -> None:
        """Stop all workers."""
        with self._changed:
            for worker in self.workers:
                worker.stop(wait=True)
            self.workers.clear()

    def _reserve(self, ticket: Ticket) -> Worker:
        end = time.monotonic() + self.config.wait_seconds
        with self._changed:
            mine = sum(other.user == ticket.user for other in self.waiting) if ticket.user is not None else 0
            if len(self.waiting) >= self.config.queue or mine >= self.config.per_user:
                raise PoolBusy
            self.waiting.append(ticket)
            try:
                while len(self.running) >= self.config.workers or next(self.order(), None) is not ticket:
                    self._wait(ticket, end)
                if ticket.cancelled:
                    raise TaskCancelled
            finally:
                self.waiting.remove(ticket)
                self._changed.notify_all()
            worker = self._choose(ticket.key)
            self.running.append(ticket)
            worker.key, ticket.worker, ticket.started = ticket.key, worker, time.monotonic()
            return worker

    def _wait(self, ticket: Ticket, end: float) -> None:
        if ticket.cancelled:
            raise TaskCancelled
        left = end - time.monotonic()
        if left <= 0:
            raise PoolBusy
        if ticket.on_wait is not None:
            order = list(self.order())
            ticket.on_wait(len(self.running) + (order.index(ticket) if ticket in order else len(order)))
        self._changed.wait(min(CHECK_SECONDS, left))

    def _choose(self, key: str) -> Worker:
        busy = {id(ticket.worker) for ticket in self.running}
        idle = [worker for worker in self.workers if id(worker) not in busy]
        if not idle:
            self.workers.append(Worker(self.config))
            return self.workers[-1]
        cached = (worker for worker in idle if worker.key == key)
        unused = (worker for worker in idle if worker.active and not worker.key)
        return next(cached, None) or next(unused, None) or idle[0]
