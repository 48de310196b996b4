"""Starts and stops a follower process for each cluster that is to be followed (`manage.py follow`).

Several hosts may run a supervisor: the lease of a cluster decides which one follows it.

On a slow machine a process takes minutes to start, and longer if others start at the same time. So followers start one
after another, and the time limit for heartbeats counts from the first one. It doubles each time that it is exceeded.
"""

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
from kubesched_ui.work.models import silent

logger = logging.getLogger(__name__)

LOOK_EVERY_S, LONGEST_LOOK_S = 1.0, 3.0  # A look that comes late, because this machine was busy, is no silence.
STOP_S = 5.0  # until a follower that does not end is killed
HANGS_S = 60.0  # without a heartbeat until a follower that has sent one is killed, and until the next one starts
START_S = 1800.0  # until the first heartbeat
MOST = 16  # how many times as long, after kills
STEADY_S = 600.0  # of heartbeats after which the limits are the first ones again
AGAIN_S = (1.0, 60.0)  # shortest and longest wait before a follower starts again
TOKEN = "KUBESCHED_FOLLOWER"  # environment variable with the lease token of a follower


@dataclass
class Child:
    """A follower process, and the wait before it starts again."""

    process: subprocess.Popen[bytes] | None = None
    token: str = ""
    started_at: float = 0.0
    delay: float = AGAIN_S[0]
    next_at: float = 0.0
    beats: bool = False  # whether this process has sent a heartbeat
    silent: float = 0.0  # seconds without a heartbeat
    steady: float = 0.0  # seconds with heartbeats
    times: int = 1  # the limits are so many times as long

    @property
    def starting(self) -> bool:
        """Return whether another follower should wait with its start."""
        return self.process is not None and not self.beats and self.silent < HANGS_S


class FollowerSupervisor:
    """Runs until `stopping` is set."""

    def __init__(self) -> None:
        self.name = uuid4().hex
        self.children: dict[str, Child] = {}
        self.stopping = False
        self.looked_at = time.monotonic()

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
        rows = Cluster.everything.filter(name__in=wanted)
        # Another host may follow a cluster already.
        free = set(rows.filter(silent(leases.LOST_AFTER_S)).values_list("name", flat=True))
        tokens = dict(rows.values_list("name", "follower"))
        for name in free:
            self.children.setdefault(name, Child())
        now = time.monotonic()
        seconds, self.looked_at = min(now - self.looked_at, LONGEST_LOOK_S), now
        for name, child in self.children.items():
            if child.process is not None:
                child.beats |= tokens.get(name) == child.token
                self._watch(child, name in free, seconds)
                if child.process.poll() is not None:
                    self._ended(name, child, now)
        for name, child in self.children.items():
            if any(other.starting for other in self.children.values()):
                break
            if child.process is None and now >= child.next_at:
                self._start(name, child, now)

    def _watch(self, child: Child, silent: bool, seconds: float) -> None:
        """Kill a follower that hangs. While the database is away, this is not called."""
        assert child.process is not None
        if not silent:
            child.silent, child.steady = 0.0, child.steady + seconds
            child.times = child.times if child.steady < STEADY_S else 1
            return
        child.silent, child.steady = child.silent + seconds, 0.0
        if child.silent > child.times * (HANGS_S if child.beats else START_S):
            child.times = min(2 * child.times, MOST)
            child.process.kill()
            child.process.wait()

    def _ended(self, name: str, child: Child, now: float) -> None:
        assert child.process is not None
        logger.warning("The follower of %s ended with %s", name, child.process.returncode)
        lasted = now - child.started_at
        child.delay = AGAIN_S[0] if lasted > AGAIN_S[1] else min(2 * child.delay, AGAIN_S[1])
        child.next_at, child.process = now + child.delay, None

    def _start(self, name: str, child: Child, now: float) -> None:
        child.token = f"{self.name}:{uuid4().hex}"
        child.process, child.started_at = self.start(name, child.token), now
        child.beats, child.silent, child.steady = False, 0.0, 0.0

    def start(self, name: str, token: str) -> subprocess.Popen[bytes]:
        """Start the follower of a cluster. It dies with this process."""
        command = [sys.executable, "-m", "kubesched_ui", "follow", "--", name]
        if setpriv := shutil.which("setpriv"):
            command = [setpriv, "--pdeathsig", "KILL", *command]
        return subprocess.Popen(command, cwd=settings.BASE_DIR, env=os.environ | {TOKEN: token})

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
