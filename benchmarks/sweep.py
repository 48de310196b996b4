"""Benchmark a sweep: an experiment of many cells, computed by the workers of `manage.py run`.

    python benchmarks/sweep.py [--cells 200] [--nodes 300] [--pods 2000]

Starts the product on a free port with its own data folder, uploads a cluster, and compares seeds without recordings.
Prints one JSON line: the seconds, the processor time of all processes of the workers as a share of all processors, and
how many cells the same experiment computes when it is started again.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.app import call, peak_memory, running  # noqa: E402
from scheduler_core.commands.bench import workload  # noqa: E402

TICKS = os.sysconf("SC_CLK_TCK")
ACTIVE = ("queued", "running")


def processor_seconds(var: Path, word: str) -> float:
    """Return the processor time, user and system, of the processes with this data folder and `word` in their command,
    with that of their children that have ended."""
    total = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"VAR_DIR={var}".encode() not in (folder / "environ").read_bytes():
                continue
            if word not in (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"):
                continue
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(map(int, fields[11:15]))
    return total / TICKS


def runnable_seconds(var: Path, word: str) -> float:
    """Return the seconds that the threads of these processes ran or waited for a processor. On a busy machine, only
    this shows whether the workers always have work."""
    total = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"VAR_DIR={var}".encode() not in (folder / "environ").read_bytes():
                continue
            if word not in (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"):
                continue
            for file in folder.glob("task/*/schedstat"):
                total += sum(map(int, file.read_text().split()[:2]))
        except OSError:
            continue
    return total / 1e9


def sweep(address: str, document: dict[str, Any]) -> tuple[dict[str, Any], float]:
    """Start an experiment and wait for its end. Return it, and the seconds."""
    start = time.perf_counter()
    found = call(f"{address}/api/experiments", document)[0]
    while found["state"] in ACTIVE:
        time.sleep(0.2)
        found = call(f"{address}/api/experiments/{found['id']}")[0]
    return found, time.perf_counter() - start


def measure(address: str, var: Path, cells: int, objects: list[dict[str, Any]]) -> dict[str, Any]:
    """Upload the objects, sweep, and sweep again."""
    uploaded = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).encode()
    scenario, _ = call(f"{address}/api/scenarios", uploaded)
    spec = {"question": "compare", "scenarios": [{"id": scenario["id"]}], "outcomes": False}
    spec |= {"releases": ["1.34"], "seeds": {"first": 1, "count": cells}}
    document = {"apiVersion": "kubesched.dev/v1alpha1", "kind": "Experiment", "spec": spec}
    before, runnable_before = processor_seconds(var, "celery"), runnable_seconds(var, "celery")
    first, seconds = sweep(address, document)
    used, runnable = processor_seconds(var, "celery") - before, runnable_seconds(var, "celery") - runnable_before
    again, seconds_again = sweep(address, document)
    return {
        "state": first["state"],
        "error": first["error"],
        "cells_per_s": round(cells / seconds, 2),
        "sweep_s": round(seconds, 2),
        "computing_s": round(first["seconds"], 2),
        "processors": os.cpu_count(),
        "worker_share": round(used / seconds / (os.cpu_count() or 1), 3),
        "runnable_share": round(runnable / seconds / (os.cpu_count() or 1), 3),
        "computing_share": round(first["seconds"] / seconds / (os.cpu_count() or 1), 3),
        "again_s": round(seconds_again, 2),
        "computed_again": again["cells_done"] - again["cells_reused"],
        "memory_mb": {role: round(peak) for role, peak in peak_memory(var).items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="The benchmark of a sweep.")
    parser.add_argument("--cells", type=int, default=200)
    parser.add_argument("--nodes", type=int, default=300)
    parser.add_argument("--pods", type=int, default=2000)
    given = parser.parse_args()
    with running() as (address, var):
        figures = measure(address, var, given.cells, workload("basic", given.nodes, given.pods))
    print(json.dumps({"cells": given.cells, "nodes": given.nodes, "pods": given.pods, **figures}))


if __name__ == "__main__":
    main()
