"""Parquet export: its tables agree with the recording, and the documented queries run on it."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import duckdb
import pytest
from django.test import Client
from django.urls import reverse

from kubesched_ui.event_log.cycle_batches import trace_of
from kubesched_ui.exports import parquet
from kubesched_ui.models import Cycle, Run, Scenario
from kubesched_ui.scenarios.samples import load_samples
from tests.kubesched_ui.recordings import node, pod, ran, scenario

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

SPREAD = [{"key": "dedicated", "value": "a", "effect": "NoSchedule"}]


def unpacked(run: Run, folder: Path) -> Path:
    with zipfile.ZipFile(io.BytesIO(b"".join(parquet.archive(run)))) as packed:
        packed.extractall(folder)
    return folder / f"run-{run.pk}"


def rows_of(folder: Path, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(config={"file_search_path": str(folder)}) as connection:
        return connection.execute(query).fetchall()


@pytest.fixture
def single_pass() -> Run:
    pods = [pod(f"p{number}", cpu=f"{number % 3}500m") for number in range(12)]
    gated = pod("gated", schedulingGates=[{"name": "g"}])
    return ran(scenario(node("n1"), node("n2", cpu="8"), node("n3", taints=SPREAD), *pods, gated, pod("huge", "99")))


@pytest.fixture
def virtual_time() -> Run:
    load_samples()
    return ran(Scenario.objects.get(name__startswith="Virtual time: preemption"), in_time=True, until=120)


def test_tables_agree_with_the_recording(single_pass: Run, tmp_path: Path) -> None:
    folder = unpacked(single_pass, tmp_path)
    traces = [trace_of(cycle) for cycle in Cycle.objects.filter(run=single_pass)]
    names = single_pass.node_names or []
    cycles = rows_of(folder, "SELECT pod, result, node, feasible FROM 'cycles/*.parquet' ORDER BY cycle")
    assert cycles == [(t.pod, t.result, t.node, len(t.feasible_rows())) for t in traces]
    exported_rows = rows_of(
        folder, "SELECT cycle, node, plugin, decisive FROM 'verdicts/*.parquet' WHERE node IS NOT NULL"
    )
    expected = set()
    for number, trace in enumerate(traces, 1):
        for at, (plugin, verdict) in enumerate(trace.verdicts.items(), 1):
            for row, code in enumerate([] if verdict.codes is None else verdict.codes.tolist()):
                if code:
                    decisive = trace.decisive()
                    assert decisive is not None
                    expected.add((number, names[row], plugin, bool(decisive[row] == at)))
    assert set(exported_rows) == expected
    assert len(exported_rows) == len(expected)
    scores = rows_of(
        folder, "SELECT cycle, node, sum(weighted), any_value(chosen) FROM 'scores/*.parquet' GROUP BY ALL"
    )
    totals = {
        (number, names[row], total, row == trace.selected_row)
        for number, trace in enumerate(traces, 1)
        if trace.scores
        for row, total in zip(trace.feasible_rows().tolist(), trace.total().tolist(), strict=True)
    }
    assert set(scores) == totals
    whole = rows_of(folder, "SELECT pod, plugin, reasons FROM 'verdicts/*.parquet' WHERE node IS NULL")
    assert [(name, plugin) for name, plugin, _ in whole] == [("default/gated", "SchedulingGates")]


def test_queue_moves_of_a_virtual_time_run(virtual_time: Run, tmp_path: Path) -> None:
    folder = unpacked(virtual_time, tmp_path)
    moves = rows_of(folder, "SELECT \"from\", \"to\" FROM 'moves/*.parquet' WHERE pod = 'default/king' ORDER BY seq")
    assert [to for _, to in moves] == ["active", "unschedulable", "active", "bound"]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["single_pass", "virtual_time", "empty"])
@pytest.mark.parametrize(("title", "query"), parquet.QUERIES, ids=range(len(parquet.QUERIES)))
def test_the_documented_queries_run(
    kind: str, title: str, query: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    run = ran(scenario(node("n1"))) if kind == "empty" else request.getfixturevalue(kind)
    found = rows_of(unpacked(run, tmp_path), query)
    assert found if kind == "single_pass" and "lane" not in title else isinstance(found, list)


def test_a_large_run_lists_the_best_nodes_only(
    single_pass: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "MAX_ROWS", 0)
    monkeypatch.setattr(parquet, "FEWEST_NODES", 1)
    folder = unpacked(single_pass, tmp_path)
    assert json.loads((folder / "about.json").read_text())["nodes_per_cycle_at_most"] == 1
    often = rows_of(folder, "SELECT max(n) FROM (SELECT count(*) n FROM 'scores/*.parquet' GROUP BY cycle, plugin)")
    assert often == [(1,)]


def test_many_small_files(single_pass: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = rows_of(unpacked(single_pass, tmp_path / "a"), "SELECT count(*) FROM 'scores/*.parquet'")
    monkeypatch.setattr(parquet, "ROWS_PER_FILE", 3)
    folder = unpacked(single_pass, tmp_path / "b")
    assert len(list((folder / "scores").iterdir())) > 1
    assert rows_of(folder, "SELECT count(*) FROM 'scores/*.parquet'") == whole


def test_the_run_page_links_to_the_export(client: Client, single_pass: Run) -> None:
    page = client.get(reverse("run-export", args=[single_pass.pk]))
    assert page.status_code == 200
    source = page.content.decode()
    assert source.count("<pre") == len(parquet.QUERIES)
    assert f"/api/runs/{single_pass.pk}/export?format=parquet" in source
