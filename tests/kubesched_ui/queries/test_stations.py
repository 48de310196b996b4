"""Where pods wait that a run has placed or left alone, by their snapshot."""

from collections.abc import Collection
from typing import Any

import pytest
from django.test import Client

from kubesched_ui.models import ClusterObject, RecordingBlock, Run, Scenario, WorkloadAnswer
from kubesched_ui.queries import answers, stations
from kubesched_ui.queries.stations import PodStations
from scheduler_core.api.objects import Object
from scheduler_core.explain.answer import Answer
from scheduler_core.stations.snapshots import AlikeWaits
from tests.kubesched_ui.ingest.test_neighbours import about_pod
from tests.kubesched_ui.pages import source
from tests.kubesched_ui.recordings import node, pod, ran, scenario

pytestmark = pytest.mark.django_db

Raw = dict[str, Any]
READY = {"conditions": [{"type": "Ready", "status": "True"}]}


def ready(name: str, cpu: str = "4") -> Raw:
    made = node(name, cpu)
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


UNSEARCHED = "No change was simulated, because"


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
        answer = answers.answer_of_pod(held, "default", name, fixes=True)
        assert "fixes" not in answer
        assert answer["no_fixes"] == f"{UNSEARCHED} Kueue holds the pod, and no change for the scheduler ends that."
        page = source(client, f"/runs/{held.pk}/pods/default/{name}/why/")
        assert answer["no_fixes"] in page
        assert "No simulated change" not in page
    page = source(client, f"/runs/{held.pk}/together/")
    assert answer["no_fixes"] in page
    assert "No simulated change" not in page


PROMISE = {
    "apiVersion": "v1", "kind": "Event", "metadata": {"name": "p.1", "namespace": "default"},
    "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p", "uid": "uid-p"}, "reason": "Nominated",
    "message": "Pod should schedule on: nodeclaim/new", "source": {"component": "karpenter"},
    "lastTimestamp": "2026-01-01T00:00:00Z",
}  # fmt: skip
CLAIM = {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": {"name": "new"}}
DEVICE = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]}


@pytest.mark.parametrize(
    ("objects", "why"),
    [
        ([ready("n1", cpu="1"), pod("p", "2"), PROMISE, CLAIM], "an autoscaler has promised a node for the pod."),
        ([ready("n1"), pod("p", **DEVICE)], "a device claim of the pod must exist first."),
        ([pod("p")], "there are no nodes."),
        ([ready("n1", cpu="1"), pod("p", "2")], ""),
    ],
)
def test_a_page_without_fixes_says_why_nothing_was_simulated(client: Client, objects: list[Raw], why: str) -> None:
    for made in objects:
        if made["kind"] == "Pod":
            made["metadata"]["uid"] = "uid-p"
    run = ran(scenario(*objects))
    paths = ("pods/default/p/why/", "together/")[why == "there are no nodes." :]  # an error has no fixes on its page
    for page in (source(client, f"/runs/{run.pk}/{path}") for path in paths):
        assert (f"{UNSEARCHED} {why}" in page) is bool(why)
        assert not why or "No simulated change" not in page
    assert answers.answer_of_pod(run, "default", "p").get("no_fixes", "") == (f"{UNSEARCHED} {why}" if why else "")


def test_of_a_run_without_its_cluster_no_change_was_simulated(client: Client) -> None:
    run = ran(scenario(ready("n1", cpu="1"), pod("p", "2")))
    WorkloadAnswer.objects.filter(run=run).delete()
    RecordingBlock.objects.filter(run=run).delete()
    text = f"{UNSEARCHED} the cluster at the end of the run is not known."
    assert answers.answer_of_pod(run, "default", "p", fixes=True)["no_fixes"] == text
    assert text in source(client, f"/runs/{run.pk}/pods/default/p/why/")


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


def of_job(name: str, job: str, on: str = "", **more: Any) -> Raw:
    made = pod(name, on=on, **more)
    made["metadata"]["ownerReferences"] = [
        {"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": f"uid-{job}", "controller": True}
    ]
    return made


def test_pods_of_a_workload_that_wait_alike_are_one_group(client: Client) -> None:
    state = {"waiting": {"reason": "ErrImagePull", "message": "not found"}}
    pulls = {"phase": "Pending", "containerStatuses": [{"name": "c", "image": "nginx", "state": state}]}
    stored = scenario(
        *(ready(name) for name in ("n1", "n2")),
        *(pod(name, schedulerName="volcano") for name in ("bare-0", "bare-1")),
        *(of_job(f"train-{number:03}", "train", schedulerName="volcano") for number in range(120)),
        *(of_job(f"train-{number:03}", "train", schedulerName="yunikorn") for number in range(120, 123)),
        *(of_job(f"start-{name}", "start", on=name) | {"status": pulls} for name in ("n1", "n2")),
        *(of_job(f"start-{name}", "start", on="n1") | {"status": {"phase": "Pending"}} for name in ("a", "b")),
        pod("alone", schedulerName="yunikorn"),
    )
    groups = [one for one in stations.groups_of_snapshot(stored) if isinstance(one, AlikeWaits)]
    assert [one.title for one in groups] == [
        "120 pods of Job default/train",
        "3 pods of Job default/train",
        "default/bare-0 and 1 equal",
        "2 pods of Job default/start",
        "2 pods of Job default/start",
        "default/alone",
    ]
    text = "The kubelet of its node has not started it: image nginx of container c cannot be pulled."
    assert [one.sentence for one in groups if one.differ] == [text]
    listed = client.get(f"/api/scenarios/{stored.pk}/waits").json()
    assert len({one["pod"] for one in listed}) == len(listed) == 130
    page = source(client, f"/scenarios/{stored.pk}/waits/")
    assert page.count("Scheduler volcano decides about it") == 2
    assert text in page
    assert "It was bound to n2; the kubelet of n2 has not started it" in page
    assert f'/scenarios/{stored.pk}/object/Pod/default/train-099/"' in page
    assert f'/scenarios/{stored.pk}/object/Pod/default/train-100/"' not in page
    assert f'href="/scenarios/{stored.pk}/pods/?q=default%2Ftrain"' in page
    assert "train-119" in source(client, f"/scenarios/{stored.pk}/pods/?q=default%2Ftrain&page=3")
