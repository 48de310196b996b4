"""Searches runs by an expression, in a process of its own: CEL's library is C++, expressions come from strangers."""

from __future__ import annotations

import logging
import multiprocessing
import os
import subprocess
import sys
import threading
from multiprocessing.connection import Connection
from typing import Any

import msgspec
from django.conf import settings

from kubesched_ui.models import Run
from kubesched_ui.queries.recording_cache import key_of, parts_to_search
from scheduler_core.debugger.search import WrongExpression

logger = logging.getLogger(__name__)

SECONDS = 2.0  # for the evaluation
SLACK_SECONDS = 1.0  # beyond that the process is ended
LOAD_SECONDS = 20.0  # for reading a recording
WAIT_SECONDS = 10.0  # for others' searches before one's own
MEMORY_MB = 1024
PASSED_ON = ("PATH", "LANG", "LD_LIBRARY_PATH", "PYTHONPATH")  # of the environment; secrets are not

MODULE = "scheduler_core.debugger.search_worker"
TOO_LONG = f"was stopped after {SECONDS:g} s; use a simpler expression"
CRASHED = "needs too much memory; use a simpler expression"


class Busy(Exception):
    """Too many search at once."""


class Finder:
    """One process that searches, started when somebody does, and again after it was ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._asking: Connection | None = None

    def find(self, run: Run, where: str, start: int | None, direction: str, limit: int) -> dict[str, Any]:
        """As `Search.find`. Raises WrongExpression, NotRecorded, Busy."""
        if not self._lock.acquire(timeout=WAIT_SECONDS):
            raise Busy
        try:
            return self._find(run, where, start, direction, limit)
        finally:
            self._lock.release()

    def _find(self, run: Run, where: str, start: int | None, direction: str, limit: int) -> dict[str, Any]:
        asking = self._started()
        ask = {"key": key_of(run), "where": where, "start": start, "direction": direction, "limit": limit}
        asking.send_bytes(msgspec.msgpack.encode(ask | {"seconds": SECONDS}))
        said = self._hear(LOAD_SECONDS)
        if "need" in said:
            try:
                parts = parts_to_search(run)
            except BaseException:
                self.end()  # it waits for what does not come
                raise
            asking.send_bytes(msgspec.msgpack.encode(parts))
            said = self._hear(LOAD_SECONDS)
        if "begun" in said:
            said = self._hear(SECONDS + SLACK_SECONDS)
        if "wrong" in said:
            raise WrongExpression(said["wrong"], said["line"], said["column"])
        answer: dict[str, Any] = said["answer"]
        return answer

    def _hear(self, seconds: float) -> dict[str, Any]:
        assert self._asking is not None
        try:
            if not self._asking.poll(seconds):
                self.end()
                raise WrongExpression(TOO_LONG)
            said: dict[str, Any] = msgspec.msgpack.decode(self._asking.recv_bytes())
            return said
        except (EOFError, OSError):
            logger.warning("The search process ended unexpectedly: %s", self._process and self._process.poll())
            self.end()
            raise WrongExpression(CRASHED) from None

    def _started(self) -> Connection:
        if self._process is None or self._process.poll() is not None or self._asking is None:
            self.end()
            self._asking, theirs = multiprocessing.Pipe()
            environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
            command = [sys.executable, "-m", MODULE, str(MEMORY_MB)]
            self._process = subprocess.Popen(command, stdin=theirs.fileno(), cwd=settings.BASE_DIR, env=environment)
            theirs.close()
        return self._asking

    def end(self) -> None:
        """Ends the process; the next search has a new one."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        if self._asking is not None:
            self._asking.close()
        self._process = self._asking = None


FINDER = Finder()
