"""Run files: a run that one instance exported equals the run that another one imports."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import Client

from kubesched_ui.event_log.fingerprints import traces
from kubesched_ui.models import Run, Scenario
from kubesched_ui.runs import services
from tests.examples import selection
from tests.kubesched_ui.api.run_kinds import (
    CORDON,
    RUNS,
    VARIED,
    forked_twice,
    forked_twice_later,
    small,
    virtual_time,
    virtual_time_forked,
)
from tests.kubesched_ui.api.run_records import decided, lose_worker, recorded
from tests.kubesched_ui.clusters import pod
from tests.kubesched_ui.http_api import executed, exported, forked, imported, post

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def pages_of(client: Client, run: Run) -> dict[str, Any]:
    """Return the pages and API responses of a run, without its number and durations."""
    pod = run.pod_results.order_by("position").last()
    assert pod is not None
    pods = f"pods/{pod.namespace}/{pod.name}"
    moments = {1, run.cycles_done // 2 + 1, run.cycles_done + 1}
    found: dict[str, Any] = {f"state {k}": (f"{run.url}/state", {"cycle": k}) for k in moments}
    found |= {f"map {k}": (f"{run.url}/map", {"cycle": k}) for k in moments}
    found["tape"] = (f"{run.url}/map/tape", {"after": 0})
    found["find"] = (f"{run.url}/find", {"where": 'feasible > 1 || refused_by("NodeResourcesFit")'})
    found["remedies"] = (f"{run.url}/{pods}/remedies", {})
    found["all remedies"] = (f"{run.url}/remedies", {})
    if last := next(((number, trace.pod) for number, trace, _ in reversed(list(traces(run))) if trace.scores), None):
        found["number"] = (f"{run.url}/pods/{last[1]}/provenance", {"point": "total", "cycle": last[0]})
    answers = {}
    for name, (address, query) in found.items():
        answer = client.get(address, query)
        answers[name] = json.loads(answer.content)
        assert answer.status_code == 200, answer.content
    # Which of two equal quantities or owners comes first depends on how rows were stored.
    for answer in (export for export in answers.values() if isinstance(export, dict)):
        for column, values in (("requests", "amounts"), ("owner", "owners")):
            if isinstance(pods_of := answer.get("pods"), dict) and values in pods_of:
                known = pods_of.pop(values)
                pods_of[column] = [known[i] for i in pods_of[column]]
    for address in (f"/runs/{run.pk}/{pods}/", f"/runs/{run.pk}/{pods}/why/"):
        answers[f"page {address.rpartition(pods)[2]}"] = shown(client, address)
    return answers


def shown(client: Client, address: str) -> str:
    """Return the text of a page, without row numbers and durations."""
    source = client.get(address).content.decode().partition("<main")[2].partition("</main>")[0]
    words = " ".join(re.sub(r"<[^>]+>", " ", source).split()).replace(" ,", ",").replace(" ;", ";")
    return re.sub(r"[Rr]un \d+|[\d.,]+ (?:cycles per second|[µm]?s)\b|(?<=took )[\w. ]+? s\b", "…", words)


def facts_of(run: Run) -> dict[str, Any]:
    """Return the stored data of a run, without durations and primary keys."""
    names = ("name", "summary", "notes", "changes", "stages", "origin", "fork_at", "fork_t")
    return recorded(run) | {
        "settings": services.settings_of(run),
        "row": {name: getattr(run, name) for name in names},
        "objects": list(run.scenario.objects_of()),
        "scenario": (run.scenario.name, run.scenario.time, run.scenario.config, run.scenario.counts),
        "stops": list(run.breakpoints.values_list("name", "where")),
    }


def lines(data: bytes) -> list[Any]:
    head, *cycles = [json.loads(line) for line in data.splitlines()]
    return [head | {"run": 0}, *cycles]


@pytest.mark.parametrize(
    ("make", "form"),
    [
        *(pytest.param(make, "run", marks=() if make in VARIED else pytest.mark.long) for make in RUNS),
        (forked_twice, "parquet"),
        pytest.param(virtual_time, "parquet", marks=pytest.mark.long),
    ],
    ids=lambda of: of if isinstance(of, str) else of.__name__,
)
def test_an_imported_run_equals_the_exported_one(client: Client, make: Any, form: str) -> None:
    run = make(client)
    for name, where in (("ties", "tied > 1"), ("nowhere", 'result == "unschedulable"')):
        run.breakpoints.create(name=name, where=where)
    facts, pages, export = facts_of(run), pages_of(client, run), lines(exported(client, run, "jsonl"))
    data = exported(client, run, form)
    Scenario.objects.all().delete()
    assert not Run.objects.exists()
    again = imported(client, data)
    was = {"state": "done", "cycles": run.cycles_done, "version": settings.VERSION}
    assert again.imported == was | {"differs": 0}
    assert again.parent is None
    mine = facts_of(again)
    for name, value in facts.items():
        assert mine[name] == value, name
    assert lines(exported(client, again, "jsonl")) == export
    mine = pages_of(client, again)
    for name, value in pages.items():
        assert mine[name] == value, name
    assert f"As recorded: {run.cycles_done} cycle" in shown(client, f"/runs/{again.pk}/")


@pytest.mark.parametrize(
    "make", selection([forked_twice, forked_twice_later, virtual_time_forked], 3), ids=lambda make: make.__name__
)
def test_an_imported_fork_can_be_forked(client: Client, make: Any) -> None:
    run = make(client)
    wanted = {"at": 2, "changes": [{"skip": {"pod": None, "plugin": "NodeResourcesFit"}}]}
    there = forked(client, run, **wanted)
    again = imported(client, exported(client, run))
    here = forked(client, again, **wanted)
    assert decided(here) == decided(there)
    assert here.parent == again
    export = client.get("/api/compare", {"a": again.pk, "b": here.pk}).json()
    assert export["summary"] == client.get("/api/compare", {"a": run.pk, "b": there.pk}).json()["summary"]
    assert client.get(f"/compare/{again.pk}/{here.pk}/").status_code == 200
    third = imported(client, exported(client, here))
    assert decided(third) == decided(there)


# ---- verification


def stored(client: Client, run: Run) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(exported(client, run))
    return document


def test_verification_names_the_first_cycle_that_differs(client: Client) -> None:
    document = stored(client, small(client))
    document["spec"]["scenario"]["spec"]["objects"][-2]["spec"]["nodeSelector"] = {"missing": "label"}
    run = imported(client, json.dumps(document).encode())
    assert (run.imported["differs"], run.imported["cycles"], run.state) == (5, 6, "done")
    page = shown(client, f"/runs/{run.pk}/")
    assert "Differs from the recording from cycle 5 on; 6 cycles were recorded" in page
    assert "It was recorded by the same version of KubeSched" in page
    assert client.get(run.url).json()["imported"]["differs"] == 5
    document["status"]["version"] = "9.9"
    assert "KubeSched 9.9" in shown(client, f"/runs/{imported(client, json.dumps(document).encode()).pk}/")


def test_verification_counts_additional_and_missing_cycles(client: Client) -> None:
    document = stored(client, small(client))
    whole = document["spec"]["scenario"]["spec"]["objects"]
    document["spec"]["scenario"]["spec"]["objects"] = [*whole, pod("one-more")]
    assert imported(client, json.dumps(document).encode()).imported["differs"] == 7
    document["status"]["state"] = "cancelled"
    again = imported(client, json.dumps(document).encode())
    assert again.imported["differs"] == 0
    assert "The recorded run stopped there" in shown(client, f"/runs/{again.pk}/")
    document["spec"]["scenario"]["spec"]["objects"] = whole[:-1]
    fewer = imported(client, json.dumps(document).encode())
    assert fewer.imported["differs"] == 6
    assert "after cycle 5, where this run ended; 6 cycles were recorded" in shown(client, f"/runs/{fewer.pk}/")
    failing = forked(client, small(client), at=3, changes=[CORDON])
    failing.stages[0]["changes"] = failing.changes = [{"cordon": "nowhere"}]
    failing.save()
    broken = imported(client, exported(client, failing))
    assert (broken.state, broken.error) == ("failed", "changes[0]: cordon: Node nowhere: does not exist")
    assert broken.imported["differs"] == 3


def test_an_import_survives_a_lost_worker(client: Client, monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    settings.RUN_BATCH_CYCLES = 1
    run = forked_twice(client)
    (number,) = post(client, "/api/scenarios", exported(client, run), 201)["runs"]
    lose_worker(monkeypatch, number, after=4)
    again = executed(number)
    assert (again.state, again.starts, again.imported["differs"]) == ("done", 2, 0)
    assert decided(again) == decided(run)


def test_the_page_of_an_imported_fork(client: Client) -> None:
    run = imported(client, exported(client, forked_twice(client)))
    source = client.get(f"/runs/{run.pk}/").content.decode()
    page = shown(client, f"/runs/{run.pk}/")
    assert "The parent run was not imported. Identical to it before cycle 2, then continued with 2 changes." in page
    assert "Before cycle 4: 2 changes" in page
    assert "/runs/None/" not in source
    assert "/compare/" not in source.partition("A fork")[2].partition("</section>")[0]


# ---- ways to import


def test_import_by_page_as_archive_and_by_command(
    client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = gzip.compress(exported(client, small(client, name="the one")))
    (tmp_path / "run-7.run.json.gz").write_bytes(data)
    with (tmp_path / "run-7.run.json.gz").open("rb") as file:
        answer = client.post("/upload/", {"file": file})
    run = Run.objects.first()
    assert run
    assert (answer.status_code, answer["Location"], run.name) == (302, f"/runs/{run.pk}/", "the one")
    call_command("ingest", str(tmp_path / "run-7.run.json.gz"))
    assert f"Run {run.pk + 1}: queued; a worker runs it again" in capsys.readouterr().out
    assert Run.objects.get(pk=run.pk + 1).imported["cycles"] == 6


def test_a_run_file_may_be_yaml(client: Client) -> None:
    text = b"""
apiVersion: kubesched.dev/v1alpha1
kind: Run
metadata: {name: by hand}
spec:
  settings: {seed: 3, tie_break: name}
  breakpoints: [{name: ties, where: tied > 1}]
  scenario:
    apiVersion: kubesched.dev/v1alpha1
    kind: Scenario
    spec: {objects: [{apiVersion: v1, kind: Node, metadata: {name: n1}}]}
"""
    run = imported(client, text)
    assert (run.state, run.seed, run.name, run.breakpoints.count()) == ("done", 3, "by hand", 1)
