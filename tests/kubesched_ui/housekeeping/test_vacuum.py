"""The database file shrinks after runs were deleted."""

import os
import sqlite3
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection

from kubesched_ui.housekeeping import tasks, vacuum
from kubesched_ui.models import EventBlock, Run, Scenario

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL has a vacuum of its own"),
]


@pytest.fixture
def file(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    name = connection.settings_dict["NAME"]
    monkeypatch.setattr(vacuum, "WORTH", 1024 * 1024)
    return Path(name)


def recorded(megabytes: int) -> Run:
    run = Run.objects.create(scenario=Scenario.objects.create(name="s"))
    blocks = [EventBlock(run=run, first_seq=n, last_seq=n, data=os.urandom(1024 * 1024)) for n in range(megabytes)]
    EventBlock.objects.bulk_create(blocks)
    return run


def size(file: Path) -> int:
    return sum(path.stat().st_size for path in file.parent.glob(f"{file.name}*")) >> 20


def test_free_pages_of_deleted_runs_are_released(file: Path) -> None:
    kept, gone = recorded(2), recorded(8)
    gone.delete()
    before = size(file)
    assert vacuum.vacuum() >= 8 * 1024 * 1024
    assert size(file) <= before - 8
    assert EventBlock.objects.filter(run=kept).count() == 2
    assert vacuum.vacuum() == 0


def test_vacuum_waits_for_running_runs_but_not_for_readers(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, gone = recorded(2), recorded(8)
    gone.delete()
    before = size(file)
    Run.objects.filter(pk=kept.pk).update(state="running")
    assert vacuum.vacuum() == 0
    Run.objects.filter(pk=kept.pk).update(state="done")
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout = 500")
    reader = sqlite3.connect(file)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM kubesched_ui_run").fetchone()
    monkeypatch.setattr(
        vacuum, "time", SimpleNamespace(sleep=lambda seconds: reader.rollback())
    )  # it reads on for a while
    assert vacuum.vacuum() >= 8 * 1024 * 1024
    assert size(file) <= before - 8
    reader.close()


def test_vacuum_starts_when_it_is_worthwhile(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    monkeypatch.setattr(tasks.app, "send_task", lambda name, **_: sent.append(name))
    vacuum.vacuum()  # pages from other tests
    tasks.request_cleanup()
    recorded(8).delete()
    tasks.request_cleanup()
    before = size(file)
    tasks.tidy()
    tasks.request_cleanup()
    assert sent == [tasks.TIDY]
    assert size(file) <= before - 8


def test_some_free_pages_are_kept_for_the_next_run(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded(3).delete()
    monkeypatch.setattr(vacuum, "WORTH", 64 * 1024 * 1024)
    assert vacuum.vacuum() == 0


def test_a_disk_without_space_for_a_copy(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded(3).delete()
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=0))
    assert vacuum.vacuum() == 0
