"""Measure suggested fixes on a large cluster: time to restore it and to search.

    python benchmarks/remedies.py [--nodes 5000] [--pods 10000]

Prints one JSON line with seconds.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scheduler_core.commands.bench import workload  # noqa: E402
from scheduler_core.debugger.recording import (  # noqa: E402
    MOVES_PART,
    OBJECTS_PART,
    Recorder,
    Recording,
    objects_from,
)
from scheduler_core.debugger.restore import restore_run  # noqa: E402
from scheduler_core.debugger.suggestions.pending import all_pending  # noqa: E402
from scheduler_core.debugger.suggestions.prefer_node import prefer_node  # noqa: E402
from scheduler_core.debugger.suggestions.search import remedies  # noqa: E402
from scheduler_core.simulation import Simulation  # noqa: E402

BROKEN: dict[str, dict[str, Any]] = {
    "selector": {"nodeSelector": {"topology.kubernetes.io/zone": "zone-99"}},
    "affinity": {
        "affinity": {
            "podAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "nobody"}}}
                ]
            }
        }
    },
    "too-large": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "500"}}}]},
    "claim": {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "none"}}]},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=10000)
    args = parser.parse_args()
    objects = workload("basic", args.nodes, args.pods)
    for name, spec in BROKEN.items():
        containers = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}
        objects.append({"kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": containers | spec})
    settings: dict[str, Any] = {"release": "1.34", "tie_break": "name", "percentage": 100}
    simulation = Simulation(objects, **settings)
    recorder = Recorder(simulation)
    placed = {}
    for number, trace in enumerate(simulation.run(), 1):
        recorder.cycle(trace)
        placed[trace.pod] = number
    blocks = recorder.drain()
    recording = Recording([block.data for block in blocks if block.part == MOVES_PART])
    stored = [one for block in blocks if block.part == OBJECTS_PART for one in objects_from(block.data)]
    make = partial(Simulation, config=simulation.configuration, **settings)
    figures: dict[str, Any] = {"nodes": args.nodes, "pods": args.pods}

    def timed(name: str, do: Any) -> Any:
        start = time.perf_counter()
        found = do()
        figures[name] = round(time.perf_counter() - start, 3)
        return found

    at_end = partial(restore_run, recording, stored.__getitem__, recording.end, make, simulation.release)
    rewound = timed("rewind", at_end)
    for name in BROKEN:
        found = timed(f"remedies_{name}", lambda name=name: remedies(rewound, f"default/{name}"))
        figures[f"remedies_{name}_found"] = len(found)
    timed("together", lambda: all_pending(rewound))
    pod = next(key for key, number in placed.items() if number == args.pods // 2)
    before = restore_run(recording, stored.__getitem__, recording.before_cycle(placed[pod]), make, simulation.release)
    figures["win_found"] = len(timed("win", lambda: prefer_node(before, pod, before.nodes[-1]).remedies))
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
