"""One answer about a pending pod of a live cluster: page, API, `kubectl kubesched why` and `explain` of a snapshot."""

import copy
import io
import json
import time
from html import unescape
from typing import Any

import pytest
from django.test import Client

from kubesched_ui.clusters.analysis import PendingAnalysis
from kubesched_ui.clusters.item_frames import Forget
from kubesched_ui.clusters.models import Cluster
from scheduler_core.commands.kubectl import plugin
from scheduler_core.live.watch_events import Listed
from tests.kubesched_ui.clusters import node, pod
from tests.kubesched_ui.live_clusters.test_analysis import analyse, claimed, made
from tests.kubesched_ui.pages import get
from tests.scheduler_core.commands.kubectl.fake_cluster import FakeTransport
from tests.scheduler_core.explain.planted.answers import explained

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("fast_analysis")]

Raw = dict[str, Any]
REJECTED = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available"}
TAINT = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}
PENDING = [
    pod("too-large", "64"),
    pod("crowded", "3"),
    pod("misspelt", nodeSelector={"pool": "bacth"}),
    pod("tainted", nodeSelector={"pool": "db"}),
    pod("gated", schedulingGates=[{"name": "example.com/wait"}]),
    pod("no-claim", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]),
    pod("fits"),
]


@pytest.fixture
def fast_analysis(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubesched_ui.clusters.analysis.STORE_EVERY_S", 0.05)
    monkeypatch.setattr("scheduler_core.pending_pods.answer.FIX_PAUSE", 0.0)


def objects() -> list[Raw]:
    nodes = [node("n1", labels={"pool": "web"}), node("n2", labels={"pool": "batch"})]
    nodes.append(node("n3", labels={"pool": "db"}, taints=[TAINT]))
    bound = [pod(f"bound-{one}", "2500m", on=one) for one in ("n1", "n2")]
    waiting = copy.deepcopy(PENDING)
    for one in waiting:
        one["status"] = {"phase": "Pending", "conditions": [REJECTED]}
    return [*nodes, *bound, *waiting]


def test_page_api_command_and_snapshot_give_one_answer(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    now, raws = time.time(), objects()
    listed = {kind: tuple(made(one, 5) for one in raws if one["kind"] == kind) for kind in ("Node", "Pod")}
    items = [*(Listed(kind, 10, found, now) for kind, found in listed.items()), Forget("Event")]
    analyse(PendingAnalysis, claimed(), items, pause=1.5)
    cluster = Cluster.everything.get()
    monkeypatch.setattr(plugin, "KubectlTransport", lambda flags: FakeTransport(objects()))
    out = io.StringIO()
    plugin.main(["why", "-A", "-o", "json"], out)
    by_command = {one["key"]: one for one in json.loads(out.getvalue())["answers"]}
    # explain schedules, and so places the pod that fits
    snapshot = explained([one for one in objects() if one["metadata"]["name"] != "fits"], release="1.36")
    snapshot["default/fits"] = by_command["default/fits"]
    assert len(by_command) == len(PENDING)
    compared = 0
    for key, command in by_command.items():
        sentence = snapshot[key]["sentence"]
        assert command["sentence"] == command["details"]["answer"]["sentence"] == sentence
        api = client.get(f"/api/clusters/{cluster.pk}/pods/{key}/why").json()
        assert (api["sentence"], api["cause"], api["category"]) == (sentence, command["cause"], command["category"])
        page = get(client, f"/clusters/{cluster.pk}/pods/{key}/")
        assert page.answer.split() == f"{command['category']} {sentence}".split()
        fixes, same = (one["details"]["answer"].get("fixes", []) for one in (api, command))
        assert not fixes or not same or fixes == same  # both search for some of the pods
        compared += bool(fixes and same)
        for fix in fixes:
            assert f"{fix['text'][:1].upper()}{fix['text'][1:]}." in unescape(page.source)
    assert compared
