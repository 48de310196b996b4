"""Measure a run of 200,000 pods: times of its pages, API responses and exports, and the memory of the processes.

    python benchmarks/large_run.py [--pods 200000] [--nodes 1000] [--bound 0] [--var FOLDER] [--run N] [--only WORDS]
    python benchmarks/large_run.py --nodes 65000 --pods 500000 --bound 490000 --only page,map,API

Starts the product (`manage.py run`) with its own data folder, or with FOLDER, which is not deleted. With --run, a run
of that folder is queried; otherwise a new one is recorded. Prints JSON: seconds until the first and the last byte,
megabytes received, and the memory of the web process (resident, peak) after each query.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parent.parent
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
APPS = 200
PATIENCE = 900.0  # seconds for one response
# A part of the command line -> the processes of which it is one.
PARTS = {
    b"celery": "workers",
    b"kubesched_ui.server": "web",
    b"multiprocessing": "offloaded",
    b"manage.py": "supervisor",
}
# Settings, unless the environment has others, that let a cluster of 65,000 nodes and 500,000 pods in.
LIMITS = """
    KUBESCHED_INGEST_MAX_NODES=65000 KUBESCHED_INGEST_MAX_PODS=500000 KUBESCHED_INGEST_MAX_BYTES=1073741824
    KUBESCHED_INGEST_MAX_SECONDS=1800 KUBESCHED_INGEST_MAX_MEMORY=17179869184
    KUBESCHED_BESIDE_MAX_MEMORY=8589934592 KUBESCHED_WEB_MAX_MEMORY=4294967296
"""


def cluster(pods: int, nodes: int, bound: int, out: IO[bytes]) -> None:
    """Write a gzipped snapshot. `bound` of its `pods` pods run. One in forty of the others does not fit."""
    with gzip.open(out, "wt", 1) as text:
        text.write('{"kind": "List", "items": [')
        for number, item in enumerate(objects(pods, nodes, bound)):
            text.write(", " * (number > 0) + json.dumps(item))
        text.write("]}")


def objects(pods: int, nodes: int, bound: int) -> Iterator[dict[str, Any]]:
    """Yield the nodes and pods of `cluster`."""
    per_node = 110 if bound else pods * 39 // 40 // nodes
    for number in range(nodes):
        labels = {"kubernetes.io/hostname": f"n{number:04}", "topology.kubernetes.io/zone": f"z{number % 5}"}
        allocatable = {"cpu": "96", "memory": "768Gi", "pods": str(per_node)}
        metadata = {"name": f"n{number:04}", "labels": labels}
        yield {"kind": "Node", "metadata": metadata, "status": {"allocatable": allocatable}}
    for number in range(pods):
        app = f"app-{number % APPS:03}"
        requests = {"cpu": f"{50 + number % 7 * 25}m", "memory": f"{64 << number % 4}Mi"}
        if bound and number >= bound and number % 40 == 0:
            requests["cpu"] = "200"
        metadata = {"name": f"{app}-{number:06}", "namespace": f"team-{number % 20}", "labels": {"app": app}}
        containers = [{"name": "main", "image": f"registry.example/{app}:1", "resources": {"requests": requests}}]
        spec: dict[str, Any] = {"containers": containers}
        pod = {"kind": "Pod", "metadata": metadata, "spec": spec}
        if number < bound:
            spec["nodeName"] = f"n{number % nodes:04}"
            pod["status"] = {"phase": "Running", "startTime": f"2026-01-01T00:{number % 60:02}:00Z"}
        yield pod


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(var: Path) -> Iterator[str]:
    """Start the product for the block. Return its address."""
    port = free_port()
    environment = {**dict(limit.split("=") for limit in LIMITS.split()), **os.environ}
    environment |= {"KUBESCHED_VAR_DIR": str(var), "KUBESCHED_PORT": str(port)}
    product = subprocess.Popen(
        [sys.executable, "manage.py", "run"], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        assert product.stdout is not None
        next(line for line in product.stdout if line.startswith("KubeSched is at"))
        yield f"http://127.0.0.1:{port}"
    finally:
        product.send_signal(signal.SIGINT)
        product.wait(60)


def memory(var: Path, part: str) -> dict[str, float]:
    """Return resident and peak MB of the largest process of this data folder with `part` in its command line."""
    found = {"mb": 0.0, "peak_mb": 0.0}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            mine = f"KUBESCHED_VAR_DIR={var}".encode() in (folder / "environ").read_bytes().split(b"\0")
            if not mine or part.encode() not in (folder / "cmdline").read_bytes():
                continue
            status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
        except OSError:
            continue
        for name, field in (("mb", "VmRSS"), ("peak_mb", "VmHWM")):
            found[name] = max(found[name], round(int(status.get(field, "0").split()[0]) / 1024, 1))
    return found


def processes(var: Path) -> Iterator[tuple[str, Path]]:
    """Yield (`worker`, `web` or the like, folder in /proc) of the processes of this data folder."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"KUBESCHED_VAR_DIR={var}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                line = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
                name = next((name for word, name in PARTS.items() if word in line), "other")
                yield name, folder
        except OSError:
            continue


class Watch:
    """Samples the processes of a data folder during a block.

    `peak`: MB of each part at its peak, with shared pages counted once. `silent`: the longest time without a heartbeat
    of a run in seconds.
    """

    def __init__(self, var: Path) -> None:
        self.var, self.peak, self.silent = var, dict[str, float](), 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._over.wait(1):
            used: Counter[str] = Counter()
            for name, folder in processes(self.var):
                with suppress(OSError):
                    rollup = dict(line.split(":", 1) for line in (folder / "smaps_rollup").read_text().splitlines()[1:])
                    used[name] += int(rollup["Pss"].split()[0])
            for name, kilobytes in used.items():
                self.peak[name] = max(self.peak.get(name, 0.0), round(kilobytes / 1024))
            self.silent = max(self.silent, round(self._silence(), 1))

    def _silence(self) -> float:
        with (
            suppress(sqlite3.Error),
            closing(sqlite3.connect(f"file:{self.var}/kubesched.sqlite3?mode=ro", uri=True)) as db,
        ):
            since = "SELECT (julianday('now') - julianday(heartbeat_at)) * 86400 FROM kubesched_ui_run"
            return max((row[0] for row in db.execute(f"{since} WHERE state = 'running'") if row[0]), default=0.0)
        return 0.0


def fetched(address: str) -> dict[str, Any]:
    """Return {status, first_s, s, mb} of a GET. A page that is being computed (202) is awaited."""
    first = got(address)
    start, last = time.perf_counter(), first
    while last["status"] == 202:
        time.sleep(1)
        last = got(address)
    waited = round(first["s"] + time.perf_counter() - start, 3) if first is not last else first["s"]
    return last | {"first_s": first["first_s"], "s": waited, "first_status": first["status"]}


def got(address: str) -> dict[str, Any]:
    """Return {status, first_s, s, mb} of one GET."""
    start = time.perf_counter()
    try:
        with OPENER.open(address, timeout=PATIENCE) as answer:
            piece = answer.read(1)
            first, size, status = time.perf_counter() - start, len(piece), answer.status
            while piece := answer.read(1 << 16):
                size += len(piece)
    except urllib.error.HTTPError as error:
        first, size, status = time.perf_counter() - start, len(error.read()), error.code
    took = time.perf_counter() - start
    return {"status": status, "first_s": round(first, 3), "s": round(took, 3), "mb": round(size / 1e6, 2)}


def simultaneously(count: int, ask: Callable[[int], dict[str, Any]]) -> dict[str, Any]:
    """Return the seconds until the last of `count` simultaneous requests is answered."""
    answers: list[dict[str, Any]] = []
    threads = [threading.Thread(target=lambda n=n: answers.append(ask(n))) for n in range(count)]  # type: ignore[misc]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    worst = {"status": max(a["status"] for a in answers), "first_s": max(a["first_s"] for a in answers)}
    return worst | {"s": round(time.perf_counter() - start, 3), "mb": sum(a["mb"] for a in answers)}


def posted(address: str, body: bytes | IO[bytes], kind: str, size: int | None = None) -> Any:
    length = {} if size is None else {"Content-Length": str(size)}
    request = urllib.request.Request(address, body, {"Content-Type": kind, **length})
    with OPENER.open(request, timeout=PATIENCE) as answer:
        return json.loads(answer.read())


def recorded(base: str, pods: int, nodes: int, bound: int) -> tuple[int, dict[str, Any]]:
    """Return (number of the run, figures)."""
    with tempfile.TemporaryFile() as file:
        cluster(pods, nodes, bound, file)
        size = file.tell()
        file.seek(0)
        began = time.perf_counter()
        scenario = posted(f"{base}/api/scenarios", file, "application/octet-stream", size)["id"]
    read = time.perf_counter()
    run = posted(f"{base}/api/scenarios/{scenario}/runs", b"{}", "application/json")["id"]
    while True:
        with OPENER.open(f"{base}/api/runs/{run}") as answer:
            found = json.loads(answer.read())
        if found["state"] not in ("queued", "running"):
            break
        time.sleep(2)
    assert found["state"] == "done", found["error"]
    upload, took = round(read - began, 1), round(time.perf_counter() - read, 1)
    return run, {
        "mb": round(size / 1e6, 1),
        "upload_s": upload,
        "run_s": took,
        "cycles": found["cycles_done"],
        "placed": found["placed"],
    }


def questions(base: str, run: int) -> dict[str, Callable[[], dict[str, Any]]]:
    """Return the queries in this order, each for a pod of its own, so that none is cached."""
    with OPENER.open(f"{base}/api/runs/{run}/pods?result=unschedulable&page_size=50") as answer:
        pending = [f"{pod['namespace']}/{pod['name']}" for pod in json.loads(answer.read())["pods"]]
    with OPENER.open(f"{base}/api/runs/{run}") as answer:
        found = json.loads(answer.read())
    scenario, cycles = found["scenario"], found["cycles_done"]
    with OPENER.open(f"{base}/api/runs/{run}/pods?result=scheduled&page={1 + cycles // 300}") as answer:
        placed = [f"{pod['namespace']}/{pod['name']}" for pod in json.loads(answer.read())["pods"]]
    page, api = f"{base}/runs/{run}", f"{base}/api/runs/{run}"
    where = urllib.parse.quote(f'refused_by("NodeResourcesFit") && cycle > {cycles // 2}')
    one = {
        "run page": f"{page}/",
        "run page again": f"{page}/",
        "run page, searched": f"{page}/?q=app-07&sort=-score",
        "run page, last of the table": f"{page}/?page={cycles // 100}",
        "pod page, pending": f"{page}/pods/{pending[0]}/",
        "pod page, placed": f"{page}/pods/{placed[0]}/",
        "node page": f"{page}/nodes/n0500/",
        "export page": f"{page}/export/",
        "list of runs": f"{base}/runs/",
        "list of scenarios": f"{base}/scenarios/",
        "scenario page": f"{base}/scenarios/{scenario}/",
        "scenario pods": f"{base}/scenarios/{scenario}/pods/",
        "scenario nodes": f"{base}/scenarios/{scenario}/nodes/",
        "home": f"{base}/",
        "API: run": api,
        "API: pods": f"{api}/pods?page_size=1000",
        "API: events": f"{api}/events?limit=1000",
        "charts": f"{page}/charts/fullness/",
        "together": f"{page}/together/",
        "why": f"{page}/pods/{pending[1]}/why/",
        "why, again": f"{page}/pods/{pending[1]}/why/",
        "remedies": f"{api}/pods/{pending[2]}/remedies",
        "win a node": f"{page}/pods/{placed[1]}/why/?node=n0007",
        "provenance": f"{api}/pods/{placed[2]}/provenance?point=total",
        "map": f"{api}/map?cycle={cycles * 3 // 4}",
        "map of the scenario": f"{base}/api/scenarios/{scenario}/map",
        "state": f"{api}/state?cycle={cycles * 3 // 4}&limit=10",
        "find": f"{api}/find?where={where}",
        "compare with itself": f"{base}/api/compare?a={run}&b={run}",
        "compare page": f"{base}/compare/{run}/{run}/",
    }
    queries: dict[str, Callable[[], dict[str, Any]]] = {n: (lambda a=a: fetched(a)) for n, a in one.items()}  # type: ignore[misc]
    queries["why, four at once"] = lambda: simultaneously(4, lambda n: fetched(f"{page}/pods/{pending[10 + n]}/why/"))
    queries["pages during four why"] = lambda: during(
        lambda n: fetched(f"{page}/pods/{pending[20 + n]}/why/"), lambda: fetched(f"{page}/pods/{placed[5]}/")
    )
    for form in ("jsonl", "simulator", "run", "parquet"):
        queries[f"export {form}"] = lambda form=form: fetched(f"{api}/export?format={form}")  # type: ignore[misc]
    return queries


def during(ask: Callable[[int], dict[str, Any]], look: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the slowest of pages opened every quarter of a second during four requests."""
    asking = [threading.Thread(target=ask, args=(n,)) for n in range(4)]
    for thread in asking:
        thread.start()
    seen = [look()]
    while any(thread.is_alive() for thread in asking):
        time.sleep(0.25)
        seen.append(look())
    return max(seen, key=lambda answer: float(answer["s"])) | {"pages": len(seen)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=200_000)
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--bound", type=int, default=0)
    parser.add_argument("--var", type=Path)
    parser.add_argument("--run", type=int)
    parser.add_argument("--only", default="", help="Questions with one of these words, between commas.")
    given = parser.parse_args()
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        var = (given.var or Path(folder) / "var").absolute()
        run = given.run
        if run is None:
            with running(var) as base, Watch(var) as watch:
                run, results["recording"] = recorded(base, given.pods, given.nodes, given.bound)
            results["recording"] |= {"peak_mb": watch.peak, "longest_without_heartbeat_s": watch.silent}
            print("recording", json.dumps(results["recording"]), file=sys.stderr, flush=True)
            results["recording"]["database_mb"] = round((var / "kubesched.sqlite3").stat().st_size / 1e6)
        with running(var) as base:
            results["web at first"] = memory(var, "kubesched_ui.server")
            for name, ask in questions(base, run).items():
                if any(word in name for word in given.only.split(",")):
                    results[name] = ask() | {"web": memory(var, "kubesched_ui.server")}
                    print(name, json.dumps(results[name]), file=sys.stderr, flush=True)
            results["asking"] = memory(var, "kubesched_ui.queries")
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
