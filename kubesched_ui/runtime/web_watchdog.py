"""Replaces a web process that does not answer. supervisord calls it (supervisord_main.py).

supervisord holds the listening socket, so a connection waits there while a process starts: no answer yet means that the
process is slow, not that it hangs. The time limit therefore counts from its first answer. A machine that exceeds it
nevertheless gets more time after each replacement.
"""

import socket
import time
from typing import Any

from supervisor.states import ProcessStates

SILENT_S = 20  # seconds since the last answer after which a process is replaced
START_S = 1800  # until the first answer; the database may be prepared meanwhile
MOST = 16  # how many times as long, after replacements
STEADY_S = 600  # seconds of answers after which the limits are the first ones again
EVERY_S = 5  # between two requests
LOOK_S, LONGEST_LOOK_S = 0.5, 2  # A look that comes late, because this machine was busy or asleep, is not its fault.
REQUEST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nUser-Agent: supervisord\r\nConnection: close\r\n\r\n"


class WebWatchdog:
    """`process`: of supervisord. `listening`: its socket. `logger`: of supervisord."""

    def __init__(self, process: Any, listening: Any, logger: Any) -> None:
        self.process, self.logger = process, logger
        self.family, address = listening.family, listening.getsockname()
        local = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address[0], address[0])
        self.address = (local, *address[1:])
        self.pid = 0
        self.answered = False  # whether this process has
        self.replaced = False  # whether it is being stopped, and not yet started again
        self.silent = self.steady = 0.0  # seconds since the last answer, and from the first to the last answer
        self.times = 1  # the limits are so many times as long
        self.connection: socket.socket | None = None
        self.sent = False
        self.looked_at = time.monotonic()

    def look(self) -> None:
        """Send a request, look for its answer, or replace the process. Never waits."""
        seconds = time.monotonic() - self.looked_at
        if seconds < LOOK_S:
            return
        self.looked_at += seconds
        if self.replaced and self.process.state == ProcessStates.STOPPED:
            self.replaced = False
            self.process.spawn()
        if self.process.pid != self.pid:
            self._begin()
        if self.process.state not in (ProcessStates.STARTING, ProcessStates.RUNNING):
            return
        self.silent += min(seconds, LONGEST_LOOK_S)
        if self.connection is not None or not self.answered or self.silent >= EVERY_S:
            self._ask()
        if self.silent > self.limit:
            self._replace()

    @property
    def limit(self) -> float:
        """Return the seconds without an answer after which the process is replaced."""
        return self.times * (SILENT_S if self.answered else START_S)

    def _begin(self) -> None:
        """Forget the process before this one."""
        self._close()
        self.pid, self.answered, self.silent, self.steady = self.process.pid, False, 0.0, 0.0

    def _ask(self) -> None:
        try:
            if self.connection is None:
                self.connection, self.sent = socket.socket(self.family, socket.SOCK_STREAM), False
                self.connection.setblocking(False)
                self.connection.connect_ex(self.address)
            if not self.sent:
                self.sent = self.connection.send(REQUEST) > 0
            answer = self.connection.recv(1024)
        except BlockingIOError:
            return
        except OSError:
            answer = b""
        self._close()
        if answer.startswith(b"HTTP/1.1 200 "):
            self.steady += self.silent
            self.answered, self.silent = True, 0.0
            if self.steady > STEADY_S:
                self.times = 1

    def _replace(self) -> None:
        """Stop the process; `look` starts the next one."""
        self.logger.warn(f"{self.process.config.name} has not answered for {self.limit:.0f} s and is replaced")
        self._close()
        self.times = min(2 * self.times, MOST)
        self.replaced = True
        self.process.stop()  # with SIGKILL after `stopwaitsecs`

    def _close(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None
