"""Cluster states of the core during a run, read from its own columns, and runs to read them from.

Independent of `scheduler_core.recording`: it shares no code with what it checks.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from scheduler_core.api.objects import Pod
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.commands import replay_time
from scheduler_core.commands.replay import release_of, simulation_of
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.releases import get_release
from scheduler_core.simulation import Simulation
from scheduler_core.virtual_time.engine import Engine, Record
from scheduler_core.virtual_time.scenario import Scenario, load_scenario
from tests.conformance import golden_cases

ROOT = Path(__file__).parents[3]
SAMPLES = ROOT / "kubesched_ui" / "scenarios" / "samples"
Raw = dict[str, Any]


def core_state(cluster: Cluster, existing: set[str], waiting: set[str]) -> Raw:
    """Return the state of the core, with the keys of a recorded state except `cycle` and `t`."""
    table = cluster.nodes
    table.refresh()
    nodes = []
    for row, name in enumerate(table.names):
        entry = table.entries[name]
        assert entry.node is not None
        has = {"pods": int(table.allowed_pods[row]), **{r: int(c[row]) for r, c in table.allocatable.items()}}
        nodes.append(
            {
                "name": name,
                "allocatable": {resource: amount for resource, amount in has.items() if amount},
                "requested": {r: int(c[row]) for r, c in table.requested.items() if c[row]}
                | ({"pods": int(table.pod_count[row])} if table.pod_count[row] else {}),
                "nonzero_requested": {"cpu": int(table.nonzero_cpu[row]), "memory": int(table.nonzero_memory[row])},
                "taints": [f"{t.key}{'=' * bool(t.value)}{t.value}:{t.effect}" for t in entry.node.spec.taints],
                "unschedulable": bool(table.unschedulable[row]),
                "pods": list(entry.pods),
            }
        )
    nominated = {pod.key: node for node in cluster.nominator.nodes() for pod in cluster.nominator.on(node)}
    return {
        "nodes": nodes,
        "nominated": nominated,
        "waiting": {key: cluster.pods[key].node for key in waiting},
        "pending": sorted(existing - cluster.pods.keys()),
        "orphans": {key: pod.node for key, pod in cluster.pods.items() if pod.node not in table.rows},
    }


def comparable_state(state: Raw) -> Raw:
    """Return a recorded state without its position and without quantities of 0."""

    def without_zeros(node: Raw) -> Raw:
        return {
            part: {n: amount for n, amount in node[part].items() if amount} for part in ("allocatable", "requested")
        }

    nodes = [node | without_zeros(node) for node in state["nodes"]]
    kept = ("nominated", "waiting", "pending", "orphans")
    return {"nodes": nodes, **{name: state[name] for name in kept}}


def apply_change(state: Raw, change: Raw) -> Raw:
    """Apply a change to a state, as docs/debugger.md describes for other programs."""
    nodes = {node["name"]: node for node in state["nodes"] if node["name"] not in change["removed"]}
    nodes |= {node["name"]: node for node in change["nodes"]}
    names = change.get("order") or list(nodes)
    added = copy.deepcopy(state) | {"nodes": [nodes[name] for name in names]}
    for part in ("nominated", "waiting", "orphans"):
        for key, value in change[part].items():
            if value is None:
                del added[part][key]
            else:
                added[part][key] = value
    pending = set(state["pending"]) - set(change["no_longer_pending"]) | set(change["pending"])
    return added | {"pending": sorted(pending), "cycle": change["cycle"], "t": change["t"]}


@dataclass
class WatchedRun:
    """A finished run with the state of the core before every cycle and at the end. `pods`: the pod of each cycle."""

    states: list[Raw] = field(default_factory=list)
    traces: list[CycleTrace] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    orders: list[list[str]] = field(default_factory=list)
    pods: list[Pod] = field(default_factory=list)


def watch_once(simulation: Simulation, watched: WatchedRun) -> Iterator[CycleTrace]:
    """Play a single-pass run cycle by cycle. Store the state before each cycle and at the end."""
    existing = {pod.key for pod in simulation.pending} | simulation.cluster.pods.keys()
    before: dict[int, tuple[Raw, Pod]] = {}
    try_pod = simulation.scheduler.try_pod

    def look() -> Raw:
        return core_state(simulation.cluster, existing, set(simulation._waiting))

    def trying(pod: PodInfo, *args: Any) -> Any:
        state = look()
        found = try_pod(pod, *args)
        before[id(found[2])] = state, pod.pod
        return found

    simulation.scheduler.try_pod = trying  # type: ignore[method-assign]
    for trace in simulation.run():
        existing -= set(trace.victims)
        watched.traces.append(trace)
        watched.times.append(0.0)
        watched.orders.append(list(simulation.nodes))
        state, pod = before[id(trace)]
        watched.states.append(state)
        watched.pods.append(pod)
        yield trace
    watched.states.append(look())


def watch_time(timeline: Engine, until: float, watched: WatchedRun) -> Iterator[Record]:
    """Play a virtual time run record by record. Store the state before each attempt and at the end."""
    try_pod = timeline.scheduler.try_pod

    def look() -> None:
        assumed = set(timeline.api.lifecycle.assumed())
        watched.states.append(core_state(timeline.cluster, set(timeline.api.pods), assumed))

    def trying(pod: PodInfo, *args: Any) -> Any:
        look()
        watched.orders.append(list(timeline.cluster.nodes.names))
        watched.pods.append(pod.pod)
        return try_pod(pod, *args)

    timeline.scheduler.try_pod = trying  # type: ignore[method-assign]
    for record in timeline.run(until):
        watched.records.append(record)
        if record.trace is not None:
            watched.traces.append(record.trace)
            watched.times.append(record.time)
        yield record
    look()


IN_TIME = sorted(SAMPLES.glob("1[3-8]-*.yaml"))


def params(*sets: str, kinds: tuple[str, ...] = ()) -> list[Any]:
    """Return conformance cases of these sets as parameters of a test."""
    return [pytest.param(case, id=f"{name}-{case['name']}") for name in sets for case in golden_cases(name, *kinds)]


def first_params(*sets: str, kinds: tuple[str, ...] = ()) -> list[Any]:
    """Return the first case of each kind in each set."""
    found: dict[tuple[str, str], Any] = {}
    for param in params(*sets, kinds=kinds):
        found.setdefault((param.id.partition("-")[0], param.values[0]["name"].split("-")[0]), param)
    return list(found.values())


def simulation_of_case(case: Raw) -> Simulation:
    return simulation_of({"pods": None} | case, timer=lambda: 0)


def timeline_of_case(case: Raw, release: str = "") -> tuple[Simulation, Engine, float]:
    """Return a conformance case in virtual time, not started."""
    of = get_release(release) if release else release_of(case)
    config = None if of.predicates else case.get("config")  # not supported in 1.16
    simulation = Simulation(case["objects"], release=of, config=config, tie_break="name", timer=lambda: 0)
    timeline = Engine(simulation)
    for entry in case["timeline"]:
        obj = replay_time.decode(entry["object"])
        if obj is not None:
            timeline.at(float(entry["at"]), replay_time._operation(timeline.api, entry["op"], obj))
    return simulation, timeline, float(case["until"])


def scenario_at(path: Path) -> Scenario:
    return load_scenario(path.read_bytes(), path.name)


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
