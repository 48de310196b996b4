"""Recordings of released versions stay readable: each database is migrated, and all of its pages open."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from kubesched_ui.models import Run
from tests.kubesched_ui.event_log.format_digest import shape
from tests.kubesched_ui.event_log.stored_recordings import NAMES, answers, includes, load, opened, operations, pages
from tests.kubesched_ui.http_api import exported, imported
from tests.scheduler_core.cycle.test_trace import full_trace
from tests.scheduler_core.cycle.test_trace_batch import encoded_together

pytestmark = pytest.mark.django_db


def test_the_current_format_is_stored() -> None:
    assert shape(full_trace().encode(), *encoded_together()) in {load(name)["shape"] for name in NAMES}, (
        "The recording has a format that no stored recording has. Earlier ones must stay readable; store one of the"
        " new format: python scripts/store_recording.py (see stored/README.md)."
    )


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_recording_of_every_version(name: str, client: Client, tmp_path: Path) -> None:
    with opened(name, tmp_path):
        first, last = Run.objects.earliest("pk"), Run.objects.latest("pk")
        for number, then in load(name)["runs"].items():
            run = Run.objects.get(pk=number)
            assert_same_responses(client, run, then)
            if run.pk in (first.pk, last.pk):
                assert_every_page_and_operation_responds(client, run)
                assert_exports(client, run, set(then["cycles"]))


def assert_same_responses(client: Client, run: Run, then: dict[str, Any]) -> None:
    now = json.loads(json.dumps(answers(client, run)))
    assert now["last_seq"] == then["last_seq"]
    assert includes(now["cycles"], then["cycles"])
    for address, answer in then["addresses"].items():
        assert includes(now["addresses"][address], answer), address


def assert_every_page_and_operation_responds(client: Client, run: Run) -> None:
    for address in pages(run):
        assert client.get(address).status_code in (200, 302), address
    for address in operations(run):  # features that the run lacks are refused with a message
        answer = client.get(address)
        assert answer.status_code in (200, 400, 404, 409), address
        assert answer.status_code == 200 or answer.json()["error"]


def assert_exports(client: Client, run: Run, pods: set[str]) -> None:
    assert len(exported(client, run, "jsonl").splitlines()) == 1 + run.cycles_done
    items = json.loads(exported(client, run, "simulator"))["items"]
    assert {f"{item['metadata']['namespace']}/{item['metadata']['name']}" for item in items} >= pods
    assert exported(client, run, "parquet")[:2] == b"PK"


@pytest.mark.parametrize("name", NAMES)
def test_run_files_of_every_version(name: str, client: Client) -> None:
    for then in load(name)["runs"].values():
        if "file" in then:
            run = imported(client, then["file"].encode())
            assert (run.state, run.cycles_done) == ("done", sum(map(len, then["cycles"].values())))
