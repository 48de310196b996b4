"""Pods of a class are scheduled like pods without equals, whatever changes between them."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.api.objects import Pod, decode
from scheduler_core.cluster.pod_info import NO_TERMS, PodInfo
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.framework import equivalence
from scheduler_core.framework.equivalence import EquivalenceClass
from scheduler_core.framework.interface import OBJECTS, CycleState, Plugin, Status, Verdict
from scheduler_core.plugins import PLUGINS
from scheduler_core.plugins.node_name import NodeName
from scheduler_core.plugins.node_resources_fit import NodeResourcesFit
from scheduler_core.plugins.pod_topology_spread import PodTopologySpread
from scheduler_core.plugins.volume_binding import VolumeBinding
from scheduler_core.simulation import Simulation
from tests.examples import selection
from tests.scheduler_core.build import HOSTNAME, PREFERRED, REQUIRED, ZONE, Raw, info, node, pod, selector

RELEASES = ["1.36", "1.34", "1.29", "1.26", "1.22", "1.19"]
GPU = "example.com/gpu"


def shapes() -> list[Raw]:
    """Return the arguments of `pod` for pods that use every kind of plugin."""
    small = {"requests": {"cpu": "500m", "memory": "300Mi"}}
    spread = [{"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", **_selects("s")}]
    loose = [{"maxSkew": 2, "topologyKey": HOSTNAME, "whenUnsatisfiable": "ScheduleAnyway", **_selects("l")}]
    anti = {"podAntiAffinity": {REQUIRED: [_term(HOSTNAME, "a")]}}
    near = {"podAffinity": {PREFERRED: [{"weight": 7, "podAffinityTerm": _term(ZONE, "n")}]}}
    needs = {"podAffinity": {REQUIRED: [_term(ZONE, "r")]}}
    return [
        {"labels": {"app": "b"}, **small},
        {"labels": {"app": "c"}, **small, "image": "web:1"},
        {"labels": {"app": "big"}, "requests": {"cpu": "3", "memory": "1Gi", GPU: 1}},
        {"labels": {"app": "none"}},
        {"labels": {"app": "s"}, **small, "topologySpreadConstraints": spread},
        {"labels": {"app": "l"}, **small, "topologySpreadConstraints": loose},
        {"labels": {"app": "a"}, **small, "affinity": anti},
        {"labels": {"app": "n"}, **small, "affinity": near},
        {"labels": {"app": "r"}, **small, "affinity": needs},
        {"labels": {"app": "p"}, **small, "ports": ({"hostPort": 80},)},
        {"labels": {"app": "v"}, "requests": {"cpu": "2"}, "priority": 9},
        {"labels": {"app": "z"}, **small, "nodeSelector": {ZONE: "z1"}, "tolerations": [{"operator": "Exists"}]},
    ]


def _selects(app: str) -> Raw:
    return {"labelSelector": selector(app=app)}


def _term(key: str, app: str) -> Raw:
    return {"topologyKey": key, **_selects(app)}


def nodes(dice: random.Random) -> list[Raw]:
    taints = [(), (), (("a", "b", "PreferNoSchedule"),), (("c", "d", "NoSchedule"),)]
    return [
        node(
            f"n{i}",
            zone=f"z{i % 3}" if i % 7 else "",
            cpu=dice.choice(["4", "6"]),
            more={GPU: 2} if i % 4 == 0 else {},
            images={"web:1": 500_000_000} if i % 5 == 0 else {},
            taints=dice.choice(taints),
        )
        for i in range(dice.randrange(4, 14))
    ]


def without_classes(simulation: Simulation) -> Simulation:
    for framework in simulation.scheduler.profiles.values():
        framework.equivalence.find = lambda pod: None  # type: ignore[method-assign]
    return simulation


class Change:
    """Changes two simulations in the same way."""

    def __init__(self, dice: random.Random, simulations: list[Simulation]) -> None:
        self._dice = dice
        self._clusters = [simulation.cluster for simulation in simulations]

    def apply(self) -> None:
        """Delete a pod, or add, change or remove a node, or add a Service."""
        dice, first = self._dice, self._clusters[0]
        kind = dice.choice(["pod", "pod", "pod", "node", "cordon", "remove", "service"])
        if kind == "pod" and first.pods:
            key = dice.choice(sorted(first.pods))
            for cluster in self._clusters:
                cluster.remove_pod(cluster.pods[key])
        elif kind == "node":
            made = node(f"n{dice.randrange(20)}", zone=dice.choice(["z0", "z1", "z9"]), cpu="5")
            self._apply(made)
        elif kind == "cordon" and len(first.nodes):
            changed = node(dice.choice(first.nodes.names), zone="z0", unschedulable=True)
            self._apply(changed)
        elif kind == "remove" and len(first.nodes) > 2:
            name = dice.choice(first.nodes.names)
            for cluster in self._clusters:
                cluster.remove(cluster.nodes.entries[name].node)
        elif kind == "service":
            selects = {"selector": {"app": dice.choice(["b", "c"])}}
            self._apply({"kind": "Service", "metadata": {"name": "s", "namespace": "default"}, "spec": selects})

    def _apply(self, raw: Raw) -> None:
        for cluster in self._clusters:
            cluster.apply(decode(raw))
            cluster.nodes.refresh()


def cycle(simulation: Simulation, raw: Raw) -> CycleTrace:
    decoded = decode(raw)
    assert isinstance(decoded, Pod)
    trace = simulation.scheduler.schedule_one(PodInfo(decoded, simulation.release))
    for key in trace.victims:
        simulation.cluster.remove_pod(simulation.cluster.pods[key])
    return trace


@pytest.mark.generated
@pytest.mark.parametrize("release", selection(RELEASES, 3))
@given(seed=st.integers(0, 1 << 32), percentage=st.sampled_from([100, 100, 50]), few=st.sampled_from([1, 16]))
def test_cycles_are_those_of_pods_without_equals(release: str, seed: int, percentage: int, few: int) -> None:
    """`few`: how many changed rows are few, so that the scores of their class are kept."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(equivalence, "_FEW_CHANGED", few)
        compare_cycles(release, seed, percentage)


def compare_cycles(release: str, seed: int, percentage: int) -> None:
    dice = random.Random(seed)
    objects = nodes(dice)
    some = dice.sample(shapes(), dice.randrange(1, 5))
    pair = [Simulation(objects, release=release, percentage=percentage) for _ in range(2)]
    without_classes(pair[1])
    change, kept = Change(dice, pair), []
    for number in range(30):
        if dice.random() < 0.15:
            change.apply()
        raw = pod(f"p{number}", **dice.choice(some))
        one, other = (cycle(simulation, raw) for simulation in pair)
        names, data = list(pair[0].nodes), one.encode()  # before anything reads the scores
        expected = other.golden(names)
        assert CycleTrace.decode(data).golden(names) == one.golden(names) == expected
        assert pair[0].scheduler.next_start_index == pair[1].scheduler.next_start_index
        assert CycleTrace.decode(one.encode()).golden(names) == expected
        kept.append((one, names, expected))
    # later cycles must not change the record of earlier ones
    for trace, names, expected in kept:
        assert trace.golden(names) == CycleTrace.decode(trace.encode()).golden(names) == expected


def test_equal_pods_have_a_class_until_an_object_changes() -> None:
    simulation = Simulation([node("n1"), node("n2")], release="1.36")
    framework = next(iter(simulation.scheduler.profiles.values()))

    def found(name: str, **spec: Any) -> EquivalenceClass:
        decoded = decode(pod(name, **spec))
        assert isinstance(decoded, Pod)
        equivalent = framework.equivalence.find(PodInfo(decoded, simulation.release))
        assert equivalent is not None
        return equivalent

    simulation.cluster.nodes.refresh()
    first = found("a")
    assert found("b") is first
    other = found("c", labels={"x": "y"})
    assert other is not first
    assert other.usage is first.usage  # pods with equal requests share their columns
    assert found("d", requests={"cpu": "1"}).usage is not first.usage
    simulation.cluster.apply(decode(node("n1", cpu="9")))
    second = found("e")
    assert found("f") is second is not first
    service = {"kind": "Service", "metadata": {"name": "s", "namespace": "default"}, "spec": {}}
    simulation.cluster.apply(decode(service))
    assert found("g") is not second


@pytest.mark.parametrize("release", ["1.18", "1.22", "1.26"])
def test_releases_that_skip_no_plugin_keep_the_results_for_pods_without_terms(release: str) -> None:
    simulation = Simulation([node("n1", zone="a"), node("n2")], release=release)
    framework = next(iter(simulation.scheduler.profiles.values()))
    simulation.cluster.nodes.refresh()
    found = framework.equivalence.find(info(pod("a", labels={"app": "a"}), release))
    assert found is not None
    running = {plugin.name for plugin in (*found.plugins.pre_filter, *found.plugins.pre_score)}
    running |= {plugin.name for plugin, _, place in found.plugins.varying if place is None}
    assert not running & {"PodTopologySpread", "InterPodAffinity"}


def _enabling(plugin: str, point: str = "filter") -> Raw:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {point: {"enabled": [{"name": plugin}]}}}],
    }


class Odd(NodeResourcesFit):
    """A plugin outside the tree that refuses every second pod, although the plugin that it extends does not."""

    name = "Odd"
    in_tree = False
    calls = 0

    def filter(self, state: CycleState, pod: PodInfo) -> Verdict:
        Odd.calls += 1
        return Verdict.of_statuses([Status("Unschedulable", ("odd",)) if Odd.calls % 2 else None for _ in range(2)])


def test_a_plugin_outside_the_tree_runs_for_every_pod() -> None:
    registry: dict[str, Any] = {**PLUGINS, "Odd": Odd}
    simulation = Simulation([node("n1"), node("n2")], release="1.36", config=_enabling("Odd"), registry=registry)
    results = [cycle(simulation, pod(f"p{i}")).result for i in range(6)]
    assert results == ["unschedulable", "scheduled"] * 3


class Reserving(VolumeBinding):
    """A plugin outside the tree whose Reserve refuses pods without volumes, for which the plugin that it extends does
    nothing."""

    name = "Reserving"
    in_tree = False

    def reserve(self, state: CycleState, pod: PodInfo, node: str) -> Status | None:
        return Status("Unschedulable", ("reserved",))


class Counting(PodTopologySpread):
    """A plugin outside the tree whose PreFilter refuses pods for which the plugin that it extends skips it."""

    name = "Counting"
    in_tree = False

    def pre_filter(self, state: CycleState, pod: PodInfo) -> Status | None:
        return Status("Unschedulable", ("counted",))


@pytest.mark.parametrize("plugin", [Reserving, Counting])
def test_what_a_plugin_outside_the_tree_changes_is_not_skipped(plugin: type[Plugin]) -> None:
    config = _enabling(plugin.name, "multiPoint")
    simulation = Simulation([node("n1")], release="1.36", config=config, registry={**PLUGINS, plugin.name: plugin})
    assert [cycle(simulation, pod(f"p{i}", labels={"a": "b"})).unschedulable_plugins for i in range(2)] == [
        [plugin.name],
        [plugin.name],
    ]


class ByLabel(NodeName):
    """A plugin outside the tree that reads labels, although the plugin that it extends ignores them."""

    name = "ByLabel"
    in_tree = False

    def varies_with(self, pod: PodInfo) -> str:
        return OBJECTS

    def filter(self, state: CycleState, pod: PodInfo) -> Verdict:
        return Verdict.of_statuses([Status("Unschedulable", ("label",)) if "bad" in pod.labels else None] * 2)


def test_pods_with_other_labels_share_no_results_of_a_plugin_that_reads_them() -> None:
    registry: dict[str, Any] = {**PLUGINS, "ByLabel": ByLabel}
    simulation = Simulation([node("n1"), node("n2")], release="1.36", config=_enabling("ByLabel"), registry=registry)
    labels = [{}, {}, {"good": ""}, {"good": ""}, {"bad": ""}, {"bad": ""}]
    results = [cycle(simulation, pod(f"p{i}", labels=one)).result for i, one in enumerate(labels)]
    assert results == ["scheduled"] * 4 + ["unschedulable"] * 2


def test_pods_that_spread_over_different_keys_have_their_own_verdicts() -> None:
    racks = [node(f"n{i}", zone=zone, labels={"rack": rack}) for i, zone, rack in ((1, "a", "x"), (2, "b", "x"))]
    objects = [*racks, node("n3", zone="a", labels={"rack": "y"}), pod("first", on="n1", labels={"app": "s"})]
    simulation = Simulation(objects, release="1.36")
    chosen = []
    for number, key in enumerate((ZONE, "rack")):  # the second value of either key lacks a pod
        spread = [{"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", **_selects("s")}]
        raw = pod(f"p{number}", labels={"app": "s"}, topologySpreadConstraints=spread)
        chosen.append(cycle(simulation, raw).node)
    assert chosen == ["n2", "n3"]


def test_a_pod_takes_the_terms_of_an_equal_pod_that_now_counts_with_others() -> None:
    simulation = Simulation([node("n1")], release="1.36")
    anti = {"podAntiAffinity": {REQUIRED: [_term(HOSTNAME, "a")]}}
    first, second, third = (info(pod(name, affinity=anti), "1.36") for name in ("p1", "p2", "p3"))
    terms = first.terms()
    first.show_terms(NO_TERMS)
    simulation.cluster.add_pod(first, "n1")
    second.share(first, terms)
    assert (second.terms(), second.term_columns) == (terms, None)
    simulation.cluster.add_pod(second, "n1")
    third.share(second, terms)
    assert third.term_columns
    assert third.term_columns is second.term_columns
