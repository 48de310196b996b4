"""The page of an uploaded file that is no cluster but shows what a scheduler did."""

import html
import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from kubesched_ui.models import Scenario
from tests.kubesched_ui.pages import Page
from tests.scheduler_core.evidence.logs import LIFE, json_lines, text
from tests.scheduler_core.evidence.test_events import LIFE as EVENTS
from tests.scheduler_core.snapshot.test_described import POD

pytestmark = pytest.mark.django_db
FILES = {
    "scheduler.log": (text(), "This is a log of kube-scheduler", "attempt 1: bound to n2"),
    "scheduler.json": (json_lines(), "This is a log of kube-scheduler", "3 attempts: 1 bound, 1 refused, 1 failed."),
    "events.json": (json.dumps({"kind": "List", "apiVersion": "v1", "items": EVENTS}), "This is events",
                    "None of 3 nodes takes the pod: 3 lack cpu."),
    "pod.txt": (POD, "This is descriptions of pods", "The only node does not take the pod: it lacks cpu."),
}  # fmt: skip


def upload(client: Client, name: str, data: str, status: int = 200) -> Any:
    answer = client.post("/upload/", {"file": SimpleUploadedFile(name, data.encode())})
    assert answer.status_code == status
    return answer


@pytest.mark.parametrize("name", FILES)
def test_each_file_says_what_it_can_tell(client: Client, name: str) -> None:
    data, what, says = FILES[name]
    before = Scenario.objects.count()
    answer = upload(client, name, data)
    page = html.unescape(Page(answer).flat)
    assert answer["X-Evidence"] == "1"
    assert what in page
    assert says in page
    assert "Nothing is stored." in page
    assert Scenario.objects.count() == before
    assert what in html.unescape(Page(client.post("/upload/", {"text": data})).flat)


def test_hostile_values_are_escaped(client: Client) -> None:
    evil = (31, "schedule_one.go:1239", "Unable to schedule pod; no fit; waiting",
            {"pod": "shop/<b>", "err": "0/1 nodes are available: 1 <script>x</script>\x1b[2J\u202e."})  # fmt: skip
    page = Page(upload(client, "a.log", text([*LIFE, evil])))
    assert not page.inline
    assert "<script>x" not in page.source
    assert "\x1b" not in page.source
    assert "\u202e" not in page.source


def test_other_files_are_refused_as_before(client: Client) -> None:
    assert "is a page of metrics" in Page(upload(client, "m.txt", "# HELP a b\n# TYPE a gauge\na 1\n", 400)).flat
