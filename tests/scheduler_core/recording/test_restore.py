"""A cycle repeated in the restored cluster has the decision of the run."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from scheduler_core.api.objects import Object
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.plugins import PLUGINS as IN_TREE
from scheduler_core.recording.restore import restore_run
from scheduler_core.simulation import Simulation
from scheduler_core.virtual_time.scenario_run import PLUGINS, ScenarioRun
from tests.examples import selection
from tests.scheduler_core.build import node, pod
from tests.scheduler_core.recording.core_states import SAMPLES, Raw, params, scenario_at, simulation_of_case
from tests.scheduler_core.recording.recorded_runs import RecordedRun, maker, played, played_in_time
from tests.scheduler_core.virtual_time.test_engine_properties import a_run

pytestmark = pytest.mark.slow

CYCLES = 12  # repeated in each run


def decisions(trace: CycleTrace, names: list[str]) -> Raw:
    """Return all decisions of a cycle. Pods waiting at Permit are decided later."""
    format_of = trace.golden(names)
    for later in ("result", "error"):
        format_of.pop(later, None)
    return format_of


def check(simulation: Simulation, kept: RecordedRun, name: str, registry: Any = IN_TREE) -> None:
    scheduler = simulation.scheduler
    percentage = next(iter(scheduler.profiles.values())).percentage
    make = maker(simulation, preemption=scheduler.preemption, percentage=percentage, registry=registry)
    numbers = range(1, len(kept.cycles) + 1)
    for number in random.Random(name).sample(numbers, min(CYCLES, len(numbers))):
        trace, names = kept.cycles[number - 1]
        if trace.result == "error" or trace.permit is not None or trace.permit_waits:
            continue
        moment, start = kept.recording.before_cycle(number), trace.start_index
        rewound = restore_run(kept.recording, kept.fetch, moment, make, simulation.release, start_index=start)
        pod = next(pod for pod in rewound.pending if pod.key == trace.pod)
        again = rewound.scheduler.try_pod(pod, trace.attempt)[2]
        assert decisions(again, rewound.nodes) == decisions(trace, names), f"{name}, cycle {number}"


def check_once(simulation: Simulation, name: str) -> None:
    check(simulation, played(simulation), name)


def check_time(run: ScenarioRun, name: str) -> None:
    """Ties go to the first node by name, because a seeded choice depends on all earlier ones."""
    for framework in run.simulation.scheduler.profiles.values():
        framework.picker._seed = None
    check(run.simulation, played_in_time(run), name, PLUGINS)


@pytest.mark.parametrize("case", selection(params("v1.34", "v1.27")[::2], 4))
def test_single_pass(case: Raw) -> None:
    check_once(simulation_of_case(case), case["name"])


@pytest.mark.parametrize("path", selection(sorted(SAMPLES.glob("*.yaml")), 2), ids=lambda path: path.stem)
def test_a_sample_in_virtual_time(path: Path) -> None:
    check_time(ScenarioRun(scenario_at(path)), path.stem)


@pytest.mark.parametrize("release", ["", "1.16"])
@pytest.mark.parametrize("seed", selection(range(10), 3))
def test_a_random_virtual_time_run(seed: int, release: str) -> None:
    check_time(a_run(seed, release), str(seed))


def test_volumes_bound_by_earlier_cycles_are_bound() -> None:
    """The recording includes what plugins write at binding."""
    local, size = {"accessModes": ["ReadWriteOnce"], "storageClassName": "local"}, {"storage": "1Gi"}
    provisioning = {"provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"}
    objects: list[Object | Raw] = [
        node("n1"),
        {"kind": "StorageClass", "metadata": {"name": "local"}, **provisioning},
        {"kind": "PersistentVolume", "metadata": {"name": "only"}, "spec": local | {"capacity": size}},
    ]
    for name in ("a", "b"):
        spec = local | {"resources": {"requests": size}}
        objects.append({"kind": "PersistentVolumeClaim", "metadata": {"name": name, "uid": name}, "spec": spec})
        objects.append(pod(name, volumes=[{"persistentVolumeClaim": {"claimName": name}}]))
    check_once(Simulation(objects, tie_break="name"), "volumes")
