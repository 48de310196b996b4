"""Pages of live clusters: each state of a cluster, its pending pods, its history and its checked decisions."""

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from kubesched_ui.clusters import connections
from kubesched_ui.clusters.history import ADD, DELETE, MODIFY, ClusterChange, encode_changes
from kubesched_ui.clusters.models import ChangeBlock, Cluster, Decision, HistoryGap, PendingPod
from kubesched_ui.clusters.safe_columns import safe_columns
from kubesched_ui.models import Run, Scenario
from kubesched_ui.views import cluster_map
from scheduler_core.api.objects import decode
from scheduler_core.live.published_configurations import PUBLISHED
from tests.kubesched_ui.clusters import node, pod
from tests.kubesched_ui.live_clusters import factory
from tests.kubesched_ui.live_clusters.factory import live_cluster
from tests.kubesched_ui.pages import get, source
from tests.kubesched_ui.recordings import ran, scenario

pytestmark = pytest.mark.django_db
EVIL = "<script>alert(1)</script>"


@pytest.fixture
def cluster() -> Cluster:
    return live_cluster()


def address(cluster: Cluster, part: str = "") -> str:
    return f"/clusters/{cluster.pk}/{part}"


def test_every_page_of_a_cluster(client: Client, cluster: Cluster) -> None:
    parts = ["", "nodes/", "nodes/n1/", "pods/default/waiting-0/", "pods/default/bound-0/", "history/", "decisions/"]
    for part in [*parts, "report/", "?q=waiting", "?category=never", "?cause=gated", "history/?at=1040"]:
        page = get(client, address(cluster, part))
        assert len(page.ids) == len(set(page.ids)), part
        assert page.inline == []


def test_the_list_names_state_and_counts(client: Client, cluster: Cluster) -> None:
    live_cluster(
        "staging", nodes=0, pending=0, decided=0, counts={}, state="stopped", watched_until=None, heartbeat_at=None
    )
    page = source(client, "/clusters/")
    assert "following" in page
    assert "stopped" in page
    assert "Open it to read its nodes and pods" in page


def test_without_clusters_the_list_says_how_to_connect_one(client: Client) -> None:
    assert "No live cluster is connected" in get(client, "/clusters/").source


def test_the_answer_counts_pending_pods_by_category(client: Client, cluster: Cluster) -> None:
    page = get(client, address(cluster))
    assert page.answer == (
        "3 of 7 pods are pending: 1 needs a change, 1 waits for other pods or a new node and 1 waits for something "
        "other than a node."
    )
    assert "Pods that a quota refuses are not explained." in page.source
    for category in PendingPod.Category.values:
        assert f">{category}</span>" in page.source


def test_a_cluster_says_what_plugins_decide_without_their_measured_load(client: Client, cluster: Cluster) -> None:
    assert "measured load" not in get(client, address(cluster)).flat
    cluster.config = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{plugins: {score: {enabled: [{name: LowRiskOverCommitment}, {name: TargetLoadPacking}]}}}]
"""
    cluster.save()
    page = get(client, address(cluster)).flat
    assert "LowRiskOverCommitment and TargetLoadPacking score nodes by their measured load, which is not read" in page
    assert 'href="/docs/formats/#measured-load"' in page
    cluster.config = "nonsense"
    cluster.save()
    assert "measured load" not in get(client, address(cluster)).flat


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ({"nodes": 1, "pods": 2, "pending": 0}, "The cluster has 1 node and 2 pods; none is pending."),
        ({"nodes": 1, "pods": 2, "pending": 1, "never": 1}, "1 of 2 pods is pending: 1 needs a change."),
        ({"nodes": 1, "pods": 2, "pending": 2}, "2 of 2 pods are pending: 2 are not analyzed yet."),
        ({}, "Up to date, without resourcequotas, which cannot be read."),
    ],
)
def test_the_answer_of_other_states(client: Client, cluster: Cluster, counts: dict[str, int], text: str) -> None:
    Cluster.everything.filter(pk=cluster.pk).update(counts=counts)
    assert get(client, address(cluster)).answer == text


def test_every_page_names_unknown_changes(client: Client, cluster: Cluster) -> None:
    stale = {"state": "retrying", "message": "nodes: m", "stale_since": 1.79e9}
    Cluster.everything.filter(pk=cluster.pk).update(health={"Node": stale, "Pod": {"state": "watching"}})
    text = "Not up to date: changes of nodes since 2026-09-21"
    for part in ("", "nodes/", "pods/default/waiting-0/", "decisions/", "report/"):
        page = source(client, address(cluster, part))
        assert text in page
        assert "Up to date." not in page
    assert "Changes since 2026-09-21" not in source(client, address(cluster)).split('data-part="watches"')[0]
    assert text in source(client, "/clusters/")
    api = f"/api/clusters/{cluster.pk}"
    for part in ("", "/pending", "/pods/default/waiting-0/why"):
        assert client.get(api + part).json()["limits"][0].startswith(text)
    assert client.get(api).json()["kinds"][0]["stale_since"].startswith("2026-09-21")


def test_pending_pods_are_filtered_and_paged(client: Client) -> None:
    cluster = live_cluster(pending=120)
    page = source(client, address(cluster))
    assert page.count("<tr data-key=") == 50 + len(cluster.health)
    assert "1–50 of 120" in page
    never = source(client, address(cluster, "?category=never&q=waiting-3"))
    assert "default/waiting-3<" in never
    assert "default/waiting-1<" not in never
    assert "No pod matches" in source(client, address(cluster, "?q=nothing"))


def test_the_page_of_a_pod_shows_the_whole_answer(client: Client, cluster: Cluster) -> None:
    details = {
        "node": "n1",
        "leaving": [{"pod": "default/bound-1", "node": "n1", "priority": 5, "until": 1e9}],
        "answer": {
            "ladder": [
                {"changes": 1, "count": 4, "nodes": ["n1"], "text": "4 nodes are short by 2 cpu"},
                {"changes": 1, "count": 1, "nodes": ["n2"], "text": "1 node could take it", "when": "after admission"},
            ],
            "fixes": [{"text": "request 2 cpu less", "command": "kubectl patch x", "places": 1, "of": 2, "node": "n1"}],
        },
        "limits": ["ResourceQuotas cannot be read."],
        "scheduler_message": {
            "reason": "Unschedulable",
            "message": "0/4 nodes",
            "ours": "0/4 fit",
            "agrees": False,
        },
    }
    PendingPod.objects.filter(cluster=cluster, key="default/waiting-1").update(details=details)
    page = source(client, address(cluster, "pods/default/waiting-1/"))
    for text in ("Pods that end on n1", "default/bound-1", "4 nodes are short by 2 cpu", "0/4 fit"):
        assert text in page
    for text in ("Request 2 cpu less", "Places 1 of 2 pods", "kubectl patch x"):
        assert text in page
    assert "ResourceQuotas cannot be read." in page
    assert "other reasons" in page
    badges = re.findall(r'<span class="badge warn">\s+(.*?)\s+</span>', page)
    assert badges == ["one change", "after admission"]
    assert page.index("The history begins here") < page.index("First known")


@pytest.mark.parametrize(("agrees", "compared"), [(None, False), (True, False), (False, True)])
def test_the_condition_of_a_gated_pod_is_not_compared(
    client: Client, cluster: Cluster, agrees: bool | None, compared: bool
) -> None:
    message = {"reason": "SchedulingGated", "message": "Scheduling is blocked", "ours": "", "agrees": agrees}
    PendingPod.objects.filter(cluster=cluster, key="default/waiting-1").update(details={"scheduler_message": message})
    page = source(client, address(cluster, "pods/default/waiting-1/"))
    assert "Scheduling is blocked" in page
    assert ("KubeSched finds a node" in page) == compared


def stored_changes(cluster: Cluster, *changes: ClusterChange) -> None:
    """Append a block of changes to the history."""
    times = [datetime.fromtimestamp(change.time, UTC) for change in (changes[0], changes[-1])]
    versions = changes[0].resource_version, changes[-1].resource_version
    data = encode_changes(changes)
    number = ChangeBlock.objects.filter(cluster=cluster).count() + 1
    ChangeBlock.objects.create(
        cluster=cluster, number=number, first_version=versions[0], last_version=versions[1],
        first_at=times[0], last_at=times[1], count=len(changes), size=len(data), data=data,
    )  # fmt: skip


def test_the_timeline_of_a_pod_has_creation_events_attempts_and_gaps(client: Client, cluster: Cluster) -> None:
    begin = timezone.now() - timedelta(minutes=20)
    at = [begin + timedelta(seconds=seconds) for seconds in range(0, 700, 100)]
    made = pod("late")
    made["metadata"]["creationTimestamp"] = f"{at[0]:%Y-%m-%dT%H:%M:%SZ}"
    message = f"0/4 nodes {EVIL}\x1b[2J"
    no_node = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    about = {"kind": "Pod", "namespace": "default", "name": "late"}
    event = {"involvedObject": about, "reason": "FailedScheduling", "message": message, "reportingComponent": "mine"}
    other = event | {"involvedObject": about | {"name": "late.other"}, "reason": "Other"}
    stored_changes(
        cluster,
        ClusterChange("Pod", ADD, "default/late", 1300, at[1].timestamp(), made),
        ClusterChange("Pod", MODIFY, "default/late", 1301, at[2].timestamp(), {"status": {"conditions": [no_node]}}),
        ClusterChange("Event", ADD, "default/late.17f", 1302, at[3].timestamp(), event),
        ClusterChange("Event", ADD, "default/late.other.17f", 1303, at[3].timestamp(), other),
        ClusterChange("Event", MODIFY, "default/late.17f", 1304, at[5].timestamp(), {"count": 2}),
        ClusterChange("Pod", MODIFY, "default/late", 1305, at[6].timestamp(), {"spec": {"nodeName": "n2"}}),
    )
    gaps = {"cluster": cluster, "after": 1301, "until": 1305}
    HistoryGap.objects.create(kind="Pod", began_at=at[4], ended_at=at[5], reason="The connection was lost.", **gaps)
    HistoryGap.objects.create(kind="Service", began_at=at[4], ended_at=at[5], reason="Other kind.", **gaps)
    page = get(client, address(cluster, "pods/default/late/"))
    clock = [f"{timezone.localtime(one):%Y-%m-%d %H:%M:%S}" for one in at]
    answered = client.get(address(cluster, "pods/default/late/"))
    assert [(one.when, one.what, one.tone) for one in answered.context["moments"]] == [
        (clock[0], "Created", ""),
        (clock[1], "First known", ""),
        (clock[2], "PodScheduled is False: Unschedulable", ""),
        (clock[3], "FailedScheduling", ""),
        (clock[4], f"The watch was interrupted from {clock[4]} to {clock[5]}", "gap"),
        (clock[6], "Bound to n2", ""),
    ]
    assert answered.context["moments"][2].why.startswith("0/4 nodes <script>")
    assert answered.context["moments"][3].why == f"mine: the same message (repeated 1 time until {clock[5]})"
    assert EVIL not in page.source
    assert "\x1b" not in page.source
    assert "Other kind." not in page.source
    assert "This pod is not pending: bound to n2" in page.source


def test_a_waiting_pod_shows_what_is_known_of_its_place_and_its_next_attempt(client: Client, cluster: Cluster) -> None:
    tried = timezone.now() - timedelta(seconds=40)
    message = "0/4 nodes are available: 4 Insufficient cpu."
    no_node = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    about = {"kind": "Pod", "namespace": "default", "name": "late"}
    event = {"involvedObject": about, "reason": "FailedScheduling", "message": message, "reportingComponent": "mine"}
    stored_changes(
        cluster,
        ClusterChange("Pod", ADD, "default/late", 1300, tried.timestamp() - 9, pod("late")),
        ClusterChange("Event", ADD, "default/late.17f", 1301, tried.timestamp() - 1, event),
        ClusterChange("Pod", MODIFY, "default/late", 1302, tried.timestamp(), {"status": {"conditions": [no_node]}}),
    )
    rows = {"cluster": cluster, "namespace": "default", "since": tried, "category": "never"}
    scheduled = {"scheduler": "mine", "priority": 5}
    late = PendingPod.objects.create(key="default/late", details=scheduled, **rows)

    def now() -> str:
        moments = client.get(address(cluster, "pods/default/late/")).context["moments"]
        assert sum(message in one.why for one in moments) == 1, "the event repeats the condition"
        return moments[-1].why if moments[-1].when == "now" else ""

    latest = timezone.localtime(tried + timedelta(seconds=330))
    again = f"It is tried again after a change that may help it, at {latest:%Y-%m-%d %H:%M:%S} at the latest."
    assert now() == f"No other pod waits there. {again}"
    for name, details, cause in [
        ("vip", scheduled | {"priority": 9}, "node-selector"),
        ("equal", scheduled, "node-selector"),
        ("low", {"scheduler": "mine"}, "node-selector"),
        ("gated", scheduled | {"priority": 9}, "gated"),
        ("other", scheduled | {"scheduler": "volcano"}, "other-scheduler"),
    ]:
        PendingPod.objects.create(key=f"default/{name}", details=details, cause=cause, **rows)
    place = "1 of 3 other pods there has a higher priority. 1 has its own: their order only the scheduler knows."
    assert now() == f"{place} {again}"
    PendingPod.objects.filter(pk=late.pk).update(cause="other-scheduler")
    assert now() == "Its place in the queue and its next attempt are not known."
    PendingPod.objects.filter(pk=late.pk).update(cause="gated")
    assert now() == "", "it is in no queue"


def test_a_workload_whose_pods_are_refused(client: Client, cluster: Cluster) -> None:
    text = "2 of 2 pods do not exist: the API server refuses them: exceeded quota."
    row = {"namespace": "default", "since": timezone.now(), "category": "not asked", "sentence": text}
    use = {"quota": "team", "resource": "requests.cpu", "used": "5", "hard": "6", "requested": "2", "missing": "1"}
    row["details"] = {"quotas": [use, {"quota": "team", "resource": "pods", "used": "4", "hard": "10"}]}
    PendingPod.objects.create(cluster=cluster, key="default/ReplicaSet web", **row)
    assert f'href="/clusters/{cluster.pk}/pods/default/ReplicaSet%20web/"' in source(client, address(cluster))
    page = get(client, address(cluster, "pods/default/ReplicaSet web/"))
    assert page.answer.split() == f"not asked {text}".split()
    assert "ResourceQuotas team ✕ requests.cpu 5 of 6, a pod requests 2: 1 too much pods 4 of 10" in text_of(
        client, address(cluster, "pods/default/ReplicaSet web/")
    )
    get(client, address(cluster, "pods/default/Job web/"), 404)


def test_names_and_messages_of_a_cluster_are_escaped(client: Client, cluster: Cluster) -> None:
    details = {"scheduler_message": {"reason": EVIL, "message": EVIL}, "limits": [EVIL], "gates": [EVIL]}
    pods = PendingPod.objects.filter(cluster=cluster)
    pods.update(sentence=EVIL, details=details)
    Decision.objects.filter(cluster=cluster).update(node=EVIL, ours=[EVIL], message=EVIL)
    Cluster.everything.filter(pk=cluster.pk).update(connection=EVIL, message=EVIL, notes=[EVIL], config=EVIL)
    for part in ("", "pods/default/waiting-1/", "decisions/", "report/", "history/", "nodes/"):
        assert EVIL not in get(client, address(cluster, part)).source
    assert EVIL not in get(client, "/clusters/").source


def text_of(client: Client, path: str) -> str:
    """Return the text of a page after its heading."""
    return re.sub(r"(<[^>]*>|\s)+", " ", get(client, path).source.partition("<h1")[2].partition("<footer")[0])


def test_nodes_look_the_same_live_and_in_a_scenario(client: Client, cluster: Cluster) -> None:
    broken, leaving = node("broken", labels={"own": "label"}), pod("leaving", on="fine")
    broken["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    objects = [broken, node("fine"), leaving, pod("runs", on="fine")]
    Cluster.everything.filter(pk=cluster.pk).update(view=safe_columns(decode(obj) for obj in objects))
    for base in (address(cluster), f"/scenarios/{scenario(*objects).pk}/"):
        nodes = text_of(client, f"{base}nodes/")
        assert nodes.count("not ready") == nodes.count("broken not ready") == 1, base
        assert " fine " not in text_of(client, f"{base}nodes/?q=own=label")
        assert "not ready" in text_of(client, f"{base}nodes/broken/")
        page = text_of(client, f"{base}nodes/fine/")
        assert "not ready" not in page
        assert page.index("leaving being deleted") < page.index("runs bound")
        assert "2 of 110" in page
        assert "has no node none" in get(client, f"{base}nodes/none/", 404).source


def test_nodes_of_an_earlier_version_are_not_shown(client: Client, cluster: Cluster) -> None:
    """Its columns lack what the pages show; the follower stores them again."""
    Cluster.everything.filter(pk=cluster.pk).update(view={"nodes": {"name": ["n1"]}, "pods": {}})
    assert "No nodes" in get(client, address(cluster, "nodes/")).flat


def test_the_map_now_and_its_changes(client: Client, cluster: Cluster) -> None:
    whole = client.get(address(cluster, "map/")).json()
    assert (whole["pods"]["state"].count(1), len(whole["nodes"]["name"])) == (3, 4)
    assert whole["known"] == {"pods": factory.LAST, "nodes": factory.LAST}
    same = client.get(address(cluster, "map/"), whole["known"]).json()
    assert same["changes"]["nodes"] == {}
    block = same["known"]["block"]
    add_block(cluster, block + 1, stored("Pod", MODIFY, "default/waiting-0", {"spec": {"nodeName": "n1"}}))
    later = client.get(address(cluster, "map/"), same["known"]).json()
    assert later["changes"]["nodes"] == {"default/waiting-0": "n1"}
    assert later["known"] == {"block": block + 1, "changes": 1}
    cluster.change_blocks.filter(number=block + 1).delete()
    two = [stored("Pod", MODIFY, f"default/waiting-{n}", {"spec": {"nodeName": "n1"}}) for n in (0, 1)]
    add_block(cluster, block + 1, *two)  # the last block grows
    grown = client.get(address(cluster, "map/"), later["known"]).json()
    assert grown["changes"]["nodes"] == {"default/waiting-1": "n1"}
    assert client.get(address(cluster, "map/"), grown["known"]).json()["changes"]["nodes"] == {}
    assert "pods" in client.get(address(cluster, "map/"), {"pods": factory.FIRST, "nodes": factory.FIRST}).json()
    add_block(cluster, block + 2, stored("Node", MODIFY, "n1", {"spec": {"unschedulable": True}}))
    assert "pods" in client.get(address(cluster, "map/"), grown["known"]).json()
    assert "pods" in client.get(address(cluster, "map/"), {"block": block + 9}).json(), "an unknown block"


def test_the_map_is_loaded_again_after_too_many_changes(
    client: Client, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_map, "MOST", 2)
    assert "pods" in client.get(address(cluster, "map/"), {"block": 1}).json()
    cluster.change_blocks.filter(number__lt=5).delete()
    assert "pods" in client.get(address(cluster, "map/"), {"block": 2}).json(), "blocks were deleted"


def test_nodes_that_have_not_changed_for_long_do_not_make_the_map_whole(
    client: Client, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_map, "MOST", 20)
    first = client.get(address(cluster, "map/")).json()["known"]
    last = cluster.change_blocks.count()
    for number in range(last + 1, last + 40):
        patch = {"metadata": {"labels": {"number": str(number)}}}
        add_block(cluster, number, stored("Pod", MODIFY, "default/waiting-0", patch, factory.LAST + number))
    known = {"pods": factory.LAST + last + 35, "nodes": first["nodes"]}
    assert client.get(address(cluster, "map/"), known).json()["changes"]["nodes"] == {}
    late = stored("Node", DELETE, "n1", None, factory.LAST + last + 1)  # after a watch that was behind
    add_block(cluster, last + 40, late)
    assert "pods" in client.get(address(cluster, "map/"), known).json()


def add_block(cluster: Cluster, number: int, *changes: ClusterChange) -> None:
    """Store changes as the follower does."""
    now, data = timezone.now(), encode_changes(changes)
    versions = [change.resource_version for change in changes]
    ChangeBlock.objects.create(
        cluster=cluster, number=number, first_version=min(versions), last_version=max(versions), first_at=now,
        last_at=now, count=len(changes), size=len(data), data=data,
    )  # fmt: skip


def stored(kind: str, type_: Any, key: str, value: Any = None, version: int = 5) -> ClusterChange:
    return ClusterChange(kind, type_, key, version, 0.0, value)


def test_changes_of_pods_for_the_map() -> None:
    new, short = pod("new"), pod("short")
    for one in (new, short):
        one["metadata"]["resourceVersion"] = "5"
    changes = [
        stored("Pod", ADD, "default/new", new),
        stored("Pod", MODIFY, "default/new", {"spec": {"nodeName": "n1"}}),
        stored("Pod", ADD, "default/short", short),
        stored("Pod", DELETE, "default/short"),
        stored("Pod", MODIFY, "default/old", {"spec": {"nodeName": "n2"}, "status": {"nominatedNodeName": None}}),
        stored("Pod", MODIFY, "default/done", {"status": {"phase": "Succeeded"}}),
        stored("Pod", MODIFY, "default/open", {"spec": {"schedulingGates": None}}),
        stored("Pod", MODIFY, "default/left", {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}),
        stored("Node", MODIFY, "n1", {"status": {"conditions": []}}),
        stored("Node", MODIFY, "n2", {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}),
        stored("Event", ADD, "default/e", {}),
    ]
    found = cluster_map.pod_changes(changes)
    assert found is not None
    assert (found["added"]["pods"]["key"], found["added"]["on"]) == (["default/new"], ["n1"])
    assert found["gone"] == ["default/done", "default/short"]
    assert (found["nodes"], found["nominated"]) == ({"default/old": "n2"}, {"default/old": ""})
    assert (found["gated"], found["deleting"]) == ({"default/open": False}, ["default/left"])
    assert found["ready"] == {"n1": True, "n2": False}


@pytest.mark.parametrize(
    "change",
    [
        stored("Node", ADD, "n9", {}),
        stored("Node", DELETE, "n1"),
        stored("Node", MODIFY, "n1", {"spec": {"unschedulable": True}}),
        stored("Node", MODIFY, "n1", {"status": {"allocatable": {"cpu": "8"}}}),
        stored("Pod", MODIFY, "default/a", {"spec": {"containers": []}}),
    ],
)
def test_the_map_is_loaded_again_if_nodes_or_requests_change(change: ClusterChange) -> None:
    assert cluster_map.pod_changes([change]) is None


def test_the_map_at_a_position_of_the_history(client: Client, cluster: Cluster) -> None:
    cordoned = client.get(address(cluster, "history/map/?at=1020")).json()["nodes"]["unschedulable"]
    assert cordoned == [1, 0, 0, 0]
    assert client.get(address(cluster, "history/map/?at=1040")).json()["nodes"]["unschedulable"] == [0] * 4
    assert client.get(address(cluster, "history/map/?at=1110")).json()["gap"].startswith("The API server no longer had")
    assert client.get(address(cluster, "history/map/?at=5")).status_code == 400


def test_the_history_draws_its_gaps(client: Client, cluster: Cluster) -> None:
    page = source(client, address(cluster, "history/?at=1110"))
    assert "1 gap: changes" in page  # the beginning of the history is none
    assert 'title="The API server no longer had' in page
    assert 'name="at" value="1110"' in page


def test_a_fork_has_the_events_from_which_waits_are_read(client: Client, cluster: Cluster) -> None:
    def event(about: str, reason: str, number: int) -> ClusterChange:
        obj: Any = {"metadata": {"name": f"{about}.{reason}", "namespace": "default", "uid": "e"}}
        obj |= {"involvedObject": {"kind": "Pod", "namespace": "default", "name": about}, "reason": reason}
        obj |= {"message": "Pod should schedule on: nodeclaim/x", "source": {"component": "karpenter"}}
        obj |= {"lastTimestamp": "2026-01-01T00:00:00Z"}
        return ClusterChange("Event", ADD, f"default/{about}.{reason}", factory.LAST + number, 1e9, obj)

    others = [event("waiting-1", "Killing", 2), event("bound-1", "Nominated", 3), event("unknown", "Nominated", 4)]
    stored_changes(cluster, event("waiting-1", "Nominated", 1), *others)
    Cluster.objects.filter(pk=cluster.pk).update(resource_version=factory.LAST + 4)
    client.post(reverse("cluster-fork", args=[cluster.pk]), {})
    (made,) = Scenario.objects.all()
    (found,) = made.objects_of(["Event"])
    assert found["involvedObject"]["name"] == "waiting-1"
    assert made.counts == {"Node": 4, "Pod": 7, "Event": 1}
    run = ran(made)
    answer = client.get(f"/api/runs/{run.pk}/pods/default/waiting-1/answer").json()
    assert answer["station"] == "node-coming"


def test_fork_now_and_at_a_position(client: Client, cluster: Cluster) -> None:
    for data, version in (({}, factory.LAST), ({"at": "1040"}, 1040)):
        response = client.post(reverse("cluster-fork", args=[cluster.pk]), data)
        made = Scenario.objects.get()
        assert response["Location"] == f"/scenarios/{made.pk}/"
        assert str(version) in made.name
        assert made.counts["Node"] == 4
        made.delete()
    refused = client.post(reverse("cluster-fork", args=[cluster.pk]), {"at": "5"})
    assert refused.status_code == 400
    assert "must be from" in refused.content.decode()


def test_history_without_changes(client: Client, cluster: Cluster) -> None:
    cluster.change_blocks.all().delete()
    cluster.gaps.all().delete()
    assert "No history yet" in get(client, address(cluster, "history/")).source


def test_decisions_are_filtered_by_outcome(client: Client, cluster: Cluster) -> None:
    page = source(client, address(cluster, "decisions/?outcome=unexplained"))
    assert "default/decided-11" in page
    assert "default/decided-0<" not in page
    assert "differs" in source(client, address(cluster, "decisions/?message=differs"))


def test_a_decision_opens_as_a_cycle_and_is_saved_as_a_scenario(client: Client, cluster: Cluster) -> None:
    row = Decision.objects.filter(cluster=cluster)[0]
    Decision.objects.filter(pk=row.pk).update(pod="default/waiting-0", resource_version=1150)
    opened = client.post(reverse("cluster-decision", args=[cluster.pk, row.pk]))
    run = Run.objects.get()
    assert opened["Location"] == f"/runs/{run.pk}/pods/default/waiting-0/"
    assert client.post(reverse("cluster-decision", args=[cluster.pk, row.pk]))["Location"] == opened["Location"]
    saved = client.post(reverse("cluster-decision-save", args=[cluster.pk, row.pk]))
    assert saved["Location"] == f"/scenarios/{run.scenario_id}/"
    assert Scenario.objects.get().pinned
    Decision.objects.filter(pk=row.pk).update(pod="default/unknown")
    there = client.post(reverse("cluster-decision", args=[cluster.pk, row.pk]))
    assert there["Location"] == f"/clusters/{cluster.pk}/pods/default/unknown/"


def test_contexts_of_the_kubeconfig_are_offered(client: Client, monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    settings.CONTEXTS = True
    monkeypatch.setattr(connections, "context_names", lambda: ["kind-dev", EVIL])
    for page in ("/", "/clusters/"):
        shown = get(client, page)
        assert "Connect kind-dev" in shown.flat
        assert EVIL not in shown.source
    made = client.post("/clusters/connect/", {"context": "kind-dev"})
    cluster = Cluster.everything.get()
    assert made["Location"] == f"/clusters/{cluster.pk}/"
    assert not Cluster.everything.wanted().exists(), "only an open page has it followed"
    assert client.post("/clusters/connect/", {"context": "other"}).status_code == 400
    get(client, address(cluster))


def test_the_report_card(client: Client, cluster: Cluster) -> None:
    page = get(client, address(cluster, "report/"))
    assert page.answer == (
        "KubeSched explains 20 of 22 decisions of the real scheduler; 2 are unexplained. "
        "2 decisions in gaps of the history could not be checked."
    )
    assert "Of 6 messages about pods without a node, 5 equal ours word by word, 1 differs from ours." in page.flat
    assert "The decisions show the configuration default (likelihood 98%)." in page.flat
    figure = client.get(address(cluster, "report/bindings/")).json()
    assert sum(sum(trace["y"]) for trace in figure["data"]) == 24
    get(client, address(cluster, "report/nothing/"), 404)


def test_the_report_card_says_how_late_decisions_are_checked(client: Client, cluster: Cluster) -> None:
    for seconds, shown in ((3.2, False), (95.4, True)):
        Cluster.everything.filter(pk=cluster.pk).update(report={"lag_seconds": seconds})
        page = get(client, address(cluster, "report/"))
        assert ("Decisions are checked up to 95 seconds after they are made" in page.flat) is shown


def test_the_report_card_names_no_configuration_before_the_first_decision(client: Client, cluster: Cluster) -> None:
    cluster.decisions.all().delete()
    Cluster.everything.filter(pk=cluster.pk).update(report={"configuration": {"default": 0.5, "MostAllocated": 0.5}})
    flat = get(client, address(cluster, "report/")).flat
    assert "No decision has distinguished the candidate configurations yet." in flat
    assert "The decisions fit" not in flat


def test_delays_are_not_shown_before_a_cluster_is_read(client: Client, cluster: Cluster) -> None:
    assert "Changes are shown after" in get(client, address(cluster)).flat
    Cluster.everything.filter(pk=cluster.pk).update(resource_version=0, state="connecting")
    assert "Changes are shown after" not in get(client, address(cluster)).flat


def test_the_report_card_names_changes_of_the_configuration(client: Client, cluster: Cluster) -> None:
    changes = [
        {"time": 1795886740.0, "before": "default", "after": "MostAllocated", "resource_version": 7},
        {"time": 1795886840.0, "before": "", "after": ""},
    ]
    Cluster.everything.filter(pk=cluster.pk).update(report={"configuration_changes": changes})
    flat = get(client, address(cluster, "report/")).flat
    first = "2026-11-28 17:25:40</time>, the scheduler began to decide by MostAllocated instead of default."
    second = "2026-11-28 17:27:20</time>, another release or configuration of the scheduler was found or chosen"
    assert flat.index(second) < flat.index(first)


def test_decisions_in_gaps_count_as_not_checked(client: Client, cluster: Cluster) -> None:
    Decision.objects.filter(cluster=cluster).update(outcome="gap", message_outcome="gap")
    page = get(client, address(cluster, "report/"))
    assert re.fullmatch(r"\d+ decisions in gaps of the history could not be checked\.", page.answer)
    assert "messages about pods without a node could not be compared." in page.flat


def test_pods_that_wait_for_the_kubelet_count_as_pending(client: Client, cluster: Cluster) -> None:
    counts = {"nodes": 4, "pods": 30, "pending": 3, "never": 2, "not now": 1, "not asked": 2}
    Cluster.everything.filter(pk=cluster.pk).update(counts=counts)
    assert get(client, address(cluster)).answer.startswith("5 of 30 pods are pending: 2 need a change, 1 waits")


def test_the_most_important_missing_kinds_come_first(client: Client, cluster: Cluster) -> None:
    refused = ("CSIDriver", "Job", "Namespace", "Node", "PriorityClass")
    health = {kind: {"state": "refused", "message": "x", "consequence": f"no {kind}."} for kind in refused}
    Cluster.everything.filter(pk=cluster.pk).update(health=health)
    shown = " ".join(re.sub(r"<[^>]+>", "", source(client, address(cluster))).split())
    assert "Node: no Node. Namespace: no Namespace. 3 more kinds cannot be read PriorityClass: no Pri" in shown
    Cluster.everything.filter(pk=cluster.pk).update(counts={"nodes": 0, "pods": 3, "pending": 0})
    assert get(client, address(cluster)).answer == "None of 3 pods is pending; the nodes cannot be read."
    Cluster.everything.filter(pk=cluster.pk).update(health={kind: health[kind] for kind in refused[:2]})
    assert "more kind" not in source(client, address(cluster))


def test_the_page_of_a_pod_that_is_not_known_waits_for_it(client: Client, cluster: Cluster) -> None:
    page = get(client, address(cluster, "pods/default/new/"), 404)
    assert "has no pod default/new, now or in its stored history" in page.source
    assert f'data-live="/ws/clusters/{cluster.pk}"' in page.source
    assert "data-unknown" in page.source
    assert "data-unknown" not in source(client, address(cluster, "pods/default/waiting-1/"))


def test_missing_objects_are_404(client: Client, cluster: Cluster) -> None:
    for part in ("nodes/none/", "pods/default/none/"):
        get(client, address(cluster, part), 404)
    get(client, "/clusters/999/", 404)


def test_choose_a_release_and_a_configuration(client: Client, cluster: Cluster) -> None:
    config = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    values: dict[str, Any] = {"release": "1.35", "config": config}
    assert client.post(reverse("cluster-choose", args=[cluster.pk]), values).status_code == 302
    page = source(client, address(cluster))
    assert "chosen here; found: 1.36" in page
    wrong = client.post(reverse("cluster-choose", args=[cluster.pk]), {"config": "profiles: 3"})
    assert wrong.status_code == 400
    assert "errorlist" in wrong.content.decode()


def test_choose_a_published_configuration(client: Client, cluster: Cluster) -> None:
    Cluster.everything.filter(pk=cluster.pk).update(git_version="v1.34.2-eks-3cfe0ce", release="1.34")
    page = source(client, address(cluster))
    offered = re.findall(r'<option value="((?:eks|gke|aks|openshift)-[a-z-]+)"', page)
    assert offered[0] == "eks-most-allocated"
    assert len(offered) == len(PUBLISHED)
    for name in ("eks-most-allocated", "default"):
        assert client.post(reverse("cluster-choose", args=[cluster.pk]), {"published": name}).status_code == 302
        chosen = Cluster.everything.get(pk=cluster.pk).chosen_config
        assert ("MostAllocated" in chosen) is (name != "default")
        assert "apiVersion: kubescheduler.config.k8s.io/v1\n" in chosen
    assert client.post(reverse("cluster-choose", args=[cluster.pk]), {"published": "other"}).status_code == 400


def test_plugins_that_are_left_out_are_named(client: Client, cluster: Cluster) -> None:
    profile = {"plugins": {"score": {"enabled": [{"name": "Coscheduling2"}]}}}
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }
    values = {"config": json.dumps(config)}
    answer = client.post(reverse("cluster-choose", args=[cluster.pk]), values, follow=True)
    assert "Coscheduling2" in answer.content.decode()
    assert "left out" in answer.content.decode()
