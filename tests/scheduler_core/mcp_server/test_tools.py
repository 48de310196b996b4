"""Tools for assistants read only their folder, and their processes end."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from scheduler_core.errors import InputError
from scheduler_core.mcp_server import processes
from scheduler_core.mcp_server.processes import run_command
from scheduler_core.mcp_server.tools import Tools

ENDLESS = "import time; open({!r}, 'w').close(); time.sleep(600)"


def test_only_files_of_the_folder_are_read(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside.json"
    inside.mkdir()
    outside.write_text("{}")
    (inside / "link.json").symlink_to(outside)
    (inside / "good.json").write_text("{}")
    tools = Tools([sys.executable, "-c", "raise SystemExit(9)"], inside)
    for file in ("../outside.json", str(outside), "link.json", "", ".", "none.json", "a\0b", "x" * 5_000):
        with pytest.raises(InputError, match="is no file of the folder"):
            asyncio.run(tools.why(file, "ns/p"))
    assert "link" not in asyncio.run(tools.list_files())
    assert "good.json" in asyncio.run(tools.list_files())


def test_a_command_that_fails_is_an_error_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "good.json").write_text("{}")
    for code in ("raise ValueError('secret')", "raise SystemExit(0)", "import os; os.kill(os.getpid(), 9)"):
        tools = Tools([sys.executable, "-c", code], tmp_path)
        with pytest.raises(InputError, match="error of KubeSched") as failure:
            asyncio.run(tools.why("good.json", "ns/p"))
        assert "secret" not in str(failure.value)


def test_a_command_that_takes_too_long_is_killed(tmp_path: Path) -> None:
    started = tmp_path / "started"
    with pytest.raises(InputError, match="takes more than"):
        asyncio.run(run_command([sys.executable, "-c", ENDLESS.format(str(started))], 0.5))


def test_a_cancelled_call_ends_its_process(tmp_path: Path) -> None:
    started = tmp_path / "started"
    ended = tmp_path / "pid"
    code = f"import os; open({str(ended)!r}, 'w').write(str(os.getpid())); {ENDLESS.format(str(started))}"

    async def cancelled() -> None:
        task = asyncio.create_task(run_command([sys.executable, "-c", code], 60))
        for _ in range(3_000):
            if started.exists():
                break
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert not Path(f"/proc/{ended.read_text()}").exists()


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@pytest.mark.parametrize("length", [1_000, 10_000_000])  # less and more than a StreamReader holds
def test_too_much_output_is_refused(monkeypatch: pytest.MonkeyPatch, stream: str, length: int) -> None:
    monkeypatch.setattr(processes, "MOST_BYTES", 1_000)
    code = f"import sys\nwhile True: sys.{stream}.write('x' * {length})"
    with pytest.raises(InputError, match="prints more than"):
        asyncio.run(run_command([sys.executable, "-c", code], 60))


def test_tools_of_a_cluster_need_permission(tmp_path: Path) -> None:
    assert "why_in_cluster" not in Tools([], tmp_path).names()
    assert {"why_in_cluster", "drain_in_cluster"} <= set(Tools([], tmp_path, "").names())
