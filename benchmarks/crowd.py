"""Measure many users: small uploads during large ones, runs of samples during a huge run.

    python -m benchmarks.crowd [--postgres] [--uploads 20] [--mb 20] [--pods 200000] [--seconds 60]

Starts the product (`manage.py run`) with its own data folder, on SQLite or on its own PostgreSQL server, and prints one
JSON line: times of 1 kB uploads and of the first page during the large uploads; waiting and total times of runs of
samples during a run of so many pods.
"""

from __future__ import annotations

import argparse
import json
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import datetime
from typing import Any

from benchmarks.app import call, running

BYTES = "application/octet-stream"


def cluster(pods: int, nodes: int = 100) -> bytes:
    """Return a v1 List. A pod has about 190 bytes."""
    allocatable = {"cpu": "512", "memory": "4Ti", "pods": "5000"}
    items: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{n}"}, "status": {"allocatable": allocatable}}
        for n in range(nodes)
    ]
    requests = {"resources": {"requests": {"cpu": "100m"}}}
    items += [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"p{n}", "namespace": "default"},
            "spec": {"containers": [{"name": "c", "image": "x", **requests}]},
        }
        for n in range(pods)
    ]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()


def summary(seconds: list[float]) -> dict[str, Any]:
    """Return number, median, 95th percentile and maximum of times."""
    some = sorted(seconds)
    if not some:
        return {"number": 0}
    p95 = some[min(len(some) - 1, int(len(some) * 0.95))]
    return {
        "number": len(some),
        "median_s": round(some[len(some) // 2], 3),
        "p95_s": round(p95, 3),
        "max_s": round(some[-1], 3),
    }


def uploads(address: str, number: int, mb: float) -> dict[str, Any]:
    """Upload large files at once, and small ones one after the other until the last large one is stored."""
    large, small = cluster(int(mb * 1e6 / 189)), cluster(3, 2)
    began, over = time.perf_counter(), threading.Event()
    times: dict[str, list[float]] = {"large": [], "small": [], "page": []}

    def send(_: int) -> None:
        times["large"].append(call(f"{address}/api/scenarios?name=large", large, BYTES)[1])

    def stream(what: str, url: str, body: bytes | None) -> None:
        while not over.wait(0.2):
            times[what].append(call(url, body, BYTES)[1])

    others = [
        threading.Thread(target=stream, args=("small", f"{address}/api/scenarios?name=small", small)),
        threading.Thread(target=stream, args=("page", f"{address}/", None)),
    ]
    for thread in others:
        thread.start()
    with ThreadPoolExecutor(number) as pool:
        list(pool.map(send, range(number)))
    over.set()
    for thread in others:
        thread.join()
    whole = round(time.perf_counter() - began, 1)
    return {"large_mb": round(len(large) / 1e6, 1), "all_stored_s": whole} | {k: summary(v) for k, v in times.items()}


def when(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def runs(address: str, pods: int, seconds: float) -> dict[str, Any]:
    """Play a huge run, and meanwhile runs of samples one after the other."""
    huge, _ = call(f"{address}/api/scenarios?name=huge", cluster(pods, 500), BYTES)
    sample = next(s for s in call(f"{address}/api/scenarios?limit=1000")[0] if s["origin"] == "sample")
    expected = call(f"{address}/api/scenarios/{huge['id']}/estimate")[0]
    started, _ = call(f"{address}/api/scenarios/{huge['id']}/runs", {})
    while (long := call(f"{address}/api/runs/{started['id']}")[0])["cycles_done"] == 0 and long["state"] != "failed":
        time.sleep(0.5)
    waited, answered, end = [], [], time.monotonic() + seconds
    while time.monotonic() < end:
        run, took = call(f"{address}/api/scenarios/{sample['id']}/runs", {})
        while (found := call(f"{address}/api/runs/{run['id']}")[0])["state"] in ("queued", "running"):
            time.sleep(0.02)
        waited.append((when(found["started_at"]) - when(found["created_at"])).total_seconds())
        answered.append(took)
        time.sleep(0.5)
    long = call(f"{address}/api/runs/{started['id']}")[0]
    call(f"{address}/api/runs/{started['id']}/cancel", {})
    return {
        "pods": pods,
        "estimate": expected["told"],
        "long": {name: long[name] for name in ("state", "lane", "cycles_done", "pods_per_s")},
        "sample_waited": summary(waited),
        "start_answered": summary(answered),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Small uploads during large ones, runs of samples during a huge run.")
    parser.add_argument("--postgres", action="store_true", help="on PostgreSQL and Redis instead of SQLite and Valkey")
    parser.add_argument("--uploads", type=int, default=20)
    parser.add_argument("--mb", type=float, default=20)
    parser.add_argument("--pods", type=int, default=200_000)
    parser.add_argument("--seconds", type=float, default=60, help="for samples during the huge run")
    given = parser.parse_args()
    with ExitStack() as services:
        if given.postgres:
            from tests.kubesched_ui.instance import RedisServer, postgres_server

            redis = RedisServer()
            services.callback(redis.kill)
            os.environ |= {
                "KUBESCHED_DATABASE_URL": services.enter_context(postgres_server()).url,
                "KUBESCHED_REDIS_URL": redis.url,
            }
        address, _ = services.enter_context(running())
        figures: dict[str, Any] = {"database": "PostgreSQL" if given.postgres else "SQLite"}
        figures["load_before"] = round(os.getloadavg()[0], 1)
        figures["uploads"] = uploads(address, given.uploads, given.mb)
        figures["runs"] = runs(address, given.pods, given.seconds)
        figures["load_after"] = round(os.getloadavg()[0], 1)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
