"""Each answer why a pod of a live cluster is pending, on a page that changes with the cluster."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.api_server.process import ServerProcess, api_server
from tests.browser.conftest import Problems, new_page
from tests.kubesched_ui.clusters import node, pod
from tests.kubesched_ui.instance import Instance, until
from tests.kubesched_ui.live_clusters.test_kills import clusters_file, stored

pytestmark = pytest.mark.long

PODS, JSON = "/api/v1/namespaces/default/pods", {"Content-Type": "application/json"}
PATCH = {"Content-Type": "application/merge-patch+json"}
CREATED = "2026-01-01T00:00:00Z"
SOON = (datetime.now(UTC) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
MESSAGE = "0/2 nodes are available: 2 Insufficient cpu."
REJECTED = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": MESSAGE}
REJECTED["lastTransitionTime"] = CREATED
CLASS = {"metadata": {"name": "fast"}, "provisioner": "ebs.example.com"}
CLAIM = {"metadata": {"name": "data"}, "spec": {"storageClassName": "fast"}, "status": {"phase": "Pending"}}
QUOTA = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate"}
QUOTA["message"] = 'pods "web-x" is forbidden: exceeded quota: small'
REPLICAS = {"metadata": {"name": "web"}, "spec": {"replicas": 2}, "status": {"conditions": [QUOTA]}}

ANSWERS = {
    "never": "no node takes it, even without its other pods: 2 lack cpu",
    "crowded": "n1 would take it without default/running",
    "nominated": "nominated to n2: it fits on n2 when default/victim is gone; its grace period ends at",
    "gated": "scheduling gate example.com/quota is removed",
    "other": "scheduler batch decides about it",
    "untried": "default-scheduler has not tried it since its creation at 2026-01-01",
    "claims": "waits for ebs.example.com to create a volume of class fast",
    "bound": "it was bound to n1; the kubelet of n1 has not started it",
    "going": "finalizer example.com/backup keeps the object",
    "ReplicaSet web": "2 of 2 pods do not exist: the API server refuses them: exceeded quota: small",
}


def objects() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (path, object) for each case."""
    yield from (("/api/v1/nodes", node("n1", "4")), ("/api/v1/nodes", node("n2", "4")))
    yield "/apis/storage.k8s.io/v1/storageclasses", CLASS
    yield "/api/v1/namespaces/default/persistentvolumeclaims", CLAIM
    yield "/apis/apps/v1/namespaces/default/replicasets", REPLICAS
    running, victim = pod("running", "3", on="n1"), pod("victim", "3", on="n2")
    victim["metadata"]["deletionTimestamp"] = SOON
    tried = {
        "never": pod("never", "64"),
        "crowded": pod("crowded", "2", nodeSelector={"kubernetes.io/hostname": "n1"}),
        "nominated": pod("nominated", "4", priority=10),
        "gated": pod("gated", schedulingGates=[{"name": "example.com/quota"}]),
        "claims": pod("claims", volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]),
    }
    for one in tried.values():
        one["status"]["conditions"] = [REJECTED]
    tried["nominated"]["status"]["nominatedNodeName"] = "n2"
    going, bound = pod("going"), pod("bound", "0", on="n1")
    going["metadata"] |= {"deletionTimestamp": SOON, "finalizers": ["example.com/backup"]}
    bound["status"]["phase"] = "Pending"
    others = [running, victim, *tried.values(), pod("other", schedulerName="batch"), pod("untried"), bound, going]
    for one in others:
        one["metadata"]["creationTimestamp"] = CREATED
        yield PODS, one


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Instance, ServerProcess]]:
    """Yield an instance that follows the API server with these objects."""
    var = tmp_path_factory.mktemp("var")
    with api_server() as server:
        for path, obj in objects():
            server.request("POST", path, obj, **JSON)
        instance = Instance(var, CLUSTERS_FILE=str(clusters_file(var, server.url)))
        instance.start()
        until(lambda: stored(instance), "the first state")
        yield instance, server
        instance.interrupt()


@pytest.fixture
def live(browser: Browser, followed: tuple[Instance, ServerProcess]) -> Iterator[Page]:
    problems = Problems()
    with new_page(browser, followed[0], height=2400) as page:
        problems.watch(page)
        page.goto("/clusters/1/")
        yield page
    assert problems == []


def row(page: Page, name: str) -> Any:
    return page.locator(f'#pending tr[data-key="default/{name}"]')


def test_each_answer_on_a_page_that_changes(live: Page, followed: tuple[Instance, ServerProcess]) -> None:
    server = followed[1]
    for name, text in ANSWERS.items():
        expect(row(live, name)).to_contain_text(text, timeout=60_000)
    live.evaluate("window.kept = true")  # a reload would lose it
    server.request("POST", "/api/v1/nodes", node("big", "80"), **JSON)
    expect(row(live, "never")).to_contain_text("it fits on big", timeout=60_000)
    expect(row(live, "untried")).to_contain_text("It fits on ")
    server.request("DELETE", "/api/v1/nodes/big")
    expect(row(live, "never")).to_contain_text(ANSWERS["never"], timeout=60_000)
    server.request("DELETE", f"{PODS}/running")
    expect(row(live, "crowded")).to_contain_text("it fits on n1", timeout=60_000)
    server.request("DELETE", f"{PODS}/victim")
    expect(row(live, "nominated")).to_contain_text("it fits on n2, to which it is nominated", timeout=60_000)
    server.request("PATCH", f"{PODS}/gated", {"spec": {"schedulingGates": None}}, **PATCH)
    expect(row(live, "gated")).not_to_contain_text("scheduling gate", timeout=60_000)
    taint = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
    server.request("PATCH", "/api/v1/nodes/n1", {"spec": {"taints": [taint]}}, **PATCH)
    expect(row(live, "bound")).to_contain_text("n1 is not ready", timeout=60_000)
    server.request("PATCH", f"{PODS}/bound", {"status": {"phase": "Running"}}, **PATCH)
    expect(row(live, "bound")).to_have_count(0, timeout=60_000)
    server.request("DELETE", "/apis/storage.k8s.io/v1/storageclasses/fast")
    expect(row(live, "claims")).to_contain_text("storage class fast, which does not exist", timeout=60_000)
    status = {"status": {"conditions": []}, "spec": {"replicas": 0}}
    server.request("PATCH", "/apis/apps/v1/namespaces/default/replicasets/web", status, **PATCH)
    expect(row(live, "ReplicaSet web")).to_have_count(0, timeout=60_000)
    assert live.evaluate("window.kept")


def test_the_page_of_a_pod_has_the_pods_in_the_way_and_a_fix(live: Page) -> None:
    row(live, "never").get_by_role("link").click()
    expect(live.locator("body")).to_contain_text("Suggested fix", timeout=60_000)
    expect(live.locator("body")).to_contain_text("Even if all nodes were empty")
