"""Benchmark the scheduling core: every workload at 100, 1,000 and 5,000 nodes, each in its own process.

    python benchmarks/core.py [--runs 3] [--quick] [--snapshots FOLDER] [--update docs/performance.md]

Prints one JSON line per workload and size (the run with the median time), and with --update writes the table and a
description of this machine between the markers in the document. With --snapshots, the pods of the snapshots in a folder
are scheduled again.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scheduler_core.commands.bench import SNAPSHOTS  # noqa: E402
from scheduler_core.commands.mixed_workload import MIXES  # noqa: E402

MIXED_SIZES = ((300, 3000), (1000, 5000), (5000, 5000))
SIZES = ((100, 3000), (1000, 5000), (5000, 10000))
WORKLOADS = ("basic", "spread", "antiaffinity", "prefaffinity")
UPSTREAM = {  # pods/s of upstream's own algorithm, both cores, no trace, where it was measured
    "mixed": {1000: 172, 5000: 66},
    "basic": {100: 1830, 1000: 320, 5000: 60},
    "spread": {100: 1400, 1000: 195, 5000: 35},
    "antiaffinity": {100: 1000, 1000: 182, 5000: 35},
    "prefaffinity": {100: 790, 1000: 197, 5000: 45},
}


def bench(workload: str, nodes: int, pods: int, runs: int, *more: str) -> dict[str, Any]:
    """Return the figures of the run with the median time, with its speed without a trace."""
    untraced = _median(workload, nodes, pods, runs, *more, "--no-trace")
    return _median(workload, nodes, pods, runs, *more) | {"pods_per_s_without_trace": untraced["pods_per_s"]}


def _median(workload: str, nodes: int, pods: int, runs: int, *more: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "scheduler_core", "bench", "--workload", workload]
    command += ["--nodes", str(nodes), "--pods", str(pods), *more]
    figures = []
    for _ in range(runs):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stderr)
        figures.append(json.loads(done.stdout))
    middle = statistics.median_low(f["seconds"] for f in figures)
    return next(f for f in figures if f["seconds"] == middle)


def machine() -> str:
    """Describe processor, cores, memory and versions in a line."""
    try:
        model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
        cores = Path("/proc/cpuinfo").read_text().count("processor\t")
        memory = int(re.search(r"MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text())[1]) // 1024**2  # type: ignore[index]
    except (OSError, TypeError):
        return f"{platform.processor()}, Python {platform.python_version()}"
    import numpy

    name = model[1] if model else platform.processor()
    return f"{name}, {cores} cores, {memory} GiB, Python {platform.python_version()}, numpy {numpy.__version__}"


def table(rows: list[dict[str, Any]]) -> str:
    """Return the figures as a Markdown table."""
    lines = [
        "| workload | nodes | pods | pods/s | pods/s without trace | upstream pods/s | trace bytes/pod | peak memory |",
        "| --- | --: | --: | --: | --: | --: | --: | --: |",
    ]
    for row in rows:
        upstream = UPSTREAM.get(row["workload"], {}).get(row["nodes"], "")
        lines.append(
            f"| {row['workload']} | {row['nodes']:,} | {row['pods']:,} | {row['pods_per_s']:,.0f} "
            f"| {row['pods_per_s_without_trace']:,.0f} | {upstream} "
            f"| {row['trace_bytes_per_pod']:,} | {row['peak_rss_mb']:.0f} MB |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="The scheduling core's benchmarks.")
    parser.add_argument("--runs", type=int, default=3, help="runs of each, of which the median counts")
    parser.add_argument("--quick", action="store_true", help="a tenth of the pods, one run")
    parser.add_argument("--snapshots", type=Path, help="folder of snapshots of clusters")
    parser.add_argument("--update", type=Path, help="the document whose table is replaced")
    given = parser.parse_args()
    divide, runs = (10, 1) if given.quick else (1, given.runs)
    plan = [("mixed", nodes, pods // divide) for nodes, pods in MIXED_SIZES]
    plan += [(name, 1000, 5000 // divide) for name in MIXES if name != "mixed"]
    if given.snapshots:
        plan.append((SNAPSHOTS, 0, 0))
    plan += [(w, nodes, pods // divide) for w in WORKLOADS for nodes, pods in SIZES]
    plan.append(("preemption", 1000, 1000 // divide))
    if (ROOT.parent / "shared" / "real" / "openb").is_dir():
        plan.append(("openb", 0, 0 if divide == 1 else 800))
    rows = []
    for workload, nodes, pods in plan:
        folder = ("--folder", str(given.snapshots.absolute())) if workload == SNAPSHOTS else ()
        rows.append(bench(workload, nodes, pods, runs, *folder))
        print(json.dumps(rows[-1]), flush=True)
    if given.update:
        text = given.update.read_text()
        body = f"<!-- core -->\nMeasured on {machine()}.\n\n{table(rows)}\n<!-- /core -->"
        given.update.write_text(re.sub(r"<!-- core -->.*<!-- /core -->", lambda _: body, text, flags=re.S))


if __name__ == "__main__":
    main()
