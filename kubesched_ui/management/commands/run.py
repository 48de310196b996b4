"""`manage.py run`: starts all processes on this machine with one command. `make run` calls it."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError

from kubesched_ui.accounts import invitations
from kubesched_ui.housekeeping import vacuum
from kubesched_ui.management.own_command import OwnCommand
from kubesched_ui.runtime import env
from kubesched_ui.runtime.startup_lock import startup_lock
from kubesched_ui.runtime.supervisord_config import (
    CannotStart,
    check_free,
    check_open_files,
    configuration,
    lock,
    programs,
)

SLOW_S = 15  # between two remarks that the start takes long
ANSWER_S = 60  # until the request is repeated; a connection waits in the socket while it starts
LEAVING_S = 60


class Command(OwnCommand):
    help = "Prepares the database, starts broker, workers and web, and prints the address. Ctrl-C stops all."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default=env.text("HOST", "127.0.0.1"))
        parser.add_argument("--port", type=int, default=env.number("PORT", 8000))
        parser.add_argument("--console", action="store_true", help="Write logs to standard output, as in a container.")

    def handle(self, *args: Any, host: str, port: int, console: bool, **options: Any) -> None:
        os.umask(0o077)  # stored files are private
        if env.text("HOST", "127.0.0.1") != host:
            restart_with_host(host)
        for warning in env.warnings():
            print(f"Warning: {warning}", file=sys.stderr)
        try:
            check_open_files()
            held = lock(settings.VAR_DIR)
            wait_for_port(host, port)
        except CannotStart as problem:
            raise CommandError(str(problem)) from None
        config = settings.VAR_DIR / "supervisord.conf"
        config.write_text(configuration(programs(host, port), console))
        supervisor: subprocess.Popen[bytes] | None = None

        def give_up() -> None:
            # An exception would be lost in code that ignores exceptions, such as finalizers.
            if supervisor is not None:
                supervisor.terminate()
                supervisor.wait()
            os._exit(1)

        on_signals(give_up)
        logs = "" if console else f"; logs are in {settings.VAR_DIR / 'log'}"
        with remarks(f"KubeSched is still starting   (Ctrl-C stops it{logs})"):
            with startup_lock(settings.VAR_DIR):  # other processes load their code meanwhile
                supervisor = start(config)
                with stopped_on_error(supervisor):
                    call_command("prepare", verbosity=0)
                    vacuum.vacuum(alone=True)
            on_signals(supervisor.terminate)  # supervisord stops the processes; this process waits for supervisord
            address = f"http://{host if host not in ('0.0.0.0', '::') else '127.0.0.1'}:{port}"
            ready = wait_until_ready(address, supervisor)
        if ready:
            print(f"KubeSched is at {address}   (Ctrl-C stops it{logs})", flush=True)
            if settings.ACCOUNTS and (secret := invitations.first()):
                print(f"To create the first administrator, open {address}/account/invitation/{secret}/", flush=True)
        code = supervisor.wait()
        held.close()
        sys.exit(code)


def on_signals(act: Callable[[], object]) -> None:
    """Set what happens on signals that stop this process."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: act())


@contextmanager
def stopped_on_error(supervisor: subprocess.Popen[bytes]) -> Iterator[None]:
    """Stop supervisord before an exception leaves the `with` block."""
    try:
        yield
    except BaseException:
        supervisor.terminate()
        supervisor.wait()
        raise


def restart_with_host(host: str) -> NoReturn:
    """Restart with --host as HOST, from which all processes determine whether users sign in."""
    os.environ["KUBESCHED_HOST"] = host
    os.execv(sys.executable, [sys.executable, *sys.argv])


def wait_for_port(host: str, port: int) -> None:
    """Raise CannotStart if the port is in use. After a kill -9, wait a moment for the last instance to end."""
    until = time.monotonic() + (LEAVING_S if (settings.VAR_DIR / "supervisord.pid").exists() else 0)
    while True:
        try:
            check_free(host, port)
            return
        except CannotStart:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def start(config: os.PathLike[str]) -> subprocess.Popen[bytes]:
    """Start supervisord in its own session, so that signals of the terminal reach only this process, which forwards
    them. It dies with this process."""
    command = [sys.executable, "-m", "kubesched_ui.runtime.supervisord_main", "-c", os.fspath(config)]
    if setpriv := shutil.which("setpriv"):
        command = [setpriv, "--pdeathsig", "TERM", *command]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(command, start_new_session=True, cwd=settings.BASE_DIR, env=environment)


@contextmanager
def remarks(text: str) -> Iterator[None]:
    """Print `text` to standard error every SLOW_S until the end of the `with` block."""
    over = threading.Event()

    def repeat() -> None:
        while not over.wait(SLOW_S):
            print(text, file=sys.stderr, flush=True)

    threading.Thread(target=repeat, daemon=True).start()
    try:
        yield
    finally:
        over.set()


def wait_until_ready(address: str, supervisor: subprocess.Popen[bytes]) -> bool:
    """Return True when the web process answers, however long it takes, or False when supervisord has ended."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # ignores the proxies of the environment
    while supervisor.poll() is None:
        try:
            opener.open(f"{address}/healthz", timeout=ANSWER_S).close()
            return True
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    return False
