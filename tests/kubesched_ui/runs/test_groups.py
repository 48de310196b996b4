"""Runs of clusters with pod groups: recording, forks and feature gates."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from asgiref.sync import async_to_sync
from django.test import Client

from kubesched_ui.models import Run, Scenario
from kubesched_ui.runs import suggested_comparisons
from kubesched_ui.runs.tasks import execute_run
from scheduler_core.releases import NEWEST
from tests.kubesched_ui.clusters import as_list
from tests.kubesched_ui.event_log.test_events import messages
from tests.scheduler_core.build import ZONE, node
from tests.scheduler_core.pod_groups.test_groups import group, members

SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "websocket.schema.json").read_text())
pytestmark = pytest.mark.django_db

GATES = f"{NEWEST} GenericWorkload=true"


def cluster(at_least: int = 4, **spec: Any) -> bytes:
    """Return a cluster with capacity for three pods of `train`, and in any case for `web`."""
    nodes = [node("n1", zone="a", cpu="4"), node("n2", zone="b", cpu="2")]
    return as_list(
        *nodes, group("train", at_least, **spec), *members("train", 4), group("web"), *members("web", 1, "1")
    )


def stored(client: Client, data: bytes) -> int:
    answer = client.post("/api/scenarios", data, content_type="application/octet-stream")
    assert answer.status_code == 201, answer.content
    return int(answer.json()["id"])


def ran(client: Client, data: bytes | None = None, address: str = "", **wanted: Any) -> Run:
    address = address or f"/api/scenarios/{stored(client, data or cluster())}/runs"
    answer = client.post(address, json.dumps(wanted), content_type="application/json")
    assert answer.status_code == 202, answer.content
    execute_run(answer.json()["id"])
    run = Run.objects.get(pk=answer.json()["id"])
    assert run.state == "done", run.error
    return run


def test_a_group_is_recorded_with_its_members(client: Client) -> None:
    run = ran(client, tie_break="name")
    assert run.release == GATES
    train, web = run.group_cycles.all()
    assert (train.key, train.result, train.bound, train.members) == ("default/train", "unschedulable", 0, 4)
    assert (train.first, train.last, web.first) == (1, 4, 5)
    assert [one["fits"] for one in train.told["members"]] == [True, True, True, False]
    assert [cycle.result for cycle in run.cycles.all()] == ["unschedulable"] * 4 + ["scheduled"]
    assert (run.placed, run.unschedulable) == (1, 4)


def test_placed_members_of_a_failed_group_are_released(client: Client) -> None:
    run = ran(client, tie_break="name")
    then = client.get(f"/api/runs/{run.pk}/state", {"cycle": 3}).json()
    assert then["waiting"] == {"default/train-0": "n1", "default/train-1": "n1"}
    after = client.get(f"/api/runs/{run.pk}/state", {"cycle": 5}).json()
    assert after["waiting"] == {}
    assert len(after["pending"]) == 5


@pytest.mark.django_db(transaction=True)
def test_group_events_match_the_schema(client: Client, settings: Any) -> None:
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
    run = ran(client)
    validator = jsonschema.Draft202012Validator(SCHEMA)
    events = []
    for message in async_to_sync(messages)(f"/ws/runs/{run.pk}"):
        validator.validate(message)
        events += message["events"]
    (failed, placed) = (event["data"] for event in events if event["type"] == "group.finished")
    assert (failed["group"], failed["fit"], failed["bound"], failed["cycles"]) == ("default/train", 3, 0, [1, 4])
    assert (placed["result"], placed["members"], placed["bound"]) == ("scheduled", 1, 1)
    first = [event["type"] for event in events if event["pod"] == "default/train-0"]
    assert first[-3:] == ["permit", "unreserve", "cycle.finished"]
    assert "bind" not in first


@pytest.mark.parametrize(("at", "begins"), [(1, 1), (3, 1), (5, 5), (6, 6)])
def test_a_fork_starts_at_the_beginning_of_the_group(client: Client, at: int, begins: int) -> None:
    run = ran(client, tie_break="name")
    more = [{"create": node("n3", cpu="2")}] if at < 5 else []
    fork = ran(client, address=f"/api/runs/{run.pk}/fork", at=at, changes=more)
    assert fork.fork_at == begins
    page = client.get(f"/runs/{fork.pk}/").content.decode()
    assert ("its members are scheduled together" in page) is (at != begins)
    train = fork.group_cycles.get(name="train")
    assert (train.result, train.bound) == (("scheduled", 4) if more else ("unschedulable", 0))
    if not more:
        assert train.told == run.group_cycles.get(name="train").told


def test_selecting_members_tries_the_group_once(client: Client) -> None:
    run = ran(client, tie_break="name", pods=["default/train-1", "default/train-3"])
    assert [one.key for one in run.group_cycles.all()] == ["default/train"]
    assert (run.cycles_done, run.cycles_total) == (4, 4)


def test_required_gates_are_set_by_default(client: Client) -> None:
    number = stored(
        client, cluster(schedulingConstraints={"topology": [{"key": ZONE}]}, priority=3, disruptionMode="PodGroup")
    )
    run = ran(client, address=f"/api/scenarios/{number}/runs")
    assert set(run.feature_gates) == {"GenericWorkload", "TopologyAwareWorkloadScheduling"}
    page = client.get(f"/scenarios/{number}/").content.decode()
    assert "GenericWorkload=true,TopologyAwareWorkloadScheduling=true" in page


@pytest.mark.parametrize(
    ("release", "way"),
    [
        ("1.36", "together, set the feature gates GangScheduling=true,GenericWorkload=true."),
        ("1.34", f"together, choose release {NEWEST} and set the feature gates GenericWorkload=true."),
    ],
)
def test_a_run_without_the_gates_gives_a_warning(client: Client, release: str, way: str) -> None:
    run = ran(client, release=release)
    (note,) = client.get(f"/api/runs/{run.pk}").json()["warnings"]
    assert note.startswith("The cluster has 2 PodGroups, but this run schedules each pod individually.")
    assert note.endswith(way)
    assert run.group_cycles.count() == 0
    assert note in client.get(f"/runs/{run.pk}/").content.decode()


def test_groups_in_virtual_time(client: Client) -> None:
    run = ran(client, tie_break="name", in_time=True, until=1.5)
    cycles = list(run.group_cycles.order_by("first"))
    assert {(one.name, one.result) for one in cycles} == {("train", "unschedulable"), ("web", "scheduled")}
    placed = next(one for one in cycles if one.name == "web")
    page = client.get(f"/runs/{run.pk}/groups/{placed.key}/").content.decode()
    assert "It is bound." in page
    member = client.get(f"/api/runs/{run.pk}/groups/{placed.key}").json()["members"][0]
    assert member["result"] == "scheduled"
    namespace, name = member["pod"].split("/")
    assert client.get(f"/runs/{run.pk}/pods/{namespace}/{name}/").status_code == 200
    train = next(one for one in cycles if one.name == "train")
    then = client.get(f"/api/runs/{run.pk}/state", {"cycle": train.last}).json()
    assert set(then["waiting"]) == {member["pod"] for member in train.told["members"][:-1]}
    fork = ran(client, address=f"/api/runs/{run.pk}/fork", at=train.last, changes=[{"create": node("n3", cpu="2")}])
    assert fork.fork_at == train.first
    assert fork.group_cycles.filter(name="train").last().result == "scheduled"


def test_both_kinds_of_pod_group_are_stored(client: Client) -> None:
    other = {**group("train"), "apiVersion": "scheduling.x-k8s.io/v1alpha1", "spec": {"minMember": 2}}
    workload = {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": "default"},
        "spec": {"podGroupTemplates": []},
    }
    old = {**workload, "apiVersion": "scheduling.k8s.io/v1alpha1"}
    answer = client.post("/api/scenarios", as_list(group("train", 2), other, workload), content_type="application/json")
    made = answer.json()
    assert made["counts"] == {"PodGroup.scheduling.k8s.io": 1, "PodGroup": 1, "Workload": 1}
    for kind in ("PodGroup", "PodGroup.scheduling.k8s.io"):
        assert client.get(f"/scenarios/{made['id']}/object/{kind}/default/train/", follow=True).status_code == 200
    refused = client.post("/api/scenarios", as_list(node("n1"), old), content_type="application/json").json()
    assert "Workload" not in refused["counts"]
    assert "only as PodGroups" in refused["warnings"][0]["message"]


def test_a_preview_uses_the_gates_that_each_release_has(client: Client) -> None:
    number = stored(client, cluster())
    first, second = suggested_comparisons.runs_of(Scenario.objects.get(pk=number), {"a": "1.34", "b": NEWEST})
    assert (first.release, second.release) == ("1.34", GATES)
