"""Simulate a day of a cluster in virtual time: 500 nodes, 20,000 short-lived pods.

    python benchmarks/day.py [--seed N] [--hours H] [--part core|traces|application]

`core` only runs it, `traces` (the default) also encodes every record and trace, `application` converts the records to
the application's events and rows instead. Prints JSON; `digest` is reproducible for a seed.
"""

import argparse
import hashlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1]))

from scheduler_core.commands.simulate import as_json
from scheduler_core.virtual_time.engine import Record
from scheduler_core.virtual_time.scenario import Arrivals, Binding, RandomDuration, Scenario, ScenarioSpec
from scheduler_core.virtual_time.scenario_run import ScenarioRun

DAY = 86400.0


def node(number: int) -> dict[str, Any]:
    labels = {"kubernetes.io/hostname": f"n{number:04}", "topology.kubernetes.io/zone": f"z{number % 5}"}
    allocatable = {"cpu": "16", "memory": "64Gi", "pods": "110"}
    metadata = {"name": f"n{number:04}", "labels": labels}
    return {"kind": "Node", "metadata": metadata, "status": {"allocatable": allocatable}}


def arrivals(name: str, a_day: int, cpu: str, mean: str, **spec: Any) -> Arrivals:
    """Yield Poisson arrivals of pods that run for an exponential time."""
    container = {"name": "c", "resources": {"requests": {"cpu": cpu, "memory": "2Gi"}}}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container], **spec}}
    return Arrivals(name=name, mean=DAY / a_day, duration=RandomDuration(mean=mean), template=template)


def day(seed: int, hours: float) -> Scenario:
    """Return three kinds of pods that use four fifths of the cluster on average, and more at times."""
    spread = {
        "maxSkew": 2,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    return Scenario(
        api_version="kubesched.dev/v1alpha1",
        kind="Scenario",
        spec=ScenarioSpec(
            seed=seed,
            until=hours * 3600,
            binding=Binding(seconds=0.05),
            objects=[node(number) for number in range(500)],
            arrivals=[
                arrivals("web", 8000, "2", "3h", topologySpreadConstraints=[spread]),
                arrivals("batch", 10000, "2", "2h"),
                arrivals("big", 2000, "8", "4h"),
            ],
        ),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--part", choices=("core", "traces", "application"), default="traces")
    args = parser.parse_args()
    run = ScenarioRun(day(args.seed, args.hours))
    convert = {"core": lambda record: b"", "traces": encoded, "application": Recorder(run)}[args.part]
    digest = hashlib.sha256()
    records = attempts = size = 0
    began, began_processor = time.perf_counter(), time.process_time()
    for record in run.run():
        records += 1
        attempts += record.trace is not None
        data = convert(record)
        size += len(data)
        digest.update(data)
    figures = {
        "part": args.part,
        "seconds": round(time.perf_counter() - began, 1),
        "processor_seconds": round(time.process_time() - began_processor, 1),
        "records": records,
        "attempts": attempts,
        "mb": round(size / 1e6, 1),
        "digest": digest.hexdigest()[:16],
    }
    print(json.dumps(figures))


def encoded(record: Record) -> bytes:
    """Return the record and its trace as bytes."""
    trace = record.trace.encode() if record.trace is not None else b""
    return msgspec.json.encode(as_json(record)) + trace


class Recorder:
    """Converts records as the worker of a run does."""

    def __init__(self, run: ScenarioRun) -> None:
        from kubesched_ui.event_log.timeline_recorder import TimelineRecorder

        self._recorder = TimelineRecorder(run.simulation.nodes, slow_binding=True)

    def __call__(self, record: Record) -> bytes:
        entry = self._recorder.take(record)
        return entry.cycle.trace if entry.cycle is not None else b""


if __name__ == "__main__":
    main()
