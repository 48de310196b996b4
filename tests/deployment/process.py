"""One process that is started again when it ends, as `restart: unless-stopped` does."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

EVERY_S = 0.2
SETPRIV = shutil.which("setpriv")


class Process:
    """`who`: further arguments of Popen. What it prints is in `log`."""

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        environment: Mapping[str, str],
        folder: Path,
        stop_signal: int = signal.SIGTERM,
        **who: Any,
    ) -> None:
        self.name, self.command, self.environment = name, command, dict(environment)
        self.folder, self.stop_signal, self.who = folder, stop_signal, who
        self.log = folder / f"{name}.log"
        self.wanted = False
        self.starts = 0
        self.popen: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def start(self) -> None:
        """Returns once it has been started."""
        before, self.wanted = self.starts, True
        threading.Thread(target=self._keep, name=f"keeper-{self.name}", daemon=True).start()
        while self.starts == before:
            time.sleep(0.01)

    def send(self, number: int) -> None:
        """Sends a signal to the process alone: what becomes of its children is its own business."""
        if self.popen is not None and self.popen.poll() is None:
            os.kill(self.popen.pid, number)

    def stop(self, seconds: float = 60) -> int | None:
        """Asks it to end, for good; the exit code. Killed after `seconds`, as docker does: then None."""
        with self._lock:
            self.wanted = False
        if self.popen is None:
            return None
        self.send(signal.SIGCONT)
        self.send(self.stop_signal)
        try:
            return self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill_group()
            self.popen.wait()
            return None

    def wait(self, seconds: float) -> int:
        """Its exit code. Raises TimeoutExpired."""
        assert self.popen is not None
        return self.popen.wait(seconds)

    def kill_group(self) -> None:
        """kill -9 for it and all children that are in its group, as when a container or a machine goes."""
        if self.popen is not None and self.popen.poll() is None:
            os.killpg(self.popen.pid, signal.SIGKILL)

    def alive(self) -> bool:
        return self.popen is not None and self.popen.poll() is None

    def said(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def _spawn(self) -> None:
        # Ends with the thread that starts it, which is the keeper: no test leaves anything behind.
        own = [SETPRIV, "--pdeathsig", "KILL"] if SETPRIV else []
        with self.log.open("ab") as log:
            self.popen = subprocess.Popen(
                [os.fspath(word) for word in (*own, *self.command)],
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                **self.who,
            )
        self.starts += 1

    def _keep(self) -> None:
        while True:
            with self._lock:
                if self.wanted and not self.alive():
                    self._spawn()
            if not self.wanted and not self.alive():
                return
            time.sleep(EVERY_S)
