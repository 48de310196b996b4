"""Choice of the victim among pods of equal priority, by the start times that the scheduler knows."""

import pytest

from scheduler_core.preemption.victims import by_importance
from tests.scheduler_core.build import Raw, info, node, pod
from tests.scheduler_core.virtual_time_runs import PlayedScenario


def started(name: str, second: int | None, priority: int = 0) -> Raw:
    status = {} if second is None else {"startTime": f"2026-01-01T00:00:{second:02}Z"}
    return pod(name, priority=priority, status=status)


def test_pods_without_start_time_come_last_and_in_reverse() -> None:
    given = (started("a", 9), started("b", None), started("c", 1), started("d", None), started("e", 1))
    ordered = by_importance(info(raw) for raw in (*given, started("f", None, priority=1)))
    assert [one.name for one in ordered] == ["f", "c", "e", "a", "d", "b"]


@pytest.mark.parametrize(
    ("release", "updated", "victim"), [("1.24", False, "first"), ("1.24", True, "second"), ("1.25", False, "second")]
)
def test_start_times_of_bound_pods(release: str, updated: bool, victim: str) -> None:
    """Up to 1.24 an assumed pod keeps the status of the time of its scheduling, until it is updated."""
    first, second = (pod(name, requests={"cpu": "2"}) for name in ("first", "second"))
    boss = pod("boss", requests={"cpu": "2"}, priority=1, priorityClassName="high")
    high = {"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1}
    timeline = [{"at": at, "create": raw} for at, raw in ((1, first), (2, second))]
    if updated:
        changed = {**first, "metadata": {**first["metadata"], "labels": {"a": "b"}}}
        timeline.append({"at": 3, "update": changed})
    timeline.append({"at": 4, "create": boss})
    played = PlayedScenario(high, node("n", cpu="4"), timeline=timeline, until=20, kubernetes=release)
    assert [record.data["pod"] for record in played.records_of("pod.evicted")] == [f"default/{victim}"]
