"""A large run: its pages, API responses and exports, and the memory of the processes.

`python -m benchmarks large_run --nodes 65000 --pods 500000 --bound 490000 --only page,map,API` is a large cluster.
With --run, a run of the data folder --var is queried; otherwise a new one is recorded. --only: questions with one of
these words. A row for each question: seconds until the first byte, seconds until the last (first, median and slowest
of all its addresses), megabytes received, and the memory of the web process (resident, peak) afterwards.
"""

from __future__ import annotations

import statistics
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.large_stages import LIMITS, cluster
from benchmarks.processes import memory_mb
from benchmarks.product import Product, running

EXPRESSIONS = (
    'result == "unschedulable" && refused_by("NodeResourcesFit")',
    'node.startsWith("n") && score < 300',
    "tied > 1 && margin == 0",
    'refused_on("n0500")',
    'reason("Insufficient cpu") || message.contains("taint")',
    'labels[?"app"].orValue("") == "app-003" && requests["cpu"] >= 100',
    "pod == '' || name == '' || namespace == '' || owner == 'x' || priority > 9 || attempt > 9 || cycle < 0 || t > 9 ||"
    " result == '' || nominated != '' || message == 'x' || feasible < 0 || nodes < 0 || looked < 0 || score < 0 ||"
    " margin < 0 || tied < 0 || duration_ms < 0 || size(victims) > 9 || size(refusals) > 9",
)


def got(address: str) -> dict[str, Any]:
    """Return {status, first_s, s, mb} of a GET. A page that is being computed (202) is awaited."""
    start, first = time.perf_counter(), 0.0
    while True:
        try:
            with urllib.request.urlopen(address, timeout=900) as answer:
                size = len(answer.read(1))
                first = first or time.perf_counter() - start
                while piece := answer.read(1 << 16):
                    size += len(piece)
                status = answer.status
        except urllib.error.HTTPError as error:
            size, status = len(error.read()), error.code
        if status != 202:
            return {"status": status, "first_s": first, "s": time.perf_counter() - start, "mb": size / 1e6}
        time.sleep(1)


def questions(product: Product, run: int) -> dict[str, list[str]]:
    """Return question -> addresses. Each that is computed is about a pod of its own, so that none is cached."""
    page, api = f"/runs/{run}", f"/api/runs/{run}"

    def pods(query: str) -> list[str]:
        return [f"{pod['namespace']}/{pod['name']}" for pod in product.call(f"{api}/pods?{query}")[0]["pods"]]

    found = product.call(api)[0]
    scenario, cycles = found["scenario"], found["cycles_done"]
    pending = pods("result=unschedulable&page_size=50")
    placed = pods(f"result=scheduled&page={1 + cycles // 300}")
    moments = [1 + cycles * i // 20 for i in range(21)]
    expressions = [urllib.parse.urlencode({"where": where}) for where in EXPRESSIONS]
    return {
        "run page": [f"{page}/"] * 3,
        "run page, searched": [f"{page}/?q=app-07&sort=-score"],
        "run page, last of the table": [f"{page}/?page={cycles // 100}"],
        "pod page, pending": [f"{page}/pods/{pod}/" for pod in pending[:3]],
        "pod page, placed": [f"{page}/pods/{pod}/" for pod in placed[:3]],
        "node page": [f"{page}/nodes/n0005/"],
        "export page": [f"{page}/export/"],
        "list of runs": ["/runs/"],
        "list of scenarios": ["/scenarios/"],
        "scenario page": [f"/scenarios/{scenario}/"],
        "scenario pods": [f"/scenarios/{scenario}/pods/"],
        "scenario nodes": [f"/scenarios/{scenario}/nodes/"],
        "home": ["/"],
        "API: run": [api],
        "API: pods": [f"{api}/pods?page_size=1000"],
        "API: events": [f"{api}/events?limit=1000"],
        "charts": [f"{page}/charts/fullness/"],
        "together": [f"{page}/together/"],
        "why": [f"{page}/pods/{pod}/why/" for pod in pending[3:6]],
        "remedies": [f"{api}/pods/{pod}/remedies" for pod in pending[6:9]],
        "win a node": [f"{page}/pods/{placed[3]}/why/?node=n0007"],
        "provenance": [f"{api}/pods/{pod}/provenance?point=total" for pod in (*placed[4:8], placed[7])],
        "map": [f"{api}/map?cycle={cycles * 3 // 4}"],
        "map of the scenario": [f"/api/scenarios/{scenario}/map"],
        "state": [f"{api}/state?cycle={cycle}&limit=10" for cycle in moments],
        "find": [f"{api}/find?{where}" for where in expressions],
        "compare with itself": [f"/api/compare?a={run}&b={run}"] * 2,
        "compare page": [f"/compare/{run}/{run}/"] * 2,
        **{f"export {form}": [f"{api}/export?format={form}"] for form in ("jsonl", "simulator", "run", "parquet")},
    }


def recorded(product: Product, pods: int, nodes: int, bound: int) -> Iterator[dict[str, Any]]:
    """Upload the cluster and run it. Yield the figures of both."""
    with tempfile.TemporaryFile() as file:
        cluster(pods, nodes, bound, file)
        size = file.tell()
        file.seek(0)
        scenario, took = product.call("/api/scenarios", file.read())
    yield {"question": "upload", "s": round(took, 1), "mb": round(size / 1e6, 1), "peak_mb": product.peak_mb()}
    began = time.perf_counter()
    found = product.run(scenario["id"])
    assert found["state"] == "done", found["error"]
    figures = {name: found[name] for name in ("id", "cycles_done", "placed")}
    database = round((product.var / "kubesched.sqlite3").stat().st_size / 1e6)
    took, peak = time.perf_counter() - began, product.peak_mb()
    yield {"question": "run", "s": round(took, 1), **figures, "database_mb": database, "peak_mb": peak}


def measure(
    pods: int = 200_000, nodes: int = 1_000, bound: int = 0, var: Path | None = None, run: int = 0, only: str = ""
) -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        var = (var or Path(folder) / "var").absolute()
        if not run:
            with running(var, **LIMITS) as product:
                for row in recorded(product, pods, nodes, bound):
                    yield row
                    run = row.get("id", 0)
        with running(var, **LIMITS) as product:
            for name, addresses in questions(product, run).items():
                if not any(word in name for word in only.split(",")):
                    continue
                answers = [got(product.address + one) for one in addresses]
                seconds = [answer["s"] for answer in answers]
                middle, web = statistics.median(seconds), product.role("web")
                yield {
                    "question": name,
                    "status": max(answer["status"] for answer in answers),
                    "first_byte_s": round(answers[0]["first_s"], 3),
                    "s": [round(one, 3) for one in (seconds[0], middle, max(seconds))],
                    "mb": round(answers[0]["mb"], 2),
                    "web_mb": memory_mb(web, "VmRSS") + memory_mb(web, "VmHWM"),
                }
