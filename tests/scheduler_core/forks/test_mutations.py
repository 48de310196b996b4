"""Changes of forks and suggested fixes: parsing, rejection and effect."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest

from scheduler_core.errors import InputError
from scheduler_core.forks.mutations import Edit, read_changes
from scheduler_core.simulation import Simulation
from tests.scheduler_core import build
from tests.scheduler_core.build import Raw, node


def pod(name: str, cpu: str = "1", on: str = "", **spec: Any) -> Raw:
    return build.pod(name, requests={"cpu": cpu}, on=on, **spec)


def cluster(**settings: Any) -> Simulation:
    objects = [
        node("a", labels={"zone": "1"}),
        node("b", labels={"zone": "2"}),
        pod("there", "3", "a"),
        pod("new", "2"),
    ]
    return Simulation(objects, tie_break="name", **settings)


def after(*changes: Raw, simulation: Simulation | None = None) -> Simulation:
    simulation = simulation or cluster()
    Edit(simulation).apply(read_changes(list(changes)))
    return simulation


def outcome(simulation: Simulation) -> dict[str, str]:
    return {trace.pod: trace.node or trace.message for trace in simulation.run()}


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({}, "changes: must be a list, got dict"),
        ([{}], "changes[0]: must have exactly one of create, "),
        ([{"cordon": "a", "drain": "b"}], "got cordon, drain"),
        (
            [{"cordon": "a"}, {"patch": {"kind": "Pod", "name": "x"}}],
            "changes[1]: patch: Object missing required field",
        ),
        ([{"cordn": "a"}], "unknown field `cordn`"),
        ([{"taint": {"node": "a", "key": "k"}}], "changes[0]: taint.effect: is missing"),
        ([{"taint": {"node": "a", "key": "k", "effect": "No"}}], "changes[0]: taint.effect: Invalid enum value 'No'"),
        ([{"weight": {"plugin": "ImageLocality", "weight": -1}}], "changes[0]: weight.weight: must be in 0.."),
        ([{"create": {"kind": "Deployment", "metadata": {"name": "d"}}}], "does not use objects of this kind"),
        (
            [{"create": {"kind": "Node", "metadata": {}}}],
            "changes[0]: create: Node without a name: metadata.name: is missing",
        ),
        ([{"place": {"pod": "default/new", "node": 3}}], "changes[0]: place.node: Expected `str`, got `int`"),
    ],
)
def test_an_invalid_change_is_rejected(raw: Any, message: str) -> None:
    with pytest.raises(InputError) as refused:
        read_changes(raw)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"delete": {"kind": "Pod", "name": "missing"}}, "changes[0]: delete: Pod default/missing: does not exist"),
        ({"cordon": "z"}, "changes[0]: cordon: Node z: does not exist"),
        ({"create": node("a")}, "exists already"),
        ({"patch": {"kind": "Lease", "name": "x", "patch": {}}}, "does not use objects of this kind"),
        ({"patch": {"kind": "Node", "name": "a", "patch": {"metadata": {"name": "x"}}}}, "must not rename"),
        ({"patch": {"kind": "Node", "name": "a", "patch": {"status": {"allocatable": {"cpu": "x"}}}}}, "allocatable"),
        ({"skip": {"plugin": "Nothing"}}, "is in no profile; there are "),
        ({"weight": {"plugin": "NodeName", "weight": 2}}, "does not score in any profile"),
        ({"place": {"pod": "default/there", "node": "b"}}, "already runs on a node"),
    ],
)
def test_an_impossible_change_is_rejected(change: Raw, message: str) -> None:
    with pytest.raises(InputError) as refused:
        after(change)
    assert message in str(refused.value)


def test_changes_are_written_as_they_were_read() -> None:
    raw = [
        {"patch": {"kind": "Pod", "namespace": "default", "name": "new", "patch": {"spec": {"nodeSelector": None}}}},
        {"skip": {"plugin": "NodeName"}},
        {"untaint": {"node": "a", "key": "k"}},
        {"create": pod("x")},
    ]
    changes = read_changes(copy.deepcopy(raw))
    assert msgspec.json.decode(msgspec.json.encode(changes)) == raw


@pytest.mark.parametrize(
    ("change", "outcomes"),
    [
        ({"create": pod("later", "2")}, {"default/new": "b", "default/later": "b"}),
        ({"create": pod("big", "4", "b")}, {"default/new": "0/2 nodes are available: 2 Insufficient cpu."}),
        ({"create": node("0")}, {"default/new": "0"}),
        ({"delete": {"kind": "Node", "name": "b"}}, {"default/new": "0/1 nodes are available: 1 Insufficient cpu."}),
        ({"delete": {"kind": "Pod", "name": "new"}}, {}),
        (
            {"cordon": "b"},
            {"default/new": "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable."},
        ),
        ({"patch": {"kind": "Pod", "name": "new", "patch": {"spec": {"nodeSelector": {"zone": "1"}}}}}, None),
        ({"place": {"pod": "default/new", "node": "a"}}, {"default/new": "a"}),
        ({"skip": {"pod": "default/new", "plugin": "NodeResourcesFit"}}, {"default/new": "a"}),
        ({"skip": {"plugin": "NodeResourcesFit"}}, {"default/new": "a"}),
    ],
)
def test_outcome_of_the_pods(change: Raw, outcomes: dict[str, str] | None) -> None:
    found = outcome(after(change, simulation=cluster(preemption=False)))
    if outcomes is None:
        assert "didn't match Pod's node affinity" in found["default/new"]
    elif "skip" in change:  # all nodes fit, and the skipped plugin does not prefer the emptier one
        assert found.keys() == outcomes.keys()
        assert set(found.values()) <= {"a", "b"}
    else:
        assert found == outcomes


def test_skip_may_apply_to_one_pod() -> None:
    objects = [node("a", cpu="1"), pod("one", "3"), pod("two", "3")]
    simulation = Simulation(objects, tie_break="name", preemption=False)
    found = outcome(after({"skip": {"pod": "default/one", "plugin": "NodeResourcesFit"}}, simulation=simulation))
    assert found == {"default/one": "a", "default/two": "0/1 nodes are available: 1 Insufficient cpu."}


def test_a_skipped_plugin_is_skipped_in_preemption() -> None:
    tainted = node("a", taints=(("k", "", "NoSchedule"),))
    objects = [tainted, pod("low", "4", "a"), pod("high", "4", priority=5)]
    assert not next(Simulation(objects, tie_break="name").run()).victims
    skip = {"skip": {"pod": "default/high", "plugin": "TaintToleration"}}
    trace = next(after(skip, simulation=Simulation(objects)).run())
    assert trace.victims == ["default/low"]


def test_taints_are_added_and_removed() -> None:
    taint = {"node": "b", "key": "k", "value": "v", "effect": "NoSchedule"}
    assert "untolerated taint" in outcome(after({"taint": taint}))["default/new"]
    assert outcome(after({"taint": taint}, {"untaint": {"node": "b", "key": "k"}})) == {"default/new": "b"}


def test_drain_deletes_all_pods_except_those_of_daemon_sets_and_static_pods() -> None:
    daemon = pod("agent", on="a")
    daemon["metadata"]["ownerReferences"] = [{"kind": "DaemonSet", "name": "agents", "controller": True}]
    simulation = Simulation([node("a"), daemon, build.static_pod("etcd", on="a"), pod("there", on="a")])
    assert list(after({"drain": "a"}, simulation=simulation).cluster.pods) == ["default/agent", "default/etcd"]
    assert simulation.cluster.nodes.unschedulable.tolist() == [True]


def test_a_patched_pod_stays_on_its_node_and_a_pending_one_keeps_its_position() -> None:
    smaller = [{"name": "c", "resources": {"requests": {"cpu": "500m"}}}]
    patch = {"kind": "Pod", "patch": {"spec": {"containers": smaller}}}
    simulation = after(*({"patch": patch | {"name": name}} for name in ("there", "new")))
    assert simulation.cluster.nodes.requested["cpu"].tolist() == [500, 0]
    assert [pod.requests for pod in simulation.to_try] == [{"cpu": 500}]


@pytest.mark.parametrize(("plugin", "weight"), [("NodeResourcesFit", 50), ("ImageLocality", 7), ("ImageLocality", 0)])
def test_a_changed_weight_is_used(plugin: str, weight: int) -> None:
    simulation = Simulation([node("a"), node("b"), pod("new")])
    trace = next(after({"weight": {"plugin": plugin, "weight": weight}}, simulation=simulation).run())
    assert (trace.scores[plugin].weight if plugin in trace.scores else 0) == weight
