"""Moving a cluster from timepoint to timepoint gives the same cluster as a restore."""

from __future__ import annotations

import random
from typing import Any

import pytest

from scheduler_core.debugger.restore import restore_run
from scheduler_core.debugger.time_travel import RestoredRun
from scheduler_core.simulation import Simulation
from scheduler_core.virtual_time.scenario_run import PLUGINS, ScenarioRun
from tests.scheduler_core.debugger.core_states import IN_TIME, Raw, params, scenario_at, simulation_of_case
from tests.scheduler_core.debugger.recorded_runs import RecordedRun, maker, played, played_in_time

KINDS = ("volumes", "preemption", "preemptaff", "ports", "mixed")
MOVES = 25


def cluster_state(simulation: Simulation) -> dict[str, Any]:
    """Return all that a cycle depends on."""
    cluster, nodes = simulation.cluster, simulation.cluster.nodes
    nodes.refresh()
    return {
        "names": nodes.names,
        "requested": {name: column.tolist() for name, column in nodes.requested.items() if column.any()},
        "nonzero": [nodes.nonzero_cpu.tolist(), nodes.nonzero_memory.tolist(), nodes.pod_count.tolist()],
        "pods": [
            [(p.key, p.start_time, p.pod.spec.node_name) for p in nodes.pods_of(row)] for row in range(len(nodes))
        ],
        "ports": {k: {n: ips for n, ips in v.items() if ips} for k, v in nodes.host_ports.items() if any(v.values())},
        "pending": [(pod.key, pod.nominated_node, pod.node, pod.start_time) for pod in simulation.pending],
        "nominated": {name: [pod.key for pod in cluster.nominator.on(name)] for name in cluster.nominator.nodes()},
        "claims": dict(cluster.claims),
        "volumes": dict(cluster.volumes),
        "namespaces": cluster.namespaces,
        "priorities": dict(sorted(cluster.priorities.items())),
    }


def all_pods(simulation: Simulation) -> list[tuple[str, str, str]]:
    """Return the pods that plugins list."""
    framework = next(iter(simulation.scheduler.profiles.values()))
    return sorted((pod.key, pod.node, pod.nominated_node) for pod in framework.list_pods())


def check(kept: RecordedRun, simulation: Simulation, name: str) -> int:
    """Return how often the cluster was moved instead of restored."""
    recording, make = kept.recording, maker(simulation, registry=PLUGINS)
    moving = RestoredRun(recording, kept.fetch, make, simulation.release)
    chance, went, before = random.Random(name), 0, None
    for _ in range(MOVES):
        moment = chance.randint(0, recording.end)
        if chance.random() < 0.5 and hasattr(moving, "state"):
            moment = min(max(moving.state.moment + chance.choice((-2, -1, 1, 2)), 0), recording.end)
        at_once = restore_run(recording, kept.fetch, moment, make, simulation.release)
        if chance.random() < 0.5:
            few = {pod.key for pod in at_once.pending if chance.random() < 0.3}
            wanted = cluster_state(at_once)
            wanted["pending"] = [pod for pod in wanted["pending"] if pod[0] in few or pod[1]]
            assert cluster_state(moving.at(moment, few)) == wanted, f"{name} at {moment}, {few}"
            assert all_pods(moving.at(moment, few)) == all_pods(at_once)
        now = moving.at(moment)
        assert cluster_state(now) == cluster_state(at_once), f"{name} at {moment}"
        went, before = went + (now is before), now
    return went


@pytest.mark.parametrize(
    "case", [p for kind in KINDS for r in ("v1.34", "v1.27") for p in params(r, kinds=(kind,))[:2]]
)
def test_single_pass(case: Raw) -> None:
    simulation = simulation_of_case(case)
    assert check(played(simulation), simulation, case["name"]) > 3 or case["name"].startswith("ports")


@pytest.mark.parametrize("sample", IN_TIME, ids=lambda path: path.stem)
def test_virtual_time(sample: Any) -> None:
    run = ScenarioRun(scenario_at(sample))
    check(played_in_time(run), run.simulation, sample.stem)
