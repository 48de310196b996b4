"""A cycle tried in the rewound cluster decides what it decided in the run."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from scheduler_core.api.objects import Object
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.debugger.recording import MOVES_PART, OBJECTS_PART, Recorder, Recording, objects_from
from scheduler_core.debugger.restore import restore_run
from scheduler_core.plugins import PLUGINS as IN_TREE
from scheduler_core.simulation import Simulation
from scheduler_core.virtual_time.scenario_run import PLUGINS, ScenarioRun
from tests.conformance import golden_cases
from tests.scheduler_core.debugger.live import SAMPLES, Raw, scenario_at, simulation_of_case
from tests.scheduler_core.virtual_time.test_engine_properties import a_run

pytestmark = pytest.mark.slow

CYCLES = 12  # that are tried in each run


def what_it_says(trace: CycleTrace, names: list[str]) -> Raw:
    """All that a cycle decided. Who waits for Permit is told by what comes after the cycle."""
    told = trace.golden(names)
    for later in ("result", "error"):
        told.pop(later, None)
    return told


def check(simulation: Simulation, told: Iterator[CycleTrace], recorder: Recorder, registry: Any, name: str) -> None:
    traces = [(trace, what_it_says(trace, list(simulation.nodes))) for trace in told]
    blocks = recorder.drain()
    recording = Recording([block.data for block in blocks if block.part == MOVES_PART])
    objects = [one for block in blocks if block.part == OBJECTS_PART for one in objects_from(block.data)]
    make = partial(
        Simulation,
        release=simulation.release.name,
        config=simulation.configuration,
        tie_break="name",
        preemption=simulation.scheduler.preemption,
        percentage=next(iter(simulation.scheduler.profiles.values())).percentage,
        registry=registry,
    )
    numbers = range(1, len(traces) + 1)
    for number in random.Random(name).sample(numbers, min(CYCLES, len(numbers))):
        trace, said = traces[number - 1]
        if trace.result == "error" or trace.permit is not None or trace.permit_waits:
            continue
        moment = recording.before_cycle(number)
        rewound = restore_run(
            recording, objects.__getitem__, moment, make, simulation.release, start_index=trace.start_index
        )
        pod = next(pod for pod in rewound.pending if pod.key == trace.pod)
        again = rewound.scheduler.try_pod(pod, trace.attempt)[2]
        assert what_it_says(again, rewound.nodes) == said, f"{name}, cycle {number}"


def check_once(simulation: Simulation, name: str, registry: Any = IN_TREE) -> None:
    recorder = Recorder(simulation)

    def played() -> Iterator[CycleTrace]:
        for trace in simulation.run():
            recorder.cycle(trace)
            yield trace

    check(simulation, played(), recorder, registry, name)


def check_time(run: ScenarioRun, name: str) -> None:
    recorder = Recorder(run.simulation)

    def played() -> Iterator[CycleTrace]:
        for record in run.run():
            recorder.record(record)
            if record.trace is not None:
                yield record.trace

    check(run.simulation, played(), recorder, PLUGINS, name)


def cases() -> list[Any]:
    found = []
    for release in ("v1.34", "v1.27"):
        for case in golden_cases(release):
            found.append(pytest.param(case, id=f"{release}-{case['name']}"))
    return found


@pytest.mark.parametrize("case", cases()[::2])
def test_in_one_pass(case: Raw) -> None:
    check_once(simulation_of_case(case), case["name"])


def at_the_first(make: Callable[[], ScenarioRun]) -> ScenarioRun:
    """Ties go to the first by name: what a seed picks depends on all picks before."""
    run = make()
    for framework in run.simulation.scheduler.profiles.values():
        framework.picker._seed = None
    return run


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_sample_in_time(path: Path) -> None:
    check_time(at_the_first(lambda: ScenarioRun(scenario_at(path))), path.stem)


@pytest.mark.parametrize("release", ["", "1.16"])
@pytest.mark.parametrize("seed", range(10))
def test_a_random_run_in_time(seed: int, release: str) -> None:
    check_time(at_the_first(lambda: a_run(seed, release)), str(seed))


def test_volumes_that_earlier_cycles_took_are_taken() -> None:
    """What plugins write when they bind is in the recording, too."""
    objects: list[Object | Raw] = [
        {"kind": "Node", "metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "4", "pods": "10"}}},
        {
            "kind": "StorageClass",
            "metadata": {"name": "local"},
            "provisioner": "kubernetes.io/no-provisioner",
            "volumeBindingMode": "WaitForFirstConsumer",
        },
        {
            "kind": "PersistentVolume",
            "metadata": {"name": "only"},
            "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "local"},
        },
    ]
    for name in ("a", "b"):
        claim = {"accessModes": ["ReadWriteOnce"], "storageClassName": "local"}
        objects += [
            {
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": name, "uid": name},
                "spec": claim | {"resources": {"requests": {"storage": "1Gi"}}},
            },
            {
                "kind": "Pod",
                "metadata": {"name": name},
                "spec": {"containers": [{}], "volumes": [{"persistentVolumeClaim": {"claimName": name}}]},
            },
        ]
    check_once(Simulation(objects, tie_break="name"), "volumes")
