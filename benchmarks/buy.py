"""Measures the question buy on the CPU-only pods of the openb trace and two node types. Prints JSON.

python benchmarks/buy.py [SECONDS]
"""

import copy
import json
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from scheduler_core.experiments.buy import Buy  # noqa: E402
from scheduler_core.experiments.cell import Cell  # noqa: E402
from scheduler_core.experiments.scenario_input import ScenarioInput  # noqa: E402
from scheduler_core.openb.scenario import GPU, scenario  # noqa: E402

DATA = ROOT / "tests/data/openb"
CATALOG = [
    {"name": "96-core", "price": 2.75, "allocatable": {"cpu": "96", "memory": "384Gi", "pods": "256"}},
    {"name": "32-core", "price": 1, "allocatable": {"cpu": "32", "memory": "128Gi", "pods": "256"}},
]


def cpu_pods() -> list[dict[str, Any]]:
    """Return the pods that request no GPU."""
    trace = scenario(DATA / "openb_node_list_all_node.csv.gz", DATA / "openb_pod_list_default.csv.gz")
    pods = [one for one in trace["spec"]["objects"] if one["kind"] == "Pod"]
    return [pod for pod in pods if GPU not in pod["spec"]["containers"][0]["resources"]["requests"]]


def main() -> None:
    pods = cpu_pods()
    search = float(sys.argv[1]) if len(sys.argv) > 1 else 8.0
    source = ScenarioInput("openb", "", lambda: copy.deepcopy(pods))
    cell = Cell(question="buy", scenario="openb", release="1.36", parameters={"catalog": CATALOG, "seconds": search})
    begin = time.perf_counter()
    found = Buy().compute(cell, source, lambda: None)
    keys = ("pods", "placed", "nodes", "price", "bound", "resource_bound", "first_fit", "complete", "iterations", "own")
    result = {key: found[key] for key in keys}
    result |= {"gap_percent": round(100 * found["metrics"]["gap"], 3), "search_seconds": found["seconds"]}
    print(json.dumps({**result, "seconds": round(time.perf_counter() - begin, 2)}, indent=2))


if __name__ == "__main__":
    main()
