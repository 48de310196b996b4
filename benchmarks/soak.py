"""Run rounds of requests, runs, uploads and deletions, and measure what is left after each.

    python benchmarks/soak.py [--rounds 10] [--requests 3000] [--runs 50] [--readers 4]

Starts the product (`manage.py run`) with its own data folder. A round uploads clusters, runs them and samples (single
pass and virtual time), watches some over websockets, opens pages and API URLs from several threads, and deletes all
that it created. After a pause, memory, files and the database are measured. Prints one JSON line: the figures of each
round, and the change from the second to the last third of the rounds.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from websockets.sync.client import connect

from benchmarks.app import OPENER, ROLES, call, running
from scheduler_core.commands.bench import workload

REST_S = 12.0  # longer than it takes until deleted rows leave the file
SIZES = ((20, 60), (100, 400), (400, 1500))  # nodes and pods of the uploads
PAGES = ("/", "/scenarios/", "/runs/", "/api/runs?limit=20", "/api/scenarios?limit=20", "/healthz")
OF_RUN = (
    "/runs/{run}/", "/api/runs/{run}", "/api/runs/{run}/pods", "/api/runs/{run}/events", "/api/runs/{run}/map",
    "/api/runs/{run}/find?where=attempt%3E0", "/api/runs/{run}/cycles/1", "/runs/{run}/cycles/1/",
    "/api/runs/{run}/export", "/runs/{run}/together/", "/compare/{run}/{run}/",
)  # fmt: skip


class Soak:
    """Actions and their times. `counted`: action -> number. `seconds`: of each request."""

    def __init__(self, address: str, var: Path, readers: int) -> None:
        self.address, self.var, self.readers = address, var, readers
        self.counted: Counter[str] = Counter()
        self.seconds: list[float] = []
        self.chance = random.Random(1)
        self.lock = threading.Lock()
        self.samples = [one["id"] for one in call(f"{address}/api/scenarios?limit=100")[0]]
        self.clusters = [
            json.dumps({"apiVersion": "v1", "kind": "List", "items": workload("spread", *size)}).encode()
            for size in SIZES
        ]

    def ask(self, path: str, body: Any = None) -> Any:
        try:
            answer, took = call(f"{self.address}{path}", body)
        except urllib.error.HTTPError as error:
            with self.lock:
                self.counted[f"status {error.code}"] += 1
            return None
        with self.lock:
            self.counted["requests"] += 1
            self.seconds.append(took)
        return answer

    def round(self, requests: int, runs: int) -> None:
        """Run a round."""
        made = [self.ask("/api/scenarios", data)["id"] for data in self.clusters]
        self.counted["uploads"] += len(made)
        started: list[int] = []
        for _ in range(runs):
            of_sample = self.chance.random() < 0.7
            scenario = self.chance.choice(self.samples if of_sample else made)
            wanted = {"in_time": True, "until": 120} if of_sample and self.chance.random() < 0.3 else {}
            if run := self.ask(f"/api/scenarios/{scenario}/runs", wanted):
                started.append(run["id"])
        watching = [threading.Thread(target=self.watch, args=(run,)) for run in started[:: max(1, len(started) // 20)]]
        for one in watching:
            one.start()
        with ThreadPoolExecutor(self.readers) as pool:
            list(pool.map(lambda n: self.ask(self.path(n, started)), range(requests)))
        for one in watching:
            one.join()
        for run in started:
            self.wait_for(run)
        self.counted["runs"] += len(started)
        for path in (*(f"/api/runs/{run}" for run in started), *(f"/api/scenarios/{one}" for one in made)):
            self.delete(path)

    def path(self, n: int, runs: list[int]) -> str:
        kinds = (*PAGES, *OF_RUN, *OF_RUN)
        return kinds[n % len(kinds)].format(run=runs[n * 7 % len(runs)])

    def watch(self, run: int) -> None:
        """Read the socket of a run to its end."""
        url = f"ws{self.address[4:]}/ws/runs/{run}?since=0"
        try:
            with connect(url, proxy=None, max_size=None, open_timeout=60) as client:
                for _ in client:
                    pass
            done = "sockets"
        except Exception as error:
            done = f"socket: {type(error).__name__}"
        with self.lock:
            self.counted[done] += 1

    def wait_for(self, run: int) -> None:
        while (found := self.ask(f"/api/runs/{run}")) and found["state"] in ("queued", "running"):
            time.sleep(0.2)
        self.counted[f"run {found['state'] if found else 'gone'}"] += 1

    def delete(self, path: str) -> None:
        with OPENER.open(urllib.request.Request(f"{self.address}{path}", method="DELETE"), timeout=60):
            self.counted["deletions"] += 1

    def figures(self) -> dict[str, Any]:
        """Return resident MB and open files by role, and MB of the database files and of all data."""
        database = sum(file.stat().st_size for file in self.var.glob("*.sqlite3*"))
        everything = sum(file.stat().st_size for file in self.var.rglob("*") if file.is_file())
        found: dict[str, Any] = {"database_mb": round(database / 1e6, 1), "data_mb": round(everything / 1e6, 1)}
        return found | processes(self.var)


def processes(var: Path) -> dict[str, Any]:
    """Return for each role the total resident MB and open files of its processes."""
    found = {f"{role}_{what}": 0.0 for role in ROLES for what in ("mb", "files")}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environment, command = (folder / "environ").read_bytes(), (folder / "cmdline").read_bytes().decode()
            pages = int((folder / "statm").read_text().split()[1])
            files = len(list((folder / "fd").iterdir()))
        except (OSError, UnicodeDecodeError):
            continue
        if f"VAR_DIR={var}".encode() not in environment or "supervisord" in command:
            continue
        for role, word in ROLES.items():
            if word in command:
                found[f"{role}_mb"] += pages * 4096 / 1e6
                found[f"{role}_files"] += files
    return {name: round(value, 1) for name, value in found.items()}


def growth(rounds: list[dict[str, Any]], of: Callable[[dict[str, Any]], float]) -> float:
    """Return the relative growth of the mean from the second last to the last third."""
    third = max(1, len(rounds) // 3)
    before = statistics.mean(of(one) for one in rounds[-2 * third : -third] or rounds[:1])
    return round(statistics.mean(of(one) for one in rounds[-third:]) / before - 1, 3) if before else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description="A day's use in minutes.")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--requests", type=int, default=3000)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--readers", type=int, default=4)
    given = parser.parse_args()
    rounds: list[dict[str, Any]] = []
    with running() as (address, var):
        soak = Soak(address, var, given.readers)
        start = time.perf_counter()
        for _ in range(given.rounds):
            soak.round(given.requests, given.runs)
            time.sleep(REST_S)
            rounds.append(soak.figures())
            print(json.dumps(rounds[-1]), file=sys.stderr, flush=True)
        took = time.perf_counter() - start
    seconds = sorted(soak.seconds)
    print(
        json.dumps(
            {
                "seconds": round(took),
                "counted": dict(soak.counted),
                "request_ms": {
                    "median": round(statistics.median(seconds) * 1e3, 1),
                    "p95": round(seconds[int(len(seconds) * 0.95)] * 1e3, 1),
                    "max": round(seconds[-1] * 1e3),
                },
                "growth": {name: growth(rounds, lambda one, name=name: one[name]) for name in rounds[0]},  # type: ignore[misc]
                "rounds": rounds,
            }
        )
    )


if __name__ == "__main__":
    main()
