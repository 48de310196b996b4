"""Cells of questions that compute more than a run, opened as runs: the run ends as the result of the cell says."""

from typing import Any

import pytest
from django.test import Client

from kubesched_ui.experiments import opened_runs
from kubesched_ui.experiments.models import Experiment, ExperimentCell
from kubesched_ui.models import PodResult, Run, Scenario
from kubesched_ui.runs.services import run_finished
from kubesched_ui.runs.tasks import execute_run
from scheduler_core.experiments import cell_runs
from scheduler_core.forks import mutations
from tests.kubesched_ui.experiments.test_experiments import create, finish
from tests.kubesched_ui.pages import source
from tests.kubesched_ui.recordings import scenario
from tests.scheduler_core.build import node, pod

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

CHANGES = [{"name": "without d", "changes": [{"delete": {"kind": "Node", "namespace": "", "name": "d"}}]}]
SMALL = {"requests": {"cpu": "500m"}, "name": "small"}
CATALOG = [{"name": "m", "price": 1, "allocatable": {"cpu": "5", "memory": "8Gi"}}]


def owned(name: str, on: str, cpu: str, kind: str = "ReplicaSet") -> dict[str, Any]:
    raw = pod(name, on=on, requests={"cpu": cpu})
    raw["metadata"]["ownerReferences"] = [{"kind": kind, "name": name, "uid": name, "controller": True}]
    return raw


@pytest.fixture
def cluster() -> Scenario:
    """`big` needs a whole node: after `small` has moved to c, b has space for it. d is only there without changes."""
    nodes = [node("a", cpu="4"), node("b", cpu="4"), node("c", cpu="3", labels={"pool": "tiny"}), node("d", cpu="1")]
    pods = [owned("old", "a", "3"), owned("small", "b", "2"), owned("agent", "a", "100m", "DaemonSet")]
    return scenario(*nodes, *pods, pod("big", requests={"cpu": "4"}), pod("low", requests={"cpu": "500m"}))


def opened(client: Client, experiment: Experiment, number: int = 1) -> dict[str, str]:
    """Open a cell and compute its runs as workers do. Return the node of each pod that the last run decided about."""
    assert experiment.state == "done", experiment.error
    address = f"/experiments/{experiment.pk}/cells/{number}/"
    assert "Open as run" in source(client, address)
    assert client.post(f"{address}open/").status_code == 302
    cell = ExperimentCell.objects.get(experiment=experiment, number=number)
    while (run := cell.run) is not None and run.state == "queued":
        execute_run(run.pk)
        run_finished.send(sender=Run, run_id=run.pk)
        cell.refresh_from_db()
    assert run is not None
    assert run.state == "done", run.error
    assert opened_runs.is_complete(cell)
    runs = Run.objects.count()
    assert client.post(f"{address}open/").headers["Location"] == f"/runs/{run.pk}/"
    assert Run.objects.count() == runs
    return {f"{row.namespace}/{row.name}": row.node for row in PodResult.objects.filter(run=run)}


@pytest.mark.parametrize("pending", ["first", "ignore"])
@pytest.mark.parametrize("changes", [[{"name": "unchanged"}], CHANGES])
def test_moves(client: Client, cluster: Scenario, pending: str, changes: list[Any]) -> None:
    experiment = finish(
        create(
            cluster, question="moves", seeds=[0], changes=changes, moves={"pods": ["default/big"], "pending": pending}
        )
    )
    nodes = opened(client, experiment)
    (row,) = experiment.answer["rows"]
    assert len(row["moves"]) >= 1
    for name, at in {**{move["pod"]: move["to"] for move in row["moves"]}, **row["placed"]}.items():
        assert nodes[name] == at
    assert ("default/low" in nodes) == (pending == "first")


def test_no_moves_open_as_the_run_that_leaves_the_pod_pending(client: Client) -> None:
    cluster = scenario(node("a", cpu="4"), pod("alone", on="a"), pod("huge", requests={"cpu": "64"}))
    experiment = finish(create(cluster, question="moves", seeds=[0], moves={"pods": ["default/huge"]}))
    assert opened(client, experiment) == {"default/huge": ""}
    assert not Run.objects.get().is_fork


@pytest.mark.parametrize("pending", ["first", "ignore"])
def test_capacity_of_the_cluster_and_of_groups(client: Client, cluster: Scenario, pending: str) -> None:
    wanted = {"pods": [SMALL | {"weight": 2}, {"requests": {"cpu": "1"}, "name": "large"}], "pending": pending}
    experiment = finish(create(cluster, question="capacity", seeds=[0], capacity=wanted))
    for number, row in enumerate(experiment.answer["rows"], 1):
        nodes = opened(client, experiment, number)
        copies = {name: at for name, at in nodes.items() if "-more-" in name}
        assert list(copies.values()).count("") == 1, "the next one stays pending"
        assert len(copies) - 1 == row["fit"]
        if row["group"]:
            assert len({at for at in copies.values() if at}) == row["nodes"]
        assert ("default/low" in nodes) == (pending == "first")


def test_a_loss_of_one_and_of_several(client: Client, cluster: Scenario) -> None:
    one = finish(create(cluster, question="loss", seeds=[0], loss={"mode": "loss", "only": ["b"]}))
    (row,) = one.cells.get().result["losses"][0]["rows"]
    assert opened(client, one)["default/small"] == row.get("to", "")
    several = finish(create(cluster, question="loss", seeds=[0], loss={"mode": "drain"}))
    text = source(client, f"/experiments/{several.pk}/cells/1/")
    assert "This cell computes 4 losses. Open each of them as a run." in text
    assert f'<a href="/experiments/{several.pk}/cells/1/losses/0/">a</a>' in text
    assert "Open as run" not in text


def test_an_outage_says_why_it_does_not_open(client: Client) -> None:
    zones = [node(name, cpu="4", labels={"topology.kubernetes.io/zone": name}) for name in ("east", "west")]
    cluster = scenario(*zones, owned("a", "east", "1"))
    experiment = finish(create(cluster, question="loss", seeds=[0], loss={"scope": "zone"}))
    number = next(cell.number for cell in experiment.cells.all() if "outage" in cell.result)
    text = source(client, f"/experiments/{experiment.pk}/cells/{number}/")
    assert cell_runs.OUTAGE in text
    assert f'href="/experiments/{experiment.pk}/cells/{number}/outage/"' in text
    refused = client.post(f"/experiments/{experiment.pk}/cells/{number}/open/", follow=True)
    assert cell_runs.OUTAGE in refused.content.decode()
    assert not Run.objects.exists()


@pytest.mark.parametrize("workload", ["pending", "all"])
def test_bought_nodes(client: Client, cluster: Scenario, workload: str) -> None:
    buy = {"catalog": CATALOG, "workload": workload, "seconds": 1}
    experiment = finish(create(cluster, question="buy", seeds=[0], buy=buy))
    nodes = opened(client, experiment)
    (cell,) = experiment.cells.all()
    plan = cell.result["plan"]
    assert plan["nodes"]
    assert {name: nodes[name] for name in plan["pods"]} == plan["pods"]
    assert len(nodes) == len(plan["pods"])


@pytest.mark.parametrize("pending", ["first", "ignore"])
def test_packing(client: Client, cluster: Scenario, pending: str) -> None:
    packing = {"measures": ["compaction", "replicas"], "orders": 1, "pending": pending, "picky": 0.4}
    experiment = finish(create(cluster, question="packing", seeds=[0], packing=packing))
    result = experiment.cells.get(number=1).result
    nodes = opened(client, experiment)
    assert len(nodes) == result["pods"]
    assert list(nodes.values()).count("") <= result["allowed"]
    assert len(set(filter(None, nodes.values()))) <= result["found"]
    assert cell_runs.GROWTH in source(client, f"/experiments/{experiment.pk}/cells/2/")


def test_too_many_changes(client: Client, cluster: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = finish(create(cluster, question="capacity", seeds=[0], capacity={"pods": [SMALL], "byGroup": False}))
    monkeypatch.setattr(cell_runs, "MOST", 3)
    fit = experiment.cells.get().metrics["fit"]
    assert f"It needs {fit + 1} changes, and a run can have at most 3." in source(
        client, f"/experiments/{experiment.pk}/cells/1/"
    )
    assert mutations.MOST == 1000


def test_a_cell_without_a_result(client: Client, cluster: Scenario) -> None:
    experiment = finish(create(cluster, question="capacity", seeds=[0], capacity={"pods": [SMALL], "byGroup": False}))
    experiment.cells.update(state="failed", result=None, metrics={})
    assert opened_runs.UNFINISHED in source(client, f"/experiments/{experiment.pk}/cells/1/")
