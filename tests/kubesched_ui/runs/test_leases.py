"""Leases of workers: stopped workers and database outages release runs without counting an attempt."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import InternalError, OperationalError
from django.utils import timezone

from kubesched_ui.event_log.log import RunLog
from kubesched_ui.models import Run
from kubesched_ui.runs import services, tasks
from kubesched_ui.work import leases
from kubesched_ui.work.models import LostClaim
from tests.kubesched_ui.recordings import node, pod, scenario

pytestmark = pytest.mark.django_db(transaction=True)


def claimed(token: str) -> Run:
    run = Run.objects.claim(Run.objects.create(scenario=scenario(node("n"), pod("p"))).pk, token)
    assert run
    return run


def test_a_stopped_worker_releases_its_own_runs(sent: list[Any]) -> None:
    ours, others = claimed(leases.lease_token()), claimed("another:1:2")
    leases.requeue_all()
    assert [number for _, number in sent] == [ours.pk]
    with pytest.raises(LostClaim):
        RunLog(ours).flush()
    again = Run.objects.claim(ours.pk, "another:3:4")
    assert again
    assert again.starts == 1
    others.refresh_from_db()
    assert (others.worker, others.starts) == ("another:1:2", 1)


@pytest.mark.parametrize(
    "trouble",
    [
        OperationalError("server closed the connection unexpectedly"),
        InternalError("cannot execute UPDATE in a read-only transaction"),
    ],
)
def test_a_database_outage_does_not_count_as_an_attempt(
    sent: list[Any], monkeypatch: pytest.MonkeyPatch, settings: Any, trouble: Exception
) -> None:
    run = Run.objects.create(scenario=scenario(node("n"), pod("p")))

    def broken(*args: Any) -> None:
        raise trouble

    with monkeypatch.context() as patch:
        patch.setattr(tasks, "record", broken)
        for _ in range(settings.RUN_MAX_STARTS + 2):
            Run.objects.update(heartbeat_at=None)  # as after some seconds
            tasks.execute_run(run.pk)
    run.refresh_from_db()
    assert (run.state, run.starts, run.worker) == (Run.State.RUNNING, 0, "")
    assert Run.objects.claim(run.pk, "too soon") is None
    Run.objects.update(heartbeat_at=None)
    services.sweep()
    assert [number for _, number in sent] == [run.pk]
    tasks.execute_run(run.pk)
    run.refresh_from_db()
    assert (run.state, run.placed) == (Run.State.DONE, 1)


@pytest.mark.parametrize("hours", [-5, 5])
def test_a_worker_with_a_wrong_clock_takes_no_runs_and_keeps_its_own(
    hours: int, sent: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    others = claimed("another:1:2")
    wrong = timezone.now() + timedelta(hours=hours)
    with monkeypatch.context() as patch:
        patch.setattr(timezone, "now", lambda: wrong)
        assert Run.objects.claim(others.pk, "ours:1:2") is None
        services.sweep()
        ours = claimed("ours:1:2")
        RunLog(ours).flush()
    services.sweep()
    assert Run.objects.claim(ours.pk, "another:3:4") is None
    assert sent == []
