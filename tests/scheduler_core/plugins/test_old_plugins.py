"""Plugins of releases up to 1.22 in cases that the conformance cases lack."""

from typing import Any

import msgspec
import pytest

from scheduler_core.simulation import Simulation
from tests.scheduler_core.build import Raw, node, pod

AVOID = "scheduler.alpha.kubernetes.io/preferAvoidPods"


def scores(plugin: str, *objects: Raw, **priority: Any) -> list[int]:
    policy = {"kind": "Policy", "apiVersion": "v1", "predicates": [], "priorities": [priority]}
    (trace,) = Simulation(list(objects), release="1.22", config=policy, tie_break="name").run()
    return trace.scores[plugin].normalized.tolist()


@pytest.mark.parametrize(("presence", "expected"), [(True, [100, 0]), (False, [0, 100])])
def test_node_label(presence: bool, expected: list[int]) -> None:
    argument = {"labelPreference": {"label": "disk", "presence": presence}}
    nodes = [node("a", labels={"disk": "ssd"}), node("b")]
    assert scores("NodeLabel", *nodes, pod("p"), name="mine", weight=2, argument=argument) == expected


@pytest.mark.parametrize(
    ("kind", "annotation", "expected"),
    [("ReplicaSet", None, [0, 100]), ("Job", None, [100, 100]), ("ReplicaSet", "{", [100, 100])],
)
def test_node_prefer_avoid_pods(kind: str, annotation: str | None, expected: list[int]) -> None:
    """Only replica sets and replication controllers count as owners. An annotation may be unreadable."""
    entry = {"podSignature": {"podController": {"kind": kind, "uid": "u"}}}
    avoiding, owned = node("a"), pod("p")
    encoded = msgspec.json.encode({"preferAvoidPods": [entry]}).decode()
    avoiding["metadata"]["annotations"] = {AVOID: annotation or encoded}
    owned["metadata"]["ownerReferences"] = [{"kind": kind, "name": "o", "uid": "u", "controller": True}]
    priority = {"name": "NodePreferAvoidPodsPriority", "weight": 1}
    assert scores("NodePreferAvoidPods", avoiding, node("b"), owned, **priority) == expected
