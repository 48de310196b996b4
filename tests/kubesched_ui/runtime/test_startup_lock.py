"""Startup lock: processes load while the database is prepared, and wait before they use it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kubesched_ui.runtime import startup_lock
from tests.kubesched_ui.instance import CHECKOUT, Instance, until

pytestmark = pytest.mark.slow

HOLD = "import sys, time; from pathlib import Path; from kubesched_ui.runtime.startup_lock import startup_lock\n"
HOLD += "with startup_lock(Path(sys.argv[1])): Path(sys.argv[1], 'held').touch(); time.sleep(600)"


def test_a_process_does_not_wait_without_a_preparation(tmp_path: Path) -> None:
    startup_lock.wait(tmp_path)
    with startup_lock.startup_lock(tmp_path):
        pass
    startup_lock.wait(tmp_path)


def test_a_command_waits_for_the_end_of_the_preparation(tmp_path: Path) -> None:
    """Also if the preparing process was killed."""
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], cwd=CHECKOUT)
    until((tmp_path / "held").exists, "the preparation")
    command = [
        sys.executable,
        "-m",
        "kubesched_ui.runtime.startup_lock",
        str(tmp_path),
        "touch",
        str(tmp_path / "done"),
    ]
    waiting = subprocess.Popen(command, cwd=CHECKOUT)
    time.sleep(1)
    assert not (tmp_path / "done").exists()
    holder.kill()
    holder.wait()
    assert waiting.wait(30) == 0
    assert (tmp_path / "done").exists()


@pytest.mark.long
def test_an_unusable_database_is_reported_and_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "kubesched.sqlite3").write_bytes(b"not a database" * 1000)
    instance = Instance(tmp_path)
    refused = instance.command("run")
    assert refused.returncode == 1
    assert (
        refused.stderr
        == f"manage.py run: The database {tmp_path}/kubesched.sqlite3 cannot be used: file is not a database.\n"
    )
    until(lambda: not instance.pids(""), "the end of all processes")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_start_leaves_nothing_behind(tmp_path: Path, number: signal.Signals) -> None:
    """While its database is prepared."""
    instance = Instance(tmp_path)
    command, log = [sys.executable, "manage.py", "run"], (tmp_path / "stderr").open("wb")
    starting = subprocess.Popen(command, cwd=CHECKOUT, env=instance.environment, stderr=log, start_new_session=True)
    until((tmp_path / startup_lock.LOCK).exists, "the preparation")
    until(lambda: len(instance.pids("")) > 1, "the others")
    os.kill(starting.pid, number)
    assert starting.wait(60) == 1
    assert (tmp_path / "stderr").read_bytes() == b""
    until(lambda: not instance.pids(""), "the end of all processes")
