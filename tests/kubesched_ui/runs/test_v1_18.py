"""A run of 1.18: its configuration, its plugins on the pages, in time."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from kubesched_ui.runs.tasks import execute_run
from tests.kubesched_ui.clusters import node, pod
from tests.kubesched_ui.runs.test_predicates import started

pytestmark = pytest.mark.django_db(transaction=True)

CONFIG = """apiVersion: kubescheduler.config.k8s.io/v1alpha2
kind: KubeSchedulerConfiguration
profiles: [{schedulerName: default-scheduler, plugins: {score: {disabled: [{name: ImageLocality}]}}}]
"""


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are done where they are queued."""
    monkeypatch.setattr("kubesched_ui.runs.services.enqueue", lambda pk: execute_run(pk))


@pytest.mark.parametrize("in_time", [False, True])
def test_its_plugins_are_shown(client: Client, in_time: bool) -> None:
    objects = [node("n1"), node("n2"), pod("fits"), pod("big", cpu="400")]
    settings = {"in_time": True, "until": 100} if in_time else {}
    run = started(client, objects, release="1.18", config=CONFIG, **settings).json()
    assert client.get(f"/api/runs/{run['id']}").json()["state"] == "done"
    page = client.get(f"/runs/{run['id']}/pods/default/fits/").content.decode()
    assert "DefaultPodTopologySpread" in page
    refused = client.get(f"/runs/{run['id']}/pods/default/big/").content.decode()
    assert "0/2 nodes are available: 2 Insufficient cpu." in refused


def test_its_configuration_is_refused_by_newer_releases(client: Client) -> None:
    answer = started(client, [node("n1"), pod("a")], release="1.19", config=CONFIG)
    assert answer.status_code == 400
    assert "v1alpha2 is read by kube-scheduler 1.18 only" in json.loads(answer.content)["error"]
