"""The application with a large snapshot: upload a file, run it with every node evaluated, open pages.

A client on the same machine reads the log of the run over a websocket meanwhile, as a browser does.
"""

import statistics
import threading
import time
from collections.abc import Iterator
from typing import Any

from websockets.sync.client import connect

from benchmarks.processes import quantile
from benchmarks.product import PATIENCE_S, as_list, running
from scheduler_core.commands.bench import workload

SETTINGS = {"release": "1.34", "percentage": 100, "tie_break": "seed", "seed": 1, "preemption": True}


def pings(url: str, over: threading.Event, seconds: list[float]) -> None:
    """Measure round trips of websocket pings while the run computes."""
    with connect(url, proxy=None, max_size=None) as client:
        while not over.is_set():
            start = time.perf_counter()
            if client.ping().wait(5):
                seconds.append(time.perf_counter() - start)
            try:
                while client.recv(timeout=0.02):
                    pass
            except TimeoutError:
                pass
            except Exception:
                return


def measure(nodes: int = 5000, pods: int = 10000) -> Iterator[dict[str, Any]]:
    document = as_list(workload("basic", nodes, pods))
    with running() as product:
        scenario, ingested = product.call("/api/scenarios", document)
        run = product.start_run(scenario["id"], **SETTINGS)
        over, round_trips = threading.Event(), list[float]()
        url = f"ws{product.address[4:]}/ws/runs/{run}?since=0"
        pinging = threading.Thread(target=pings, args=(url, over, round_trips))
        pinging.start()
        start = time.perf_counter()
        found = product.finished(run, PATIENCE_S)
        elapsed = time.perf_counter() - start
        over.set()
        pinging.join()
        run_page = product.call(f"/runs/{run}/")[1]
        shown = [f"default/pod-{number:06d}" for number in (0, pods // 3, 1)]
        pod_pages = [product.call(f"/runs/{run}/pods/{pod}/")[1] for pod in shown]
        yield {
            "nodes": nodes,
            "pods": pods,
            "state": found["state"],
            "upload_mb": round(len(document) / 1e6, 1),
            "ingest_s": round(ingested, 2),
            "run_s": round(elapsed, 2),
            "pods_per_s": found.get("pods_per_s"),
            "run_page_s": round(run_page, 3),
            "pod_page_s": round(statistics.median(pod_pages), 3),
            "websocket_round_trip_p95_ms": round(quantile(round_trips, 0.95) * 1e3, 1),
            "memory_mb": product.peak_mb(),
        }
