"""Trials leave a simulation as it was: objects, pods to try, nominations, decisions and the order of all of them.

The state is read from the core's own containers and columns, so that nothing that a trial leaves behind is missed.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.api.objects import Metadata, Namespace
from scheduler_core.cluster.pod_columns import ROLES
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.errors import InputError
from scheduler_core.forks.mutations import DECISIONS, OBJECTS, Edit, read_changes
from scheduler_core.framework.runtime import _LISTS, Framework
from scheduler_core.simulation import Simulation
from scheduler_core.suggestions.answers import answers_of
from scheduler_core.suggestions.fixes import ranked_over
from scheduler_core.suggestions.placing import Placing
from scheduler_core.suggestions.what_if import WhatIf
from tests.random_clusters import IMAGES, TAINTS, ZONES, random_cluster
from tests.scheduler_core.build import ZONE, node, pod

Raw = dict[str, Any]
RELEASES = ("1.16", "1.19", "1.24", "1.28", "1.31", "1.33", "1.34", "1.35", "1.36")


def state(simulation: Simulation) -> Raw:
    """Return everything that later cycles depend on, in order. Objects that a trial restores must be the same ones."""
    cluster, scheduler, nodes = simulation.cluster, simulation.scheduler, simulation.cluster.nodes
    columns = cluster.columns
    devices = cluster.shared.get("devices")
    everyone = {id(one): one for one in (*simulation.pending, *simulation.to_try, *cluster.pods.values())}
    return {
        "pending": [one.key for one in simulation.pending],
        "to try": [one.key for one in simulation.to_try],
        "bound": [(key, one.node) for key, one in cluster.pods.items()],
        "pods": {key: _pod(one) for key, one in everyone.items()},
        "names": list(nodes.names),
        "rows": dict(nodes.rows),
        "entries": {name: (id(one.node), one.image_spread) for name, one in nodes.entries.items()},
        "order of entries": list(nodes.entries),
        "pods of nodes": {name: list(one.pods) for name, one in nodes.entries.items()},
        "zones": list(nodes.zones().items()),
        "allocatable": _columns(nodes.allocatable),
        "requested": _columns(nodes.requested),
        "nonzero": [column.tolist() for column in (nodes.nonzero_cpu, nodes.nonzero_memory, nodes.pod_count)],
        "allowed pods": nodes.allowed_pods.tolist(),
        "unschedulable": nodes.unschedulable.tolist(),
        "ports": {
            (*port, name): set(addresses)
            for port, users in nodes.host_ports.items()
            for name, addresses in users.items()
            if addresses
        },
        "images": {image: (size, set(holders)) for image, (size, holders) in nodes.images.items()},
        "touched": set(nodes._touched or ()),
        "labels": {
            key: {n: k for n, k in one.nodes.items() if k} for key, one in columns._classes.items() if one.nodes
        },
        # counters that are wrong
        "selected": {
            key: one.counts.tolist()
            for key, one in columns._selectors.items()
            if one.counts.tolist() != _count(simulation, one.matches)
        },
        "terms": {
            key: one.counts.tolist()
            for key, one in columns._terms.items()
            if one.counts.tolist()
            != _count(simulation, lambda pod, one=one: one.term in pod.terms()[ROLES.index(one.role)])
        },
        "namespaces": [(name, dict(labels)) for name, labels in cluster.namespaces.items()],
        "objects": {kind: [(key, id(one)) for key, one in table.items()] for kind, table in cluster._tables.items()},
        "priorities": list(cluster.priorities.items()),
        "groups": {group: number for group, number in cluster.group_members.items() if number},
        "volumes": [(name, list(pods)) for name, pods in cluster.volume_users.by_node.items()],
        "users of volumes": {key: dict(users) for key, users in cluster.volume_users._nodes.items()},
        "nominated": [(name, [id(one) for one in cluster.nominator.on(name)]) for name in cluster.nominator.nodes()],
        "devices": (dict(devices.in_use.devices), dict(devices.in_use.consumed)) if devices is not None else ({}, {}),
        "counters": (scheduler.next_start_index, scheduler.cycles, scheduler.attempts, scheduler.preemption),
        "places": dict(scheduler.places),
        "own": {key: (id(one), _framework(one)) for key, one in scheduler.own_frameworks.items()},
        "profiles": {name: _framework(one) for name, one in scheduler.profiles.items()},
        "waiting": [
            (one.pod.key, one.node, set(one.pending), one.rejected)
            for framework in scheduler.profiles.values()
            for one in framework.waiting_pods
        ],
        "journal": list(cluster.journal.entries or ()),
    }


def _pod(one: PodInfo) -> Any:
    return id(one.pod), one.node, one.nominated_node, one.start_time, one.priority


def _count(simulation: Simulation, counted: Callable[[PodInfo], bool]) -> list[int]:
    """Count pods on each node: the counters of a cluster, which are created when they are needed, must equal this."""
    placed = [pod.node for pod in simulation.cluster.pods.values() if counted(pod)]
    return [placed.count(name) for name in simulation.cluster.nodes.names]


def _columns(columns: Any) -> Any:
    return {name: column.tolist() for name, column in columns.items() if column.any()}


def _framework(one: Framework) -> Any:
    lists = {point: [plugin.name for plugin in getattr(one, point)] for point in _LISTS}
    return lists, dict(one.weights), id(one.equivalence), one.percentage


# ---- changes of every kind


class Changes:
    """Random changes to the objects of a cluster."""

    def __init__(self, chance: random.Random, simulation: Simulation) -> None:
        self.chance, self.cluster = chance, simulation.cluster
        self.nodes = [*simulation.cluster.nodes.names, "absent"]
        self.pods = [pod.key for pod in (*simulation.cluster.pods.values(), *simulation.pending)]
        framework = simulation.scheduler.profiles["default-scheduler"]
        self.plugins, self.scorers = framework.plugin_names, list(framework.weights)

    def some(self, most: int = 4) -> list[Raw]:
        return [self.one(self.chance.choice((*OBJECTS, *DECISIONS))) for _ in range(self.chance.randint(0, most))]

    def one(self, name: str) -> Raw:
        made: Raw = {name: getattr(self, f"_{name}")()}
        return made

    def _node(self) -> str:
        return self.chance.choice(self.nodes)

    _cordon = _uncordon = _drain = _node

    def _taint(self) -> Raw:
        key, value, effect = self.chance.choice(TAINTS)
        return {"node": self._node(), "key": key, "value": value, "effect": effect}

    def _untaint(self) -> Raw:
        return {"node": self._node(), "key": self.chance.choice(TAINTS)[0]}

    def _place(self) -> Raw:
        return {"pod": self.chance.choice(self.pods), "node": self._node()}

    def _skip(self) -> Raw:
        whose = self.chance.choice((None, self.chance.choice(self.pods)))
        return {"plugin": self.chance.choice(self.plugins), "pod": whose}

    def _weight(self) -> Raw:
        return {"plugin": self.chance.choice(self.scorers or ["none"]), "weight": self.chance.choice((0, 1, 7))}

    def _named(self) -> tuple[str, str, str]:
        """Return kind, namespace and name of an object; pods and nodes are as frequent as all others."""
        kind = self.chance.choice(("Pod", "Node", "other"))
        if kind == "Pod":
            namespace, _, name = self.chance.choice(self.pods).partition("/")
            return kind, namespace, name
        if kind == "Node":
            return kind, "", self._node()
        others = [*self.cluster.others(), Namespace(Metadata("prod"))]
        one = self.chance.choice(others)
        return type(one).__name__, one.metadata.namespace, one.metadata.name

    def _delete(self) -> Raw:
        kind, namespace, name = self._named()
        return {"kind": kind, "namespace": namespace, "name": name}

    def _patch(self) -> Raw:
        kind, namespace, name = self._named()
        patch: Raw = {"metadata": {"labels": {"app": self.chance.choice("xy"), "team": "red"}}}
        if kind == "Node":
            patch = self.chance.choice(
                (
                    {"metadata": {"labels": {ZONE: self.chance.choice(ZONES)}}},
                    {"status": {"allocatable": {"cpu": "64", "example.com/new": "3"}}},
                    {"status": {"images": [{"names": [self.chance.choice(IMAGES)], "sizeBytes": 7 << 20}]}},
                )
            )
        if kind == "Pod" and self.chance.random() < 0.5:
            port = {"containerPort": 80, "hostPort": self.chance.choice((80, 81))}
            patch = {"spec": {"containers": [{"name": "main", "image": "app:1", "ports": [port]}]}}
        return {"kind": kind, "namespace": namespace, "name": name, "patch": patch}

    def _create(self) -> Raw:
        number = self.chance.randint(1, 3)
        if self.chance.random() < 0.5:
            zone = self.chance.choice(ZONES)
            return node(
                f"new{number}", zone=zone, images={self.chance.choice(IMAGES): 5 << 20}, more={"example.com/x": 1}
            )
        on = self.chance.choice(("", self.chance.choice(self.nodes)))
        return pod(f"new{number}", on=on, labels={"app": "web"}, requests={"cpu": "1"}, priority=5)


# ---- trials


def begun(seed: int, release: str, cycles: int) -> Simulation:
    """Return a run of a random cluster after some cycles. Its journal is on."""
    case = random_cluster(seed)
    simulation = Simulation(case["objects"], release=release, tie_break="name", timer=lambda: 0)
    simulation.cluster.journal.entries = []
    for _ in islice(simulation.run(), cycles):
        pass
    simulation.cluster.nodes.refresh()
    return simulation


def waiting(simulation: Simulation) -> list[str]:
    return [pod.key for pod in simulation.pending if not pod.node]


def check_trial(seed: int, release: str, changes: int) -> None:
    chance = random.Random(changes)
    simulation = begun(seed, release, chance.randint(0, 6))
    pending = waiting(simulation)
    if not pending:
        return
    made = Changes(chance, simulation)
    if chance.random() < 0.3:  # a fork has changed the decisions of this run already
        for raw in [made.one(chance.choice(DECISIONS)) for _ in range(2)]:
            with suppress(InputError):
                Edit(simulation).apply(read_changes([raw]))
    what_if = WhatIf(simulation, chance.choice(pending))
    for _ in range(3):
        tried = made.some()
        before = state(simulation)
        with suppress(InputError):
            what_if.run(read_changes(tried))
        after = state(simulation)
        assert not {part: (before[part], after[part]) for part in before if before[part] != after[part]}, tried


@pytest.mark.parametrize("release", RELEASES)
def test_a_trial_leaves_the_simulation_as_it_was(release: str) -> None:
    for seed in range(4):
        check_trial(seed, release, seed)


def test_a_trial_after_one_that_skips_a_plugin_that_scores() -> None:
    check_trial(0, "1.34", 428_647)


@pytest.mark.long
@settings(max_examples=1500, deadline=None)
@given(st.integers(0, 100_000), st.sampled_from(RELEASES), st.integers(0, 1_000_000))
def test_random_trials_leave_the_simulation_as_it_was(seed: int, release: str, changes: int) -> None:
    check_trial(seed, release, changes)


def test_suggested_fixes_leave_the_run_as_it_was() -> None:
    """Deletions of pods that the run placed itself, which are among the pods to try, are simulated."""
    simulation = Simulation(
        [node("n1"), *(pod(name, requests={"cpu": "3"}) for name in "abc")], tie_break="name", timer=lambda: 0
    )
    tried = []
    for trace in simulation.run():
        tried.append(trace.pod)
        if trace.result != "scheduled":
            before = state(simulation)
            (alike,) = answers_of(simulation, only={trace.pod})
            assert alike.answer.fixes
            waiting = [pod for pod in simulation.pending if pod.key == trace.pod]
            deletion = read_changes([{"delete": {"kind": "Pod", "namespace": "default", "name": "a"}}])
            assert Placing(simulation, 9).place(deletion, waiting) == ["n1"]
            assert state(simulation) == before
    assert tried == ["default/a", "default/b", "default/c"]


def test_the_best_fixes_over_pending_pods_leave_the_run_as_it_was() -> None:
    simulation = begun(3, "1.34", 4)
    before = state(simulation)
    pods = {pod.key: pod for pod in simulation.pending}
    found = answers_of(simulation)
    ranked_over(simulation, [(alike.answer.fixes, [pods[key] for key in alike.pods]) for alike in found])
    assert state(simulation) == before


def test_a_patch_of_a_namespace_keeps_its_other_labels() -> None:
    simulation = Simulation([{"kind": "Namespace", "metadata": {"name": "prod", "labels": {"team": "red"}}}])
    patch = {"kind": "Namespace", "name": "prod", "patch": {"metadata": {"labels": {"tier": "one"}}}}
    Edit(simulation).apply(read_changes([{"patch": patch}]))
    assert simulation.cluster.namespaces["prod"] == {"team": "red", "tier": "one"}
