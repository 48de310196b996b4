"""Plugins that releases up to 1.24 have: what they score and refuse, on clusters of few nodes."""

from typing import Any

import msgspec
import pytest

from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.simulation import Simulation
from tests.scheduler_core.build import Raw, node, pod

AVOID = "scheduler.alpha.kubernetes.io/preferAvoidPods"


def one(*objects: Raw, release: str = "1.22", **policy: Any) -> CycleTrace:
    config = {"kind": "Policy", "apiVersion": "v1", "predicates": [], "priorities": [], **policy}
    return next(iter(Simulation(list(objects), release=release, config=config, tie_break="name").run()))


def scores(trace: CycleTrace, plugin: str) -> list[int]:
    return trace.scores[plugin].normalized.tolist()


def running(name: str, on: str, **more: Any) -> Raw:
    made = pod(name, nodeName=on)
    made["metadata"] |= more
    return made


def service(**selector: str) -> Raw:
    return {"kind": "Service", "metadata": {"name": "s", "namespace": "default"}, "spec": {"selector": selector}}


def labelled(made: Raw, **labels: str) -> Raw:
    made["metadata"]["labels"] = labels
    return made


@pytest.mark.parametrize("presence", [True, False])
def test_node_label(presence: bool) -> None:
    nodes = [node("a", labels={"disk": "ssd"}), node("b")]
    given = {"name": "mine", "argument": {"labelsPresence": {"labels": ["disk"], "presence": presence}}}
    assert one(*nodes, pod("p"), predicates=[given]).node == ("a" if presence else "b")
    liked = {"name": "mine", "weight": 2, "argument": {"labelPreference": {"label": "disk", "presence": presence}}}
    trace = one(*nodes, pod("p"), priorities=[liked])
    assert scores(trace, "NodeLabel") == ([100, 0] if presence else [0, 100])


@pytest.mark.parametrize(
    ("kind", "points"), [("ReplicaSet", [0, 100]), ("ReplicationController", [0, 100]), ("Job", [100, 100])]
)
def test_node_prefer_avoid_pods(kind: str, points: list[int]) -> None:
    entry = {"podSignature": {"podController": {"kind": kind, "uid": "u"}}}
    shy = node("a")
    shy["metadata"]["annotations"] = {AVOID: msgspec.json.encode({"preferAvoidPods": [entry]}).decode()}
    owned = pod("p")
    owned["metadata"]["ownerReferences"] = [{"kind": kind, "name": "o", "uid": "u", "controller": True}]
    priority = {"name": "NodePreferAvoidPodsPriority", "weight": 1}
    assert scores(one(shy, node("b"), owned, priorities=[priority]), "NodePreferAvoidPods") == points


def test_an_annotation_that_cannot_be_read_asks_nobody_to_stay_away() -> None:
    odd = node("a")
    odd["metadata"]["annotations"] = {AVOID: "{"}
    priority = {"name": "NodePreferAvoidPodsPriority", "weight": 1}
    assert scores(one(odd, node("b"), pod("p"), priorities=[priority]), "NodePreferAvoidPods") == [100, 100]


def test_service_affinity_goes_where_the_first_pod_of_the_service_is() -> None:
    given = {"name": "mine", "argument": {"serviceAffinity": {"labels": ["rack"]}}}
    nodes = [node("a", labels={"rack": "1"}), node("b", labels={"rack": "2"}), node("c", labels={"rack": "2"}, cpu="1")]
    first = labelled(running("q", "c"), app="web")
    wanted = labelled(pod("p", requests={"cpu": "2"}), app="web")
    fits = [given, {"name": "PodFitsResources"}]
    assert one(*nodes, first, wanted, service(app="web"), predicates=fits).node == "b"
    assert one(*nodes, first, wanted, predicates=fits).node == "a", "nobody asks without a service"
    chosen = labelled(pod("p", nodeSelector={"rack": "1"}), app="web")
    assert one(*nodes, first, chosen, service(app="web"), predicates=[given]).node == "a", "the pod says it itself"


def test_service_affinity_spreads_over_values() -> None:
    given = {"name": "mine", "weight": 1, "argument": {"serviceAntiAffinity": {"label": "rack"}}}
    nodes = [node("a", labels={"rack": "1"}), node("b", labels={"rack": "2"}), node("c")]
    pods = [labelled(running(name, on), app="web") for name, on in (("q", "a"), ("r", "a"), ("s", "b"))]
    trace = one(*nodes, *pods, labelled(pod("p"), app="web"), service(app="web"), priorities=[given])
    assert trace.scores["ServiceAffinity"].raw.tolist() == [2, 1, 0]
    assert scores(trace, "ServiceAffinity") == [33, 66, 0], "a node without the label gets none"


def test_selector_spread_counts_zones_twice() -> None:
    nodes = [node("a", zone="x"), node("b", zone="x"), node("c", zone="y")]
    pods = [labelled(running("q", "a"), app="web"), labelled(pod("p"), app="web")]
    simulation = Simulation([*nodes, *pods, service(app="web")], release="1.19", tie_break="name")
    trace = next(iter(simulation.run()))
    assert trace.scores["SelectorSpread"].raw.tolist() == [1, 0, 0]
    assert scores(trace, "SelectorSpread") == [0, 100, 33], "of a, c and b: zones take turns"
