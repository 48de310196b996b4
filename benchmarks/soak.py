"""Rounds of requests, runs, uploads and deletions, and what is left after each.

A round uploads clusters, runs them and samples (single pass and virtual time), watches some over websockets, opens
pages and API URLs from several threads, and deletes all that it created. After a pause, memory, files and the database
are measured. A row for each round, and one with the change from the second to the last third of the rounds.
"""

import random
import statistics
import threading
import time
import urllib.error
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from websockets.sync.client import connect

from benchmarks.processes import memory_mb, open_files, quantile
from benchmarks.product import ROLES, Product, as_list, running
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

    def __init__(self, product: Product, readers: int) -> None:
        self.product, self.readers = product, readers
        self.counted: Counter[str] = Counter()
        self.seconds: list[float] = []
        self.chance = random.Random(1)
        self.lock = threading.Lock()
        self.samples = [one["id"] for one in product.call("/api/scenarios?limit=100")[0]]
        self.clusters = [as_list(workload("spread", *size)) for size in SIZES]

    def ask(self, path: str, body: Any = None) -> Any:
        try:
            answer, took = self.product.call(path, body)
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
        url = f"ws{self.product.address[4:]}/ws/runs/{run}?since=0"
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
        self.product.api("DELETE", path.removeprefix("/api"))
        self.counted["deletions"] += 1

    def figures(self) -> dict[str, Any]:
        """Return MB of the database files and of all data, and by role the sums of resident MB and open files."""
        var = self.product.var
        found: dict[str, Any] = {
            "database_mb": round(sum(file.stat().st_size for file in var.glob("*.sqlite3*")) / 1e6, 1),
            "data_mb": round(sum(file.stat().st_size for file in var.rglob("*") if file.is_file()) / 1e6, 1),
        }
        for role in ROLES:
            pids = self.product.role(role)
            found |= {f"{role}_mb": sum(memory_mb(pids, "VmRSS")), f"{role}_files": open_files(pids)}
        return found


def growth(values: list[float]) -> float:
    """Return the relative growth of the mean from the second last to the last third."""
    third = max(1, len(values) // 3)
    before = statistics.mean(values[-2 * third : -third] or values[:1])
    return round(statistics.mean(values[-third:]) / before - 1, 3) if before else 0.0


def measure(rounds: int = 10, requests: int = 3000, runs: int = 50, readers: int = 4) -> Iterator[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    with running() as product:
        soak, start = Soak(product, readers), time.perf_counter()
        for _ in range(rounds):
            soak.round(requests, runs)
            time.sleep(REST_S)
            found.append(soak.figures())
            yield found[-1]
        yield {
            "seconds": round(time.perf_counter() - start),
            "counted": dict(soak.counted),
            "request_ms": {str(share): round(quantile(soak.seconds, share) * 1e3, 1) for share in (0.5, 0.95, 1)},
            "growth": {name: growth([one[name] for one in found]) for name in found[0]},
        }
