"""A running KubeSched, started by `manage.py run` with its own data, in processes that tests may kill."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from websockets.exceptions import ConnectionClosedOK, WebSocketException
from websockets.sync.client import connect

CHECKOUT = Path(__file__).parents[2]
POSTGRES = next(
    (p for p in [Path("/usr/lib/postgresql/15/bin"), Path("/usr/local/bin")] if (p / "initdb").exists()), None
)
REDIS = shutil.which("redis-server")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def until(true: Callable[[], Any], what: str, seconds: float = 60) -> Any:
    """Return the first true result. Fail after `seconds`, a bound for hanging tests."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if answer := true():
            return answer
        time.sleep(0.05)
    raise AssertionError(f"{what} did not happen within {seconds} s")


class Instance:
    """A running instance."""

    def __init__(self, var: Path, **environment: str) -> None:
        self.var = var
        self.port = free_port()
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        settings = {"VAR_DIR": str(var), "PORT": str(self.port), "RUN_LOST_AFTER_S": "4"} | environment
        self.environment = kept | {f"KUBESCHED_{name}": value for name, value in settings.items()}
        self.process: subprocess.Popen[str] | None = None
        self.redis: RedisServer | None = None
        self.postgres: PostgresServer | None = None

    def start(self) -> str:
        """Start the processes. Return the line with the address."""
        command = [sys.executable, "manage.py", "run"]
        self.process = subprocess.Popen(
            command, cwd=CHECKOUT, env=self.environment, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        assert self.process.stdout
        return self.process.stdout.readline()

    def interrupt(self) -> int:
        """Send Ctrl-C. Return the exit code."""
        assert self.process
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(30)

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run `manage.py` with the data of this instance."""
        command = [sys.executable, "manage.py", *words]
        return subprocess.run(command, cwd=CHECKOUT, env=self.environment, capture_output=True, text=True, timeout=120)

    # ---- processes

    def pids(self, part: str) -> list[int]:
        """Return the processes of this instance (by its VAR_DIR) with `part` in their command line."""
        found = []
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit():
                continue
            try:
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                # Valkey writes its title over its environment, but the title names its socket.
                mine = str(self.var) in command or f"VAR_DIR={self.var}".encode() in (folder / "environ").read_bytes()
            except OSError:
                continue
            if mine and part in command:
                found.append(int(folder.name))
        return found

    def kill(self, part: str) -> None:
        """Send SIGKILL to every process with `part` in its command line. Wait until they are replaced."""
        gone = self.pids(part)
        assert gone, f"no process {part}"
        for pid in gone:
            os.kill(pid, signal.SIGKILL)
        until(lambda: (now := self.pids(part)) and not set(now) & set(gone), f"a new {part}")

    def kill_all(self) -> None:
        """Send SIGKILL to all processes, which is faster than `interrupt`. Wait for their end."""
        assert self.process
        self.process.kill()
        self.process.wait()
        while left := self.pids(""):
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    # ---- the API

    def api(self, method: str, path: str, body: Any = None) -> Any:
        """Return the JSON response. Bytes are sent unchanged."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        kind = {"Content-Type": "application/octet-stream" if isinstance(body, bytes) else "application/json"}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/api{path}", data, kind, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read() or b"null")

    def status(self, address: str) -> int:
        """Return the status code of a GET."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{address}", timeout=60) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code

    def serves(self) -> bool:
        try:
            self.api("GET", "/runs?limit=1")
            return True
        except (urllib.error.URLError, OSError):
            return False

    def finished(self, run: int, seconds: float = 120) -> Any:
        """Return the run once it is finished."""

        def over() -> Any:
            try:
                found = self.api("GET", f"/runs/{run}")
            except (urllib.error.URLError, OSError):
                return None
            return found if found["state"] not in ("queued", "running") else None

        return until(over, f"the end of run {run}", seconds)

    def record(self, scenario: bytes, **settings: Any) -> dict[str, int]:
        """Return {scenario, run}: the numbers of an uploaded scenario and of its finished run with these settings."""
        made = self.api("POST", "/scenarios", scenario)["id"]
        run = self.api("POST", f"/scenarios/{made}/runs", settings)["id"]
        assert self.finished(run)["state"] == "done"
        return {"scenario": made, "run": run}

    def events(self, run: int, since: int = 0, stop_after: int | None = None) -> list[dict[str, Any]]:
        """Return the events from the websocket until the server closes it. Reconnect as the protocol says."""
        got: list[dict[str, Any]] = []
        while True:
            last = got[-1]["seq"] if got else since
            try:
                with connect(f"ws://127.0.0.1:{self.port}/ws/runs/{run}?since={last}", max_size=None) as ws:
                    while stop_after is None or len(got) < stop_after:
                        got += json.loads(ws.recv(timeout=60))["events"]
                    return got
            except ConnectionClosedOK:
                return got
            except (WebSocketException, OSError):
                time.sleep(0.1)


class RedisServer:
    """A real Redis server."""

    def __init__(self) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.start()

    def start(self) -> None:
        assert REDIS
        command = [REDIS, "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


class PostgresServer:
    """A real PostgreSQL server with an empty database. It runs as user postgres if the test runs as root."""

    def __init__(self) -> None:
        assert POSTGRES
        self.folder = Path(tempfile.mkdtemp(prefix="kubesched-postgres-"))
        self.port = free_port()
        self.url = f"postgres://kubesched@127.0.0.1:{self.port}/postgres"
        self.how: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": self.folder}
        if os.getuid() == 0:
            shutil.chown(self.folder, "postgres")
            self.how |= {"user": "postgres", "group": "postgres", "extra_groups": []}
        command = [POSTGRES / "initdb", "-D", self.folder / "data", "-U", "kubesched", "-A", "trust", "-N"]
        subprocess.run(command, check=True, **self.how)
        self.start()

    def start(self) -> None:
        assert POSTGRES
        options = ["-p", str(self.port), "-k", str(self.folder), "-c", "fsync=off", "-c", "listen_addresses=127.0.0.1"]
        self.process = subprocess.Popen([POSTGRES / "postgres", "-D", self.folder / "data", *options], **self.how)
        until(lambda: socket.socket().connect_ex(("127.0.0.1", self.port)) == 0, "PostgreSQL's start")

    def stop(self) -> None:
        """Stop immediately and drop all connections."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait()


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """Run a PostgreSQL server for the block."""
    server = PostgresServer()
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(server.folder, ignore_errors=True)
