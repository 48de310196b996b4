"""A process that is restarted when it ends, as with `restart: unless-stopped`."""

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
    """`who`: further arguments of Popen. Its output is in `log`."""

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
        """Return once it is started."""
        before, self.wanted = self.starts, True
        threading.Thread(target=self._keep, name=f"keeper-{self.name}", daemon=True).start()
        while self.starts == before:
            time.sleep(0.01)

    def send(self, number: int) -> None:
        """Send a signal to the process only, not to its children."""
        if self.popen is not None and self.popen.poll() is None:
            os.kill(self.popen.pid, number)

    def stop(self, seconds: float = 60) -> int | None:
        """Stop it for good. Return the exit code, or None if it was killed after `seconds`, as Docker does."""
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
        """Return its exit code. Raise TimeoutExpired."""
        assert self.popen is not None
        return self.popen.wait(seconds)

    def kill_group(self) -> None:
        """Send SIGKILL to it and all children of its group, as when a container or a machine fails."""
        if self.popen is not None and self.popen.poll() is None:
            os.killpg(self.popen.pid, signal.SIGKILL)

    def alive(self) -> bool:
        return self.popen is not None and self.popen.poll() is None

    def log_text(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def _spawn(self) -> None:
        # Ends with the thread that starts it, so that no test leaves a process behind.
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
