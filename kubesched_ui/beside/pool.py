"""Processes that answer for the web process: so many, each with so much memory and time; a dead one is replaced."""

from __future__ import annotations

import logging
import multiprocessing
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any

import msgspec
from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage

logger = logging.getLogger(__name__)

ANSWERS = "kubesched_ui.beside.worker"
WAIT_SECONDS = 60.0  # for others' questions before one's own


class NoAnswer(Exception):
    """Why there is none, a sentence. `again`: after how many seconds it may be asked again; 0: not as it is."""

    def __init__(self, sentence: str, again: int) -> None:
        super().__init__(sentence)
        self.again = again


class Broken(Exception):
    """An answer that had begun does not go on."""


class Process:
    """One that answers; started by the first question, and again after it was ended.

    `module`: what runs in it, which answers as `beside/worker.py` says; `most`: the setting of its bytes of memory.
    """

    def __init__(self, module: str = ANSWERS, most: str = "BESIDE_MAX_MEMORY") -> None:
        self.module, self._most = module, most
        self.about = ""  # what it was asked about last, and may remember
        self._process: subprocess.Popen[bytes] | None = None
        self._asking: Connection | None = None

    @property
    def ready(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def most(self) -> int:
        """Bytes that it may have."""
        return int(getattr(settings, self._most))

    def start(self) -> Connection:
        """Starts the process, unless it is there."""
        if not self.ready or self._asking is None:
            self.end()
            self._asking, theirs = multiprocessing.Pipe()
            command = [sys.executable, "-m", self.module, str(self.most)]
            self._process = subprocess.Popen(command, stdin=theirs.fileno(), cwd=settings.BASE_DIR)
            theirs.close()
            gathered = getattr(staticfiles_storage, "hashed_files", {})
            self._asking.send_bytes(msgspec.msgpack.encode(dict(gathered)))
        return self._asking

    def send(self, question: bytes, seconds: float) -> dict[str, Any]:
        """The reply's head. Raises NoAnswer."""
        try:
            self.start().send_bytes(question)
        except OSError:  # it ended since the last question, and another takes its place
            self.end()
            self._send_again(question)
        told: dict[str, Any] = msgspec.msgpack.decode(self._hear(seconds))
        if told["last"]:
            self.end()
        if told["status"] == 507:
            raise NoAnswer(f"This needs more than {self.most >> 20:,} MB of memory.", 0)
        return told

    def _send_again(self, question: bytes) -> None:
        try:
            self.start().send_bytes(question)
        except OSError:
            self.end()
            raise NoAnswer(f"This could not be answered with {self.most >> 20:,} MB of memory.", 0) from None

    def pieces(self, seconds: float) -> Iterator[bytes]:
        """The rest of a reply that is sent in pieces. Raises Broken."""
        whole = False
        try:
            while (piece := self._hear(seconds))[:1] == b"+":
                yield piece[1:]
            whole = piece == b"."
        except NoAnswer as problem:
            raise Broken(str(problem)) from None
        finally:
            if not whole:
                self.end()  # it may be amid the rest
        if not whole:
            raise Broken("It failed midway.")

    def _hear(self, seconds: float) -> bytes:
        assert self._asking is not None
        try:
            if self._asking.poll(seconds):
                return self._asking.recv_bytes()
        except (EOFError, OSError):
            logger.warning("A process that answers ended by itself: %s", self._process and self._process.poll())
            self.end()
            raise NoAnswer(f"This could not be answered with {self.most >> 20:,} MB of memory.", 0) from None
        logger.warning("A question about %s was stopped after %g s", self.about, seconds)
        self.end()
        raise NoAnswer(f"This took longer than {seconds:g} s and was stopped.", 0)

    def stop(self) -> None:
        """Has the question that another thread waits for answered by nobody."""
        process = self._process
        if process is not None:
            process.kill()

    def end(self) -> None:
        """Ends the process; the next question has a new one."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        if self._asking is not None:
            self._asking.close()
        self._process = self._asking = None


class Pool:
    """So many processes as a setting says; who finds all of them busy waits."""

    def __init__(self, module: str = ANSWERS, most: str = "BESIDE_MAX_MEMORY") -> None:
        self._module, self._most = module, most
        self._free = threading.Condition()
        self._idle: list[Process] = []
        self.made = 0  # processes, whether they live or not

    def take(self, about: str, seconds: float = WAIT_SECONDS) -> Process:
        """A process for a question, the one that remembers what it is about if that is idle. Raises NoAnswer."""
        end = time.monotonic() + seconds
        with self._free:
            while not self._idle and self.made >= settings.BESIDE_PROCESSES:
                if not self._free.wait(end - time.monotonic()):
                    raise NoAnswer("Too many ask at once; ask again in a moment.", 10)
            if not self._idle:
                self.made += 1
                self._idle.append(self._another())
            found = next((one for one in self._idle if one.about == about), None)
            found = found or next((one for one in self._idle if one.ready and not one.about), self._idle[0])
            self._idle.remove(found)
        found.about = about
        return found

    def give(self, process: Process) -> None:
        """Puts it back."""
        with self._free:
            self._idle.append(process)
            self._free.notify()

    def warm(self) -> None:
        """Starts a process, if there is none, so that the first question need not wait for its start."""
        with self._free:
            if self.made:
                return
            self.made += 1
        process = self._another()
        process.start()
        self.give(process)

    def _another(self) -> Process:
        return Process(self._module, self._most)

    def end(self) -> None:
        """Ends those that are idle."""
        with self._free:
            for process in self._idle:
                process.end()


QUESTIONS, EXPORTS = Pool(), Pool()
