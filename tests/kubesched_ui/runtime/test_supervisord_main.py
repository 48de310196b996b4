"""A web process that died, grew too large or hangs is replaced without refused connections."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from kubesched_ui.runtime import supervisord_config
from tests.deployment.servers import listens
from tests.kubesched_ui.instance import free_port, until

pytestmark = pytest.mark.slow

# Its files "starts" and "checks" have a line for each start and for each answer to the watchdog. While there is a file
# "slow", a start takes long.
APPLICATION = """
    import asyncio
    import os
    import time
    GROWN = []
    with open("starts", "a") as file:
        print(os.getpid(), file=file)
    if os.path.exists("slow"):
        time.sleep(8)

    async def application(scope, receive, send):
        await receive()
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
            await receive()
            return
        if scope["path"] == "/grow":
            GROWN.append(b"x" * 300_000_000)
        if scope["path"] == "/slow":
            await asyncio.sleep(4)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": str(os.getpid()).encode()})
        if scope["path"] == "/healthz":
            with open("checks", "a") as file:
                print(os.getpid(), file=file)
"""


# Shorter limits than SILENT_S and EVERY_S of the watchdog.
START = """
from kubesched_ui.runtime import supervisord_main, web_watchdog
web_watchdog.SILENT_S, web_watchdog.EVERY_S = 3, 1
supervisord_main.main()
"""


class SupervisedServer:
    """Address of a supervised web process."""

    def __init__(self, folder: Path, checkout: Path, **streams: int) -> None:
        (folder / "growing.py").write_text(textwrap.dedent(APPLICATION))
        self.folder, self.port = folder, free_port()
        config = folder / "supervisord.conf"
        config.write_text(supervisord_config.serving("127.0.0.1", self.port))
        environment = {"PYTHONPATH": f"{checkout}:{folder}", "PATH": os.environ["PATH"], "KUBESCHED_DRAIN_S": "30"}
        command = [sys.executable, "-c", START, "-c", str(config)]
        self.process = subprocess.Popen(command, cwd=folder, env=environment, **streams)
        until(lambda: listens("127.0.0.1", self.port), "the start")

    def get(self, path: str = "/") -> int:
        """Return the process id that the response names."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60) as answer:
            return int(answer.read())

    def starts(self) -> list[int]:
        """Return the process ids of all starts."""
        return [int(line) for line in (self.folder / "starts").read_text().split()]

    def hang(self, pid: int) -> None:
        """Stop the process once the watchdog has had an answer of it, and so sent a second request."""
        checks = self.folder / "checks"
        until(lambda: checks.exists() and checks.read_text().split().count(str(pid)) > 1, "two checks")
        os.kill(pid, signal.SIGSTOP)


@pytest.fixture
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    settings.VAR_DIR = settings.BASE_DIR = tmp_path
    changed = {"OURS": "growing:application", "MEASURE_AFTER_S": 1, "WEB_MEMORY": 250_000_000}
    for name, value in changed.items():
        monkeypatch.setattr(supervisord_config, name, value)
    monkeypatch.setenv("KUBESCHED_DRAIN_S", "4")


@pytest.fixture
def kept(tmp_path: Path, checkout: Path, configured: None) -> Iterator[SupervisedServer]:
    found = SupervisedServer(tmp_path, checkout)
    yield found
    found.process.terminate()
    assert found.process.wait(60) == 0


def asking(kept: SupervisedServer, over: threading.Event, answers: list[Any]) -> None:
    while not over.is_set():
        try:
            answers.append(kept.get())
        except OSError as problem:
            answers.append(problem)


@pytest.mark.long
def test_a_process_that_grew_is_replaced_without_lost_requests(kept: SupervisedServer) -> None:
    first, over = kept.get(), threading.Event()
    answers: list[Any] = []
    slow: list[Any] = []
    with connect(f"ws://127.0.0.1:{kept.port}/", open_timeout=60) as watching:
        # daemons: without a replacement, they would send requests forever
        threads = [threading.Thread(target=asking, args=(kept, over, answers), daemon=True) for _ in range(2)]
        assert kept.get("/grow") == first
        threads.append(threading.Thread(target=lambda: slow.append(kept.get("/slow")), daemon=True))
        for thread in threads:
            thread.start()
        with pytest.raises(ConnectionClosed) as closed:
            watching.recv(timeout=60)
        assert closed.value.rcvd
        assert closed.value.rcvd.code == 1012
        end = time.monotonic() + 60
        while kept.get() == first and time.monotonic() < end:
            time.sleep(0.1)
        time.sleep(0.5)
        over.set()
        for thread in threads:
            thread.join(60)
    assert [answer for answer in answers if not isinstance(answer, int)] == []
    assert set(answers) > {first}
    assert len(slow) == 1


def test_a_process_that_died_is_replaced_and_clients_wait(kept: SupervisedServer) -> None:
    first = kept.get()
    os.kill(first, signal.SIGKILL)
    assert kept.get() != first


@pytest.mark.long
def test_a_hanging_process_is_replaced_and_clients_wait(kept: SupervisedServer) -> None:
    first = kept.get()
    kept.hang(first)
    assert kept.get() != first
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)


@pytest.mark.long
def test_a_process_that_starts_slowly_is_left_alone_until_its_first_answer(kept: SupervisedServer) -> None:
    first = kept.get()
    (kept.folder / "slow").touch()
    os.kill(first, signal.SIGKILL)
    second = kept.get()
    assert kept.starts() == [first, second]
    (kept.folder / "slow").unlink()
    kept.hang(second)
    assert [*kept.starts()[:2], kept.get()] == kept.starts()


@pytest.mark.long
def test_a_stop_refuses_connections_and_completes_requests(kept: SupervisedServer) -> None:
    first = kept.get()
    slow: list[int] = []
    thread = threading.Thread(target=lambda: slow.append(kept.get("/slow")))
    thread.start()
    time.sleep(1)  # the request has arrived
    kept.process.terminate()
    until(lambda: not listens("127.0.0.1", kept.port), "the end of accepting")
    assert slow == []
    thread.join(60)
    assert slow == [first]


@pytest.mark.long
def test_a_stop_is_quiet_after_the_reader_of_the_log_has_ended(
    tmp_path: Path, checkout: Path, configured: None
) -> None:
    with (tmp_path / "errors").open("wb") as errors:
        served = SupervisedServer(tmp_path, checkout, stdout=subprocess.PIPE, stderr=errors.fileno())
        served.get()
        assert served.process.stdout
        served.process.stdout.close()
        served.process.terminate()
        assert served.process.wait(60) == 0
    assert (tmp_path / "errors").read_text() == ""
