"""Devices for the claims of a pod: API and pages of stored runs."""

import pytest
from django.test import Client

from kubesched_ui.models import Run
from kubesched_ui.scenarios.samples import FOLDER
from tests.kubesched_ui.http_api import page_text, ran

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(client: Client) -> Run:
    return ran(client, (FOLDER / "19-devices.yaml").read_bytes(), release="1.36", tie_break="name")


def test_the_answer_agrees_with_the_node_of_each_pod(client: Client, run: Run) -> None:
    for cycle in run.cycles.order_by("number"):
        answer = client.get(f"/api/runs/{run.pk}/pods/default/{cycle.name}/claims", {"cycle": cycle.number}).json()
        can = {name for group in answer["groups"] if group["fits"] for name in group["nodes"]}
        assert sum(group["count"] for group in answer["groups"]) == answer["nodes"] == 4
        assert bool(can) is (cycle.result == "scheduled")
        assert not can or answer["node"]["node"] in can
        assert answer["node"]["said"] == answer["node"]["message"]  # its name in version 1.0


def test_no_device_is_large_enough_for_the_pod(client: Client, run: Run) -> None:
    address = f"/api/runs/{run.pk}/pods/default/huge/claims"
    answer = client.get(address, {"node": "gpu-b"}).json()["node"]
    ((request,),) = answer["claims"][0]["requests"]
    assert (request["wanted"], request["fitting"], request["out"]) == (1, 0, {"selector": 3})
    kinds = [[one["kind"] for one in device["objections"]] for device in request["devices"]]
    assert kinds.count(["selector"]) == 0  # other claims have all three devices by then
    assert kinds.count(["taken", "selector"]) == 3
    page = page_text(client, f"/runs/{run.pk}/pods/default/huge/claims/", node="gpu-b")
    assert "quantity(&quot;141Gi&quot;)" in page
    assert "allocated to default/train-gpus" in page


def test_invalid_queries(client: Client, run: Run) -> None:
    address = f"/api/runs/{run.pk}/pods/default/huge/claims"
    assert client.get(address, {"node": "nowhere"}).status_code == 404
    assert client.get(address, {"page": 2}).json()["error"] == "page: must be from 1 to 1, got 2"
    assert client.get(f"/api/runs/{run.pk}/pods/default/nobody/claims").status_code == 404
    page = page_text(client, f"/runs/{run.pk}/pods/default/huge/claims/", node="<b>nowhere")
    assert "there was no node" in page
    assert "<b>nowhere" not in page


def test_the_page_of_a_pod_shows_its_devices(client: Client, run: Run) -> None:
    page = page_text(client, f"/runs/{run.pk}/pods/default/train/", point="reserve")
    assert "gpu.example.com/gpu-b/gpu-0 (gpus), gpu.example.com/gpu-b/gpu-1 (gpus)" in page
    assert "Devices for resource claims" in page
    report = page_text(client, f"/runs/{run.pk}/pods/default/report/", point="prebind")
    assert "gpu.example.com/gpu-a/gpu-0 (gpu)" in report
    assert "gpu.example.com/gpu" not in page_text(client, f"/runs/{run.pk}/pods/default/huge/", point="reserve")


def test_the_page_of_a_node_shows_the_claims_of_its_devices(client: Client, run: Run) -> None:
    address = f"/runs/{run.pk}/nodes/gpu-b/"
    assert "3 of 3 allocated" in page_text(client, address)
    assert "2 of 3 allocated" in page_text(client, address, cycle=2)
    assert "0 of 3 allocated" in page_text(client, address, cycle=1)
    now = page_text(client, address)
    assert f'<a href="/runs/{run.pk}/pods/default/notebook/">default/notebook</a>' in now
    assert "memory=80Gi" in now
    assert 'id="devices"' not in page_text(client, f"/runs/{run.pk}/nodes/plain/")
