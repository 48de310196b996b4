"""The form and the pages of the question loss."""

from typing import Any

import msgspec
import pytest
from django.test import Client

from kubesched_ui.models import PodResult, Run, Scenario
from kubesched_ui.runs.tasks import execute_run
from tests.kubesched_ui.pages import get, source
from tests.kubesched_ui.recordings import node, pod, ran, scenario
from tests.kubesched_ui.views.experiments.finished import finished

pytestmark = pytest.mark.django_db
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "w", "controller": True}
ZONE = "topology.kubernetes.io/zone"


def web(name: str, on: str, cpu: str = "1", **spec: Any) -> dict[str, Any]:
    raw = pod(name, cpu=cpu, status={"phase": "Running"})
    raw["metadata"] |= {"ownerReferences": [OWNER], "labels": {"app": "web"}}
    raw["spec"] |= {"nodeName": on, **spec}
    return raw


def zoned(name: str, zone: str, cpu: str = "4") -> dict[str, Any]:
    raw = node(name, cpu=cpu)
    raw["metadata"].setdefault("labels", {})[ZONE] = zone
    return raw


@pytest.fixture
def cluster(db: None) -> Scenario:
    """The pod `big` fits only on n1; a budget allows no eviction of the others."""
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "all", "namespace": "default"},
    }
    budget["spec"] = {"selector": {"matchLabels": {"app": "web"}}, "minAvailable": 3}
    pods = [web("big", "n1", cpu="5"), web("a", "n2"), web("b", "n3", volumes=[{"name": "tmp", "emptyDir": {}}])]
    nodes = [zoned("n1", "east", cpu="8"), zoned("n2", "west"), zoned("n3", "west")]
    return scenario(*nodes, *pods, budget, name="<b>zones</b>")


def test_losses_of_nodes(client: Client, cluster: Scenario) -> None:
    assert "Which nodes can fail or be drained?" in source(client, f"/scenarios/{cluster.pk}/experiments/loss/")
    experiment = finished(client, cluster, "loss", mode="loss", scope="node")
    assert experiment.sentence == ("1 of 3 nodes cannot be lost without leaving pods pending; the worst is n1: 1 pod.")
    address = f"/experiments/{experiment.pk}/"
    page = get(client, address)
    assert page.inline == []
    assert "<b>zones</b>" not in page.source
    text = source(client, address)
    assert "1 pod down" in text
    assert "ReplicaSet default/web" in text
    assert text.index(">n1</a>") < text.index(">n2</a>")
    assert "3 nodes" in text
    found = source(client, f"{address}?q=n2")
    assert ">n2</a>" in found
    assert ">n1</a>" not in found
    assert "No node matches" in source(client, f"{address}?q=nothing")
    figure = msgspec.json.decode(client.get(f"{address}charts/worst/").content)
    assert [(trace["name"], trace["x"], trace["y"]) for trace in figure["data"]] == [("stay pending", ["n1"], [1])]


def test_detail_of_a_drain(client: Client, cluster: Scenario) -> None:
    experiment = finished(client, cluster, "loss", mode="drain", scope="node", only="n1, n3")
    assert "PodDisruptionBudgets block the drain of 2 nodes." in experiment.sentence
    rows = {row["name"]: row for row in experiment.answer["losses"]}
    address = f"/experiments/{experiment.pk}/cells/1/losses/"
    text = source(client, f"{address}{rows['n3']['place']}/")
    assert "None of its 1 pod stays pending." in text
    assert "--delete-emptydir-data" in text
    assert "allows 0 disruptions (3 of 3 pods healthy, 3 required)" in text
    assert "blocks" in text
    text = source(client, f"{address}{rows['n1']['place']}/")
    assert "1 pod of 1 would no longer run." in text
    assert "Insufficient cpu" in text
    assert "No pod matches" in source(client, f"{address}{rows['n1']['place']}/?q=nothing")
    assert client.get(f"{address}9/").status_code == 404
    assert client.get(f"/experiments/{experiment.pk}/cells/9/losses/0/").status_code == 404


def test_a_zone_is_lost_twice(client: Client, cluster: Scenario) -> None:
    experiment = finished(client, cluster, "loss", mode="loss", scope="zone", outage="20m")
    assert experiment.cells_total == 4
    text = source(client, f"/experiments/{experiment.pk}/")
    assert "The same zones in virtual time" in text
    (row,) = [row for row in experiment.answer["losses"] if row["name"] == "west"]
    address = f"/experiments/{experiment.pk}/cells/{row['outage']['cell']}/outage/"
    assert "The nodes become unreachable after 50 s and return after 20 min." in source(client, address)
    chart = f"/experiments/{experiment.pk}/charts/outage/"
    figure = msgspec.json.decode(client.get(f"{chart}?cell={row['outage']['cell']}").content)
    assert [trace["name"] for trace in figure["data"]] == ["tainted nodes", "evicted pods", "pods placed elsewhere"]
    assert client.get(f"{chart}?cell=1").status_code == 404


def test_errors_of_the_form(client: Client, cluster: Scenario) -> None:
    address = f"/scenarios/{cluster.pk}/experiments/loss/"
    wrong = {"mode": "loss", "scope": "node", "label": "pool"}
    response = client.post(address, wrong)
    assert response.status_code == 400
    assert "A label is only for node groups." in response.content.decode()
    response = client.post(address, {"mode": "loss", "scope": "zone", "outage": "soon"})
    assert response.status_code == 400
    assert "outage" in response.content.decode()


def test_the_page_of_a_node_asks_about_it(client: Client, cluster: Scenario) -> None:
    address = f"/scenarios/{cluster.pk}/experiments/loss/?only=n2"
    assert address in source(client, f"/runs/{ran(cluster).pk}/nodes/n2/")
    assert 'value="n2"' in source(client, address)


def test_a_loss_opens_as_a_run(client: Client, cluster: Scenario) -> None:
    """At first the run of the scenario is started; then the loss is a fork of it, with the same outcome."""
    experiment = finished(client, cluster, "loss", mode="loss", scope="node")
    rows = {row["name"]: row for row in experiment.answer["losses"]}
    address = f"/experiments/{experiment.pk}/cells/1/losses/{rows['n1']['place']}/run/"
    first = client.post(address)
    base = Run.objects.get()
    assert first["Location"] == f"/runs/{base.pk}/"
    execute_run(base.pk)
    second = client.post(address)
    fork = Run.objects.get(parent=base)
    assert second["Location"] == f"/runs/{fork.pk}/"
    assert fork.title.endswith("+ loss of n1")
    execute_run(fork.pk)
    assert list(PodResult.objects.filter(run=fork).values_list("name", "node", "result")) == [
        ("big", "", "unschedulable")
    ]
    assert client.post(address)["Location"] == f"/runs/{fork.pk}/"
    other = f"/experiments/{experiment.pk}/cells/1/losses/{rows['n2']['place']}/run/"
    client.post(other)
    fork = Run.objects.filter(parent=base).latest("pk")
    execute_run(fork.pk)
    detail = experiment.cells.get().result["losses"][rows["n2"]["place"]]["rows"]
    assert list(PodResult.objects.filter(run=fork).values_list("name", "node")) == [("a", detail[0]["to"])]


def test_pods_without_a_controller_are_on_nodes_and_in_zones(client: Client) -> None:
    zones = [node(name, labels={"topology.kubernetes.io/zone": name}) for name in ("east", "west")]
    bare = scenario(*zones, pod("bare", nodeName="east"))
    for scope, where in (("node", "1 pod on 1 node."), ("zone", "1 pod in 1 zone.")):
        experiment = finished(client, bare, "loss", mode="loss", scope=scope)
        assert experiment.sentence.endswith(where)
    row = next(row for row in experiment.answer["losses"] if row["name"] == "east")
    text = source(client, f"/experiments/{experiment.pk}/cells/{row['cell']}/losses/{row['place']}/")
    assert "1 pod without a controller is not created again." in text
    row = next(row for row in experiment.answer["losses"] if row["name"] == "west")
    text = source(client, f"/experiments/{experiment.pk}/cells/{row['cell']}/losses/{row['place']}/")
    assert "It has no pods." in text
