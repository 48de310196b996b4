"""Runs of 1.16 with a Policy, predicates and priorities, and of 1.18 with its configuration and plugins."""

import json
from typing import Any

import pytest
from django.test import Client
from django.utils.html import strip_tags

from tests.kubesched_ui.clusters import node, pod

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("run_immediately")]

POLICY = {"kind": "Policy", "apiVersion": "v1", "priorities": [{"name": "MostRequestedPriority", "weight": 2}]}


def started(client: Client, objects: list[dict[str, Any]], **settings: Any) -> Any:
    body = json.dumps({"kind": "List", "apiVersion": "v1", "items": objects})
    scenario = client.post("/api/scenarios", body, "application/json").json()["id"]
    return client.post(f"/api/scenarios/{scenario}/runs", json.dumps(settings), "application/json")


def test_pages_of_1_16_show_predicates_and_priorities(client: Client) -> None:
    objects = [node("n1"), node("n2"), pod("fits"), pod("big", cpu="400")]
    run = started(client, objects, release="1.16", config=json.dumps(POLICY)).json()
    assert client.get(f"/api/runs/{run['id']}").json()["state"] == "done"
    page = client.get(f"/runs/{run['id']}/pods/default/fits/").content.decode()
    for words in ("Predicates", "Priorities", "MostRequestedPriority", "normalizes it to 0–10", "Assume"):
        assert words in page, words
    for words in ("PreFilter", "PreScore", "Permit", "Each plugin"):
        assert words not in page, words
    refused = client.get(f"/runs/{run['id']}/pods/default/big/").content.decode()
    assert "Preemption" in refused
    assert "GeneralPredicates" in refused
    assert "0/2 nodes are available: 2 Insufficient cpu." in strip_tags(refused)


def test_unsupported_settings_are_rejected(client: Client) -> None:
    newer = {"kind": "KubeSchedulerConfiguration", "apiVersion": "kubescheduler.config.k8s.io/v1"}
    answer = started(client, [node("n1"), pod("a")], release="1.16", config=json.dumps(newer))
    assert answer.status_code == 400
    assert "1.16 reads kubescheduler.config.k8s.io/v1alpha1, or a Policy" in answer.content.decode()


def test_a_virtual_time_run(client: Client) -> None:
    objects = [node("n1"), pod("fits"), pod("big", cpu="400")]
    run = started(client, objects, release="1.16", in_time=True, until=100, config=json.dumps(POLICY)).json()
    assert client.get(f"/api/runs/{run['id']}").json()["state"] == "done"
    moves = client.get(f"/api/runs/{run['id']}/pods/default/big/history").json()["moves"]
    assert [(move["t"], move["event"]) for move in moves if move["to"] == "active"] == [
        (0, "PodAdd"),
        (90, "UnschedulableTimeout"),
    ]
    page = client.get(f"/runs/{run['id']}/pods/default/big/?t=95").content.decode()
    assert "Predicates" in page
    assert "Each plugin" not in page


CONFIG = """apiVersion: kubescheduler.config.k8s.io/v1alpha2
kind: KubeSchedulerConfiguration
profiles: [{schedulerName: default-scheduler, plugins: {score: {disabled: [{name: ImageLocality}]}}}]
"""


@pytest.mark.parametrize("in_time", [False, True])
def test_plugins_of_1_18_are_shown(client: Client, in_time: bool) -> None:
    objects = [node("n1"), node("n2"), pod("fits"), pod("big", cpu="400")]
    settings = {"in_time": True, "until": 100} if in_time else {}
    run = started(client, objects, release="1.18", config=CONFIG, **settings).json()
    assert client.get(f"/api/runs/{run['id']}").json()["state"] == "done"
    page = client.get(f"/runs/{run['id']}/pods/default/fits/").content.decode()
    assert "DefaultPodTopologySpread" in page
    refused = client.get(f"/runs/{run['id']}/pods/default/big/").content.decode()
    assert "0/2 nodes are available: 2 Insufficient cpu." in strip_tags(refused)


def test_newer_releases_reject_the_configuration_of_1_18(client: Client) -> None:
    answer = started(client, [node("n1"), pod("a")], release="1.19", config=CONFIG)
    assert answer.status_code == 400
    assert "v1alpha2 is read by kube-scheduler 1.18 only" in json.loads(answer.content)["error"]
