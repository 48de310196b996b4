"""Benchmark the question capacity against adding pods one at a time with a run.

    python benchmarks/capacity.py [--nodes 100 1000 5000] [--most 2000]

Prints a JSON line per pod and number of nodes: the pods that fit, the seconds of both, and whether all nodes were
filled at once. The run ends after `--most` pods; its seconds are then for that many pods, and `run_estimate` is for
all.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from scheduler_core.experiments.capacity import Capacity
from scheduler_core.experiments.document import Experiment, ExperimentSpec, ScenarioReference
from scheduler_core.experiments.parameters import CapacityParameters, CapacityPod
from scheduler_core.experiments.scenario_input import ScenarioInput
from scheduler_core.simulation import Simulation

ZONE = "topology.kubernetes.io/zone"


def nodes(number: int) -> list[dict[str, Any]]:
    """Return nodes of two sizes in three zones."""
    return [
        {
            "kind": "Node",
            "metadata": {"name": f"n{i}", "labels": {ZONE: "abc"[i % 3], "kubernetes.io/hostname": f"n{i}"}},
            "status": {"allocatable": {"cpu": str(16 + 16 * (i % 2)), "memory": "64Gi", "pods": "110"}},
        }
        for i in range(number)
    ]


def pods() -> dict[str, dict[str, Any]]:
    """Return the pods to add: plain ones, ones without requests, one per node, and ones spread over zones."""
    plain = {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1500m", "memory": "2Gi"}}}]}
    selector = {"matchLabels": {"app": "web"}}
    spread = {"maxSkew": 5, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    metadata = {"name": "web", "namespace": "default", "labels": {"app": "web"}}
    apart = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": selector, "topologyKey": "kubernetes.io/hostname"}
            ]
        }
    }
    specs = {
        "plain": plain,
        "empty": {"containers": [{"name": "main"}]},
        "one per node": plain | {"affinity": apart},
        "spread over zones": plain | {"topologySpreadConstraints": [spread]},
    }
    return {name: {"kind": "Pod", "metadata": metadata, "spec": spec} for name, spec in specs.items()}


def measure(number: int, name: str, template: dict[str, Any], most: int) -> dict[str, Any]:
    """Return the figures of one pod on this number of nodes."""
    scenario = ScenarioInput("s", "", lambda: nodes(number))
    parameters = CapacityParameters(pods=[CapacityPod(template=template)], by_group=False)
    spec = ExperimentSpec(question="capacity", scenarios=[ScenarioReference(name="s")], capacity=parameters)
    experiment = Experiment(api_version="kubesched.dev/v1alpha1", kind="Experiment", spec=spec)
    question = Capacity()
    (cell,) = question.plan(experiment, {"s": scenario})
    start = time.perf_counter()
    result = question.compute(cell, scenario, lambda: None)
    seconds = time.perf_counter() - start
    wanted = min(result["fit"] + 1, most)
    copies = [template | {"metadata": template["metadata"] | {"name": f"web-{i}"}} for i in range(wanted)]
    start = time.perf_counter()
    simulation = Simulation([*nodes(number), *copies], preemption=False)
    placed = sum(trace.result == "scheduled" for trace in simulation.run())
    run = time.perf_counter() - start
    return {
        "nodes": number,
        "pod": name,
        "fit": result["fit"],
        "complete": result["complete"],
        "at_once": result["at_once"],
        "seconds": round(seconds, 3),
        "run_pods": placed,
        "run_seconds": round(run, 3),
        "run_estimate": round(run / wanted * (result["fit"] + 1), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=[100, 1000, 5000])
    parser.add_argument("--most", type=int, default=2000)
    args = parser.parse_args()
    for number in args.nodes:
        for name, template in pods().items():
            print(json.dumps(measure(number, name, template, args.most)), flush=True)


if __name__ == "__main__":
    main()
