"""Every recording ever written stays readable: databases of every format there was are migrated and opened wholly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.test import Client

from kubesched_ui.models import RecordingBlock, Run
from kubesched_ui.runs.tasks import execute_run
from tests.kubesched_ui.event_log.shape import shape
from tests.kubesched_ui.event_log.stored_runs import NAMES, opened, operations, pages, told
from tests.kubesched_ui.task_headers import exported, sent
from tests.scheduler_core.cycle.test_trace import full_trace

NO_RECORDING = "06-refusals-in-columns"  # the last one without what the debugger asks
WITH_RUN_FILES = [name for name in NAMES if any("file" in run for run in told(name)["runs"].values())]

pytestmark = pytest.mark.django_db


def test_the_present_format_is_among_those_kept() -> None:
    assert shape(full_trace().encode()) in {told(name)["shape"] for name in NAMES}, (
        "What is recorded has another shape than any recording that is kept. Older ones must stay readable, and one"
        " of the new shape is kept from now on: python scripts/keep_recording.py NAME (see kept/README.md here)."
    )


# `make test` opens the oldest, every third after it and the newest; `make long` the others.
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if number % 3 == 0 or name == NAMES[-1] else pytest.mark.long)
        for number, name in enumerate(NAMES)
    ],
)
def test_a_recording_of_every_format(name: str, client: Client, tmp_path: Path) -> None:
    with opened(name, tmp_path):
        first, last = Run.objects.earliest("pk"), Run.objects.latest("pk")
        for number, then in told(name)["runs"].items():
            run = Run.objects.get(pk=number)
            everything_is_as_it_was_told(client, run, then["cycles"], then["last_seq"])
            if run.pk in (first.pk, last.pk):
                every_page_and_operation_answers(client, run)
                it_is_exported(client, run, set(then["cycles"]))
        said_plainly(client, last, old=name <= NO_RECORDING)
        it_is_made_again(client, first)


def everything_is_as_it_was_told(client: Client, run: Run, cycles: dict[str, list[dict]], last_seq: int) -> None:
    assert run.last_seq == last_seq
    assert len(client.get(f"/api/runs/{run.pk}/events?limit=5000").json()["events"]) == last_seq
    for pod, then in cycles.items():
        now = client.get(f"/api/runs/{run.pk}/pods/{pod}").json()["cycles"]
        assert [{key: cycle[key] for key in was} for was, cycle in zip(then, now, strict=True)] == then


def every_page_and_operation_answers(client: Client, run: Run) -> None:
    for address in pages(run):
        assert client.get(address).status_code in (200, 302), address
    for address in operations(run):  # what was not recorded then, or is not there, is refused in words
        answer = client.get(address)
        assert answer.status_code in (200, 400, 404, 409), address
        assert answer.status_code == 200 or answer.json()["error"]


def it_is_exported(client: Client, run: Run, pods: set[str]) -> None:
    assert len(exported(client, run, "jsonl").splitlines()) == 1 + run.cycles_done
    items = json.loads(exported(client, run, "simulator"))["items"]
    assert {f"{item['metadata']['namespace']}/{item['metadata']['name']}" for item in items} >= pods
    assert exported(client, run, "parquet")[:2] == b"PK"


def said_plainly(client: Client, run: Run, old: bool) -> None:
    """What was never recorded."""
    assert RecordingBlock.objects.exists() is not old
    assert client.get(f"/api/runs/{run.pk}/state").status_code == (409 if old else 200)
    text = client.get(f"/runs/{run.pk}/").content.decode()
    assert ("Recorded by an earlier version" in text) is old
    assert ('id="map"' in text) is not old


def it_is_made_again(client: Client, run: Run) -> None:
    """Taken away as a run file and played by today's scheduler."""
    (number,) = sent(client, exported(client, run, "run"))["runs"]
    execute_run(number)
    again = Run.objects.get(pk=number)
    assert (again.state, again.cycles_done) == ("done", run.cycles_done)


def test_marks_follow_from_events_where_none_were_kept(client: Client, tmp_path: Path) -> None:
    with opened(NO_RECORDING, tmp_path):
        run = Run.objects.get(scenario__name__startswith="Time: preemption")
        track = client.get(f"/api/runs/{run.pk}/lanes/overview?bins=10").json()["track"]
        assert {row["row"] for row in track} >= {"nodes", "evictions", "nominations"}


@pytest.mark.parametrize("name", WITH_RUN_FILES)
def test_run_files_of_old_versions_are_read(name: str, client: Client) -> None:
    for then in told(name)["runs"].values():
        if "file" in then:
            (number,) = sent(client, then["file"].encode())["runs"]
            execute_run(number)
            run = Run.objects.get(pk=number)
            assert (run.state, run.cycles_done) == ("done", sum(map(len, then["cycles"].values())))
