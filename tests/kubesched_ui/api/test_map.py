"""Data of the map: cluster state in columns, change stream, cycle steps, breakpoints."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from kubesched_ui.exports import run_export
from kubesched_ui.models import Run
from kubesched_ui.offload.pools import stop_pools
from kubesched_ui.scenarios.samples import FOLDER
from tests.kubesched_ui.clusters import every_outcome
from tests.kubesched_ui.http_api import get, post, ran

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True, scope="module")
def ended() -> Iterator[None]:
    yield
    stop_pools()


@pytest.fixture
def run(client: Client) -> Run:
    """Return a run with a pod of each outcome, in order of priority."""
    return ran(client, every_outcome(), tie_break="name")


def ask(client: Client, run: Run, what: str, status: int = 200, **query: Any) -> Any:
    return get(client, f"{run.url}/{what}", status, **query)


def test_the_map_is_the_cluster_state_in_columns(client: Client, run: Run) -> None:
    for cycle in range(1, run.cycles_done + 2):
        picture, state = ask(client, run, "map", cycle=cycle), ask(client, run, "state", cycle=cycle)
        nodes, pods = picture["nodes"], picture["pods"]
        assert nodes["name"] == [node["name"] for node in state["nodes"]]
        assert [nodes["amounts"][i] for i in nodes["allocatable"]] == [n["allocatable"] for n in state["nodes"]]
        assert [nodes["taint_sets"][i] for i in nodes["taints"]] == [n["taints"] for n in state["nodes"]]
        on: dict[int, list[str]] = {}
        for key, node, _ in sorted(zip(pods["key"], pods["node"], pods["came"], strict=True), key=lambda p: p[2]):
            on.setdefault(node, []).append(key)
        assert [on.get(row, []) for row in range(len(nodes["name"]))] == [n["pods"] for n in state["nodes"]]
        assert sorted(on.get(-1, [])) == state["pending"]
        assert picture["nominated"] == state["nominated"]
        assert (picture["cycle"], picture["cycles"], picture["t"]) == (cycle, run.cycles_done, 0)
        bound = pods["key"].index("default/scored")
        assert pods["amounts"][pods["requests"][bound]]["cpu"] == 1000
        assert pods["priority"][pods["key"].index("default/important")] == 1000


def test_the_change_stream_names_its_cycles(client: Client, run: Run) -> None:
    piece = ask(client, run, "map/tape", after=0)
    rows = run.cycles.order_by("number")
    assert piece["cycles"]["number"] == [row.number for row in rows]
    assert piece["cycles"]["pod"] == [f"{row.namespace}/{row.name}" for row in rows]
    assert piece["cycles"]["result"] == [row.result for row in rows]
    back = ask(client, run, "map/tape", until=piece["to"])
    assert {**back, "from": 0} == piece


def test_a_virtual_time_run_has_instants(client: Client) -> None:
    run = ran(client, (FOLDER / "16-preemption-in-time.yaml").read_bytes())
    piece = ask(client, run, "map/tape", after=0)
    assert piece["instants"]["t"] == sorted(piece["instants"]["t"])
    assert ask(client, run, "map", t=61)["t"] <= 61
    assert ask(client, run, "map", seq=3)["moment"] == 3


@pytest.mark.parametrize("query", [{}, {"after": 1, "until": 2}, {"after": -1}, {"after": "x"}])
def test_missing_chunks_are_404(client: Client, run: Run, query: dict[str, Any]) -> None:
    answer = client.get(f"{run.url}/map/tape", query)
    assert answer.status_code in (400, 422)
    assert answer.json()["error"]


def test_steps_of_a_cycle(client: Client, run: Run) -> None:
    for row in run.cycles.order_by("number"):
        cycle = ask(client, run, f"cycles/{row.number}")
        assert cycle["pod"] == f"{row.namespace}/{row.name}"
        assert cycle["names"] == row.nodes
        assert cycle["steps"]
        assert ask(client, run, f"cycles/{row.number}", known=row.nodes_version)["names"] is None
        for plugin in cycle["weights"]:
            assert len(ask(client, run, f"cycles/{row.number}", scores=plugin)["scores"]["raw"]) == len(cycle["total"])
    assert "no cycle 99" in ask(client, run, "cycles/99", 404)["error"]
    assert "gave no scores" in ask(client, run, "cycles/1", 400, scores="Nobody")["error"]


def test_the_cycles_of_a_pod_are_linked(client: Client) -> None:
    run = ran(client, (FOLDER / "14-backoff.yaml").read_bytes())
    pod = run.cycles.filter(attempt=2).first()
    assert pod is not None
    numbers = list(run.cycles.filter(name=pod.name).order_by("number").values_list("number", flat=True))
    for before, number, after in zip([None, *numbers], numbers, [*numbers[1:], None], strict=False):
        cycle = ask(client, run, f"cycles/{number}")
        assert (cycle["before"], cycle["after"]) == (before, after)


# ---- breakpoints


def add(client: Client, run: Run, body: Any, status: int = 201) -> Any:
    return post(client, f"{run.url}/breakpoints", body, status)


def test_breakpoints_are_stored_with_the_run(client: Client, run: Run) -> None:
    assert ask(client, run, "breakpoints") == []
    first = add(client, run, {"name": " preempts ", "where": "size(victims) > 0"})
    second = add(client, run, {"where": "tied > 1"})
    assert (first["name"], second["name"]) == ("preempts", "tied > 1")
    assert ask(client, run, "breakpoints") == [first, second]
    head = json.loads(next(run_export.jsonl(run)))
    assert head["breakpoints"] == [{k: one[k] for k in ("name", "where")} for one in (first, second)]
    assert client.delete(f"{run.url}/breakpoints/{first['id']}").status_code == 204
    assert client.delete(f"{run.url}/breakpoints/{first['id']}").status_code == 404
    assert ask(client, run, "breakpoints") == [second]
    assert client.delete(f"{run.url}/breakpoints/{10**30}").status_code == 404


def test_invalid_breakpoints_are_rejected(client: Client, run: Run) -> None:
    wrong = add(client, run, {"where": "tied >"}, 400)
    assert wrong["line"] == 1
    assert wrong["column"] >= 6
    add(client, run, {"name": "a", "where": "true"})
    assert "'a' is already the name" in add(client, run, {"name": "a", "where": "false"}, 400)["error"]
    for body in ({}, {"where": ""}, {"where": "true", "name": "x" * 300}, {"where": "true", "more": 1}, []):
        add(client, run, body, 422)
    run.breakpoints.bulk_create(run.breakpoints.model(run=run, name=str(n), where="true") for n in range(49))
    assert "limit reached" in add(client, run, {"where": "true"}, 400)["error"]
