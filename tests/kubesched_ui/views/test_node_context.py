"""Node page: usage, pods and events of the node at a timepoint."""

import json
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from kubesched_ui.clusters import node_summaries as clusters
from kubesched_ui.clusters.models import Cluster
from kubesched_ui.ingest import ingest_files
from kubesched_ui.ingest.store import store
from kubesched_ui.models import RecordingBlock, Run
from kubesched_ui.queries import node_summaries
from tests.kubesched_ui.recordings import node, pod, ran, scenario

pytestmark = pytest.mark.django_db

TAINT = {"key": "broken", "effect": "NoExecute"}


@pytest.fixture
def virtual_time() -> Run:
    """n1 gets a pod, then a taint that evicts it. A pod that is created later goes to n2, which is added later."""
    timeline: list[dict[str, Any]] = [
        {"at": 10, "patch": {"kind": "Node", "name": "n1", "patch": {"spec": {"taints": [TAINT]}}}},
        {"at": 20, "create": node("n2")},
        {"at": 30, "create": pod("late", cpu="3")},
    ]
    spec = {"until": 60, "objects": [node("n1"), pod("early")], "timeline": timeline}
    text = json.dumps({"apiVersion": "kubesched.dev/v1alpha1", "kind": "Scenario", "spec": spec})
    return ran(store(ingest_files([("s.json", text.encode())]), name="s"), in_time=True, until=60)


def page(client: Client, run: Run, name: str, query: str = "", status: int = 200) -> str:
    answer = client.get(reverse("node", args=[run.pk, name]) + query)
    assert answer.status_code == status
    return re.sub(r"(<[^>]*>|\s)+", " ", answer.content.decode())


def test_events_of_a_node_in_virtual_time(client: Client, virtual_time: Run) -> None:
    found = page(client, virtual_time, "n1")
    came, tainted, left = (found.index(text) for text in ("early came", "taint broken:NoExecute added", "early left"))
    assert came < tainted < left
    assert "broken:NoExecute 2 labels" in found
    assert "At 1:00" in found
    assert "0 of 4 · 0%" in found


def test_a_node_at_a_timepoint(client: Client, virtual_time: Run) -> None:
    found = page(client, virtual_time, "n1", "?t=5")
    assert "Edit YAML 2 labels" in found
    assert "At 5 s" in found
    assert "1 of 4 · 25%" in found
    assert "gone" not in found


@pytest.mark.parametrize("of_run", [False, True])
def test_the_sentence_of_a_large_cluster_is_loaded_after_the_page(
    client: Client, monkeypatch: pytest.MonkeyPatch, of_run: bool
) -> None:
    stored = scenario(node("n1"), pod("early"), pod("big", cpu="9"))
    address = (
        reverse("node", args=[ran(stored).pk, "n1"]) if of_run else reverse("scenario-node", args=[stored.pk, "n1"])
    )
    small = client.get(address).content.decode()
    sentence = re.search(r'<p class="answer">(.*?)</p>', small, re.S)[1]  # type: ignore[index]
    monkeypatch.setattr(node_summaries, "LARGE", 1)
    first = client.get(address).content.decode()
    assert 'id="summary" data-load="?summary=1"' in first
    assert sentence not in first
    then = client.get(address + "?summary=1").content.decode()
    assert f'<div id="summary"><p class="answer">{sentence}</p></div>' in then


def test_a_node_that_is_added_later(client: Client, virtual_time: Run) -> None:
    assert "not in the cluster at 5 s" in page(client, virtual_time, "n2", "?t=5")
    assert "not in the cluster" not in page(client, virtual_time, "n2")
    assert "3 of 4 · 75%" in page(client, virtual_time, "n2")


def test_an_invalid_timepoint(client: Client, virtual_time: Run) -> None:
    assert "must be a number" in page(client, virtual_time, "n1", "?t=soon", 400)
    assert "must be one of cycle, t and seq" in page(client, virtual_time, "n1", "?t=1&seq=2", 400)


def test_a_single_pass_run_by_cycle(client: Client) -> None:
    run = ran(scenario(node("n1"), pod("a"), pod("b")))
    assert "1 of 4 · 25%" in page(client, run, "n1", "?cycle=2")
    assert "2 of 4 · 50%" in page(client, run, "n1")


def test_a_run_without_a_recording(client: Client) -> None:
    run = ran(scenario(node("n1"), pod("a"), pod("b")))
    RecordingBlock.objects.filter(run=run).delete()
    found = page(client, run, "n1")
    assert "has no recording: this is the node before it" in found
    assert "0 of 4 · 0%" in found


def test_a_node_added_later_in_a_run_without_a_recording(client: Client, virtual_time: Run) -> None:
    RecordingBlock.objects.filter(run=virtual_time).delete()
    assert "n2" in page(client, virtual_time, "n2")
    page(client, virtual_time, "n3", status=404)


def test_the_yaml_of_a_pod_that_was_created_later(client: Client, virtual_time: Run) -> None:
    source = client.get(reverse("pod", args=[virtual_time.pk, "default", "late"])).content.decode()
    assert "name: late" in source


def test_the_sentence_about_a_node(client: Client) -> None:
    """A run shows it for its end, a scenario for the cluster as it is."""
    objects = [node("n1"), node("n2", taints=[{"key": "spot", "value": "true", "effect": "NoSchedule"}])]
    cluster = scenario(*objects, pod("small", cpu="3"), pod("also", cpu="3"))
    text = client.get(reverse("scenario-node", args=[cluster.pk, "n1"])).content.decode()
    assert '<p class="answer">Both pending pods fit here now.</p>' in text
    text = client.get(reverse("scenario-node", args=[cluster.pk, "n2"])).content.decode()
    assert "No pending pod tolerates spot=true:NoSchedule; with that toleration all would fit here." in text
    run = ran(cluster)
    assert "The pending pod lacks only cpu here (cpu 75% requested)." in page(client, run, "n1")
    assert "The pending pod does not tolerate spot=true:NoSchedule; with that toleration it would fit here." in page(
        client, run, "n2"
    )
    before = page(client, run, "n2", "?cycle=1")
    assert "No pending pod tolerates spot=true:NoSchedule; with that toleration all would fit here." in before


def test_a_node_page_without_the_sentence_says_why(
    client: Client, virtual_time: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_time = reverse("scenario-node", args=[virtual_time.scenario_id, "n1"])
    assert "The pods of this scenario come in virtual time" in client.get(in_time).content.decode()
    assert "No pod is pending, so nothing asks for this node (cpu 25%" in page(client, virtual_time, "n1", "?t=25")
    Run.objects.filter(pk=virtual_time.pk).update(state="running")
    assert "When the run has ended, this page says" in page(client, virtual_time, "n1")
    monkeypatch.setattr(clusters, "MOST", 10)
    large = Cluster(resource_version=9, counts={"kinds": {"Pod": 11}})
    assert clusters.of_cluster(large, "n1").startswith("The cluster has more than 10 objects: a fork of it says")
