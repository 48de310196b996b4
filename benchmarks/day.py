"""A day of a cluster in virtual time: 500 nodes, 20,000 short-lived pods.

--part core only runs it; traces also encodes every record and trace, and `digest` is reproducible for a seed;
application executes it as a worker does, in a database of its own.
"""

import hashlib
import resource
import time
from collections.abc import Iterator
from typing import Any

import msgspec

from benchmarks.product import in_this_process
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


def encoded(record: Record) -> bytes:
    """Return the record and its trace as bytes."""
    trace = record.trace.encode() if record.trace is not None else b""
    return msgspec.json.encode(as_json(record)) + trace


def since(began: float, began_processor: float) -> dict[str, Any]:
    """Return the seconds since then, of the clock and of the processor."""
    seconds, processor = time.perf_counter() - began, time.process_time() - began_processor
    return {"seconds": round(seconds, 1), "processor_seconds": round(processor, 1)}


def application(scenario: Scenario) -> dict[str, Any]:
    """Return the figures of a recorded run. `children_s`: processor time of the process that computes."""
    with in_this_process(RUN_MAX_RECORDS="10000000"):
        from kubesched_ui.ingest import ingest_files
        from kubesched_ui.ingest.store import store
        from kubesched_ui.models import Run
        from kubesched_ui.runs import tasks

        stored = store(ingest_files([("day.json", msgspec.json.encode(scenario))]), name="day")
        timing = {"in_time": True, "until": scenario.spec.until}
        run = Run.objects.create(scenario=stored, seed=scenario.spec.seed, tie_break=Run.TieBreak.SEED, **timing)
        began, began_processor = time.perf_counter(), time.process_time()
        tasks.execute_run(run.pk)
        took = since(began, began_processor)
        run.refresh_from_db()
        assert run.state == Run.State.DONE, run.error
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        computing = round(children.ru_utime + children.ru_stime, 1)
        return took | {"children_s": computing, "attempts": run.cycles_done, "events": run.last_seq}


def core(scenario: Scenario, traces: bool) -> dict[str, Any]:
    digest, records, attempts, size = hashlib.sha256(), 0, 0, 0
    began, began_processor = time.perf_counter(), time.process_time()
    for record in ScenarioRun(scenario).run():
        records += 1
        attempts += record.trace is not None
        data = encoded(record) if traces else b""
        size += len(data)
        digest.update(data)
    return since(began, began_processor) | {
        "records": records,
        "attempts": attempts,
        "mb": round(size / 1e6, 1),
        "digest": digest.hexdigest()[:16],
    }


def measure(seed: int = 1, hours: float = 24.0, part: str = "traces") -> Iterator[dict[str, Any]]:
    scenario = day(seed, hours)
    yield {"part": part, **(application(scenario) if part == "application" else core(scenario, part == "traces"))}
