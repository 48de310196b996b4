"""Measure waiting times of a user while slow and greedy clients attack.

    python benchmarks/slow_clients.py [--seconds 25]

Starts the product with accounts. One user opens pages, uploads and exports, first alone, then during attacks: 40 slow
bodies of anonymous clients and of a user, 3,000 requests with slow headers, two exports that are read at 1 kB/s, and 25
uploads at once with a quota of 3 scenarios. Attackers reconnect. Prints one JSON object: attack -> request of the user
-> median and 95th percentile in milliseconds, and failures.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import re
import resource
import socket
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from app import running

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from scheduler_core.commands.bench import workload
from tests.deployment.client import Browser

PASSWORD = "correct horse battery staple"
QUOTA = 3
SIZE = 2_000_000  # bytes of a large body


class User:
    """A user with a token."""

    def __init__(self, address: str, name: str) -> None:
        browser = Browser(address)
        fields = {"username": name, "password1": PASSWORD, "password2": PASSWORD}
        assert browser.form("/account/signup/", "", **fields)[0] == 200
        body = {"name": "benchmark", "scope": "write", "days": "1"} | browser.token("/account/")
        form = {"Content_Type": "application/x-www-form-urlencoded"}
        page = browser.ask("POST", "/account/tokens/", urlencode(body).encode(), **form)[2]
        self.browser, self.token = Browser(address), re.findall(r'value="(ks_[\w-]+)"', page)[0]

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, str]:
        status, _, text = self.browser.ask(method, path, body, Authorization=f"Bearer {self.token}")
        return status, text

    def run(self, nodes: int, pods: int) -> int:
        """Return a finished run of a new scenario."""
        document = {"apiVersion": "v1", "kind": "List", "items": workload("basic", nodes, pods)}
        scenario = json.loads(self.ask("POST", "/api/scenarios", document)[1])["id"]
        run = json.loads(self.ask("POST", f"/api/scenarios/{scenario}/runs", {})[1])["id"]
        while json.loads(self.ask("GET", f"/api/runs/{run}")[1])["state"] in ("queued", "running"):
            time.sleep(0.3)
        return int(run)


def allow_connections() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def attack(port: int, heads: list[bytes], reads: bool) -> None:
    """Keep a connection for each head: send it and then a byte a second, or read 1 kB a second."""
    allow_connections()

    async def client(head: bytes, begin: float) -> None:
        await asyncio.sleep(begin)
        loop = asyncio.get_running_loop()
        while True:
            with socket.socket() as connection:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                connection.setblocking(False)
                try:
                    await loop.sock_connect(connection, ("127.0.0.1", port))
                    await loop.sock_sendall(connection, head)
                    while True:
                        await asyncio.sleep(1)
                        if not reads:
                            await loop.sock_sendall(connection, b"x")
                        elif not await loop.sock_recv(connection, 1000):
                            break
                except OSError:
                    pass
            await asyncio.sleep(0.5)

    async def crowd() -> None:
        await asyncio.gather(*(client(head, number / 1000) for number, head in enumerate(heads)))

    asyncio.run(crowd())


@contextmanager
def attacked(port: int, heads: list[bytes], reads: bool = False) -> Iterator[None]:
    process = multiprocessing.get_context("spawn").Process(target=attack, args=(port, heads, reads), daemon=True)
    process.start()
    time.sleep(5)  # until all are connected
    try:
        yield
    finally:
        process.kill()
        process.join()


def head(path: str, user: User | None = None, more: str = "") -> bytes:
    method = "GET" if path.startswith("/api/runs") else "POST"
    token = f"Authorization: Bearer {user.token}\r\n" if user else ""
    return f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{token}{more}".encode()


def probe(user: User, run: int, seconds: float) -> dict[str, Any]:
    """Return what the user waited for."""
    small, large = (json.dumps({"kind": "List", "items": workload("basic", 2, number)}) for number in (20, 9000))
    assert len(large) > SIZE // 2
    took, failures = defaultdict(list), defaultdict(list)
    end = time.monotonic() + seconds

    def timed(name: str, method: str, path: str, body: Any = None) -> str:
        begin = time.perf_counter()
        try:
            status, text = user.ask(method, path, body)
        except OSError as error:
            status, text = 0, repr(error)
        took[name].append((time.perf_counter() - begin) * 1000)
        if status >= 400 or not status:
            failures[name].append(f"{status} {text[:120]}")
        return text

    def pages() -> None:
        timed("list of runs", "GET", "/api/runs")
        timed("run", "GET", f"/api/runs/{run}")

    def export() -> None:
        timed("export", "GET", f"/api/runs/{run}/export?format=jsonl")

    def upload(name: str, text: str) -> None:
        answer = timed(name, "POST", "/api/scenarios", text.encode())
        if '"id"' in answer:
            user.ask("DELETE", f"/api/scenarios/{json.loads(answer)['id']}")

    def again(action: Callable[[], None]) -> None:
        while time.monotonic() < end:
            action()
            time.sleep(0.2)

    actions = (pages, export, partial(upload, "upload of 10 kB", small), partial(upload, "upload of 2 MB", large))
    with ThreadPoolExecutor(len(actions)) as all_at_once:
        list(all_at_once.map(again, actions))
    return {
        name: {
            "requests": len(values),
            "median": round(sorted(values)[len(values) // 2], 1),
            "p95": round(sorted(values)[int(len(values) * 0.95)], 1),
            "failures": failures[name][:3],
        }
        for name, values in took.items()
    }


def uploads_at_once(user: User) -> dict[str, int]:
    """Return how many of 25 uploads at once are stored."""
    body = json.dumps({"kind": "List", "items": workload("basic", 2, 20)}).encode()
    with ThreadPoolExecutor(25) as crowd:
        statuses = list(crowd.map(lambda _: user.ask("POST", "/api/scenarios", body)[0], range(25)))
    stored = [one for one in json.loads(user.ask("GET", "/api/scenarios")[1]) if one["origin"] != "sample"]
    return {"stored": len(stored), "accepted": statuses.count(201), "refused": statuses.count(400)}


def measure(address: str, seconds: float) -> dict[str, Any]:
    ada, eve, mallory, quin = (User(address, name) for name in ("ada", "eve", "mallory", "quin"))
    run, large = ada.run(20, 50), [user.run(300, 1500) for user in (eve, mallory)]
    port = int(urlsplit(address).port or 0)
    length = f"Content-Length: {SIZE}\r\n\r\nbegun"
    exports = [
        head(f"/api/runs/{number}/export?format=jsonl", user, "\r\n")
        for number, user in zip(large, (eve, mallory), strict=True)
    ]
    attacks = {
        "40 bodies of strangers": ([head("/api/scenarios", None, length)] * 40, False),
        "40 bodies of one user": ([head("/api/scenarios", eve, length)] * 40, False),
        "3,000 headers": ([head("/api/scenarios", None, "X: ")] * 3000, False),
        "2 exports": (exports, True),
    }
    probe(ada, run, 5)  # starts the workers
    found = {"alone": probe(ada, run, seconds)}
    for name, (heads, reads) in attacks.items():
        with attacked(port, heads, reads):
            found[name] = probe(ada, run, seconds)
    with ThreadPoolExecutor(1) as other:
        crowd = other.submit(uploads_at_once, quin)
        found["25 uploads at once"] = probe(ada, run, seconds / 2) | {"quota": crowd.result()}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Slow and greedy clients.")
    parser.add_argument("--seconds", type=float, default=25)
    given = parser.parse_args()
    allow_connections()
    wanted = {"ACCOUNTS": "1", "REGISTER": "open", "QUOTA_SCENARIOS": str(QUOTA), "DISK_MIN_FREE_BYTES": "0"}
    os.environ.update({f"KUBESCHED_{name}": value for name, value in wanted.items()})
    with running() as (address, _):
        found = measure(address, given.seconds)
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
