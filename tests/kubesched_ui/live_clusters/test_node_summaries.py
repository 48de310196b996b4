"""What pages say of a node, the quotas and the NodePools of a live cluster."""

import json
import re

import msgspec
import pytest
from django.test import Client

from kubesched_ui.clusters import node_summaries
from kubesched_ui.clusters.models import Cluster, PendingPod
from scheduler_core.suggestions.answers import answer_now
from tests.kubesched_ui.live_clusters.factory import live_cluster
from tests.kubesched_ui.recordings import node, pod, ran, scenario
from tests.kubesched_ui.views.test_quotas import KIND
from tests.scheduler_core.plugins.contrib.test_capacity_scheduling import CONFIG, quota
from tests.scheduler_core.plugins.contrib.test_node_resource_topology_match import topology, zone

pytestmark = pytest.mark.django_db
TAINT = {"key": "<b>gpu</b>", "effect": "NoSchedule"}
POOLS = [
    {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name, "uid": name},
        "spec": {"template": {"spec": {"taints": taints}}},
    }
    for name, taints in (("general", []), ("gpu", [TAINT]))
]


@pytest.fixture(autouse=True)
def _forget() -> None:
    node_summaries._simulation.cache_clear()  # databases of tests use the same numbers again
    node_summaries._demands.cache_clear()
    node_summaries._surroundings.cache_clear()


def test_the_page_of_a_node_says_what_it_is_to_the_pending_pods(client: Client) -> None:
    cluster = live_cluster()
    text = client.get(f"/clusters/{cluster.pk}/nodes/n0/").content.decode()
    assert '<p class="answer">No pending pod fits here: the node is smaller than the request of 64 cpu.</p>' in text


def test_clusters_without_a_sentence_say_why() -> None:
    cluster = live_cluster()
    assert "Node n9: does not exist" in node_summaries.of_cluster(cluster, "n9")
    cluster.counts = {"kinds": {"Pod": node_summaries.MOST + 1}}
    assert "more than 10,000 objects" in node_summaries.of_cluster(cluster, "n0")
    assert node_summaries.of_cluster(Cluster(name="new"), "n0") == "", "nothing is stored yet"


def test_the_page_of_a_node_shows_its_numa_zones(client: Client) -> None:
    cluster = live_cluster(more=[topology("n0", zone("3"), zone("3"))])
    page = f"/clusters/{cluster.pk}/nodes"
    text = client.get(f"{page}/n0/?pod=default/waiting-0").content.decode()
    assert "NUMA zones" in text
    assert "default/waiting-0 fits in node-0. It is Burstable" in text
    assert "NUMA zones" not in client.get(f"{page}/n1/").content.decode()
    assert "NUMA zones" in client.get(f"{page}/n0/?pod=no/such%00").content.decode()


def test_the_page_of_a_pod_that_a_quota_holds_back_draws_the_quotas(client: Client) -> None:
    limited = quota("default", {"cpu": "2", "memory": "8Gi"}, {"cpu": "8", "memory": "8Gi"})
    cluster = live_cluster(more=[limited, quota("b", {"cpu": "4"})], config=json.dumps(KIND | CONFIG))
    simulation = node_summaries._simulation(*node_summaries._now(cluster))
    waiting = next(pod for pod in simulation.pending if pod.key == "default/waiting-0")
    details = {"answer": msgspec.to_builtins(answer_now(simulation, waiting))}
    PendingPod.objects.filter(cluster=cluster, key=waiting.key).update(details=details)
    text = client.get(f"/clusters/{cluster.pk}/pods/{waiting.key}/").content.decode()
    assert "4 used of min 2, max 8; 2 borrowed; requests 64: more than max" in text
    assert f"quota of {waiting.key}" in text
    other = client.get(f"/clusters/{cluster.pk}/pods/default/waiting-1/").content.decode()
    assert "ElasticQuotas" not in other, "another answer"


def test_the_page_of_a_pending_pod_says_whether_a_new_node_of_a_pool_takes_it(client: Client) -> None:
    """Only while the answer is that no node takes it; the NodePools are those of the stored state."""
    cluster = live_cluster(more=POOLS)
    address = f"/clusters/{cluster.pk}/pods/default/waiting-0/"
    assert "Would a new node take it?" not in client.get(address).content.decode()
    details = {"answer": {"pod": "default/waiting-0", "result": "unschedulable", "sentence": ""}}
    PendingPod.objects.filter(cluster=cluster, key="default/waiting-0").update(details=details)
    check_new_nodes(client.get(address).content.decode(), 'id="live-map"')


def test_the_page_of_a_run_says_it_from_the_snapshot(client: Client) -> None:
    run = ran(scenario(node("n1"), pod("large", "64"), pod("small"), *POOLS))
    check_new_nodes(client.get(f"/runs/{run.pk}/pods/default/large/").content.decode(), 'id="pod-map"')
    other = client.get(f"/runs/{run.pk}/pods/default/small/").content.decode()
    assert "Would a new node take it?" not in other, "it has a node"


def check_new_nodes(page: str, following: str) -> None:
    """Expect the answers about POOLS before another part of the page."""
    before, _, rest = page.partition(following)
    assert rest
    text = " ".join(re.sub(r"<[^>]*>", " ", before.partition("Would a new node take it?")[2]).split())
    assert text.startswith(
        "unknown general : its taints, requirements and limits allow the pod; no node of it is known"
    )
    assert "no gpu : the pod does not tolerate its taint &lt;b&gt;gpu&lt;/b&gt;:NoSchedule" in text
