"""Requested and available quantities on pages, for cpu and extended resources."""

import json
import re
from typing import Any

import pytest
from django.test import Client

from kubesched_ui.models import RecordingBlock, Run, WorkloadAnswer
from tests.kubesched_ui.pages import get, source
from tests.kubesched_ui.recordings import node, pod, ran, scenario

pytestmark = pytest.mark.django_db

GPU = "example.com/gpu"


def with_gpu(obj: dict[str, Any], number: str) -> dict[str, Any]:
    if obj["kind"] == "Node":
        obj["status"]["allocatable"][GPU] = number
    else:
        obj["spec"]["containers"][0]["resources"]["requests"][GPU] = number
    return obj


@pytest.fixture
def run() -> Run:
    """`first` takes two of the four GPUs of g and the cpu of n1 is taken, so `second` fits on g2 only."""
    return ran(
        scenario(
            with_gpu(node("g"), "4"),
            with_gpu(node("g2"), "4"),
            node("n1"),
            pod("old", cpu="3500m", nodeName="n1", status={"phase": "Running"}),
            with_gpu(pod("first", nodeSelector={"kubernetes.io/hostname": "g"}), "2"),
            with_gpu(pod("second"), "3"),
        )
    )


def test_rejections_of_a_placed_pod_have_quantities(client: Client, run: Run) -> None:
    address = f"/runs/{run.pk}/pods/default/second/?point=filter"
    assert get(client, address).answer.startswith("Placed on g2")
    page = source(client, address)
    assert f"Insufficient {GPU}: requests 3, 2 of 4 free" in page
    assert f"Insufficient cpu: requests 1, 0.5 of 4 free; Insufficient {GPU}: requests 3, 0 of 0 free" in page


def test_a_node_page_shows_the_quantities_of_the_cycle(client: Client, run: Run) -> None:
    assert f"Insufficient {GPU}: requests 3, 2 of 4 free" in source(client, f"/runs/{run.pk}/nodes/g/")
    assert "Insufficient cpu: requests 1, 0.5 of 4 free" in source(client, f"/runs/{run.pk}/nodes/n1/")


def test_each_node_of_a_row_has_its_own_quantities(client: Client) -> None:
    names = [f"n{i}" for i in range(6)]
    run = ran(scenario(*(node(name, cpu=str(2 + i % 2)) for i, name in enumerate(names)), pod("big", cpu="9")))
    text = source(client, f"/runs/{run.pk}/pods/default/big/")
    assert "Insufficient cpu: requests 9, at most 3 free" in text
    data = re.search(r'id="matrix-data" type="application/json">(.*?)</script>', text)
    assert data
    (group,) = json.loads(data[1])["groups"]
    content = dict(zip(group["nodes"], group["each"], strict=True))
    assert content == {n: f"Insufficient cpu: requests 9, {2 + i % 2} of {2 + i % 2} free" for i, n in enumerate(names)}


def test_a_run_without_a_recording_shows_reasons_only(client: Client, run: Run) -> None:
    RecordingBlock.objects.filter(run=run).delete()
    page = source(client, f"/runs/{run.pk}/pods/default/second/")
    assert f"Insufficient {GPU}" in page
    assert "requests 3" not in page
    assert "Insufficient cpu" in source(client, f"/runs/{run.pk}/nodes/n1/")


def test_in_virtual_time_the_node_with_the_smallest_shortfall_is_named(client: Client) -> None:
    found = ran(scenario(node("n1"), pod("a", cpu="3"), pod("b", cpu="2")), in_time=True, until=60)
    assert "the closest, n1, is short by 1 cpu" in get(client, f"/runs/{found.pk}/pods/default/b/").answer


def test_extended_resources_are_listed_like_cpu(client: Client, run: Run) -> None:
    nodes = source(client, f"/scenarios/{run.scenario_id}/nodes/?sort=-{GPU}")
    assert f">{GPU}<span" in nodes, "a column of its own, sorted by"
    assert "0 of 4" in nodes
    assert "2 of 4 <span" in source(client, f"/runs/{run.pk}/nodes/g/")


def test_pods_without_a_node_are_listed_by_workload_with_their_answers(client: Client) -> None:
    full = ran(
        scenario(node("n1"), *(pod(f"p{i}", cpu="2") for i in range(5)), pod("ssd", nodeSelector={"disk": "ssd"}))
    )
    assert 'id="together" aria-labelledby="t-together" data-load' in source(client, f"/runs/{full.pk}/")
    for _ in range(2):  # computed, then stored
        content = source(client, f"/runs/{full.pk}/together/")
        assert "pods like default/p2" in content
        for answer in WorkloadAnswer.objects.filter(run=full):
            assert answer.fixed
            assert answer.sentence in content
    page = source(client, f"/runs/{full.pk}/")
    assert "data-load" not in page.partition('id="together"')[2].partition(">")[0], "nothing is left to compute"
    placed = ran(scenario(node("n1"), pod("p")))
    assert 'id="together"' not in source(client, f"/runs/{placed.pk}/")


def test_a_run_without_a_recording_lists_its_pods(client: Client) -> None:
    full = ran(scenario(node("n1"), pod("p", cpu="99")))
    RecordingBlock.objects.filter(run=full).delete()
    WorkloadAnswer.objects.all().delete()
    Run.objects.filter(pk=full.pk).update(last_seq=full.last_seq + 1)
    assert "lacks cpu" in source(client, f"/runs/{full.pk}/together/")
    assert "lacks cpu" in get(client, f"/runs/{full.pk}/").answer


def test_equal_messages_are_shown_once(client: Client) -> None:
    full = ran(scenario(node("n1"), *(pod(f"p{i}", cpu="9") for i in range(3))))
    page = source(client, f"/runs/{full.pk}/").partition('id="pods"')[2]
    assert page.count("Insufficient cpu") == 1
    assert page.count("as default/p0") == 2


def test_the_common_end_of_node_names_is_shown_once(client: Client) -> None:
    ends = ".eu-west-1.compute.internal"
    pods = (pod(f"p{i}", cpu="3") for i in range(2))
    run = ran(scenario(*(node(f"ip-10-0-0-{i}{ends}") for i in (1, 2)), *pods))
    page = source(client, f"/runs/{run.pk}/")
    assert f'title="ip-10-0-0-1{ends}" >ip-10-0-0-1</a>' in page
    assert f"The node names end in <code>{ends}</code>" in page
    assert "The node names end" not in source(client, f"/runs/{ran(scenario(node('n1'), pod('p'))).pk}/")
