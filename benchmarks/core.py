"""The scheduling core: every workload at several sizes, each in its own process; the run with the median time.

With --snapshots, the pods of the snapshots in a folder are scheduled again. --quick: a tenth of the pods, one run.
"""

import platform
import re
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.processes import in_new_process
from scheduler_core.commands.bench import OPENB, SNAPSHOTS, run
from scheduler_core.commands.mixed_workload import MIXES

MIXED_SIZES = ((300, 3000), (1000, 5000), (5000, 5000))
SIZES = ((100, 3000), (1000, 5000), (5000, 10000))
WORKLOADS = ("basic", "spread", "antiaffinity", "prefaffinity")
COLUMNS = {
    "workload": "{workload}",
    "nodes": "{nodes:,}",
    "pods": "{pods:,}",
    "pods/s": "{pods_per_s:,.0f}",
    "pods/s without trace": "{pods_per_s_without_trace:,.0f}",
    "trace bytes/pod": "{trace_bytes_per_pod:,}",
    "peak memory": "{peak_rss_mb:.0f} MB",
}
SETTINGS = (100, "1.34")  # percentage of nodes to score, release


def head() -> str:
    """Describe processor, cores, memory and versions in a line."""
    import numpy

    try:
        processors = Path("/proc/cpuinfo").read_text()
        model = re.search(r"model name\s*: (.*)", processors)
        name = model[1] if model else platform.processor()
        memory = int(re.search(r"MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text())[1]) // 1024**2  # type: ignore[index]
        name += f", {processors.count('processor	')} cores, {memory} GiB"
    except (OSError, TypeError):
        name = platform.processor()
    return f"Measured on {name}, Python {platform.python_version()}, numpy {numpy.__version__}.\n"


def median(runs: int, *arguments: Any) -> dict[str, Any]:
    """Return the figures of the run with the median time."""
    figures = [in_new_process(run, *arguments) for _ in range(runs)]
    middle = statistics.median_low(one["seconds"] for one in figures)
    return next(one for one in figures if one["seconds"] == middle)


def measure(runs: int = 3, quick: bool = False, snapshots: Path | None = None) -> Iterator[dict[str, Any]]:
    divide, runs = (10, 1) if quick else (1, runs)
    plan = [("mixed", nodes, pods // divide) for nodes, pods in MIXED_SIZES]
    plan += [(name, 1000, 5000 // divide) for name in MIXES if name != "mixed"]
    plan += [(SNAPSHOTS, 0, 0)] if snapshots else []
    plan += [(name, nodes, pods // divide) for name in WORKLOADS for nodes, pods in SIZES]
    plan += [("preemption", 1000, 1000 // divide), ("openb", 0, 0 if divide == 1 else 800)]
    for workload, nodes, pods in plan:
        folder = snapshots if workload == SNAPSHOTS else OPENB
        row, untraced = (median(runs, workload, nodes, pods, *SETTINGS, folder, trace) for trace in (True, False))
        yield row | {"pods_per_s_without_trace": untraced["pods_per_s"]}
