"""A pending pod on the nodes of a scenario and of a live cluster: the whole ladder, and the answer about a node."""

from typing import Any

import pytest
from django.test import Client

from kubesched_ui.clusters import node_summaries as live
from kubesched_ui.clusters.models import Cluster, PendingPod
from kubesched_ui.queries import node_summaries
from scheduler_core.explain.answer import Rung
from scheduler_core.explain.packed_ladder import pack
from tests.kubesched_ui.live_clusters.factory import live_cluster
from tests.kubesched_ui.pages import get
from tests.kubesched_ui.recordings import node, pod, scenario

pytestmark = pytest.mark.django_db
DEDICATED = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}


@pytest.fixture(autouse=True)
def _forget() -> None:
    for cached in (live._simulation, live._demands, node_summaries._simulation):
        cached.cache_clear()  # databases of tests use the same numbers again


def ladder(client: Client, address: str, status: int = 200) -> Any:
    found = client.get(f"/api/{address}/ladder")
    assert found.status_code == status, found.content
    return found.json()


def test_a_pod_of_a_scenario_is_tried_on_its_nodes(client: Client) -> None:
    full, other = pod("old", "2", nodeName="n2"), pod("other", schedulerName="volcano")
    made = scenario(node("n1"), node("n2"), node("n3", taints=[DEDICATED]), full, pod("web"), pod("big", "9"), other)
    found = ladder(client, f"scenarios/{made.pk}/pods/default/web")
    assert {rung["changes"]: rung["nodes"] for rung in found["ladder"]} == {0: ["n1", "n2"], 1: ["n3"]}
    assert "n3" not in found["sentence"]
    assert [rung["changes"] for rung in ladder(client, f"scenarios/{made.pk}/pods/default/big")["ladder"]] == [None]
    assert ladder(client, f"scenarios/{made.pk}/pods/default/old")["ladder"] == [], "not pending"
    assert ladder(client, f"scenarios/{made.pk}/pods/default/other")["ladder"] == [], "of another scheduler"
    why = f"/scenarios/{made.pk}/object/Pod/default/web/why/?node="
    assert "n3 could take the pod after one change: it has the untolerated taint" in get(client, f"{why}n3").flat
    assert "Why n1?" in get(client, f"{why}n1").flat
    lost = get(client, f"{why}n2").flat
    assert "n2 fits, but it is not the emptiest: n1 is" in lost
    assert "<h3>n1 against n2</h3>" in lost
    assert "Not known: Node n9: does not exist" in get(client, f"{why}n9", 400).flat
    assert "Not known: Pod default/old: is not pending" in get(client, why.replace("web", "old") + "n1", 400).flat


def test_a_scenario_in_virtual_time_has_no_answer(client: Client) -> None:
    made = scenario(node("n1"), pod("web"))
    made.time = {"pods": []}
    made.save()
    assert "in virtual time" in ladder(client, f"scenarios/{made.pk}/pods/default/web", 400)["error"]
    assert "in virtual time" in get(client, f"/scenarios/{made.pk}/object/Pod/default/web/why/?node=n1", 400).flat


def test_a_pod_of_a_live_cluster_is_tried_on_its_nodes(client: Client) -> None:
    cluster = live_cluster(nodes=3)
    base = f"clusters/{cluster.pk}/pods/default/waiting-0"
    assert ladder(client, base)["ladder"] == [], "not analysed yet"
    cordoned = Rung(1, 1, ["n1"], "1 node is \u202e cordoned", "is \u202e cordoned")
    rungs = [cordoned, Rung(None, 2, ["n0", "n2"], "2 nodes are small", "is small")]
    PendingPod.objects.filter(cluster=cluster).update(ladder=pack(rungs))
    found = ladder(client, base)
    assert [(one["changes"], one["nodes"], one["each"]) for one in found["ladder"]] == [
        (1, ["n1"], r"is \u202e cordoned"),
        (None, ["n0", "n2"], "is small"),
    ]
    assert found["sentence"] == PendingPod.objects.get(key="default/waiting-0").sentence
    assert ladder(client, f"clusters/{cluster.pk}/pods/default/bound-0")["ladder"] == [], "not pending"
    why = f"/{base}/why/?node="
    assert "n1 cannot take the pod: it is smaller than the request of 64 cpu" in get(client, f"{why}n1").flat
    assert "Not known: Node n9: does not exist" in get(client, f"{why}n9", 400).flat
    Cluster.everything.filter(pk=cluster.pk).update(counts={"kinds": {"Pod": live.MOST + 1}})
    assert "n1 could take the pod after one change: it is \\u202e cordoned." in get(client, f"{why}n1").flat
    assert "n0 cannot take the pod: it is small." in get(client, f"{why}n0").flat
    assert "has no stored answer" in get(client, f"{why}n9", 400).flat
    PendingPod.objects.filter(cluster=cluster).update(ladder=pack([Rung(1, 1, ["n7"], "1 node", "is gone")]))
    assert ladder(client, base)["ladder"] == [], "of other nodes"
