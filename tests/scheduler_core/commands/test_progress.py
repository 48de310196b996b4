"""Progress is shown on a terminal from two seconds on, and erased at the end."""

import io
import os
import pty
import subprocess
import sys

from scheduler_core.commands.progress import ERASE, Progress
from tests.scheduler_core.commands.conftest import ROOT


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def played(stream: io.StringIO, out: io.StringIO | None = None, seconds: float = 1.0) -> str:
    now = iter([seconds * i for i in range(100)])
    progress = Progress("pods", 3000, out, stream, lambda: next(now))
    for _ in range(4):
        progress.step()
    progress.end()
    return stream.getvalue()


def test_a_terminal_shows_it_and_it_is_erased() -> None:
    shown = played(Terminal())
    assert f"{ERASE}2 of 3,000 pods" in shown
    assert shown.endswith(ERASE)


def test_a_fast_command_shows_nothing() -> None:
    assert played(Terminal(), seconds=0.1) == ""


def test_a_pipe_shows_nothing() -> None:
    assert played(io.StringIO()) == ""


def test_lines_on_the_same_terminal_are_progress_enough() -> None:
    assert played(Terminal(), Terminal()) == ""
    assert played(Terminal(), io.StringIO()) != ""


def test_a_command_on_a_real_terminal_writes_its_output_unchanged() -> None:
    terminal, inside = pty.openpty()
    command = [sys.executable, "-m", "scheduler_core", "explain", "docs/examples/snapshot.yaml"]
    ended = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=inside, check=False, text=True)
    os.close(inside)
    os.close(terminal)
    assert ended.returncode == 1
    assert ended.stdout in (ROOT / "docs" / "explain.md").read_text()
