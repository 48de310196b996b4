"""The NUMA zones of a node, on the pages of a scenario and of a run."""

import html
import json
import re
from typing import Any

import pytest
from django.test import Client

from kubesched_ui.models import Run
from tests.kubesched_ui.pages import get
from tests.kubesched_ui.recordings import node, pod, ran, scenario
from tests.scheduler_core.plugins.contrib.test_node_resource_topology_match import config, topology, zone

pytestmark = pytest.mark.django_db


def guaranteed(name: str, cpu: str) -> dict[str, Any]:
    raw = pod(name, cpu)
    for container in raw["spec"]["containers"]:
        container["resources"]["limits"] = dict(container["resources"]["requests"])
    return raw


@pytest.fixture
def run() -> Run:
    stored = scenario(
        node("n1", "8"),
        node("n2", "8"),
        topology("n1", zone("3"), zone("3")),
        guaranteed("small", "2"),
        guaranteed("wide", "4"),
        pod("placed", "1", nodeName="n2"),
    )
    return ran(stored, config=json.dumps({**KIND, **config(cacheResyncPeriodSeconds=5)}))


KIND = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def test_zones_of_a_scenario_with_a_chosen_pod(client: Client, run: Run) -> None:
    address = f"/scenarios/{run.scenario_id}/nodes/n1/"
    found = get(client, address).flat
    assert "NUMA zones" in found
    assert "single-numa-node, scope pod" in found
    assert "3 of 3 available" in found
    assert ">default/wide</option>" in found
    assert "default/placed</option>" not in found
    found = get(client, f"{address}?pod=default/wide").flat
    assert "No zone holds default/wide, which requests 4 of cpu and 1Gi of memory." in found
    assert "requests 4, does not fit" in found
    assert "NUMA zones" not in get(client, f"/scenarios/{run.scenario_id}/nodes/n2/").flat
    assert "NUMA zones" in get(client, f"{address}?pod=no/such%00").flat


def test_zones_of_a_run_show_the_pod_that_they_refused(client: Client, run: Run) -> None:
    found = get(client, f"/runs/{run.pk}/nodes/n1/").flat
    assert "No zone holds default/wide" in found
    before = get(client, f"/runs/{run.pk}/nodes/n1/?cycle=1&pod=default/small").flat
    assert "default/small fits in node-0." in before
    assert "NUMA zones" not in get(client, f"/runs/{run.pk}/nodes/n2/").flat


def test_why_not_a_node_links_to_its_zones(client: Client, run: Run) -> None:
    found = get(client, f"/runs/{run.pk}/pods/default/wide/why/?node=n1").flat
    (address,) = re.findall(rf'href="(/runs/{run.pk}/nodes/n1/[^"]*)#zones"', found)
    assert "No zone holds default/wide" in get(client, html.unescape(address)).flat
    assert "#zones" not in get(client, f"/runs/{run.pk}/pods/default/wide/why/?node=n2").flat
