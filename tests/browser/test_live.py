"""Pages of a live cluster change under the user: a test API server, a follower and a browser."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.api_server.process import ServerProcess, api_server
from tests.browser.conftest import Problems
from tests.browser.test_axe import check_page
from tests.kubesched_ui.clusters import node, pod
from tests.kubesched_ui.instance import Instance, until

pytestmark = pytest.mark.long
PODS = "/api/v1/namespaces/default/pods"
JSON = {"Content-Type": "application/json"}
WITHIN_MS = 90_000  # a bound for hanging tests
Raw = dict[str, Any]


def ago(seconds: float) -> str:
    return (datetime.now(UTC) - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def rejected(message: str) -> Raw:
    """Return the status of a pod for which the scheduler found no node."""
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return {"phase": "Pending", "conditions": [condition | {"lastTransitionTime": ago(5)}]}


class LiveCluster:
    """What a cluster's users, controllers, scheduler and kubelets do."""

    def __init__(self, server: ServerProcess) -> None:
        self.server = server

    def create(self, path: str, obj: Raw) -> None:
        obj["metadata"].setdefault("creationTimestamp", ago(60))
        self.server.request("POST", path, obj, **JSON)

    def pod(self, name: str, cpu: str = "1", status: Raw | None = None, **spec: Any) -> None:
        made = pod(name, cpu, **spec)
        made["status"] = status or {"phase": "Pending"}
        self.create(PODS, made)

    def patch(self, name: str, patch: Raw, path: str = PODS) -> None:
        kind = {"Content-Type": "application/merge-patch+json"}
        self.server.request("PATCH", f"{path}/{name}", patch, **kind)

    def bind(self, name: str, node: str) -> None:
        """Bind a pod and start it, as its scheduler and its kubelet do."""
        self.patch(name, {"spec": {"nodeName": node}, "status": {"phase": "Running", "conditions": None}})

    def delete(self, name: str) -> None:
        self.server.request("DELETE", f"{PODS}/{name}", {"gracePeriodSeconds": 0}, **JSON)


@pytest.fixture(scope="module")
def cluster() -> Iterator[ServerProcess]:
    with api_server("--git-version", "v1.36.2") as server:
        live = LiveCluster(server)
        for name in ("n1", "n2"):
            live.create("/api/v1/nodes", node(name, cpu="4", labels={"topology.kubernetes.io/zone": name}))
        live.create(PODS, pod("running", "3", on="n1") | {"status": {"phase": "Running"}})
        yield server


@contextmanager
def site_with_context(cluster: ServerProcess, var: Path) -> Iterator[Instance]:
    """Start KubeSched on a machine with a kubeconfig that has a context of the cluster."""
    config = var / "kubeconfig"
    config.write_text(
        f"clusters: [{{name: c, cluster: {{server: '{cluster.url}'}}}}]\n"
        "users: [{name: u, user: {}}]\ncontexts: [{name: shop, context: {cluster: c, user: u}}]\n"
    )
    site = Instance(var / "var", CONTEXTS="1")
    site.environment["KUBECONFIG"] = str(config)
    site.start()
    until(site.serves, "the start")
    yield site
    site.interrupt()


@pytest.fixture(scope="module")
def live_site(cluster: ServerProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    with site_with_context(cluster, tmp_path_factory.mktemp("live")) as site:
        yield site


class Watched(NamedTuple):
    """A page and what it did: `requests` to the server, `messages` of its websocket, `loads` of whole pages."""

    page: Page
    requests: list[str]
    messages: list[str]
    loads: list[str]

    def row(self, name: str) -> Locator:
        return self.page.locator(f"#pending tr[data-key='default/{name}']")

    def shows(self, name: str, category: str, text: str) -> None:
        expect(self.row(name)).to_contain_text(text, timeout=WITHIN_MS)
        expect(self.row(name).locator(".badge")).to_have_text(category)


@pytest.fixture(scope="module")
def watched(browser: Browser, live_site: Instance) -> Iterator[Watched]:
    """Connect the context on the home page and keep the page of the cluster open for all tests."""
    context = browser.new_context(
        base_url=f"http://127.0.0.1:{live_site.port}", viewport={"width": 1440, "height": 900}
    )
    page, problems = context.new_page(), Problems()
    problems.watch(page)
    page.goto("/")
    page.get_by_role("button", name="Connect shop").click()
    page.wait_for_url("**/clusters/*/")
    expect(page.locator("#live .answer")).to_have_text(
        "The cluster has 2 nodes and 1 pod; none is pending.", timeout=WITHIN_MS
    )
    found = Watched(page, [], [], [])
    page.on("request", lambda request: found.requests.append(request.url))
    page.on("load", lambda page: found.loads.append(page.url))
    page.on("websocket", lambda socket: socket.on("framereceived", lambda data: found.messages.append(str(data))))
    page.evaluate("window.kept = true")
    yield found
    assert page.evaluate("window.kept"), "the page was loaded again"
    assert problems == []
    context.close()


@pytest.fixture
def live(cluster: ServerProcess) -> LiveCluster:
    return LiveCluster(cluster)


def gated(live: LiveCluster, name: str) -> None:
    live.pod(name, schedulingGates=[{"name": "example.com/quota"}])


def of_another_scheduler(live: LiveCluster, name: str) -> None:
    live.pod(name, schedulerName="volcano")


def untried(live: LiveCluster, name: str) -> None:
    live.pod(name)


def deleted(live: LiveCluster, name: str) -> None:
    made = pod(name)
    made["metadata"] |= {"deletionTimestamp": ago(-30), "finalizers": ["example.com/backup"]}
    made["status"] = {"phase": "Pending"}
    live.create(PODS, made)


def without_claim(live: LiveCluster, name: str) -> None:
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    live.pod(name, status=rejected('persistentvolumeclaim "data" not found'), volumes=[volume])


def with_unbound_claim(live: LiveCluster, name: str) -> None:
    storage_class = {"metadata": {"name": "fast"}, "provisioner": "ebs.example.com"}
    live.create("/apis/storage.k8s.io/v1/storageclasses", storage_class)
    claim = {"metadata": {"name": name}, "spec": {"storageClassName": "fast"}, "status": {"phase": "Pending"}}
    live.create("/api/v1/namespaces/default/persistentvolumeclaims", claim)
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": name}}
    live.pod(name, status=rejected("pod has unbound immediate PersistentVolumeClaims"), volumes=[volume])


def too_large(live: LiveCluster, name: str) -> None:
    live.pod(name, "64", status=rejected("0/2 nodes are available: 2 Insufficient cpu."))


def nominated(live: LiveCluster, name: str) -> None:
    victim = pod(f"{name}-victim", "4", on="n2")
    victim["metadata"] |= {"deletionTimestamp": ago(-600), "deletionGracePeriodSeconds": 600}
    live.create(PODS, victim | {"status": {"phase": "Running"}})
    status = rejected("0/2 nodes are available: 2 Insufficient cpu.") | {"nominatedNodeName": "n2"}
    live.pod(name, "3", status=status, priority=10)


def held_by_a_pod(live: LiveCluster, name: str) -> None:
    live.create(PODS, pod(f"{name}-other", "4", on="n2") | {"status": {"phase": "Running"}})
    live.pod(name, "2", status=rejected("0/2 nodes are available: 2 Insufficient cpu."), priority=10)


def not_started(live: LiveCluster, name: str) -> None:
    live.pod(name, nodeName="n2")


CASES: list[tuple[Callable[[LiveCluster, str], None], str, str]] = [
    (gated, "not asked", "example.com/quota"),
    (of_another_scheduler, "not asked", "volcano"),
    (untried, "not asked", "No scheduler has tried it since its creation"),
    (deleted, "not asked", "It is being deleted"),
    (without_claim, "not asked", "default/data"),
    (with_unbound_claim, "not asked", "ebs.example.com"),
    (too_large, "never", "cpu; the largest node has"),
    (nominated, "not now", "It is nominated to n2"),
    (held_by_a_pod, "not now", "cpu free: the closest"),
    (not_started, "not asked", "the kubelet of n2 has not started it"),
]


@pytest.mark.parametrize(("begin", "category", "text"), CASES, ids=[begin.__name__ for begin, _, _ in CASES])
def test_a_pending_pod_appears_changes_and_leaves(
    watched: Watched, live: LiveCluster, begin: Callable[[LiveCluster, str], None], category: str, text: str
) -> None:
    name = begin.__name__.replace("_", "-")
    begin(live, name)
    watched.shows(name, category, text)
    watched.page.locator("#q").focus()
    if begin is deleted:
        live.patch(name, {"metadata": {"finalizers": None}})
        live.delete(name)
    else:
        live.patch(
            name, {"spec": {"schedulerName": "later"}} if begin is untried else {"metadata": {"labels": {"a": "b"}}}
        )
        live.bind(name, "n1")
    expect(watched.row(name)).to_have_count(0, timeout=WITHIN_MS)
    expect(watched.page.locator("#q")).to_be_focused()
    for other in (name, f"{name}-victim", f"{name}-other"):
        if begin is not deleted and (
            other == name or (begin in (nominated, held_by_a_pod) and other.endswith(("victim", "other")))
        ):
            remove(live, other)
    expect(watched.page.locator("#live .answer")).to_contain_text("1 pod; none is pending", timeout=WITHIN_MS)


def remove(live: LiveCluster, name: str) -> None:
    """Delete a pod if it exists."""
    names = [one["metadata"]["name"] for one in live.server.request("GET", PODS)["items"]]
    if name in names:
        live.delete(name)


def test_a_pod_that_a_quota_refused(watched: Watched, live: LiveCluster) -> None:
    metadata = {"name": "web-7d9", "namespace": "default", "uid": "web-7d9"}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod("web")["spec"]}
    live.create(
        "/apis/apps/v1/namespaces/default/replicasets",
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": metadata,
            "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template},
            "status": {
                "replicas": 0,
                "conditions": [
                    {
                        "type": "ReplicaFailure",
                        "status": "True",
                        "reason": "FailedCreate",
                        "message": 'pods "web-7d9-x" is forbidden: exceeded quota: team, requested: cpu=1, used: cpu=8',
                        "lastTransitionTime": ago(10),
                    }
                ],
            },
        },
    )
    watched.shows("ReplicaSet web-7d9", "not asked", "exceeded quota: team")
    live.server.request("DELETE", "/apis/apps/v1/namespaces/default/replicasets/web-7d9")
    expect(watched.row("ReplicaSet web-7d9")).to_have_count(0, timeout=WITHIN_MS)


def test_the_reason_changes_in_place(watched: Watched, live: LiveCluster) -> None:
    gated(live, "changing")
    watched.shows("changing", "not asked", "scheduling gate")
    page = watched.page
    page.locator("#choose > summary").click()
    page.locator("#config").fill("# half typed")
    scrolled = page.evaluate("scrollTo(0, 400); scrollY")
    larger = {"schedulingGates": None, "containers": pod("changing", "64")["spec"]["containers"]}
    live.patch("changing", {"spec": larger, "status": rejected("0/2 nodes are available: 2 Insufficient cpu.")})
    watched.shows("changing", "never", "cpu; the largest node has")
    expect(page.locator("#choose")).to_have_attribute("open", "")
    expect(page.locator("#config")).to_have_value("# half typed")
    assert page.evaluate("scrollY") == scrolled
    live.bind("changing", "n1")
    expect(watched.row("changing")).to_have_count(0, timeout=WITHIN_MS)
    remove(live, "changing")
    page.evaluate("scrollTo(0, 0)")
    page.locator("#choose > summary").click()


def test_the_map_follows(watched: Watched, live: LiveCluster) -> None:
    page = watched.page
    page.locator("#live-map canvas").scroll_into_view_if_needed()
    expect(page.locator("#live-map [data-wait]")).to_be_hidden()
    gated(live, "mapped")
    expect(page.locator("#live-map [data-hand]")).to_have_text("1 gated", timeout=WITHIN_MS)
    live.bind("mapped", "n2")
    expect(page.locator("#live-map [data-hand]")).to_be_hidden(timeout=WITHIN_MS)
    answers = [url for url in watched.requests if "/map/?" in url]
    assert answers, "the map asks for changes alone"
    remove(live, "mapped")


def test_the_map_shows_what_a_pending_pod_needs_on_each_node(watched: Watched, live: LiveCluster) -> None:
    page = watched.page
    too_large(live, "huge")
    watched.shows("huge", "never", "cpu; the largest node has")
    page.locator("#live-map canvas").scroll_into_view_if_needed()
    expect(page.locator("#live-map [data-shades]")).to_contain_text("never: 2", timeout=WITHIN_MS)
    page.get_by_role("button", name="Try huge on a node").press("Enter")
    dialog = page.get_by_role("dialog", name="default/huge on a node")
    dialog.get_by_label("Node").fill("n1")
    page.keyboard.press("Enter")
    expect(dialog).to_contain_text("n1 cannot take the pod: it is smaller than the request of 64 cpu")
    page.keyboard.press("Escape")
    remove(live, "huge")
    expect(page.get_by_role("button", name="Try huge on a node")).to_have_count(0, timeout=WITHIN_MS)
    expect(page.locator("#live-map [data-shades]")).not_to_contain_text("never")
    page.evaluate("scrollTo(0, 0)")


def test_a_busy_cluster_causes_at_most_sixty_updates_a_minute(watched: Watched, live: LiveCluster) -> None:
    page = watched.page
    page.wait_for_timeout(3000)
    before = len(watched.requests), len(watched.messages)
    for number in range(60):
        gated(live, f"busy-{number}")
        page.wait_for_timeout(200)
    expect(page.locator("#live .answer")).to_contain_text("60 of 61 pods are pending", timeout=WITHIN_MS)
    seconds = 12 + 5
    updates = [url for url in watched.requests[before[0] :] if "/map/" not in url]
    assert len(updates) <= seconds, updates
    assert len(watched.messages) - before[1] <= seconds + 1
    assert watched.loads == []
    for number in range(60):
        live.delete(f"busy-{number}")
    expect(page.locator("#live .answer")).to_contain_text("1 pod; none is pending", timeout=WITHIN_MS)


def test_the_page_of_a_pod_and_its_history(watched: Watched, live: LiveCluster, live_site: Instance) -> None:
    with watched.page.context.new_page() as page:
        held_by_a_pod(live, "paged")
        watched.shows("paged", "not now", "cpu")
        page.goto(f"{watched.page.url.partition('?')[0]}pods/default/paged/")
        expect(page.get_by_role("list", name="Nodes by the changes that they need")).to_be_visible()
        expect(page.get_by_text("2 Insufficient cpu").first).to_be_visible()
        remove(live, "paged-other")
        expect(page.locator(".answer")).to_contain_text("takes it now", timeout=WITHIN_MS)
        live.bind("paged", "n2")
        expect(page.locator(".answer")).to_contain_text("This pod is not pending: bound to n2", timeout=WITHIN_MS)
        expect(page.get_by_text("bound to n2").first).to_be_visible(timeout=WITHIN_MS)
        remove(live, "paged")


def test_the_page_of_a_pod_that_is_not_known_opens_when_it_is(watched: Watched, live: LiveCluster) -> None:
    with watched.page.context.new_page() as page:
        page.goto(f"{watched.page.url.partition('?')[0]}pods/default/later/")
        expect(page.locator(".answer")).to_contain_text("has no pod default/later")
        too_large(live, "later")
        expect(page.locator(".answer")).to_contain_text("cpu; the largest node has", timeout=WITHIN_MS)
        expect(page.locator("#live-map")).to_be_visible()
        remove(live, "later")


def test_the_timeline_of_a_waiting_pod_grows(watched: Watched, live: LiveCluster) -> None:
    message = "0/2 nodes are available: 2 Insufficient cpu."
    live.create(PODS, pod("larger", "64", priority=9) | {"status": rejected(message)})
    live.create(PODS, pod("filler", "4", on="n2") | {"status": {"phase": "Running"}})
    made = pod("patient", "2") | {"status": {"phase": "Pending"}}
    made["metadata"]["creationTimestamp"] = ago(0)
    live.create(PODS, made)
    watched.shows("patient", "not asked", "tried it since its creation")
    with watched.page.context.new_page() as page:
        page.goto(f"{watched.page.url.partition('?')[0]}pods/default/patient/")
        moments = page.locator("#timeline .moments > li")
        shown = expect(moments.locator(".what"))
        place = expect(moments.last)
        shown.to_have_text(["Created", "First known", re.compile("default-scheduler")], timeout=WITHIN_MS)
        place.to_contain_text("now")
        page.evaluate("window.kept = true")
        reason = {"reason": "FailedScheduling", "message": message, "reportingComponent": "default-scheduler"}
        about = {"involvedObject": {"kind": "Pod", "namespace": "default", "name": "patient"}, "type": "Warning"}
        live.create(
            "/api/v1/namespaces/default/events",
            {"metadata": {"name": "patient.1", "namespace": "default"}, **about, **reason},
        )
        live.patch("patient", {"status": rejected(message)})
        rejection = "PodScheduled is False: Unschedulable."
        shown.to_have_text(
            ["Created", "First known", rejection, "In the queue of default-scheduler."], timeout=WITHIN_MS
        )
        expect(moments.nth(2)).to_contain_text(message)
        place.to_contain_text(
            "1 of 1 other pod there has a higher priority. It is tried again after a change that may "
        )
        expect(page.locator("#live-map [data-shades]")).to_contain_text("1 change: 2", timeout=WITHIN_MS)
        live.server.control("inject", resource="pods", verb="watch", expired=True)
        live.server.control("cut", resource="pods")
        gap = page.locator("#timeline .gap", has_text="The watch was interrupted")
        expect(gap).to_contain_text("Changes may be missing.", timeout=WITHIN_MS)
        live.delete("filler")
        expect(page.locator("#live-map [data-shades]")).to_contain_text("takes it: 1", timeout=WITHIN_MS)
        live.bind("patient", "n2")
        place.to_contain_text("Bound to n2", timeout=WITHIN_MS)
        assert page.evaluate("window.kept"), "the page was not loaded again"
        assert check_page(page) == []
    for name in ("larger", "patient"):
        live.delete(name)


def test_fork_from_now(watched: Watched, live: LiveCluster) -> None:
    gated(live, "forked")
    watched.shows("forked", "not asked", "scheduling gate")
    expect(watched.page.get_by_role("button", name="Fork from now")).to_be_visible()  # connected by this page
    with watched.page.context.new_page() as page:
        page.goto(watched.page.url.partition("?")[0])
        page.get_by_role("button", name="Fork from now").click()
        page.wait_for_url("**/scenarios/*/")
        expect(page.locator(".answer")).to_contain_text("2 nodes, 2 pods")
        page.go_back()
        page.get_by_role("link", name="History").click()
        expect(page.locator("[data-when]")).not_to_be_empty()
        page.locator("[data-slider]").focus()
        page.keyboard.press("Home")
        expect(page).to_have_url(re.compile(r"[?&]at=\d+"))
        version = page.url.partition("at=")[2].partition("&")[0]
        expect(page.get_by_label("resourceVersion")).to_have_value(version)
        expect(page.locator("[data-text]")).to_contain_text(version)
        page.get_by_role("button", name="Fork from here").click()
        page.wait_for_url("**/scenarios/*/")
        expect(page.get_by_role("heading", level=1)).to_have_text(f"shop at {version}")
    live.delete("forked")
