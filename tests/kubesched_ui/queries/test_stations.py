"""Where pods wait that a run has placed or left alone, by their snapshot."""

from collections.abc import Collection
from typing import Any

import pytest
from django.test import Client

from kubesched_ui.models import ClusterObject, Run, Scenario
from kubesched_ui.queries import answers, stations
from kubesched_ui.queries.stations import PodStations
from scheduler_core.api.objects import Object
from scheduler_core.explain.answer import Answer
from tests.kubesched_ui.ingest.test_neighbours import about_pod
from tests.kubesched_ui.pages import source
from tests.kubesched_ui.recordings import node, pod, ran, scenario

pytestmark = pytest.mark.django_db

Raw = dict[str, Any]
READY = {"conditions": [{"type": "Ready", "status": "True"}]}


def ready(name: str) -> Raw:
    made = node(name)
    return made | {"status": made["status"] | READY}


def found(run: Run, name: str) -> PodStations:
    raw = ClusterObject.objects.get(scenario=run.scenario, kind="Pod", name=name).data
    here = stations.of_pod(run, raw, run.pod_results.filter(name=name).first())
    assert here is not None
    return here


def states(here: PodStations) -> dict[str, str]:
    return {stop.name: stop.state for stop in here.stations}


def test_a_pod_that_the_run_placed_is_scheduled_and_not_started() -> None:
    run = ran(scenario(ready("n1"), pod("p"), about_pod("p", "Nominated", involvedObject={"kind": "Pod", "name": "p"})))
    here = found(run, "p")
    assert (here.placed, here.node, here.station, here.sentence) == (True, "", "", "")
    assert (states(here)["scheduler"], states(here)["node"], states(here)["starting"]) == (
        "done",
        "not-needed",
        "ahead",
    )


def test_what_the_kubelet_says_about_another_node_is_not_claimed() -> None:
    waiting = {"name": "c", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no"}}}
    bound = pod("p", status={"phase": "Pending", "containerStatuses": [waiting]}, nodeName="n1")
    stored = scenario(ready("n1"), bound)
    here = found(ran(stored), "p")
    assert (here.placed, here.node, here.station) == (False, "n1", "starting")
    assert "ImagePullBackOff" in here.says[0]
    here = found(ran(stored, unbind=["default/p"]), "p")
    assert (here.placed, here.node, here.station, here.says) == (True, "n1", "", [])


def test_a_running_pod_has_passed_all_stations() -> None:
    running = pod("p", status={"phase": "Running"}, nodeName="n1")
    here = found(ran(scenario(ready("n1"), running, pod("q"))), "p")
    assert set(states(here).values()) == {"done", "not-needed"}


def test_the_answer_of_a_pod_without_a_cycle_is_that_of_the_snapshot(client: Client) -> None:
    run = ran(scenario(ready("n1"), pod("q"), pod("p", schedulerName="volcano")))
    answer = client.get(f"/api/runs/{run.pk}/pods/default/p/answer").json()
    assert (answer["result"], answer["station"], answer["node"]) == ("not asked", "scheduler", None)
    assert "Scheduler volcano decides about it" in source(client, f"/runs/{run.pk}/pods/default/p/")
    assert client.get(f"/api/runs/{run.pk}/pods/default/none/answer").status_code == 404
    assert [one.pod for one in stations.of_snapshot(run.scenario) if isinstance(one, Answer)] == ["default/p"]


def test_pods_are_read_only_if_an_answer_needs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    run = ran(scenario(ready("n1"), pod("p", "64")))
    read: list[str] = []

    class Watched(stations.StoredStore):
        def objects(self, kind: str) -> Collection[Object]:
            read.append(kind)
            return super().objects(kind)

    monkeypatch.setattr(stations, "StoredStore", Watched)
    stations._kept.cache_clear()
    raw = ClusterObject.objects.get(kind="Pod").data
    assert stations.of_pod(run, raw, None) is not None
    assert "Event" in read
    assert "Pod" not in read


def test_no_pod_of_a_workload_of_kueue_has_fixes(client: Client) -> None:
    def gated(name: str) -> Raw:
        made = pod(name, schedulingGates=[{"name": "kueue.x-k8s.io/admission"}])
        made["metadata"] |= {"uid": f"uid-{name}", "labels": {"kueue.x-k8s.io/queue-name": "lq"}}
        return made

    owners = [{"apiVersion": "v1", "kind": "Pod", "name": name, "uid": f"uid-{name}"} for name in ("a", "b")]
    workload = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "spec": {"queueName": "lq"}}
    workload["metadata"] = {"name": "group", "namespace": "default", "ownerReferences": owners}
    alone = ran(scenario(ready("n1"), gated("a"), gated("b")))
    held = ran(scenario(ready("n1"), gated("a"), gated("b"), workload))
    for name in ("a", "b"):
        assert "deletes the pod" in answers.answer_of_pod(alone, "default", name, fixes=True)["fixes"][0]["remark"]
        assert "fixes" not in answers.answer_of_pod(held, "default", name, fixes=True)


def test_a_pod_that_the_run_creates_has_its_stations(client: Client) -> None:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod("x")["spec"]}
    made: Raw = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web", "namespace": "default"}}
    made |= {"spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template}}
    stored = scenario(ready("n1"), made)
    Scenario.objects.filter(pk=stored.pk).update(time={"controllers": {"workloads": True}})
    stored.refresh_from_db()
    run = ran(stored, in_time=True, until=20)
    (result,) = run.pod_results.all()
    assert not ClusterObject.objects.filter(kind="Pod").exists()
    page = source(client, f"/runs/{run.pk}/pods/default/{result.name}/")
    assert 'aria-label="Stations"' in page
    assert "It is not in the snapshot." in page
    answer = client.get(f"/api/runs/{run.pk}/pods/default/{result.name}/answer").json()
    assert {stop["name"]: stop["state"] for stop in answer["stations"]}["scheduler"] == "done"
