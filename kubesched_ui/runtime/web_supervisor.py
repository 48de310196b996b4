"""Keeps a web process: `python -m kubesched_ui.runtime.web_supervisor -b HOST -p PORT APPLICATION [server options]`.

It alone holds the port, so nobody is refused while one process takes another's place. One that dies is replaced. One
that has grown beyond WEB_MAX_MEMORY is replaced, too, but first the new one takes connections; then the old one is told
to stop, and drains: what it was asked before is answered, its websockets end with 1012 and come back with `since`.
"""

from __future__ import annotations

import argparse
import logging
import os
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence

from kubesched_ui import env

logger = logging.getLogger(__name__)

LOOK_S = 2.0  # between two looks at the memory
START_S = 60.0  # for a process to take connections
AGAIN_S = 0.5  # before one that died is started again
READY = "KUBESCHED_READY"  # the file that a process writes to when it takes connections
AGAIN = "KUBESCHED_AGAIN"  # set for those that take another's place: its static files are being served
PAGE = resource.getpagesize()


class Web:
    """A web process, which takes connections from the keeper's port."""

    def __init__(self, port: int, words: Sequence[str], again: bool = False) -> None:
        self.ready, told = os.pipe()
        command = [sys.executable, "-m", "kubesched_ui.server", "--fd", str(port), *words]
        if setpriv := shutil.which("setpriv"):  # it goes with the keeper, however that ends
            command = [setpriv, "--pdeathsig", "TERM", *command]
        # Threads share their memory: each with a heap of its own keeps more than they need together.
        environment = {"MALLOC_ARENA_MAX": "2"} | os.environ | {READY: str(told)} | ({AGAIN: "1"} if again else {})
        self.process = subprocess.Popen(command, pass_fds=(port, told), env=environment)
        os.close(told)

    def begun(self, seconds: float) -> bool:
        """Waits until it takes connections; False if it does not within `seconds`, or died."""
        readable, _, _ = select.select([self.ready], [], [], seconds)
        return bool(readable and os.read(self.ready, 1))

    def memory(self) -> int:
        """Bytes in memory; 0 where that is not known."""
        try:
            with open(f"/proc/{self.process.pid}/statm") as statm:
                return int(statm.read().split()[1]) * PAGE
        except (OSError, IndexError):
            return 0

    def stop(self) -> None:
        """Tells it to drain and end."""
        self.process.send_signal(signal.SIGTERM)

    def ended(self) -> bool:
        """Whether it has; then nothing is left of it."""
        if self.process.poll() is None:
            return False
        os.close(self.ready)
        return True


class Keeper:
    """One process that serves, and old ones that drain."""

    def __init__(self, port: int, words: Sequence[str], most: int) -> None:
        self.port, self.words, self.most = port, words, most
        self.leaving: list[Web] = []
        self.stopping = False
        self.web = Web(port, words)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.stop)

    def stop(self, *_: object) -> None:
        """Whoever is there is told to end, and nobody is started any more."""
        self.stopping = True
        for web in (self.web, *self.leaving):
            web.stop()

    def keep(self) -> int:
        """Looks after the process until told to stop; its exit code."""
        while not self.stopping:
            self.wait(LOOK_S)
            self.leaving = [web for web in self.leaving if not web.ended()]
            if self.stopping:
                break
            if self.web.ended():
                logger.warning("The web process ended by itself (%s); another takes its place", self.web.process.poll())
                time.sleep(AGAIN_S)
                self.web = Web(self.port, self.words, again=True)
            elif self.web.memory() > self.most:
                self.replace()
        self.web.process.wait()
        for web in self.leaving:
            web.process.wait()
        return 0

    def wait(self, seconds: float) -> None:
        """For so long, or until the process ends."""
        end = time.monotonic() + seconds
        while not self.stopping and self.web.process.poll() is None and time.monotonic() < end:
            time.sleep(0.1)

    def replace(self) -> None:
        """Another process takes connections, then this one takes no more."""
        used, new = self.web.memory(), Web(self.port, self.words, again=True)
        logger.warning("The web process uses %s MB; another takes its place", used >> 20)
        if not new.begun(START_S) or self.stopping:
            new.process.kill()
            new.process.wait()
            new.ended()
            return
        old, self.web = self.web, new
        old.stop()
        self.leaving.append(old)


def listening(host: str, port: int) -> socket.socket:
    """The port, to be handed to web processes."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    found.bind((host, port))
    found.listen(512)
    found.setblocking(False)
    found.set_inheritable(True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="Keeps a web process.")
    parser.add_argument("-b", "--bind", default="127.0.0.1")
    parser.add_argument("-p", "--port", type=int, required=True)
    given, words = parser.parse_known_args()
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.INFO)
    port = listening(given.bind, given.port)
    return Keeper(port.fileno(), words, env.number("WEB_MAX_MEMORY", 600 * 1024**2)).keep()


if __name__ == "__main__":
    sys.exit(main())
