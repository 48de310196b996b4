"""Starts and stops a follower process for each cluster that is to be followed (`manage.py follow`).

Several hosts may run a supervisor: the lease of a cluster decides which one follows it.
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from uuid import uuid4

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection

from kubesched_ui.clusters import leases
from kubesched_ui.clusters.models import Cluster

logger = logging.getLogger(__name__)

LOOK_EVERY_S = 1.0
STOP_S = 5.0  # until a follower that does not end is killed
HANGS_S = 60.0  # without a heartbeat of a running follower until it is killed
AGAIN_S = (1.0, 60.0)  # shortest and longest wait before a follower starts again
TOKEN = "KUBESCHED_FOLLOWER"  # environment variable with the lease token of a follower


@dataclass
class Child:
    """A follower process, and the wait before it starts again."""

    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    delay: float = AGAIN_S[0]
    next_at: float = 0.0
    silent_since: float = 0.0  # 0: it sends heartbeats


class FollowerSupervisor:
    """Runs until `stopping` is set."""

    def __init__(self) -> None:
        self.name = uuid4().hex
        self.children: dict[str, Child] = {}
        self.stopping = False

    def run(self) -> None:
        """Look for clusters to follow, repeatedly. Stop all followers at the end."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
            signal.signal(number, self._stop)
        try:
            while not self.stopping:
                try:
                    self.look()
                except (DatabaseError, InterfaceError) as error:
                    logger.warning("Cannot read which clusters are to be followed: %s", error)
                    connection.close()
                time.sleep(LOOK_EVERY_S)
        finally:
            self.stop(list(self.children))

    def _stop(self, *_: object) -> None:
        self.stopping = True

    def look(self) -> None:
        """Start and stop followers."""
        wanted = set(Cluster.everything.wanted().values_list("name", flat=True))
        self.stop([name for name in self.children if name not in wanted])
        # Another host may follow a cluster already.
        free = set(Cluster.everything.filter(leases.silent(), name__in=wanted).values_list("name", flat=True))
        for name in free:
            self.children.setdefault(name, Child())
        for name, child in self.children.items():
            self._kill_if_silent(child, name in free)
            if child.process is None or child.process.poll() is not None:
                self._restart(name, child)

    def _kill_if_silent(self, child: Child, silent: bool) -> None:
        """Kill a follower that hangs. While the database is away, this is not called."""
        now = time.monotonic()
        if not silent or child.process is None:
            child.silent_since = 0.0
            return
        child.silent_since = child.silent_since or now
        if now - max(child.silent_since, child.started_at) > HANGS_S:
            child.process.kill()
            child.process.wait()

    def _restart(self, name: str, child: Child) -> None:
        now = time.monotonic()
        if child.process is not None:
            logger.warning("The follower of %s ended with %s", name, child.process.returncode)
            lasted = now - child.started_at
            child.delay = AGAIN_S[0] if lasted > AGAIN_S[1] else min(2 * child.delay, AGAIN_S[1])
            child.next_at = now + child.delay
            child.process = None
        if now >= child.next_at:
            child.process, child.started_at = self.start(name), now

    def start(self, name: str) -> subprocess.Popen[bytes]:
        """Start the follower of a cluster. It dies with this process."""
        command = [sys.executable, "-m", "kubesched_ui", "follow", "--", name]
        if setpriv := shutil.which("setpriv"):
            command = [setpriv, "--pdeathsig", "KILL", *command]
        environment = os.environ | {TOKEN: f"{self.name}:{uuid4().hex}"}
        return subprocess.Popen(command, cwd=settings.BASE_DIR, env=environment)

    def stop(self, names: list[str]) -> None:
        """End these followers."""
        found = [child.process for name in names if (child := self.children.pop(name)).process is not None]
        processes = [process for process in found if process is not None]
        for process in processes:
            process.terminate()
        end = time.monotonic() + STOP_S
        for process in processes:
            try:
                process.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
