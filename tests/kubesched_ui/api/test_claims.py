"""The devices for a pod's claims over stored runs: API and pages; wrong questions are answered."""

import pytest
from django.test import Client

from kubesched_ui.models import Run
from kubesched_ui.scenarios.samples import FOLDER
from tests.kubesched_ui.http_api import page_text, ran

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(client: Client) -> Run:
    return ran(client, (FOLDER / "19-devices.yaml").read_bytes(), release="1.36", tie_break="name")


def test_they_agree_with_where_the_pods_went(client: Client, run: Run) -> None:
    for cycle in run.cycles.order_by("number"):
        told = client.get(f"/api/runs/{run.pk}/pods/default/{cycle.name}/claims", {"cycle": cycle.number}).json()
        can = {name for group in told["groups"] if group["fits"] for name in group["nodes"]}
        assert sum(group["count"] for group in told["groups"]) == told["nodes"] == 4
        assert bool(can) is (cycle.result == "scheduled")
        assert not can or told["node"]["node"] in can


def test_a_pod_that_no_device_is_large_enough_for(client: Client, run: Run) -> None:
    address = f"/api/runs/{run.pk}/pods/default/huge/claims"
    told = client.get(address, {"node": "gpu-b"}).json()["node"]
    ((request,),) = told["claims"][0]["requests"]
    assert (request["wanted"], request["fitting"], request["out"]) == (1, 0, {"selector": 3})
    kinds = [[one["kind"] for one in device["objections"]] for device in request["devices"]]
    assert kinds.count(["selector"]) == 0  # all three are given away by then
    assert kinds.count(["taken", "selector"]) == 3
    page = page_text(client, f"/runs/{run.pk}/pods/default/huge/claims/", node="gpu-b")
    assert "quantity(&quot;141Gi&quot;)" in page
    assert "allocated to default/train-gpus" in page


def test_wrong_questions(client: Client, run: Run) -> None:
    address = f"/api/runs/{run.pk}/pods/default/huge/claims"
    assert client.get(address, {"node": "nowhere"}).status_code == 404
    assert client.get(address, {"page": 2}).json()["error"] == "page: must be from 1 to 1, got 2"
    assert client.get(f"/api/runs/{run.pk}/pods/default/nobody/claims").status_code == 404
    page = page_text(client, f"/runs/{run.pk}/pods/default/huge/claims/", node="<b>nowhere")
    assert "there was no node" in page
    assert "<b>nowhere" not in page


def test_the_page_of_a_pod_says_what_it_was_given(client: Client, run: Run) -> None:
    page = page_text(client, f"/runs/{run.pk}/pods/default/train/", point="reserve")
    assert "gpu.example.com/gpu-b/gpu-0 (gpus), gpu.example.com/gpu-b/gpu-1 (gpus)" in page
    assert "Devices for resource claims" in page
    report = page_text(client, f"/runs/{run.pk}/pods/default/report/", point="prebind")
    assert "gpu.example.com/gpu-a/gpu-0 (gpu)" in report
    assert "gpu.example.com/gpu" not in page_text(client, f"/runs/{run.pk}/pods/default/huge/", point="reserve")


def test_the_page_of_a_node_says_who_has_its_devices(client: Client, run: Run) -> None:
    address = f"/runs/{run.pk}/nodes/gpu-b/"
    assert "3 of 3 allocated" in page_text(client, address)
    assert "2 of 3 allocated" in page_text(client, address, cycle=2)
    assert "0 of 3 allocated" in page_text(client, address, cycle=1)
    now = page_text(client, address)
    assert f'<a href="/runs/{run.pk}/pods/default/notebook/">default/notebook</a>' in now
    assert "memory=80Gi" in now
    assert 'id="devices"' not in page_text(client, f"/runs/{run.pk}/nodes/plain/")
