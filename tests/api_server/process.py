"""The test API server in a process of its own, for tests that are not asynchronous or that load both sides."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


class ServerProcess:
    """A running server without TLS. `url`: its address."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.process = process
        self.url = url

    def request(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Send a request as a client of the cluster does, and return the JSON."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as response:
            return json.load(response)

    def control(self, name: str, **arguments: Any) -> Any:
        """Change or read the server itself: requests, compact, advance, cut, inject, refuse, set, times, state."""
        return self.request("POST", f"/test/{name}", arguments)


@contextmanager
def api_server(*arguments: str) -> Iterator[ServerProcess]:
    """Run `python -m tests.api_server` with arguments, until the end of the context."""
    command = [sys.executable, "-m", "tests.api_server", *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            url = process.stdout.readline().strip()
            assert url, f"the server ended with {process.wait()}"
            yield ServerProcess(process, url)
        finally:
            process.kill()
