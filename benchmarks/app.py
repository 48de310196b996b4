"""Benchmark the application with a large snapshot, as a user would use it.

    python benchmarks/app.py [--nodes 5000] [--pods 10000] [--update docs/performance.md]

Starts the product (`manage.py run`) on a free port with its own data folder, uploads one JSON file, runs it with every
node evaluated, opens pages and websockets meanwhile, and prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from websockets.sync.client import connect  # noqa: E402

from scheduler_core.commands.bench import workload  # noqa: E402

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
ROLES = {"worker": "celery", "web": "kubesched_ui.server"}


def call(url: str, body: Any = None, content_type: str = "application/json") -> tuple[Any, float]:
    """Return the response and its seconds."""
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": content_type} if data is not None else {})
    start = time.perf_counter()
    with OPENER.open(request, timeout=600) as answer:
        text = answer.read()
    took = time.perf_counter() - start
    return (json.loads(text) if answer.headers.get_content_type() == "application/json" else text), took


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running() -> Iterator[tuple[str, Path]]:
    """Start the product for the block. Return (address, data folder)."""
    with tempfile.TemporaryDirectory() as folder:
        var, port = Path(folder) / "var", free_port()
        environment = {**os.environ, "KUBESCHED_VAR_DIR": str(var), "KUBESCHED_PORT": str(port)}
        command = [sys.executable, "manage.py", "run", "--port", str(port)]
        product = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
        try:
            assert product.stdout is not None
            for line in product.stdout:
                if line.startswith("KubeSched is at"):
                    break
            worker_answers(f"http://127.0.0.1:{port}")
            yield f"http://127.0.0.1:{port}", var
        finally:
            product.send_signal(signal.SIGINT)
            product.wait(30)


def worker_answers(address: str) -> None:
    """Return once a worker answers. Workers still load when pages are already served."""
    while True:
        with suppress(urllib.error.HTTPError):
            call(f"{address}/readyz")
            return
        time.sleep(0.1)


def peak_memory(var: Path) -> dict[str, float]:
    """Return role -> peak resident memory, MB, of the largest process of that role with this data folder."""
    peaks = dict.fromkeys(ROLES, 0.0)
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_bytes()
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            peak = re.search(r"VmHWM:\s*(\d+)", (folder / "status").read_text())
        except OSError:
            continue
        if f"VAR_DIR={var}".encode() in environment and peak:
            for role, word in ROLES.items():
                if word in command and "supervisord" not in command:
                    peaks[role] = max(peaks[role], int(peak[1]) / 1024)
    return peaks


def pings(url: str, over: threading.Event, seconds: list[float]) -> None:
    """Return round trips of websocket pings while the run computes. Messages are read as by a browser."""
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


def measure(address: str, objects: list[dict[str, Any]], var: Path) -> dict[str, Any]:
    """Upload, run and open pages."""
    document = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).encode()
    scenario, ingested = call(f"{address}/api/scenarios", document)
    settings = {"release": "1.34", "percentage": 100, "tie_break": "seed", "seed": 1, "preemption": True}
    run, _ = call(f"{address}/api/scenarios/{scenario['id']}/runs", settings)
    over, round_trips = threading.Event(), []
    url = f"ws{address[4:]}/ws/runs/{run['id']}?since=0"
    pinging = threading.Thread(target=pings, args=(url, over, round_trips))
    pinging.start()
    start = time.perf_counter()
    while (state := call(f"{address}/api/runs/{run['id']}")[0])["state"] in ("queued", "running"):
        time.sleep(0.5)
    elapsed = time.perf_counter() - start
    over.set()
    pinging.join()
    pods = [f"default/pod-{i:06d}" for i in (0, len(objects) // 3, 1)]
    _, run_page = call(f"{address}/runs/{run['id']}/")
    pod_pages = [call(f"{address}/runs/{run['id']}/pods/{pod}/")[1] for pod in pods]
    return {
        "state": state["state"],
        "upload_mb": round(len(document) / 1e6, 1),
        "ingest_s": round(ingested, 2),
        "run_s": round(elapsed, 2),
        "pods_per_s": state.get("pods_per_s"),
        "run_page_s": round(run_page, 3),
        "pod_page_s": round(statistics.median(pod_pages), 3),
        "websocket_round_trip_p95_ms": round(sorted(round_trips)[int(len(round_trips) * 0.95)] * 1e3, 1),
        "memory_mb": {role: round(peak) for role, peak in peak_memory(var).items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="The application's benchmark.")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=10000)
    parser.add_argument("--update", type=Path, help="the document whose figures are replaced")
    given = parser.parse_args()
    objects = workload("basic", given.nodes, given.pods)
    with running() as (address, var):
        figures = {"nodes": given.nodes, "pods": given.pods, **measure(address, objects, var)}
    print(json.dumps(figures))
    if given.update:
        rows = "\n".join(f"| {name} | {value} |" for name, value in figures.items())
        body = f"<!-- app -->\n| figure | value |\n| --- | --- |\n{rows}\n<!-- /app -->"
        text = given.update.read_text()
        given.update.write_text(re.sub(r"<!-- app -->.*<!-- /app -->", lambda _: body, text, flags=re.S))


if __name__ == "__main__":
    main()
