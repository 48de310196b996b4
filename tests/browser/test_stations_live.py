"""The strip of stations on the page of a live pod follows the pod from Kueue's gate to its start, without a reload."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.api_server.process import api_server
from tests.api_server.resources import EXTENSIONS
from tests.browser.conftest import Problems, new_page
from tests.browser.test_axe import check_page
from tests.browser.test_live import PODS, WITHIN_MS, LiveCluster, ago, rejected, site_with_context
from tests.browser.test_look import THEMES, expect_good_looks
from tests.kubesched_ui.clusters import node, pod

pytestmark = pytest.mark.long
Raw = dict[str, Any]
KUEUE, KARPENTER = "/apis/kueue.x-k8s.io/v1beta2", "/apis/karpenter.sh/v1"
WORKLOADS, CLAIMS = f"{KUEUE}/namespaces/default/workloads", f"{KARPENTER}/nodeclaims"
UNSERVED = [name for name in EXTENSIONS if not name.endswith(("kueue.x-k8s.io", "karpenter.sh"))]
CLAIM, NODE = "general-x7k2p", "ip-10-0-3-17.eu-central-1.compute.internal"
GATE = "kueue.x-k8s.io/admission"
FLAVOR = "on-demand"
STATES = {"d": "done", "w": "waiting", "n": "not needed", "a": "ahead"}
NAMES = ["Created", "Admission", "Group", "Claims", "New node", "Scheduler", "Starting"]


def condition(kind: str, status: str, reason: str = "", message: str = "", **more: Any) -> Raw:
    made = {"type": kind, "status": status, "reason": reason or kind, "message": message}
    return made | {"lastTransitionTime": ago(5)} | more


def quota_message(missing: int) -> str:
    return (
        "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor "
        f"{FLAVOR}, {missing} more needed"
    )


class Story(LiveCluster):
    """What Kueue, kube-scheduler, Karpenter and the kubelet do with the pod `trainer`."""

    def begin(self) -> None:
        """Create a full node, Kueue's queues and a NodePool."""
        self.create("/api/v1/nodes", node("general-01", cpu="4"))
        self.create(PODS, pod("serving", "3", on="general-01") | {"status": {"phase": "Running"}})
        self.create(f"{KUEUE}/resourceflavors", {"metadata": {"name": FLAVOR}, "spec": {}})
        flavor = {"name": FLAVOR, "resources": [{"name": "cpu", "nominalQuota": "8"}]}
        use = {"name": FLAVOR, "resources": [{"name": "cpu", "total": "8", "borrowed": "0"}]}
        queue = {
            "metadata": {"name": "cq-research"},
            "spec": {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": [flavor]}]},
            "status": {"conditions": [condition("Active", "True", "Ready")], "flavorsReservation": [use]},
        }
        self.create(f"{KUEUE}/clusterqueues", queue)
        local = {"metadata": {"name": "research", "namespace": "default"}, "spec": {"clusterQueue": "cq-research"}}
        self.create(f"{KUEUE}/namespaces/default/localqueues", local)
        pool = {"metadata": {"name": "general"}, "spec": {"limits": {"cpu": "100"}}}
        self.create(f"{KARPENTER}/nodepools", pool)

    def wait_for_quota(self) -> None:
        """Create the pod as Kueue's webhook leaves it, and its Workload without quota."""
        labels = {"kueue.x-k8s.io/queue-name": "research", "kueue.x-k8s.io/managed": "true"}
        made = pod("trainer", "3", schedulingGates=[{"name": GATE}])
        made["metadata"] |= {"uid": "uid-trainer", "labels": labels}
        blocked = "Scheduling is blocked due to non-empty scheduling gates"
        made["status"] = {
            "phase": "Pending",
            "conditions": [condition("PodScheduled", "False", "SchedulingGated", blocked)],
        }
        self.create(PODS, made)
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "trainer", "uid": "uid-trainer", "controller": True}
        workload = {
            "metadata": {"name": "pod-trainer-3bc06", "namespace": "default", "ownerReferences": [owner]},
            "spec": {"queueName": "research", "active": True, "podSets": [{"name": "main", "count": 1}]},
            "status": {"conditions": [condition("QuotaReserved", "False", "Pending", quota_message(3))]},
        }
        self.create(WORKLOADS, workload)

    def free_quota(self) -> None:
        """Another Workload ends, whose quota is not enough."""
        reserved = condition("QuotaReserved", "False", "Pending", quota_message(1))
        self.patch("pod-trainer-3bc06", {"status": {"conditions": [reserved]}}, WORKLOADS)
        use = {"name": FLAVOR, "resources": [{"name": "cpu", "total": "6", "borrowed": "0"}]}
        self.patch("cq-research", {"status": {"flavorsReservation": [use]}}, f"{KUEUE}/clusterqueues")

    def admit(self) -> None:
        """Kueue admits the Workload and removes the gate; kube-scheduler finds no node."""
        admitted = [condition("QuotaReserved", "True"), condition("Admitted", "True")]
        status = {"conditions": admitted, "admission": {"clusterQueue": "cq-research"}}
        self.patch("pod-trainer-3bc06", {"status": status}, WORKLOADS)
        message = "0/1 nodes are available: 1 Insufficient cpu."
        self.patch("trainer", {"spec": {"schedulingGates": None}, "status": rejected(message)})

    def nominate(self) -> None:
        """Karpenter creates a NodeClaim and says so in an event."""
        self.claim(condition("Launched", "Unknown", "AwaitingReconciliation", "Waiting for the cloud"))
        about = {"kind": "Pod", "namespace": "default", "name": "trainer", "uid": "uid-trainer"}
        event = {
            "metadata": {"name": "trainer.18a", "namespace": "default"},
            **{"involvedObject": about, "type": "Normal", "reason": "Nominated", "count": 1},
            "message": f"Pod should schedule on: nodeclaim/{CLAIM}",
            **{"source": {"component": "karpenter"}, "reportingComponent": "karpenter"},
            **{"firstTimestamp": ago(4), "lastTimestamp": ago(4)},
        }
        self.create("/api/v1/namespaces/default/events", event)

    def claim(self, *conditions: Raw, **status: str) -> None:
        """Create the NodeClaim, or set its conditions."""
        if conditions[0]["status"] == "True":
            self.patch(CLAIM, {"status": {"conditions": conditions, **status}}, CLAIMS)
            return
        metadata = {"name": CLAIM, "labels": {"karpenter.sh/nodepool": "general"}}
        self.create(CLAIMS, {"metadata": metadata, "spec": {}, "status": {"conditions": conditions}})

    def launch(self) -> None:
        """The cloud has the machine; its kubelet has not registered it."""
        absent = condition("Registered", "Unknown", "NodeNotFound", "Node not registered with cluster")
        self.claim(condition("Launched", "True"), absent)

    def register(self) -> None:
        """The node registers, and is not ready yet."""
        made = node(NODE, cpu="8", taints=[{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}])
        made["metadata"]["labels"]["karpenter.sh/nodepool"] = "general"
        made["status"]["conditions"] = [condition("Ready", "False", "KubeletNotReady", "cni plugin not initialized")]
        self.create("/api/v1/nodes", made)
        unready = condition("Initialized", "Unknown", "NodeNotReady", "Node status is NotReady")
        self.claim(condition("Launched", "True"), condition("Registered", "True"), unready, nodeName=NODE)

    def bind_to_the_node(self) -> None:
        """The node becomes ready, and kube-scheduler binds the pod."""
        ready = {"spec": {"taints": None}, "status": {"conditions": [condition("Ready", "True", "KubeletReady")]}}
        self.patch(NODE, ready, "/api/v1/nodes")
        steps = [condition(kind, "True") for kind in ("Launched", "Registered", "Initialized")]
        self.claim(*steps, nodeName=NODE)
        status = {"phase": "Pending", "conditions": [condition("PodScheduled", "True")]}
        self.patch("trainer", {"spec": {"nodeName": NODE}, "status": status})

    def fail_to_pull(self) -> None:
        """The kubelet cannot pull the image."""
        message = 'Back-off pulling image "nginx": ErrImagePull: 429 Too Many Requests'
        waiting = {"waiting": {"reason": "ImagePullBackOff", "message": message}}
        container = {"name": "c", "image": "nginx", "ready": False, "restartCount": 0, "imageID": "", "state": waiting}
        self.patch("trainer", {"status": {"containerStatuses": [container]}})

    def start(self) -> None:
        self.patch("trainer", {"status": {"phase": "Running", "containerStatuses": None}})


class Step(NamedTuple):
    """A change of the cluster, and what the page then shows.

    `strip`: the state of each stop by its first letter: Done, Waiting, Not needed, Ahead. `texts`: parts of the answer
    and of the scheduler's message, which has a section of its own.
    """

    change: Callable[[Story], None]
    strip: str
    texts: list[str]

    def stops(self) -> list[str]:
        """Return the texts of the strip. No new node is called `none`: the pod may well need one."""
        texts = [f"{name} {STATES[state]}" for name, state in zip(NAMES, self.strip, strict=True)]
        return [text.replace("New node not needed", "New node none") for text in texts]


QUEUE = "Kueue does not admit Workload pod-trainer-3bc06 in ClusterQueue cq-research (LocalQueue research)"
STEPS = [
    Step(
        Story.wait_for_quota,
        "dwnnnaa",
        [f"{QUEUE}: 3 more cpu of flavor {FLAVOR}", "8 of 8 cpu of flavor on-demand are reserved"],
    ),
    Step(
        Story.free_quota,
        "dwnnnaa",
        [f"{QUEUE}: 1 more cpu of flavor {FLAVOR}", "6 of 8 cpu of flavor on-demand are reserved"],
    ),
    Step(Story.admit, "ddnnnwa", ["No node has 3 cpu free", "0/1 nodes are available: 1 Insufficient cpu"]),
    Step(
        Story.nominate,
        "ddnnwaa",
        [f"NodeClaim {CLAIM} of NodePool general is not launched", f"nodeclaim/{CLAIM}"],
    ),
    Step(Story.launch, "ddnnwaa", ["is launched but not registered", "Node not registered with cluster"]),
    Step(Story.register, "ddnnwaa", [f"is launched and registered but not initialized (node {NODE})"]),
    Step(Story.bind_to_the_node, "ddnnddw", [f"It was bound to {NODE}", "has not started it"]),
    Step(
        Story.fail_to_pull,
        "ddnnddw",
        ["image nginx of container c cannot be pulled", "ImagePullBackOff", "429 Too Many Requests"],
    ),
]


@pytest.fixture
def pod_page(browser: Browser, tmp_path: Path) -> Iterator[tuple[Page, Story]]:
    """Follow a cluster that serves Kueue and Karpenter; open the page of the cluster."""
    with api_server("--git-version", "v1.36.2") as server:
        server.control("set", unserved=UNSERVED)
        story = Story(server)
        story.begin()
        with site_with_context(server, tmp_path) as site, new_page(browser, site) as page:
            problems = Problems()
            problems.watch(page)
            page.goto("/")
            page.get_by_role("button", name="Connect shop").click()
            page.wait_for_url("**/clusters/*/")
            expect(page.locator("#live .answer")).to_contain_text("none is pending", timeout=WITHIN_MS)
            yield page, story
            assert problems == []


def test_the_strip_follows_the_pod(pod_page: tuple[Page, Story]) -> None:
    page, story = pod_page
    STEPS[0].change(story)
    row = page.locator("#pending tr[data-key='default/trainer']")
    expect(row).to_contain_text("Kueue", timeout=WITHIN_MS)
    row.get_by_role("link", name="trainer").first.click()
    page.wait_for_url("**/pods/default/trainer/")
    page.evaluate("window.kept = true")
    stops = page.get_by_role("list", name="Stations").get_by_role("listitem")
    for number, step in enumerate(STEPS):
        if number:
            step.change(story)
        expect(stops).to_have_text(step.stops(), timeout=WITHIN_MS)
        for text in step.texts:
            expect(page.get_by_role("main")).to_contain_text(text, timeout=WITHIN_MS)
        expect(stops.nth(step.strip.index("w"))).to_have_attribute("aria-current", "step")
        expect_good_looks(page, *itertools.product(THEMES, (390, 1440)))
    assert check_page(page) == []
    story.start()
    expect(page.locator(".answer")).to_contain_text("This pod is not pending", timeout=WITHIN_MS)
    assert page.evaluate("window.kept"), "the page was not loaded again"
