"""PostgreSQL, Redis and nginx as processes."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.deployment.process import Process
from tests.kubesched_ui.instance import POSTGRES, REDIS, free_port

NGINX = shutil.which("nginx") or next((p for p in ["/usr/sbin/nginx"] if Path(p).exists()), None)
MISSING = [
    name for name, there in {"PostgreSQL 15": POSTGRES, "redis-server": REDIS, "nginx": NGINX}.items() if not there
]


def listens(host: str, port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((host, port)) == 0


def wait_for(host: str, port: int, seconds: float = 180) -> None:
    """Wait for a port. Raise TimeoutError."""
    end = time.monotonic() + seconds
    while not listens(host, port):
        if time.monotonic() > end:
            raise TimeoutError(f"nothing listens at {host}:{port}")
        time.sleep(0.05)


class Postgres(Process):
    """Runs as user postgres if the test runs as root. `place`: an empty folder for its data, or a file system."""

    def __init__(self, folder: Path, place: Path | None = None, *options: str) -> None:
        assert POSTGRES
        self.place = place or Path(tempfile.mkdtemp(prefix="kubesched-postgres-"))
        who: dict[str, Any] = {"cwd": self.place}
        if os.getuid() == 0:
            shutil.chown(self.place, "postgres")
            who |= {"user": "postgres", "group": "postgres", "extra_groups": []}
        self.port, data = free_port(), self.place / "data"
        initdb = [POSTGRES / "initdb", "-D", data, "-U", "kubesched", "-A", "trust", "-N"]
        subprocess.run(initdb, check=True, stdout=subprocess.DEVNULL, **who)
        settings = ["fsync=off", "listen_addresses=127.0.0.1", "max_connections=200", *options]
        command = [POSTGRES / "postgres", "-D", data, "-p", str(self.port), "-k", self.place]
        command += [word for setting in settings for word in ("-c", setting)]
        super().__init__("postgres", command, {"PATH": os.environ["PATH"]}, folder, signal.SIGINT, **who)

    def remove(self) -> None:
        """Stop it and delete its data."""
        self.stop()
        shutil.rmtree(self.place, ignore_errors=True)

    @property
    def url(self) -> str:
        return f"postgres://kubesched@127.0.0.1:{self.port}/postgres"

    def sql(self, text: str) -> str:
        """Return the output of psql."""
        assert POSTGRES
        words = ["-h", "127.0.0.1", "-p", str(self.port), "-U", "kubesched", "-d", "postgres", "-Atc", text]
        return subprocess.run([POSTGRES / "psql", *words], check=True, capture_output=True, text=True).stdout.strip()


class Redis(Process):
    def __init__(self, folder: Path) -> None:
        assert REDIS
        self.port = free_port()
        command = [REDIS, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
        super().__init__("redis", command, {"PATH": os.environ["PATH"]}, folder)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"


class Nginx(Process):
    """The configuration of the project, with its variables replaced as in the image."""

    def __init__(self, folder: Path, template: Path, **filled_in: str) -> None:
        assert NGINX
        site = re.sub(r"\$\{(\w+)\}", lambda found: filled_in[found[1]], template.read_text())
        events = re.findall(
            r"events \{.*?\}|worker_rlimit_nofile .*?;", (template.parent / "nginx.conf").read_text(), re.S
        )
        user = "user root;" if os.getuid() == 0 else ""
        temporary = "".join(
            f"{name}_temp_path {folder}/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        (folder / "nginx.conf").write_text(
            f"{user}\nworker_processes 1;\npid {folder}/nginx.pid;\nerror_log stderr notice;\n"
            f"{' '.join(events)}\nhttp {{\n{temporary}{site}}}\n"
        )
        command = [NGINX, "-p", folder, "-e", "stderr", "-c", folder / "nginx.conf", "-g", "daemon off;"]
        super().__init__("nginx", command, {"PATH": os.environ["PATH"]}, folder)

    def answered(self) -> str:
        """Return its log lines so far. Each ends with the web process that responded, or several after a retry."""
        return "".join(re.findall(r"^\S+ \[\S+\] [A-Z]+ .*\n", self.log.read_text(), re.MULTILINE))
