"""The same station and sentence of a pod everywhere: `explain`, and after an upload the API and the pages of a run.

planted.jsonl.gz: clusters in which pods wait at a planted station, one a line: {name, station, objects, pods, ...}.
`pods` is empty if they were never created.
"""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from kubesched_ui.ingest import ingest_files
from kubesched_ui.ingest.store import store
from tests.kubesched_ui.pages import source
from tests.kubesched_ui.recordings import ran
from tests.scheduler_core.explain.planted.answers import explained

pytestmark = pytest.mark.django_db

Raw = dict[str, Any]
FILE = Path(__file__).parents[1] / "scheduler_core/stations/planted.jsonl.gz"
CASES = [json.loads(line) for line in gzip.decompress(FILE.read_bytes()).splitlines()]
RELEASE = "1.36"
FIELDS = ("station", "sentence", "says")


def check(case: Raw, client: Client) -> None:
    expected = explained(case["objects"], release=RELEASE)
    items = json.dumps({"apiVersion": "v1", "kind": "List", "items": case["objects"]}).encode()
    stored = store(ingest_files([("cluster.json", items)]), case["name"])
    if not case["pods"]:
        waits = client.get(f"/api/scenarios/{stored.pk}/waits").json()
        (found,) = [one for one in waits if one["pod"] is None]
        assert found == expected[None]
        assert found["station"] == case["station"]
        page = source(client, f"/scenarios/{stored.pk}/waits/")
        assert found["workload"]["name"] in page
        assert page.count('<span class="track"') == len(found.get("quotas", []))
        return
    source(client, f"/scenarios/{stored.pk}/waits/")
    run = ran(stored, release=RELEASE, name=case["name"])
    for key in case["pods"]:
        answer = client.get(f"/api/runs/{run.pk}/pods/{key}/answer").json()
        wanted = {field: expected[key].get(field) for field in FIELDS}
        if expected[key]["station"] == "claims" and expected[key]["result"] == "scheduled":
            wanted["sentence"] = answer["sentence"]  # the run places the pod, and its answer says where
        assert {field: answer.get(field) for field in FIELDS} == wanted
        assert answer["station"] == case["station"]
        assert len(answer["stations"]) == 7
        page = source(client, f"/runs/{run.pk}/pods/{key}/")
        assert 'aria-label="Stations"' in page
        assert answer["result"] == "scheduled" or re.sub("<[^>]*>", "", answer["sentence"]) in re.sub(
            "<[^>]*>", "", page
        )


@pytest.mark.parametrize("case", CASES[::13], ids=lambda case: case["name"])
@pytest.mark.slow
def test_an_upload_gives_the_answer_of_explain(case: Raw, client: Client) -> None:
    check(case, client)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
@pytest.mark.long
def test_every_upload_gives_the_answer_of_explain(case: Raw, client: Client) -> None:
    check(case, client)
