"""The strip of stations on the pages of a run: pods that wait, that the run placed and that it left alone."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_axe import check_page
from tests.browser.test_look import THEMES, expect_good_looks
from tests.kubesched_ui.clusters import as_list, node, pod
from tests.kubesched_ui.instance import Instance

pytestmark = pytest.mark.long
Raw = dict[str, Any]
KUEUE, KARPENTER = "kueue.x-k8s.io", "karpenter.sh/v1"
AT = "2026-01-01T00:05:00Z"


def condition(kind: str, status: str, reason: str = "", message: str = "") -> Raw:
    return {"type": kind, "status": status, "reason": reason or kind, "message": message, "lastTransitionTime": AT}


def real(made: Raw, status: Raw, **metadata: Any) -> Raw:
    """Return an object as a server stores it."""
    made["metadata"] |= {"uid": f"uid-{made['metadata']['name']}", "creationTimestamp": AT} | metadata
    return made | {"status": status}


def objects() -> list[Raw]:
    refused = condition("PodScheduled", "False", "Unschedulable", "0/1 nodes are available: 1 Insufficient cpu.")
    quota = "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor spot, 3 more needed"
    gated = pod("gated", schedulingGates=[{"name": f"{KUEUE}/admission"}])
    workload = {
        "apiVersion": f"{KUEUE}/v1beta2",
        "kind": "Workload",
        "metadata": {
            "name": "pod-gated-3bc06",
            "namespace": "default",
            "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "gated", "uid": "uid-gated"}],
        },
        "spec": {"queueName": "research"},
        "status": {"conditions": [condition("QuotaReserved", "False", "Pending", quota)]},
    }
    claim = {
        "apiVersion": KARPENTER,
        "kind": "NodeClaim",
        "metadata": {"name": "general-x7k2p", "labels": {"karpenter.sh/nodepool": "general"}},
        "status": {"conditions": [condition("Launched", "True"), condition("Registered", "Unknown", "NodeNotFound")]},
    }
    promise = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "large.1", "namespace": "default"},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "large", "uid": "uid-large"},
        **{"reason": "Nominated", "message": "Pod should schedule on: nodeclaim/general-x7k2p"},
        **{"source": {"component": "karpenter"}, "lastTimestamp": AT},
    }
    waiting = {"waiting": {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "registry/serving:v7"'}}
    state = {"name": "c", "image": "registry/serving:v7", "ready": False, "restartCount": 0, "imageID": ""}
    starting = {
        "phase": "Pending",
        "conditions": [condition("PodScheduled", "True")],
        "containerStatuses": [state | {"state": waiting}],
    }
    error = (
        'Error creating: pods "web-1" is forbidden: exceeded quota: team, requested: requests.cpu=2, '
        "used: requests.cpu=15, limited: requests.cpu=16"
    )
    container = {"name": "c", "resources": {"requests": {"cpu": "2"}}}
    replicas = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}},
        },
    }
    return [
        real(node("n1", cpu="8"), node("n1", cpu="8")["status"] | {"conditions": [condition("Ready", "True")]}),
        real(gated, {"phase": "Pending"}, labels={f"{KUEUE}/queue-name": "research"}),
        *(workload, claim, promise),
        real(pod("large", "64"), {"phase": "Pending", "conditions": [refused]}),
        real(pod("small"), {"phase": "Pending"}),
        real(pod("serving", on="n1"), starting),
        real(pod("theirs", schedulerName="volcano"), {"phase": "Pending"}),
        real(replicas, {"replicas": 0, "conditions": [condition("ReplicaFailure", "True", "FailedCreate", error)]}),
    ]


PODS = {
    "gated": (
        "done waiting not-needed not-needed not-needed ahead ahead",
        "3 more cpu of flavor spot must become free",
    ),
    "large": (
        "done not-needed not-needed not-needed waiting ahead ahead",
        "NodeClaim general-x7k2p of NodePool general",
    ),
    "small": ("done not-needed not-needed not-needed not-needed done ahead", "In the snapshot the pod has no node."),
    "serving": (
        "done not-needed not-needed not-needed not-needed done waiting",
        "image nginx of container c cannot be pulled",
    ),
    "theirs": ("done not-needed not-needed not-needed not-needed waiting ahead", "Scheduler volcano decides about it"),
}


@pytest.fixture(scope="module")
def recorded(site: Instance) -> dict[str, Any]:
    found: dict[str, Any] = site.record(as_list(*objects()))
    return found


@pytest.mark.parametrize("name", PODS)
def test_the_strip_of_a_pod(page: Page, recorded: dict[str, Any], name: str) -> None:
    states, text = PODS[name]
    page.goto(f"/runs/{recorded['run']}/pods/default/{name}/")
    stops = page.get_by_role("list", name="Stations").get_by_role("listitem")
    expect(stops).to_have_class([re.compile(state) for state in states.split()])
    expect(page.get_by_label("Summary")).to_contain_text(text)
    expect_good_looks(page, *itertools.product(THEMES, (390, 1440)))
    assert check_page(page) == []


def test_waits_outside_of_the_scheduler(page: Page, recorded: dict[str, Any]) -> None:
    page.goto(f"/scenarios/{recorded['scenario']}/")
    link = page.get_by_role("link", name="Waits before and after the scheduler")
    page.goto(str(link.get_attribute("href")))
    cards = page.get_by_role("main").get_by_role("region")
    expect(cards).to_have_count(3)
    expect(page.get_by_role("region", name="ReplicaSet default/web")).to_contain_text(
        "ResourceQuota team has too little left"
    )
    expect_good_looks(page, *itertools.product(THEMES, (390, 1440)))
    assert check_page(page) == []
