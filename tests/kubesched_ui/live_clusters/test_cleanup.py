"""Retention of the stored history, and the metrics of live clusters."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from kubesched_ui.clusters import cleanup, metrics, queries
from kubesched_ui.clusters.models import ChangeBlock, Checkpoint, CheckpointPart, Cluster, Decision, HistoryGap
from scheduler_core.errors import InputError
from tests.kubesched_ui.live_clusters.factory import FIRST, LAST, live_cluster

pytestmark = pytest.mark.django_db


def with_checkpoint(cluster: Cluster, version: int, age: timedelta) -> Checkpoint:
    """Store a checkpoint of the state at a resourceVersion."""
    state = queries.stored_history.state_at(cluster, version)
    block = ChangeBlock.objects.filter(cluster=cluster, last_version__lte=version).order_by("number").last()
    assert block
    columns = {"block": block.number, "resource_version": version, "versions": state.versions}
    point = Checkpoint.objects.create(cluster=cluster, at=timezone.now() - age, complete=True, size=1000, **columns)
    for kind, objects in state.objects.items():
        data = queries.stored_history.encode_part(objects)
        CheckpointPart.objects.create(checkpoint=point, kind=kind, data=data)
    return point


def nodes_at(cluster: Cluster, version: int) -> list[tuple[str, bool]]:
    objects = queries.state_at(cluster, version)
    return [(one.metadata.name, one.spec.unschedulable) for one in objects if hasattr(one.spec, "unschedulable")]


def test_the_history_is_cut_at_a_checkpoint_that_is_old_enough(settings: Any) -> None:
    settings.HISTORY_HOURS = 1
    cluster = live_cluster()
    before = nodes_at(cluster, LAST)
    assert not cleanup.due()
    middle = FIRST + 60
    with_checkpoint(cluster, FIRST + 20, timedelta(hours=3))
    with_checkpoint(cluster, middle, timedelta(hours=2))
    with_checkpoint(cluster, LAST, timedelta(minutes=1))
    expected = nodes_at(cluster, middle + 20)
    assert cleanup.due()
    cleanup.sweep()
    assert not cleanup.due()
    assert (queries.history(cluster).first, queries.history(cluster).last) == (middle, LAST)
    assert nodes_at(cluster, middle + 20) == expected
    assert nodes_at(cluster, LAST) == before
    with pytest.raises(InputError):
        queries.state_at(cluster, middle - 1)
    assert [gap.kind for gap in HistoryGap.objects.all()] == ["Node"]  # the part before the gap is gone


def test_the_history_is_cut_to_a_size(settings: Any) -> None:
    cluster = live_cluster()
    before = nodes_at(cluster, LAST)
    with_checkpoint(cluster, FIRST + 40, timedelta(minutes=50))
    with_checkpoint(cluster, LAST, timedelta(minutes=1))
    settings.HISTORY_MAX_BYTES = 1500
    cleanup.sweep()
    assert Checkpoint.objects.count() == 1
    assert not ChangeBlock.objects.exists()
    assert (queries.history(cluster).first, queries.history(cluster).last) == (LAST, LAST)
    assert nodes_at(cluster, LAST) == before
    assert not cleanup.due()


def test_a_killed_cleanup_leaves_no_wrong_state(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.HISTORY_HOURS = 1
    cluster = live_cluster()
    expected = {version: nodes_at(cluster, version) for version in range(FIRST, LAST + 1, 20)}
    with_checkpoint(cluster, FIRST + 20, timedelta(hours=3))
    with_checkpoint(cluster, FIRST + 80, timedelta(hours=2))
    point = cleanup.cut_of(cluster.pk)
    assert point
    assert point.resource_version == FIRST + 80
    for block in cleanup.blocks_until(cluster.pk, point.block).order_by("pk"):
        block.delete()  # one more, then the cleanup is killed
        first, last = queries.stored_history.bounds(cluster)
        for version in range(first, last + 1, 20):
            assert nodes_at(cluster, version) == expected[version], (block.number, version)
    cleanup.sweep()
    assert queries.stored_history.bounds(cluster) == (FIRST + 80, LAST)


def test_the_oldest_decisions_are_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = live_cluster()
    kept = list(Decision.objects.order_by("-pk").values_list("pk", flat=True)[:5])
    monkeypatch.setattr(cleanup, "MOST_DECISIONS", 5)
    monkeypatch.setattr(cleanup, "AT_ONCE", 2)
    assert cleanup.due()
    cleanup.sweep()
    assert list(Decision.objects.order_by("-pk").values_list("pk", flat=True)) == kept
    assert queries.report_card(cluster).decisions + queries.report_card(cluster).message_count == 5


def test_metrics_name_the_cluster() -> None:
    live_cluster()
    live_cluster("idle", heartbeat_at=None, watched_until=None, report={"lag_seconds": 95.4})
    found = {(one.name, one.labels["cluster"]): one.value for one in metrics.samples()}
    assert found["cluster_following", "prod"] == 1
    assert found["cluster_following", "idle"] == found["cluster_wanted", "idle"] == 0
    assert found["cluster_kinds_failing", "prod"] == 1
    assert found["cluster_history_gaps", "prod"] == 2
    assert (found["cluster_judging_lag_seconds", "prod"], found["cluster_judging_lag_seconds", "idle"]) == (0, 95.4)
