"""KubeSched compared with kube-scheduler's own algorithm (Go), in turn, on the same pods; times are processor time.

KUBERNETES is the source of Kubernetes, or of a Go module that vendors it; nothing is written there. The module
`kube_scheduler` is built into it by an overlay. It calls upstream's `schedulingCycle` for one pod after another, with a
cache that was filled before: UpdateSnapshot, PreFilter, Filter, PreScore, Score, PostFilter, assume, Reserve and
Permit, parallelism 16. It does not run the queue, signing, the binding cycle, events and the API, and records nothing.
KubeSched runs all of its cycle, and records and encodes it.
"""

import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.core import MIXED_SIZES, WORKLOADS, head
from benchmarks.processes import in_new_process
from scheduler_core.commands.bench import run, workload

SOURCES = Path(__file__).parent / "kube_scheduler"
RELEASE = "1.36"
# Workload, nodes, pods and percentageOfNodesToScore.
PLAN = [
    *(("mixed", nodes, pods, 100) for nodes, pods in MIXED_SIZES),
    ("mixed", 5000, 5000, 0),
    *((name, nodes, 1000, 100) for nodes in (1000, 5000) for name in WORKLOADS),
]
COLUMNS = {
    "workload": "{workload}",
    "nodes": "{nodes:,}",
    "pods": "{pods:,}",
    "percentage": "{percentage}",
    "pods/s": "{pods_per_s:,.0f}",
    "upstream": "{upstream_pods_per_s:,.0f}",
    "ratio": "{ratio:.1f}",
    "upstream, by the clock": "{upstream_pods_per_s_by_clock:,.0f}",
    "peak memory": "{peak_mb:.0f} MB",
    "upstream's": "{upstream_peak_mb} MB",
}

__all__ = ["head", "measure"]


def measure(kubernetes: Path, go: str = "go", rounds: int = 2) -> Iterator[dict[str, Any]]:
    """Yield a row for each workload: the means of the rounds. Raises SystemExit if they schedule other numbers of
    pods, and CalledProcessError if Go fails."""
    with tempfile.TemporaryDirectory() as folder:
        program = build(kubernetes.absolute(), go, Path(folder))
        for name, nodes, pods, percentage in PLAN:
            objects = Path(folder, "objects.json")
            in_new_process(write, objects, name, nodes, pods)  # the peak of a process counts that of its parent
            ours, theirs = [], []
            for _ in range(rounds):
                ours.append(in_new_process(run, name, nodes, pods, percentage, RELEASE))
                command = [program, objects, str(percentage)]
                theirs.append(json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout))
            scheduled = {one["scheduled"] for one in (*ours, *theirs)}
            if len(scheduled) > 1:
                raise SystemExit(f"{name}, {nodes} nodes: {scheduled} pods are scheduled")
            seconds, upstream, clock = (
                sum(one[key] for one in several)
                for several, key in ((ours, "seconds"), (theirs, "seconds"), (theirs, "clock_s"))
            )
            yield {
                **{"workload": name, "nodes": nodes, "pods": pods, "percentage": percentage},
                "pods_per_s": pods * rounds / seconds,
                "upstream_pods_per_s": pods * rounds / upstream,
                "ratio": upstream / seconds,
                "upstream_pods_per_s_by_clock": pods * rounds / clock,
                "peak_mb": max(one["peak_rss_mb"] for one in ours),
                "upstream_peak_mb": max(one["peak_mb"] for one in theirs),
            }


def write(file: Path, name: str, nodes: int, pods: int) -> None:
    file.write_text(json.dumps({"items": workload(name, nodes, pods)}))


def build(kubernetes: Path, go: str, folder: Path) -> Path:
    """Build the program and return its path. Raises CalledProcessError, whose output is on standard error."""
    vendored = kubernetes / "vendor/k8s.io/kubernetes"
    package = (vendored if vendored.is_dir() else kubernetes) / "pkg/scheduler"
    command, overlay, program = "cmd/kubesched_upstream", folder / "overlay.json", folder / "kube_scheduler"
    added = {
        kubernetes / command / "main.go": SOURCES / "main.go",
        package / "kubesched_scheduling_cycle.go": SOURCES / "scheduling_cycle.go",
    }
    overlay.write_text(json.dumps({"Replace": {str(place): str(file) for place, file in added.items()}}))
    options = ["-mod=vendor", "-overlay", overlay, "-o", program]
    subprocess.run([go, "build", *options, f"./{command}"], cwd=kubernetes, check=True)
    return program
