"""A sweep: an experiment of many cells without recordings, which compares seeds on the workers of the product.

The seconds, the processor time of the workers as a share of all processors, and how many cells the same experiment
computes when it is started again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.processes import processor_s
from benchmarks.product import Product, running
from scheduler_core.commands.bench import workload


def sweep(product: Product, spec: dict[str, Any]) -> tuple[dict[str, Any], float]:
    """Start an experiment and wait for its end. Return it, and the seconds."""
    document = {"apiVersion": "kubesched.dev/v1alpha1", "kind": "Experiment", "spec": spec}
    start = time.perf_counter()
    found = product.call("/api/experiments", document)[0]
    while found["state"] in ("queued", "running"):
        time.sleep(0.2)
        found = product.call(f"/api/experiments/{found['id']}")[0]
    return found, time.perf_counter() - start


def measure(cells: int = 200, nodes: int = 300, pods: int = 2000) -> Iterator[dict[str, Any]]:
    with running() as product:
        spec: dict[str, Any] = {
            "question": "compare",
            "scenarios": [{"id": product.upload(workload("basic", nodes, pods))}],
        }
        spec |= {"outcomes": False, "releases": ["1.34"], "seeds": {"first": 1, "count": cells}}
        workers, processors = product.role("worker"), os.cpu_count() or 1
        before = processor_s(workers)
        first, seconds = sweep(product, spec)
        used = processor_s(workers) - before
        again, seconds_again = sweep(product, spec)
        yield {
            "cells": cells,
            "nodes": nodes,
            "pods": pods,
            "state": first["state"],
            "error": first["error"],
            "cells_per_s": round(cells / seconds, 2),
            "sweep_s": round(seconds, 2),
            "computing_s": round(first["seconds"], 2),
            "worker_share": round(used / seconds / processors, 3),
            "computing_share": round(first["seconds"] / seconds / processors, 3),
            "again_s": round(seconds_again, 2),
            "computed_again": again["cells_done"] - again["cells_reused"],
            "memory_mb": product.peak_mb(),
        }
