"""Benchmark the debugger: queries to a large run over HTTP, as a browser sends them.

    python benchmarks/debugger.py [--nodes 5000] [--pods 10000] [--workload basic] [--update docs/performance.md]

Starts the product with its own data folder, uploads a snapshot, runs it with every node evaluated and sends queries.
Cold is the first query of a kind after a restart of the product. Prints one JSON line; times are milliseconds.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.app import call, free_port, peak_memory  # noqa: E402
from scheduler_core.commands.bench import workload  # noqa: E402

PARTS = ("state", "find", "provenance", "compare")
EXPRESSIONS = {
    "by_result": 'result == "unschedulable" && refused_by("NodeAffinity")',
    "by_score": 'node.startsWith("node-") && score < 300',
    "ties": "tied > 1 && margin == 0",
    "refused_on_a_node": 'refused_on("node-02500")',
    "by_reason": 'reason("Insufficient cpu") || message.contains("taint")',
    "by_label": 'labels[?"app"].orValue("") == "a3" && requests["cpu"] >= 100',
    "every_variable": "pod == '' || name == '' || namespace == '' || owner == 'x' || priority > 9 || attempt > 9 || "
    "cycle < 0 || t > 9 || result == '' || nominated != '' || message == 'x' || feasible < 0 || nodes < 0 || "
    "looked < 0 || score < 0 || margin < 0 || tied < 0 || duration_ms < 0 || size(victims) > 9 || size(refusals) > 9",
}


@contextmanager
def product(var: Path) -> Iterator[str]:
    """Start the product. Return its address."""
    port = free_port()
    environment = {**os.environ, "KUBESCHED_VAR_DIR": str(var), "KUBESCHED_PORT": str(port)}
    command = [sys.executable, "manage.py", "run", "--port", str(port)]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("KubeSched is at"):
                break
        yield f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)


def timed(url: str) -> float:
    """Return the milliseconds of a query."""
    return round(call(url)[1] * 1e3, 1)


def median(urls: list[str]) -> float:
    return round(statistics.median(map(timed, urls)), 1)


def find_url(run: str, where: str) -> str:
    return f"{run}/find?{urllib.parse.urlencode({'where': where})}"


def ran(address: str, objects: list[dict[str, Any]]) -> str:
    """Return the address of a finished run in the API, without the host."""
    document = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).encode()
    scenario, _ = call(f"{address}/api/scenarios", document)
    settings = {"release": "1.34", "percentage": 100, "seed": 1}
    run, _ = call(f"{address}/api/scenarios/{scenario['id']}/runs", settings)
    while call(f"{address}{run['url']}")[0]["state"] in ("queued", "running"):
        time.sleep(0.5)
    return str(run["url"])


def visited(address: str) -> None:
    """Open the list of runs, which starts the offload worker."""
    call(f"{address}/api/runs")
    time.sleep(4)


def cold(var: Path, question: str) -> float:
    """Send the first query of its kind to a new product."""
    with product(var) as address:
        visited(address)
        return timed(f"{address}{question}")


def state(var: Path, path: str, cycles: int) -> dict[str, Any]:
    """Query the cluster at any cycle, and the changes since another."""
    moments = [1 + cycles * i // 20 for i in range(21)]
    found = {"cold": cold(var, f"{path}/state?cycle={cycles // 2}")}
    with product(var) as address:
        run = f"{address}{path}"
        timed(f"{run}/state")
        found["median"] = median([f"{run}/state?cycle={k}" for k in moments])
        found["slowest"] = max(timed(f"{run}/state?cycle={k}") for k in moments)
        found["since_the_cycle_before"] = median([f"{run}/state?cycle={k + 1}&since={k}" for k in moments[:-1]])
        found["since_the_beginning"] = median([f"{run}/state?cycle={k}&since=1" for k in moments])
        found["web_memory_mb"] = round(peak_memory(var)["web"])
    return found


def find(var: Path, path: str) -> dict[str, Any]:
    """Search all cycles with each expression."""
    found: dict[str, Any] = {"cold": cold(var, find_url(path, EXPRESSIONS["by_result"]))}
    with product(var) as address:
        timed(find_url(f"{address}{path}", "true"))
        for name, where in EXPRESSIONS.items():
            found[name] = median([find_url(f"{address}{path}", where)] * 3)
    return found


def provenance(var: Path, path: str, cycles: int) -> dict[str, Any]:
    """Query numbers of pods of all parts of the run: a first query about a cycle, near the previous one and far from
    it,
    and the next ones about the same cycle.
    """

    def questions_about(run: str, cycle: int) -> list[str]:
        pod = call(f"{run}/find?where=cycle%20%3D%3D%20{cycle}")[0]["matches"][0]["pod"]
        cycle_data = call(f"{run}/pods/{pod}")[0]["cycles"][-1]
        where = f"{run}/pods/{pod}/provenance?"
        if not cycle_data.get("score"):
            return [
                f"{where}point=filter&plugin={plugin}&node=node-00001" for plugin in ("NodeResourcesFit", "NodeName")
            ]
        ways = [(point, plugin) for plugin in cycle_data["score"] for point in ("raw", "normalized")]
        return [f"{where}point=total", *(f"{where}point={point}&plugin={plugin}" for point, plugin in ways)]

    moments = [1 + (cycles - 20) * i // 8 for i in range(9)]
    found: dict[str, Any] = {}
    with product(var) as address:
        run = f"{address}{path}"
        questions = {k: questions_about(run, k) for k in [*moments, *(k + 10 for k in moments)]}
    with product(var) as address:
        visited(address)
        at = {k: [f"{address}{url[url.index('/api/') :]}" for url in urls] for k, urls in questions.items()}
        found["cold"] = timed(at[moments[4]][0])
        found["far_cycle"] = median([at[k][0] for k in (moments[0], moments[8], moments[2], moments[6])])
        near = []
        for k in moments:
            timed(at[k][0])
            near.append(timed(at[k + 10][0]))
        found["near_cycle"] = round(statistics.median(near), 1)
        found["same_cycle"] = round(statistics.median([timed(url) for url in at[moments[8] + 10]]), 1)
        found["slowest_same_cycle"] = max(timed(url) for url in at[moments[8] + 10])
        found["web_memory_mb"] = round(peak_memory(var)["web"])
    return found


def compare(var: Path, path: str) -> dict[str, Any]:
    """Compare with a fork from the middle with other weights. Create a fork before the last cycle."""
    with product(var) as address:
        run = call(f"{address}{path}")[0]
        cycles, number = run["cycles_done"], run["id"]
        changes = [{"weight": {"plugin": "NodeResourcesBalancedAllocation", "weight": 3}}]
        took = forked(address, path, {"at": cycles, "changes": changes})[1]
        other = forked(address, path, {"at": cycles // 2, "changes": changes})[0]
    found = {"cold": cold(var, f"/api/compare?a={number}&b={other}")}
    found["page_cold"] = cold(var, f"/compare/{number}/{other}/")
    with product(var) as address:
        timed(f"{address}/api/compare?a={number}&b={other}")
        found["again"] = median([f"{address}/api/compare?a={number}&b={other}"] * 3)
        found["page"] = median([f"{address}/compare/{number}/{other}/"] * 3)
    return found | {"fork_before_the_last_cycle_until_done": took}


def forked(address: str, path: str, wanted: dict[str, Any]) -> tuple[int, float]:
    """Return the number of a finished fork, and its milliseconds."""
    began = time.perf_counter()
    fork, _ = call(f"{address}{path}/fork", wanted)
    while call(f"{address}{fork['url']}")[0]["state"] in ("queued", "running"):
        time.sleep(0.05)
    return fork["id"], round((time.perf_counter() - began) * 1e3, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description="The debugger's benchmark.")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=10000)
    parser.add_argument("--workload", default="basic", help="as of python -m scheduler_core bench")
    parser.add_argument("--only", choices=PARTS, help="this part alone")
    parser.add_argument("--update", type=Path, help="the document whose figures are replaced")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        var = Path(folder) / "var"
        with product(var) as address:
            path = ran(address, workload(given.workload, given.nodes, given.pods))
            cycles = call(f"{address}{path}")[0]["cycles_done"]
        figures = {"nodes": given.nodes, "pods": given.pods, "workload": given.workload, "cycles": cycles}
        ways = {"state": lambda: state(var, path, cycles), "find": lambda: find(var, path)}
        ways |= {"provenance": lambda: provenance(var, path, cycles)}
        ways |= {"compare": lambda: compare(var, path)}
        figures |= {part: ask() for part, ask in ways.items() if given.only in (None, part)}
    print(json.dumps(figures))
    if given.update:
        pairs = [(f"{part} {name}", value) for part in PARTS for name, value in figures.get(part, {}).items()]
        rows = "\n".join(f"| {name.replace('_', ' ')} | {value} |" for name, value in pairs)
        body = f"<!-- debugger -->\n| question | ms |\n| --- | --: |\n{rows}\n<!-- /debugger -->"
        text = given.update.read_text()
        given.update.write_text(re.sub(r"<!-- debugger -->.*<!-- /debugger -->", lambda _: body, text, flags=re.S))


if __name__ == "__main__":
    main()
