"""The picture of quotas: min, max, used, borrowed, and what a pod requests."""

from __future__ import annotations

from scheduler_core.explain.quotas import QuotaPicture, picture_of
from scheduler_core.simulation import Simulation
from tests.scheduler_core.build import Raw, node, pod
from tests.scheduler_core.plugins.contrib.test_capacity_scheduling import CONFIG, in_a, quota

NODE = node("n1", cpu="32")
TAKEN = pod("taken", namespace="b", on="n1", requests={"cpu": "4"})


def picture(*objects: Raw, pending: str = "") -> QuotaPicture:
    simulation = Simulation([NODE, *objects], config=CONFIG)
    wanted = next((one for one in simulation.pending if one.key == pending), None)
    found = picture_of(simulation.cluster, wanted)
    assert found is not None
    return found


def test_a_quota_that_borrows_from_another() -> None:
    shown = picture(quota("a", {"cpu": "4"}, {"cpu": "6"}), quota("b", {"cpu": "1"}), TAKEN)
    assert [(one.namespace, one.borrows, one.pods, one.holds) for one in shown.quotas] == [
        ("b", True, 1, False),
        ("a", False, 0, False),
    ]
    (cpu,) = shown.quotas[0].uses
    assert cpu.text == "4 used of min 1, no max; 3 borrowed"
    assert (cpu.used, cpu.borrowed, cpu.min_at, cpu.max_at, cpu.over) == (25.0, 75.0, 25.0, None, "")
    assert [use.text for use in shown.total] == ["4 used of 5 guaranteed"]


def test_a_pod_that_exceeds_the_max_of_its_quota() -> None:
    shown = picture(quota("a", {"cpu": "8"}, {"cpu": "3", "memory": "1Gi"}), in_a("p", "4"), pending="a/p")
    cpu = shown.quotas[0].uses[0]
    assert shown.quotas[0].holds
    assert (cpu.over, cpu.text) == ("max", "0 used of min 8, max 3; requests 4: more than max")
    assert [use.over for use in shown.total] == [""]


def test_a_pod_for_which_all_quotas_have_too_little() -> None:
    shown = picture(quota("a", {"cpu": "4"}), quota("b", {"cpu": "1"}), TAKEN, in_a("p", "2"), pending="a/p")
    (total,) = shown.total
    assert total.over == "min"
    assert total.text == "4 used of 5 guaranteed; requests 2: more than guaranteed"
    assert [use.over for use in shown.quotas[0].uses] == [""]


def test_a_cluster_without_quotas() -> None:
    assert picture_of(Simulation([NODE], config=CONFIG).cluster) is None
