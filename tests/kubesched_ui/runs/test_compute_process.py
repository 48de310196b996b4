"""The process that computes a run while its worker writes it."""

import os
import signal
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from django.test import Client

from kubesched_ui.models import Cycle, CycleBatch, Run
from kubesched_ui.runs import compute_process, tasks
from kubesched_ui.runs.compute_process import ComputingLost, computed
from scheduler_core.errors import InputError
from tests.kubesched_ui.api.run_records import assert_alike, recorded
from tests.kubesched_ui.clusters import as_list, node, pod
from tests.kubesched_ui.http_api import ran, start, upload

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")


def numbers(count: int, end: BaseException | None = None) -> Iterator[Any]:
    yield os.getpid()
    for number in range(count):
        yield number, "x" * 10_000
    if end is not None:
        raise end


def test_items_come_from_another_process_in_order() -> None:
    pid, *rest = computed(numbers(500))
    assert pid != os.getpid()
    assert [number for number, _ in rest] == list(range(500))
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_errors_reach_the_worker_after_what_precedes_them() -> None:
    items = computed(numbers(3, InputError("Pod a", "spec", "is wrong")))
    assert len(list(islice(items, 4))) == 4
    with pytest.raises(InputError, match="Pod a: spec: is wrong"):
        next(items)
    with pytest.raises(ZeroDivisionError):
        list(computed(1 // number for number in (1, 0)))


def test_a_killed_process_is_noticed() -> None:
    items = computed(numbers(10_000))
    pid = next(items)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(ComputingLost):
        list(items)


def test_the_process_ends_with_its_reader() -> None:
    items = computed(numbers(10_000))
    pid = next(items)
    items.close()  # type: ignore[attr-defined]
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.fixture
def forking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "PROCESS_CYCLES", 1)
    monkeypatch.setattr(compute_process, "available", lambda: True)


def cluster(pods: int = 40) -> bytes:
    small = [pod(f"p{i:03}", "10m") for i in range(pods)]
    return as_list(*(node(f"n{i}") for i in range(3)), *small, pod("big", "64"))


@pytest.mark.django_db
@pytest.mark.parametrize("limit", ["PROCESS_CYCLES", "PROCESS_OBJECTS"])
def test_a_run_is_the_same_with_and_without_a_process(
    limit: str, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = ran(client, cluster())
    monkeypatch.setattr(tasks, limit, 1)
    monkeypatch.setattr(compute_process, "available", lambda: True)
    with patch.object(compute_process, "computed", wraps=compute_process.computed) as computed:
        forked = ran(client, cluster())
    computed.assert_called_once()
    assert_alike(forked, alone)
    assert CycleBatch.objects.filter(run=forked).exists()


@pytest.mark.long
@pytest.mark.django_db
@pytest.mark.usefixtures("forking")
def test_a_run_continues_after_its_process_was_killed(
    client: Client, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.RUN_BATCH_CYCLES, settings.RUN_BATCH_S = 5, 3600
    monkeypatch.setattr(compute_process, "PIPE_BYTES", 4096)  # the process is not far ahead
    whole = ran(client, cluster(320))
    run = start(client, upload(client, cluster(320)))
    write = tasks.RunLog.write

    def killing(log: Any, batch: Any) -> None:
        write(log, batch)
        if log.run.cycles_done == 15:
            children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
            os.kill(int(children[-1]), signal.SIGKILL)

    with monkeypatch.context() as patched:
        patched.setattr(tasks.RunLog, "write", killing)
        tasks.execute_run(run.pk)
    run.refresh_from_db()
    assert (run.state, run.worker, run.heartbeat_at) == ("running", "", None)
    stored = run.cycles_done
    assert 15 <= stored < 321
    tasks.execute_run(run.pk)
    run.refresh_from_db()
    assert (run.state, run.starts) == ("done", 2)
    mine, theirs = recorded(run), recorded(whole)
    assert mine == theirs
    assert Cycle.objects.filter(run=run).count() == 321


@pytest.mark.django_db
@pytest.mark.usefixtures("forking")
def test_a_cancelled_run_ends_its_process(client: Client, monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    settings.RUN_BATCH_CYCLES, settings.RUN_BATCH_S = 5, 3600
    run = start(client, upload(client, cluster()))
    write = tasks.RunLog.write

    def cancelling(log: Any, batch: Any) -> None:
        Run.objects.filter(pk=run.pk).update(cancel_requested=True)
        write(log, batch)

    monkeypatch.setattr(tasks.RunLog, "write", cancelling)
    tasks.execute_run(run.pk)
    run.refresh_from_db()
    assert (run.state, run.cycles_done) == ("cancelled", 5)
