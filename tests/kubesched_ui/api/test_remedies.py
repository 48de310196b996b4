"""Suggested fixes over HTTP, for single-pass and virtual time runs."""

from typing import Any

import pytest
from django.test import Client

from kubesched_ui.models import PodResult, Run
from tests.kubesched_ui.clusters import as_list, node, pod
from tests.kubesched_ui.http_api import forked, ran
from tests.kubesched_ui.pages import get

pytestmark = pytest.mark.django_db


def played(client: Client, *objects: Any, **settings: Any) -> int:
    return ran(client, as_list(*objects), **{"tie_break": "name", **settings}).pk


@pytest.mark.parametrize("choices", [{}, {"in_time": True, "until": 30}])
def test_fixes_for_a_pod(client: Client, choices: dict[str, Any]) -> None:
    run = played(client, node("n1", cpu="4"), pod("big", cpu="9"), **choices)
    found = client.get(f"/api/runs/{run}/pods/default/big/remedies?attempt=1").json()
    assert found == client.get(f"/api/runs/{run}/pods/default/big/answer").json()["fixes"]
    assert (found[0]["kind"], found[0]["places"], found[0]["node"]) == ("requests", 1, "n1")
    assert found[0]["command"].startswith("kubectl ")
    assert found[0]["changes"][0]["patch"]["patch"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "4"
    assert client.get(f"/api/runs/{run}/pods/default/big/remedies").json() == found


def test_fixes_that_prefer_a_node(client: Client) -> None:
    run = played(client, node("n1"), node("n2"), pod("web"))
    there = client.get(f"/api/runs/{run}/pods/default/web").json()["result"]["node"]
    other = "n2" if there == "n1" else "n1"
    found = client.get(f"/api/runs/{run}/pods/default/web/remedies?node={other}").json()
    assert found
    assert {remedy["node"] for remedy in found} == {other}
    assert found[0]["command"].startswith("kubectl get pod web -n default -o json | kubectl patch ")
    answer = get(client, f"/runs/{run}/pods/default/web/why/?node={other}").answer
    assert answer == f"{other} fits and has the same total as {there}: {there} was chosen by name."
    chosen = client.get(f"/runs/{run}/pods/default/web/remedies?node={there}".replace("/runs", "/api/runs")).json()
    assert {remedy["node"] for remedy in chosen} == {there}, "fixes that make it the only best node"
    answer = get(client, f"/runs/{run}/pods/default/web/why/?node={there}").answer
    assert answer == f"Placed on {there}, one of 2 nodes that fit, all with the same total, decided by name."
    assert client.get(f"/api/runs/{run}/pods/default/web/remedies").json() == []
    assert client.get(f"/api/runs/{run}/pods/default/web/remedies?node=n9").status_code == 400


@pytest.mark.parametrize("choices", [{}, {"in_time": True, "until": 60}])
def test_the_best_fixes_over_all_pending_pods(client: Client, choices: dict[str, Any]) -> None:
    waiting = [pod(f"p{i}", cpu="3") for i in range(4)]
    for one in waiting:
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u", "controller": True}
        one["metadata"]["ownerReferences"] = [owner]
    run = played(client, node("n1", cpu="4"), *waiting, **choices)
    first = client.get(f"/api/runs/{run}/remedies").json()[0]
    assert (first["places"], first["of"]) == (3, 3)
    assert first["text"].startswith("add 3 nodes")
    fork = forked(client, Run.objects.get(pk=run), at=2, changes=first["changes"])
    assert set(PodResult.objects.filter(run=fork).values_list("result", flat=True)) == {"scheduled"}


TIMED = """
apiVersion: kubesched.dev/v1alpha1
kind: Scenario
spec:
  until: 2m
  objects: [{kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "2", pods: "10"}}}]
  timeline:
    - at: 10s
      create: {kind: Pod, metadata: {name: web}, spec: {containers: [{resources: {requests: {cpu: "3"}}}]}}
    - at: 60s
      create:
        kind: Node
        metadata: {name: n2}
        spec: {taints: [{key: dedicated, value: db, effect: NoSchedule}]}
        status: {allocatable: {cpu: "4", pods: "10"}}
"""


def test_fixes_in_virtual_time_use_the_objects_of_the_attempt(client: Client) -> None:
    """Each attempt has its own fixes. A fork from the attempt with a fix places the pod."""
    run, texts = ran(client, TIMED.encode(), tie_break="name"), {}
    for cycle in run.cycles.order_by("number"):
        first = client.get(f"{run.url}/pods/default/web/remedies?attempt={cycle.attempt}").json()[0]
        texts[cycle.attempt] = first["text"]
        fork = forked(client, run, at=cycle.number, changes=first["changes"])
        assert PodResult.objects.get(run=fork).node == first["node"]
    assert texts[1] == "add 1 node (3 cpu): none has 3 cpu"
    assert "dedicated=db:NoSchedule" in texts[2]


def test_missing_objects(client: Client) -> None:
    run = played(client, node("n1"), pod("web"))
    assert client.get("/api/runs/999/remedies").status_code == 404
    assert client.get(f"/api/runs/{run}/pods/default/nobody/remedies").status_code == 404
    assert client.get(f"/api/runs/{run}/pods/default/web/remedies?attempt=7").status_code == 404
    assert client.get(f"/api/runs/{run}/pods/default/web/remedies?attempt=x").status_code == 422
