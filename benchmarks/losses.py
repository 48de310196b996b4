"""Compute all single losses of a cluster: 500 nodes and 8,000 pods of 200 workloads.

    python benchmarks/losses.py [--nodes 500] [--pods 8000] [--workers 2] [--mode loss|drain] [--check 10]

The cells of the experiment are computed in worker processes, as the workers of the application do, which each load the
scenario once. Prints JSON: seconds, losses per second, and how many losses leave pods pending. With --check, as many
losses are computed again, each from a newly loaded scenario, and compared.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1]))

from scheduler_core.experiments.cell import Cell, Done, Result
from scheduler_core.experiments.document import Experiment, load_experiment
from scheduler_core.experiments.loss import Loss
from scheduler_core.experiments.scenario_input import ScenarioInput

WORKLOADS = 200
ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def cluster(nodes: int, pods: int) -> list[dict[str, Any]]:
    """Return nodes in three zones, about 85% full, and pods of which some spread, keep apart or have a local volume."""
    objects: list[dict[str, Any]] = []
    allocatable = {"cpu": f"{pods / nodes * 0.62:.1f}", "memory": "64Gi", "pods": "110"}
    for number in range(nodes):
        name = f"n{number:04}"
        labels = {HOSTNAME: name, ZONE: f"z{number % 3}"}
        objects.append(
            {"kind": "Node", "metadata": {"name": name, "labels": labels}, "status": {"allocatable": allocatable}}
        )
    for number in range(pods):
        app = f"app-{number % WORKLOADS:03}"
        same = {"labelSelector": {"matchLabels": {"app": app}}}
        spec: dict[str, Any] = {"nodeName": f"n{number * 7 % nodes:04}"}
        kind = number % WORKLOADS % 4
        if kind == 0:
            constraint = {"maxSkew": 2, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
            spec["topologySpreadConstraints"] = [constraint | same]
        elif kind == 1:
            terms = [{"topologyKey": HOSTNAME, **same}]
            spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
        elif number % 401 == 2:
            spec["nodeSelector"] = {HOSTNAME: spec["nodeName"]}  # as a local volume
        requests = {"cpu": f"{(3 + number % WORKLOADS % 5) * 100}m", "memory": "1Gi"}
        spec["containers"] = [{"name": "main", "resources": {"requests": requests}}]
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": app, "controller": True}
        metadata = {"name": f"{app}-{number:05}", "namespace": "default", "uid": str(number), "labels": {"app": app}}
        objects.append({"kind": "Pod", "metadata": metadata | {"ownerReferences": [owner]}, "spec": spec})
    return objects


def experiment(mode: str, only: list[str]) -> Experiment:
    spec = {"question": "loss", "scenarios": [{"id": 1, "name": "cluster"}], "loss": {"mode": mode, "only": only}}
    return load_experiment(json.dumps({"apiVersion": "kubesched.dev/v1alpha1", "kind": "Experiment", "spec": spec}))


_scenarios: list[ScenarioInput] = []


def _load(text: bytes) -> None:
    _scenarios[:] = [ScenarioInput("cluster", "", lambda: msgspec.json.decode(text))]


def _compute(cell: Cell) -> Result:
    return Loss().compute(cell, _scenarios[0], lambda: None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--pods", type=int, default=8_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--mode", choices=("loss", "drain"), default="loss")
    parser.add_argument("--check", type=int, default=0)
    args = parser.parse_args()
    text = msgspec.json.encode(cluster(args.nodes, args.pods))
    _load(text)
    start = time.monotonic()
    wanted = experiment(args.mode, [])
    cells = list(Loss().plan(wanted, {"cluster": _scenarios[0]}))
    planned = time.monotonic() - start
    with ProcessPoolExecutor(args.workers, initializer=_load, initargs=(text,)) as pool:
        done = [Done(cell, result) for cell, result in zip(cells, pool.map(_compute, cells), strict=True)]
    seconds = time.monotonic() - start
    answer = Loss().summarise(wanted, done)
    losses = {loss["name"]: loss for one in done if one.result for loss in one.result["losses"]}
    for name in random.Random(0).sample(sorted(losses), args.check):
        _load(text)
        (cell,) = Loss().plan(experiment(args.mode, [name]), {"cluster": _scenarios[0]})
        if _compute(cell)["losses"][0] != losses[name]:
            raise SystemExit(f"the loss of {name} differs if it is computed alone")
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = {
        "nodes": args.nodes,
        "pods": args.pods,
        "mode": args.mode,
        "workers": args.workers,
        "losses": len(losses),
        "cells": len(cells),
        "seconds": round(seconds, 1),
        "seconds_planning": round(planned, 1),
        "cpu_seconds": round(children.ru_utime + children.ru_stime, 1),
        "losses_per_second": round(len(losses) / seconds, 1),
        "peak_mb_of_a_worker": children.ru_maxrss // 1024,
        "with_pending_pods": answer["down"],
        "checked": args.check,
        "answer": answer["answer"],
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
