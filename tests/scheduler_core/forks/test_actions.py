"""Actions on a node or pod: their changes, titles and rejections."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scheduler_core.errors import InputError
from scheduler_core.forks import actions
from scheduler_core.forks.actions import Action, NodeTarget, PodTarget, on_node, on_pod, relaxations
from scheduler_core.forks.mutations import Edit, read_changes
from scheduler_core.simulation import Simulation
from tests.scheduler_core import build
from tests.scheduler_core.build import PREFERRED, REQUIRED, ZONE, Raw

TAINT = ("dedicated", "gpu", "NoSchedule")


def nodes() -> list[Raw]:
    return [build.node("a", zone="1"), build.node("b", zone="2", taints=(TAINT,))]


def pod(name: str, cpu: str = "1", on: str = "", **spec: Any) -> Raw:
    made = build.pod(name, requests={"cpu": cpu, "memory": "1Gi"}, on=on, labels={"app": "web"}, **spec)
    made["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": "web", "controller": True}]
    return made


def outcome(action: Action, *pods: Raw) -> dict[str, str]:
    """Apply an action before the first cycle. Return pod -> node of all pods afterwards."""
    simulation = Simulation([*nodes(), *pods], tie_break="name")
    Edit(simulation).apply(read_changes(action.changes))
    for _ in simulation.run():
        pass
    placed = {key: info.node for key, info in simulation.cluster.pods.items()}
    return placed | {info.key: "" for info in simulation.pending if info.key not in placed}


def at(node: int = 0, **more: Any) -> NodeTarget:
    return NodeTarget(nodes()[node], names=("a", "b"), **more)


# ---- nodes


def test_cordon_and_uncordon() -> None:
    cordon = on_node("cordon", {}, at())
    assert cordon.title == "cordon a"
    assert outcome(cordon, pod("p")) == {"default/p": ""}
    closed = NodeTarget(build.node("a", unschedulable=True))
    assert on_node("uncordon", {}, closed) == Action("uncordon a", [{"uncordon": "a"}])
    for action, target in (("cordon", closed), ("uncordon", at())):
        with pytest.raises(InputError, match=r"Node a: spec.unschedulable: is (true|false) already"):
            on_node(action, {}, target)


def test_a_drain_reschedules_pods_of_controllers() -> None:
    moved, alone = pod("moved", on="a"), build.pod("alone", on="a")
    ending = build.pod("ending", on="a")
    ending["metadata"] |= {**moved["metadata"], "name": "ending", "deletionTimestamp": "2026-01-01T00:00:00Z"}
    bound = [build.pod(kind.lower(), on="a") for kind in ("DaemonSet", "Node")]  # the latter is a static pod
    for one, kind in zip(bound, ("DaemonSet", "Node"), strict=True):
        one["metadata"]["ownerReferences"] = [{**moved["metadata"]["ownerReferences"][0], "kind": kind}]
    drain = on_node("drain", {}, at(pods=[moved, alone, ending, *bound]))
    untaint = on_node("untaint", {"taint": "dedicated=gpu:NoSchedule"}, at(1))
    assert drain.title == "drain a"
    both = Action("", [*untaint.changes, *drain.changes])
    assert outcome(both, moved, alone) == {"default/moved": "b"}
    assert [change["create"]["metadata"]["name"] for change in drain.changes if "create" in change] == ["moved"]


def test_a_node_is_resized() -> None:
    large = on_node("resize", {"allocatable.cpu": "16", "allocatable.memory": "8Gi", "allocatable.pods": ""}, at())
    assert large.title == "16 cpu on a"
    assert outcome(large, pod("p", cpu="10")) == {"default/p": "a"}


def test_taints() -> None:
    taint = on_node("taint", {"key": " k ", "value": "", "effect": "NoSchedule"}, at())
    assert taint.title == "taint k:NoSchedule on a"
    assert outcome(taint, pod("p")) == {"default/p": ""}
    untaint = on_node("untaint", {"taint": "dedicated=gpu:NoSchedule"}, at(1))
    assert untaint.title == "no taint dedicated=gpu:NoSchedule on b"
    assert outcome(Action("", [*taint.changes, *untaint.changes]), pod("p")) == {"default/p": "b"}


def test_nodes_of_the_same_pool() -> None:
    two = on_node("add", {"count": "2"}, at())
    assert two.title == "2 nodes like a"
    assert [change["create"]["metadata"]["name"] for change in two.changes] == ["a-new", "a-new-2"]
    placed = outcome(two, *(pod(f"p{i}", cpu="3") for i in range(3)))
    assert sorted(placed.values()) == ["a", "a-new", "a-new-2"]
    again = NodeTarget(nodes()[0], names=("a", "a-new"))
    assert on_node("add", {"count": "1"}, again).changes[0]["create"]["metadata"]["name"] == "a-newx"


@pytest.mark.parametrize(
    ("action", "values", "problem"),
    [
        ("explode", {}, "What if: action: must be one of cordon, "),
        ("", {}, "What if: action: must be one of cordon, "),
        ("resize", {}, "Node a: status.allocatable: is unchanged"),
        ("resize", {"allocatable.cpu": "4000m"}, "Node a: status.allocatable: is unchanged"),
        ("resize", {"allocatable.cpu": "four"}, "Node a: status.allocatable.cpu: quantities must match"),
        ("resize", {"allocatable.memory": "-1Gi"}, "Node a: status.allocatable.memory: must not be negative"),
        ("resize", {"allocatable.example.com/none": "1"}, "Node a: status.allocatable: is unchanged"),
        ("taint", {}, "Node a: spec.taints.key: must not be empty"),
        ("taint", {"key": "a b", "effect": "NoSchedule"}, "Node a: spec.taints.key: must be at most 63"),
        ("taint", {"key": "k", "value": "/", "effect": "NoSchedule"}, "Node a: spec.taints.value: must be at most 63"),
        ("taint", {"key": "k", "effect": "No"}, "Node a: spec.taints.effect: must be one of NoSchedule, "),
        ("untaint", {"taint": "k:NoSchedule"}, "Node a: spec.taints: has no taint 'k:NoSchedule'"),
        ("untaint", {}, "Node a: spec.taints: has no taint ''"),
        ("add", {"count": "0"}, "What if: count: must be a whole number in 1..100, got '0'"),
        ("add", {"count": "101"}, "What if: count: "),
        ("add", {"count": "²"}, "What if: count: "),
        ("add", {"count": "1.5"}, "What if: count: "),
        ("add", {}, "What if: count: "),
    ],
)
def test_invalid_actions_on_a_node(action: str, values: dict[str, str], problem: str) -> None:
    with pytest.raises(InputError) as refused:
        on_node(action, values, at())
    assert str(refused.value).startswith(problem)


def test_an_existing_taint() -> None:
    with pytest.raises(InputError, match=r"Node b: spec.taints: has dedicated=gpu:NoSchedule already"):
        on_node("taint", dict(zip(("key", "value", "effect"), TAINT, strict=True)), at(1))


# ---- pods


def test_requests_are_set() -> None:
    one = pod("p", cpu="5")
    one["spec"]["containers"][0]["resources"]["limits"] = {"cpu": "5", "memory": "1Gi"}
    less = on_pod("request", {"main.cpu": "1", "main.memory": "2Gi"}, PodTarget([one]))
    assert less.title == "1 cpu and 2Gi memory for p"
    resources = less.changes[0]["patch"]["patch"]["spec"]["containers"][0]["resources"]
    assert resources == {"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"cpu": "5", "memory": "2Gi"}}
    assert outcome(less, one) == {"default/p": "a"}


def test_a_pod_on_a_node_is_rescheduled() -> None:
    there = pod("p", on="a")
    double = on_pod("request", {"main.cpu": "2"}, PodTarget([there]))
    assert [next(iter(change)) for change in double.changes] == ["delete", "create"]
    assert outcome(double, there) == {"default/p": "a"}
    stays = on_pod("request", {"main.cpu": "2"}, PodTarget([there], rescheduled=False))
    assert [next(iter(change)) for change in stays.changes] == ["patch"]
    static = pod("static", on="a")
    static["metadata"]["ownerReferences"] = [{"kind": "Node", "name": "a", "controller": True}]
    stays = on_pod("request", {"main.cpu": "2"}, PodTarget([static]))
    assert [next(iter(change)) for change in stays.changes] == ["patch"]


def test_a_pod_is_deleted() -> None:
    delete = on_pod("delete", {}, PodTarget([pod("p")]))
    assert delete.title == "delete p"
    assert outcome(delete, pod("p"), pod("q")) == {"default/q": "a"}


def test_all_pods_of_a_controller() -> None:
    pods = [pod("p1"), pod("p2"), pod("p3", on="a")]
    target = PodTarget(pods, "ReplicaSet web")
    assert on_pod("delete", {}, target).title == "delete 3 pods of ReplicaSet web"
    half = on_pod("request", {"main.cpu": "500m"}, target)
    assert half.title == "500m cpu for 3 pods of ReplicaSet web"
    assert [next(iter(change)) for change in half.changes] == ["patch", "patch", "delete", "create"]


SPREAD = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
SPREAD["labelSelector"] = {"matchLabels": {"app": "web"}}
TERM = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": ZONE}
ZONE_3 = {"nodeSelectorTerms": [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["3"]}]}]}


@pytest.mark.parametrize(
    ("spec", "keys", "title"),
    [
        ({"nodeSelector": {ZONE: "3"}}, ["nodeSelector"], "preferred nodeSelector on p"),
        ({"affinity": {"nodeAffinity": {REQUIRED: ZONE_3}}}, ["nodeAffinity"], "preferred node affinity on p"),
        ({"affinity": {"podAffinity": {REQUIRED: [TERM]}}}, ["podAffinity/0"], "preferred pod affinity on p"),
        (
            {"affinity": {"podAntiAffinity": {REQUIRED: [TERM | {"labelSelector": {}}]}}},
            ["podAntiAffinity/0"],
            "preferred pod anti-affinity on p",
        ),
        (
            {"topologySpreadConstraints": [SPREAD]},
            ["spread/0/maxSkew", "spread/0/ScheduleAnyway"],
            "maxSkew 2 on p",
        ),
    ],
)
def test_a_constraint_is_relaxed(spec: Raw, keys: list[str], title: str) -> None:
    other = pod("other", on="a")  # in zone 1; zone 2 has a taint
    pending = pod("p", **spec)
    assert [one.key for one in relaxations(pending)] == keys
    assert outcome(Action("", []), other, pending)["default/p"] == ""
    for key in keys:
        relaxed = on_pod("relax", {"constraint": key}, PodTarget([pending]))
        assert outcome(relaxed, other, pending)["default/p"] == "a", key
        assert not any(one.key == key for one in relaxations(_patched(pending, relaxed)) if "maxSkew" not in key)
    assert on_pod("relax", {"constraint": keys[0]}, PodTarget([pending])).title == title


def _patched(pod: Raw, action: Action) -> Raw:
    from scheduler_core.api.patches import merge_patch

    return dict(merge_patch(pod, action.changes[0]["patch"]["patch"]))


def test_a_required_term_becomes_an_additional_preferred_one() -> None:
    own = {"weight": 5, "preference": {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}}
    two = pod("p", nodeSelector={"disk": "ssd"}, affinity={"nodeAffinity": {REQUIRED: ZONE_3, PREFERRED: [own]}})
    soft = _patched(two, on_pod("relax", {"constraint": "nodeAffinity"}, PodTarget([two])))
    found = soft["spec"]["affinity"]["nodeAffinity"]
    assert found == {PREFERRED: [own, {"weight": 100, "preference": ZONE_3["nodeSelectorTerms"][0]}]}
    assert soft["spec"]["nodeSelector"] == {"disk": "ssd"}
    many = pod("p", affinity={"podAffinity": {REQUIRED: [TERM, TERM | {"topologyKey": "rack"}]}})
    left = _patched(many, on_pod("relax", {"constraint": "podAffinity/0"}, PodTarget([many])))
    assert [term["topologyKey"] for term in left["spec"]["affinity"]["podAffinity"][REQUIRED]] == ["rack"]


@pytest.mark.parametrize(
    ("action", "values", "problem"),
    [
        ("cordon", {}, "What if: action: must be one of request, "),
        ("request", {}, "Pod default/p: spec.containers: has these requests already"),
        ("request", {"main.cpu": "1000m"}, "Pod default/p: spec.containers: has these requests already"),
        ("request", {"main.cpu": "1 core"}, "Pod default/p: spec.containers.main.requests.cpu: quantities must match"),
        ("request", {"main.cpu": "-1"}, "Pod default/p: spec.containers.main.requests.cpu: must not be negative"),
        ("request", {"main.example.com/gpu": "1"}, "Pod default/p: spec.containers: has these requests already"),
        ("relax", {}, "Pod default/p: spec: has no constraint ''"),
        ("relax", {"constraint": "spread/7/maxSkew"}, "Pod default/p: spec: has no constraint 'spread/7/maxSkew'"),
    ],
)
def test_invalid_actions_on_a_pod(action: str, values: dict[str, str], problem: str) -> None:
    with pytest.raises(InputError) as refused:
        on_pod(action, values, PodTarget([pod("p")]))
    assert str(refused.value).startswith(problem)


@pytest.mark.parametrize(
    ("changes", "title"),
    [
        ([], ""),
        ([{"cordon": "a"}], "cordon a"),
        ([{"create": build.node("x")}, {"delete": {"kind": "Pod", "name": "p"}}], "Node x and delete p"),
        ([{"cordon": "a"}, {"drain": "b"}, {"uncordon": "c"}], "cordon a and 2 other changes"),
        ([{"taint": {"node": "a", "key": "k", "effect": "NoSchedule"}}], "taint k:NoSchedule on a"),
        ([{"untaint": {"node": "a", "key": "k"}}], "no taint k on a"),
        ([{"place": {"pod": "default/p", "node": "a"}}], "default/p on a"),
        ([{"skip": {"plugin": "NodeName"}}], "no NodeName"),
        ([{"skip": {"plugin": "NodeName", "pod": "default/p"}}], "no NodeName for default/p"),
        ([{"weight": {"plugin": "ImageLocality", "weight": 5}}], "ImageLocality × 5"),
        (
            [{"patch": {"kind": "Pod", "name": "p", "patch": {"spec": {"affinity": {"podAffinity": {}}, "x": 1}}}}],
            "podAffinity and x of p",
        ),
        ([{"patch": {"kind": "Pod", "name": "p", "patch": {"spec": None}}}], "spec of p"),
        ([{"patch": {"kind": "Pod", "name": "p", "patch": {}}}], "p"),
    ],
)
def test_titles_of_other_changes(changes: list[Raw], title: str) -> None:
    assert actions.title_of(changes) == title
    assert msgspec.json.encode(read_changes(changes))
