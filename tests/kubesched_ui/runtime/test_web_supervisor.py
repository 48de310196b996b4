"""A web process is kept: another takes its place when it dies or has grown, and nobody is refused meanwhile."""

import os
import signal
import socket
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

pytestmark = pytest.mark.slow

APPLICATION = """
    import asyncio
    import os
    GROWN = []

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
"""


class Kept:
    """The address of a kept process."""

    def __init__(self, folder: Path, checkout: Path) -> None:
        (folder / "growing.py").write_text(textwrap.dedent(APPLICATION))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        words = ["-b", "127.0.0.1", "-p", str(self.port), "growing:application"]
        environment = {"PYTHONPATH": f"{checkout}:{folder}", "PATH": "/usr/bin:/bin", "DRAIN_S": "30"}
        environment |= {"WEB_MAX_MEMORY": "250000000"}
        command = [sys.executable, "-m", "kubesched_ui.runtime.web_supervisor", *words]
        self.process = subprocess.Popen(command, cwd=folder, env=environment)
        end = time.monotonic() + 60
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    break
            assert time.monotonic() < end
            time.sleep(0.1)

    def get(self, path: str = "/") -> int:
        """The number of the process that answered."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60) as answer:
            return int(answer.read())


@pytest.fixture
def kept(tmp_path: Path, checkout: Path) -> Iterator[Kept]:
    found = Kept(tmp_path, checkout)
    yield found
    found.process.terminate()
    assert found.process.wait(60) == 0


def asking(kept: Kept, over: threading.Event, answers: list[Any]) -> None:
    while not over.is_set():
        try:
            answers.append(kept.get())
        except OSError as problem:
            answers.append(problem)


def test_one_that_has_grown_is_replaced_and_no_request_is_lost(kept: Kept) -> None:
    first, over = kept.get(), threading.Event()
    answers: list[Any] = []
    slow: list[Any] = []
    with connect(f"ws://127.0.0.1:{kept.port}/", open_timeout=60) as watching:
        # daemons: were the process not replaced, they would ask for ever
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


def test_one_that_died_is_replaced_and_who_comes_waits(kept: Kept) -> None:
    first = kept.get()
    os.kill(first, signal.SIGKILL)
    assert kept.get() != first
