"""How much of the core's speed a run of the application has, and what it stores.

Executes runs as a worker does, in a database of its own, and between them the core alone on the same objects, with
every cycle traced and encoded. The first cycle of both begins after the cluster is loaded; a run ends when its last
event is stored. A row for each workload and number of nodes has the median of the rounds.

`ratio` compares seconds of the clock, so nothing else should run. `processor_ratio` compares the core's processor time
to that of the busier of the two processes of a run: the ratio on two idle processors. It also holds on a busy machine.
"""

import resource
import statistics
import time
from collections.abc import Iterator
from multiprocessing.sharedctypes import RawValue
from typing import Any, NamedTuple

from benchmarks.product import as_list, in_this_process
from scheduler_core.api.objects import decode
from scheduler_core.commands.bench import workload
from scheduler_core.simulation import Simulation

NODES = (100, 1000, 5000)
MEASURED = {"mixed": (1000, 5000), "basic": NODES, "spread": NODES, "antiaffinity": (5000,)}
SETTINGS: dict[str, Any] = {"release": "1.34", "percentage": 100, "seed": 1}
COLUMNS = {
    "workload": "{workload}",
    "nodes": "{nodes:,}",
    "pods": "{pods:,}",
    "core µs": "{core_us}",
    "computing µs": "{computing_us}",
    "writing µs": "{writing_us}",
    "ratio": "{processor_ratio}",
    "by the clock": "{ratio}",
    "bytes per cycle": "{bytes_per_cycle:,}",
}


class Speed(NamedTuple):
    """Seconds for one pod: of the clock, and of the processor in this process and in the one that it starts."""

    clock: float
    writing: float
    computing: float

    @property
    def processor(self) -> float:
        return max(self.writing, self.computing)


class Watch:
    """Measures from its creation on."""

    def __init__(self) -> None:
        self._began = self._now()

    @staticmethod
    def _now() -> Speed:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return Speed(time.perf_counter(), time.process_time(), children.ru_utime + children.ru_stime)

    def per_pod(self, pods: int) -> Speed:
        return Speed(*((now - then) / pods for now, then in zip(self._now(), self._began, strict=True)))


def core(objects: list[dict[str, Any]]) -> Speed:
    """Run the core alone."""
    decoded = [one for raw in objects if (one := decode(raw)) is not None]
    simulation = Simulation(decoded, pods=None, **SETTINGS)
    size, watch = 0, Watch()
    for cycle in simulation.run():
        size += len(cycle.encode())
    return watch.per_pod(len(simulation.pods))


def application(scenario: Any) -> tuple[Speed, Any]:
    """Return the speed of a run, and the run."""
    from kubesched_ui.event_log.single_pass_recorder import SinglePassRecorder
    from kubesched_ui.models import Run
    from kubesched_ui.runs import tasks

    watches: list[Watch] = []
    loading = RawValue("d")  # seconds of processor time, written by the process that computes

    def begin(*arguments: Any) -> None:
        watches.append(Watch())
        original_begin(*arguments)

    def run_loaded(self: SinglePassRecorder) -> Any:
        loading.value = time.process_time()
        return original_run(self)

    run = Run.objects.create(scenario=scenario, tie_break=Run.TieBreak.SEED, **SETTINGS)
    original_begin, original_run = tasks.begin, SinglePassRecorder.run
    tasks.begin, SinglePassRecorder.run = begin, run_loaded  # type: ignore[assignment, method-assign]
    try:
        tasks.execute_run(run.pk)
    finally:
        tasks.begin, SinglePassRecorder.run = original_begin, original_run  # type: ignore[method-assign]
    run.refresh_from_db()
    assert run.state == Run.State.DONE, run.error
    speed = watches[0].per_pod(run.cycles_done)
    return speed._replace(computing=speed.computing - loading.value / run.cycles_done), run


def stored_bytes() -> dict[str, int]:
    """Return table -> bytes of its pages and those of its indexes, for what runs record."""
    from django.db import connection

    sizes: dict[str, int] = {}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT m.tbl_name, SUM(d.pgsize) FROM dbstat d JOIN sqlite_master m ON m.name = d.name GROUP BY 1"
        )
        for table, size in cursor.fetchall():
            name = table.removeprefix("kubesched_ui_")
            if name in ("cycle", "cyclebatch", "eventblock", "podresult", "recordingblock"):
                sizes[name] = size
    return sizes


def compared(name: str, nodes: int, pods: int, rounds: int) -> dict[str, Any]:
    """Return the figures of a workload."""
    from kubesched_ui.ingest import ingest_files
    from kubesched_ui.ingest.store import store

    objects = workload(name, nodes, pods)
    scenario = store(ingest_files([("cluster.json", as_list(objects))]), name=name)
    alone: list[Speed] = []
    whole: list[Speed] = []
    bytes_per_cycle = {}
    for number in range(rounds):
        alone.append(core(objects))
        before = stored_bytes()
        speed, run = application(scenario)
        whole.append(speed)
        if not number:
            found = stored_bytes()
            bytes_per_cycle = {table: round((found[table] - before[table]) / run.cycles_done) for table in found}
        run.delete()
    scenario.delete()
    clock = [core.clock / run.clock for core, run in zip(alone, whole, strict=True)]
    processor = [core.processor / run.processor for core, run in zip(alone, whole, strict=True)]
    return {
        "workload": name,
        "nodes": nodes,
        "pods": pods,
        "core_pods_per_s": round(1 / statistics.median(one.clock for one in alone)),
        "run_pods_per_s": round(1 / statistics.median(one.clock for one in whole)),
        "ratio": round(statistics.median(clock), 2),
        "core_us": round(statistics.median(one.processor for one in alone) * 1e6, 1),
        "computing_us": round(statistics.median(one.computing for one in whole) * 1e6, 1),
        "writing_us": round(statistics.median(one.writing for one in whole) * 1e6, 1),
        "processor_ratio": round(statistics.median(processor), 2),
        "bytes_per_cycle": sum(bytes_per_cycle.values()),
        "bytes_by_table": bytes_per_cycle,
    }


def measure(pods: int = 10000, rounds: int = 3, only: str = "") -> Iterator[dict[str, Any]]:
    with in_this_process():
        for name in [only] if only else MEASURED:
            for nodes in MEASURED[name]:
                yield compared(name, nodes, min(pods, nodes * 80), rounds)
