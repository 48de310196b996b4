"""The services of docker-compose.yml on this machine, each with its own address and folder, like containers."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from pathlib import Path
from typing import Any

import yaml

from tests.deployment.names import NameServer
from tests.deployment.process import Process
from tests.deployment.servers import Nginx, Postgres, Redis, listens, wait_for
from tests.deployment.slow import SlowLink
from tests.kubesched_ui.instance import CHECKOUT, free_port, until

PYTHON = Path(sys.executable).parent
TEMPLATE = CHECKOUT / "deploy" / "nginx.conf.template"


class Machines:
    """`webs` and `workers`: their number. `place`: where PostgreSQL keeps its data. `link`: what they reach it by;
    `clocks`: whether theirs can be set.
    """

    def __init__(
        self,
        folder: Path,
        webs: int = 2,
        workers: int = 4,
        place: Path | None = None,
        clocks: bool = False,
        **environment: str,
    ) -> None:
        self.folder = folder
        self.services = yaml.safe_load((CHECKOUT / "docker-compose.yml").read_text())["services"]
        chance = random.Random(os.urandom(8))
        self.net = f"127.{chance.randint(1, 250)}.{chance.randint(1, 250)}"  # all of 127/8 is this machine
        self.port = free_port()
        self.postgres, self.redis = Postgres(folder, place), Redis(folder)
        self.link = SlowLink(self.postgres.port)
        self.database = self.postgres.url.replace(str(self.postgres.port), str(self.link.port))
        settings = {"RUN_LOST_AFTER_S": "4", "ACCOUNTS": "0"} | environment
        self.extra = {f"KUBESCHED_{name}": value for name, value in settings.items()}
        self.clocks = clocks
        self.names = NameServer(f"{self.net}.1")
        self.nginx = Nginx(
            folder,
            TEMPLATE,
            LISTEN=f"127.0.0.1:{self.port}",
            WEB=self.services["proxy"]["environment"]["WEB"],
            NGINX_LOCAL_RESOLVERS=f"{self.net}.1:53000",
        )
        self.webs = {f"web-{n}": f"{self.net}.{10 + n}" for n in range(1, webs + 1)}
        self.workers = [f"worker-{n}" for n in range(1, workers + 1)]
        self.processes: dict[str, Process] = {"postgres": self.postgres, "redis": self.redis, "nginx": self.nginx}

    @property
    def url(self) -> str:
        """Return the public address."""
        return f"http://127.0.0.1:{self.port}"

    # ---- up and down

    def up(self, preparing: int = 1) -> None:
        """Start all. Return once the address responds and workers are ready. `preparing`: simultaneous migrations."""
        self.postgres.start()
        self.redis.start()
        wait_for("127.0.0.1", self.postgres.port)
        wait_for("127.0.0.1", self.redis.port)
        self.migrate(preparing)
        self.names.known["web"] = list(self.webs.values())
        for name in self.webs:
            self.add(name, self.web(name))
        for name in self.workers:
            self.add(name, self.worker(name))
        self.nginx.start()
        for address in self.webs.values():
            wait_for(address, 8000)
        wait_for("127.0.0.1", self.port)
        until(
            lambda: all("ready." in self.processes[name].log_text() for name in self.workers), "the workers' start", 180
        )

    def add(self, name: str, process: Process) -> None:
        self.processes[name] = process
        process.start()

    def migrate(self, at_once: int) -> None:
        """Run the service `migrate` to its end. Raise RuntimeError if it fails."""
        command = self.services["migrate"]["command"]
        names = [f"migrate-{n}" for n in range(1, at_once + 1)]
        for name in names:
            self.add(name, self.process(name, command))
            self.processes[name].wanted = False
        for name in names:
            if self.processes[name].wait(180):
                raise RuntimeError(self.log_of(name))

    def web(self, name: str) -> Process:
        *_, last = (CHECKOUT / "Dockerfile").read_text().splitlines()
        command = [self.webs[name] if word == "0.0.0.0" else word for word in json.loads(last.removeprefix("CMD "))]
        return self.process(name, command, self.services["web"])

    def worker(self, name: str) -> Process:
        command = [*self.services["worker"]["command"], "--concurrency=1", "-n", f"{name}@%h"]
        return self.process(name, command, self.services["worker"])

    def process(self, name: str, command: list[str], service: dict[str, Any] | None = None) -> Process:
        """Start a container of the application's image."""
        stop = signal.Signals[(service or {}).get("stop_signal", "SIGTERM")]
        return Process(name, command, self.environment(name), self.folder, stop, cwd=CHECKOUT)

    def environment(self, name: str) -> dict[str, str]:
        """Return the environment of the compose file, as far as it matters here."""
        var = self.folder / name
        var.mkdir(exist_ok=True)
        return (
            {
                "PATH": f"{PYTHON}:{os.environ['PATH']}",
                "PYTHONUNBUFFERED": "1",
                "KUBESCHED_VAR_DIR": str(var),
                "KUBESCHED_SECRET_KEY": "one for all of them, as long as the compose file demands",
                "KUBESCHED_DATABASE_URL": self.database,
                "KUBESCHED_REDIS_URL": self.redis.url,
                "KUBESCHED_DRAIN_S": "30",
            }
            | (self.clock(name) if self.clocks else {})
            | self.extra
        )

    def clock(self, name: str) -> dict[str, str]:
        """Return the environment with which the clock of a process can be set."""
        self.set_clock(name, 0)
        return {"PYTHONPATH": str(Path(__file__).parent / "clock"), "CLOCK_WRONG_BY": str(self.folder / name / "clock")}

    def set_clock(self, name: str, wrong_by: float) -> None:
        """Set the clock of a process. `wrong_by`: seconds."""
        (self.folder / name / "clock.new").write_text(str(wrong_by))
        (self.folder / name / "clock.new").replace(self.folder / name / "clock")

    def down(self) -> None:
        for name, process in reversed(self.processes.items()):
            if name in ("postgres", "redis", "nginx"):
                process.stop(10)
            else:
                process.wanted = False
                process.kill_group()
        self.names.close()
        self.postgres.remove()

    # ---- queries

    def serves(self, name: str) -> bool:
        return listens(self.webs[name], 8000)

    def log_of(self, name: str) -> str:
        """Return the log of a process."""
        return self.processes[name].log_text()
