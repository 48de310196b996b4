"""The loss of a zone in virtual time."""

from typing import Any

import pytest

from scheduler_core.experiments.zone_outage import monitor_grace_seconds
from scheduler_core.releases import get_release
from tests.scheduler_core.build import Raw, node, pod, workload
from tests.scheduler_core.experiments.test_loss import LossAnswer, owned

KEYS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
FIVE_MINUTES = [{"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300} for key in KEYS]


def running(name: str, on: str, kind: str = "ReplicaSet", cpu: str = "1", **more: Any) -> Raw:
    return owned(
        pod(name, on=on, requests={"cpu": cpu}, tolerations=FIVE_MINUTES, **more), kind, name.rpartition("-")[0]
    )


def zones(size: int) -> list[Raw]:
    return [node(f"{zone}{i}", zone=zone, cpu="4") for zone in "ab" for i in range(size)]


def outage_of(found: LossAnswer) -> Raw:
    result: Raw = found.done[-1].result["outage"]
    return result


def test_pods_of_a_zone_are_evicted_node_by_node() -> None:
    """The zone becomes unreachable after 50 s; its nodes are tainted every 10 s, and pods tolerate that for 300 s."""
    pods = [running(f"web-{i}", f"a{i}") for i in range(3)]
    found = LossAnswer(*zones(3), *pods, scope="zone", only=["a"], outage="30m")
    outage = outage_of(found)
    assert {row["pod"]: (row["outcome"], row["at"], row["to"][0]) for row in outage["rows"]} == {
        "default/web-0": ("placed", 350.0, "b"),
        "default/web-1": ("placed", 360.0, "b"),
        "default/web-2": ("placed", 370.0, "b"),
    }
    assert (outage["detected"], outage["tainted"], outage["evicted"], outage["pending_after"]) == (50.0, 3, 3, 0)
    assert outage["course"]["t"] == [0, 50, 60, 70, 350, 360, 370]
    assert outage["course"]["evicted"] == [0, 0, 0, 0, 1, 2, 3]
    assert found.answer["losses"][0]["outage"]["counts"] == {"placed": 3}


def test_stateful_sets_wait_and_others_do_not() -> None:
    pods = [
        running("db-0", "a0", "StatefulSet"),
        running("web-1", "a0"),
        pod("bare", on="a0", tolerations=FIVE_MINUTES),
    ]
    pods += [owned(pod("agent", on="a0", tolerations=[{"operator": "Exists"}]), "DaemonSet", "agent")]
    found = LossAnswer(*zones(1), *pods, scope="zone", only=["a"])
    assert {row["pod"]: row["outcome"] for row in outage_of(found)["rows"]} == {
        "default/db-0": "waits",
        "default/web-1": "placed",
        "default/bare": "lost",
        "default/agent": "stays",
    }


def test_a_short_outage_evicts_nothing() -> None:
    found = LossAnswer(*zones(1), running("web-0", "a0"), scope="zone", only=["a"], outage="5m")
    assert outage_of(found)["counts"] == {"stays": 1}


def test_evicted_pods_without_space_stay_pending_until_the_zone_is_back() -> None:
    pods = [running("web-0", "a0", cpu="3"), running("api-0", "b0", cpu="3")]
    found = LossAnswer(*zones(1), *pods, scope="zone", only=["a"])
    outage = outage_of(found)
    assert outage["counts"] == {"pending": 1}
    assert "1 Insufficient cpu" in outage["reasons"][0]
    assert outage["pending_after"] == 0


def test_evictions_stop_if_the_only_zone_is_lost() -> None:
    only = [node("a0", zone="a"), node("a1", zone="a")]
    found = LossAnswer(*only, running("web-0", "a0"), scope="zone")
    assert outage_of(found)["counts"] == {"stays": 1}
    assert found.answer["answer"] == "Zone a cannot be lost without leaving pods pending: 1 of 1 pod."


def test_the_outage_follows_the_run_of_the_scenario() -> None:
    pending = workload(
        "Deployment", "web", pod={"containers": [{"name": "c"}], "nodeSelector": {"pool": "x"}}, replicas=2
    )
    labelled = node("a0", zone="a", labels={"pool": "x"})
    found = LossAnswer(labelled, node("b0", zone="b"), pending, scope="zone", only=["a"])
    assert outage_of(found)["counts"] == {"pending": 2}


@pytest.mark.parametrize(("release", "seconds"), [("1.31", 40), ("1.32", 50), ("1.36", 50)])
def test_a_silent_node_becomes_unreachable(release: str, seconds: float) -> None:
    assert monitor_grace_seconds(get_release(release)) == seconds
