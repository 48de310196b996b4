"""What would have to change, over HTTP: proved answers in the contract's shape, for runs in one pass and in time."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from kubesched_ui.models import Run
from kubesched_ui.runs import lifecycle
from kubesched_ui.runs.tasks import execute_run
from tests.kubesched_ui.clusters import as_list, node, pod

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> Client:
    return Client(headers={"host": "localhost"})


@pytest.fixture(autouse=True)
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle.app, "send_task", lambda name, args: None)


def played(client: Client, *objects: Any, **settings: Any) -> int:
    answer = client.post("/api/scenarios", as_list(*objects), content_type="application/octet-stream")
    assert answer.status_code == 201, answer.content
    started = client.post(
        f"/api/scenarios/{answer.json()['id']}/runs", {"tie_break": "name", **settings}, content_type="application/json"
    )
    assert started.status_code == 202, started.content
    number: int = started.json()["id"]
    execute_run(number)
    assert Run.objects.get(pk=number).state == Run.State.DONE
    return number


@pytest.mark.parametrize("asked", [{}, {"in_time": True, "until": 30}])
def test_of_a_pod(client: Client, asked: dict[str, Any]) -> None:
    run = played(client, node("n1", cpu="4"), pod("big", cpu="9"), **asked)
    found = client.get(f"/api/runs/{run}/pods/default/big/remedies?attempt=1").json()
    assert found[0].keys() == {"text", "changes", "kind", "disturbs", "proved", "node", "gap", "tied", "cost"}
    assert found[0]["text"] == "ask for 4 cpu instead of 9 (no node has more than 4), which n1 has left"
    assert (found[0]["kind"], found[0]["proved"], found[0]["disturbs"]) == ("pod", True, {"pods": 0, "nodes": 0})
    assert found[0]["changes"][0]["patch"]["patch"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "4"
    assert client.get(f"/api/runs/{run}/pods/default/big/remedies").json() == found


def test_to_a_node(client: Client) -> None:
    run = played(client, node("n1"), node("n2"), pod("web"))
    there = client.get(f"/api/runs/{run}/pods/default/web").json()["result"]["node"]
    other = "n2" if there == "n1" else "n1"
    found = client.get(f"/api/runs/{run}/pods/default/web/remedies?node={other}").json()
    assert found
    assert {remedy["node"] for remedy in found} == {other}
    assert {entry["difference"] for entry in found[0]["gap"]} == {0}, "a tie"
    assert found[0]["tied"] == [there]
    page = client.get(f"/runs/{run}/pods/default/web/why/?node={other}").content.decode()
    assert f"{other} has the most points, but {there} has as many: {there} was chosen by name." in page
    chosen = client.get(f"/runs/{run}/pods/default/web/remedies?node={there}".replace("/runs", "/api/runs")).json()
    assert {remedy["node"] for remedy in chosen} == {there}, "what has it win outright"
    page = client.get(f"/runs/{run}/pods/default/web/why/?node={there}").content.decode()
    assert f"{there} has the most points, but {other} has as many: it was chosen by name." in page
    assert client.get(f"/api/runs/{run}/pods/default/web/remedies").json() == []
    assert client.get(f"/api/runs/{run}/pods/default/web/remedies?node=n9").status_code == 400


def test_of_all_together(client: Client) -> None:
    run = played(client, node("n1", cpu="4"), *(pod(f"p{i}", cpu="3") for i in range(4)))
    told = client.get(f"/api/runs/{run}/remedies").json()
    assert (told["pending"], told["looked"]) == (3, 3)
    assert [(b["plugin"], b["pods"]) for b in told["bottlenecks"]] == [("NodeResourcesFit", 3)]
    assert told["lack"]["cpu"] == 9000
    assert told["remedies"][0]["text"] == "3 more nodes like n1 place 3 of 3 pods"
    assert len(told["remedies"][0]["changes"]) == 3


def test_what_is_not_there(client: Client) -> None:
    run = played(client, node("n1"), pod("web"))
    assert client.get("/api/runs/999/remedies").status_code == 404
    assert client.get(f"/api/runs/{run}/pods/default/nobody/remedies").status_code == 404
    assert client.get(f"/api/runs/{run}/pods/default/web/remedies?attempt=7").status_code == 404
    assert client.get(f"/api/runs/{run}/pods/default/web/remedies?attempt=x").status_code == 422
