"""The NoExecute taint manager.

Cases from https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/ and
pkg/controller/tainteviction (taint_eviction_test.go).
"""

from typing import Any

import pytest

from scheduler_core.api.objects import Taint, Toleration
from scheduler_core.controllers.taint_manager import tolerated_seconds
from tests.scheduler_core.build import Raw, node, pod
from tests.scheduler_core.virtual_time_runs import PlayedScenario

FOREVER = float("inf")
T1, T2 = Taint("a", "1", "NoExecute"), Taint("b", "2", "NoExecute")


def tolerates(key: str, for_seconds: int | None = None, effect: str = "NoExecute") -> Toleration:
    return Toleration(key, "Exists", "", effect, for_seconds)


@pytest.mark.parametrize(
    ("taints", "tolerations", "stays"),
    [
        ([T1], [], 0.0),
        ([T1], [tolerates("b")], 0.0),
        ([T1], [tolerates("a")], FOREVER),
        ([T1], [tolerates("a", 60)], 60.0),
        ([T1], [tolerates("a", -5)], 0.0),
        ([T1, T2], [tolerates("a", 60)], 0.0),
        ([T1, T2], [tolerates("a", 60), tolerates("b")], 60.0),
        ([T1, T2], [tolerates("a", 60), tolerates("b", 20)], 20.0),
        ([T1], [tolerates("a", 60), tolerates("", 20)], 60.0),  # the first match counts
        ([T1], [tolerates("", 20), tolerates("a", 60)], 20.0),
        ([T1], [Toleration("a", "Equal", "2", "NoExecute", None)], 0.0),
        ([T1], [Toleration("a", "Equal", "1", "", 30)], 30.0),
        ([T1], [tolerates("a", None, "NoSchedule")], 0.0),
    ],
)
def test_how_long_a_pod_may_stay(taints: list[Taint], tolerations: list[Toleration], stays: float) -> None:
    assert tolerated_seconds(taints, tolerations) == stays


def tainted(at: float, key: str = "a", effect: str = "NoExecute") -> Raw:
    return {"at": at, "taint": {"node": "n1", "key": key, "effect": effect}}


def cleared(at: float, key: str = "a") -> Raw:
    return {"at": at, "untaint": {"node": "n1", "key": key}}


def toleration(key: str, for_seconds: int | None = None) -> Raw:
    limit = {} if for_seconds is None else {"tolerationSeconds": for_seconds}
    return {"key": key, "operator": "Exists", "effect": "NoExecute", **limit}


@pytest.mark.parametrize(
    ("tolerations", "timeline", "evicted"),
    [
        ([], [tainted(10)], [10]),
        ([], [tainted(10, effect="NoSchedule")], []),
        ([toleration("a")], [tainted(10)], []),
        ([toleration("a", 60)], [tainted(10)], [70]),
        ([toleration("a", 60)], [tainted(10), cleared(69)], []),
        ([toleration("a", 60)], [tainted(10), cleared(20), tainted(30)], [90]),
        ([toleration("a", 60), toleration("b", 5)], [tainted(10), tainted(20, "b")], [70]),  # never shortened
        ([toleration("a", 60)], [tainted(10), tainted(20, "b")], [20]),
        ([toleration("a", 60), toleration("b")], [tainted(10), tainted(20, "b"), cleared(30)], []),
    ],
)
def test_a_pod_on_a_tainted_node(tolerations: list[Raw], timeline: list[Raw], evicted: list[float]) -> None:
    played = PlayedScenario(node("n1"), pod("web", on="n1", tolerations=tolerations), timeline=timeline)
    assert played.times("pod.evicted", "web") == evicted


def test_a_pod_bound_to_a_tainted_node_is_evicted_from_then_on() -> None:
    there: dict[str, Any] = {"tolerations": [toleration("a", 30)]}
    late = {"at": 100, "create": pod("web", **there)}
    played = PlayedScenario(node("n1", taints=(("a", "", "NoExecute"),)), timeline=[late])
    assert played.times("pod.evicted", "web") == [130]


def test_eviction_takes_the_grace_period_and_marks_the_pod() -> None:
    web = pod("web", on="n1", terminationGracePeriodSeconds=7)
    played = PlayedScenario(node("n1"), web, timeline=[tainted(10)], until=12)
    assert played.run.api.pods["default/web"].pod.status.conditions[0].reason == "DeletionByTaintManager"
    played = PlayedScenario(node("n1"), web, timeline=[tainted(10)])
    assert played.times("pod.deleted", "web") == [17]
