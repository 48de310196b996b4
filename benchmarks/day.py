"""Simulate a day of a cluster in virtual time: 500 nodes, 20,000 short-lived pods.

    python benchmarks/day.py [--seed N] [--hours H] [--part core|traces|application]

`core` only runs it, `traces` (the default) also encodes every record and trace; `digest` is reproducible for a seed.
`application` executes it as a worker does, in a database of its own. Prints JSON.
"""

import argparse
import hashlib
import json
import logging
import os
import resource
import sys
import tempfile
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
    if args.part == "application":
        print(json.dumps({"part": args.part, **application(day(args.seed, args.hours))}))
        return
    run = ScenarioRun(day(args.seed, args.hours))
    convert = encoded if args.part == "traces" else lambda record: b""
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


def application(scenario: Scenario) -> dict[str, Any]:
    """Return the figures of a recorded run. `processor_seconds`: of the worker, which writes, and of the process that
    computes."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"DJANGO_SETTINGS_MODULE": "kubesched_ui.settings", "KUBESCHED_VAR_DIR": folder}
        import django

        django.setup()
        from django.conf import settings
        from django.core.management import call_command
        from django.db import connection

        from kubesched_ui.ingest import ingest_files
        from kubesched_ui.ingest.store import store
        from kubesched_ui.models import Run
        from kubesched_ui.runs import tasks

        logging.disable(logging.WARNING)
        settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
        settings.RUN_MAX_RECORDS = 10_000_000
        call_command("migrate", verbosity=0)
        stored = store(ingest_files([("day.json", msgspec.json.encode(scenario))]), name="day")
        timing = {"in_time": True, "until": scenario.spec.until}
        run = Run.objects.create(scenario=stored, seed=scenario.spec.seed, tie_break=Run.TieBreak.SEED, **timing)
        began, began_processor = time.perf_counter(), time.process_time()
        tasks.execute_run(run.pk)
        run.refresh_from_db()
        assert run.state == Run.State.DONE, run.error
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        computing = children.ru_utime + children.ru_stime
        connection.close()
        return {
            "seconds": round(time.perf_counter() - began, 1),
            "processor_seconds": [round(time.process_time() - began_processor, 1), round(computing, 1)],
            "attempts": run.cycles_done,
            "events": run.last_seq,
        }


if __name__ == "__main__":
    main()
