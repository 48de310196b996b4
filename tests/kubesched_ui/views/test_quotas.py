"""Quotas of namespaces: a page of a scenario, and one of a run, which the page of a pod that a quota rejects loads."""

import html
import json
import re
from typing import Any

import pytest
from django.test import Client

from kubesched_ui.models import Run
from tests.kubesched_ui.pages import get
from tests.kubesched_ui.recordings import node, pod, ran, scenario
from tests.scheduler_core.plugins.contrib.test_capacity_scheduling import CONFIG, quota

pytestmark = pytest.mark.django_db
KIND = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def in_a(name: str, cpu: str, **more: Any) -> dict[str, Any]:
    raw = pod(name, cpu, **more)
    raw["metadata"]["namespace"] = "a"
    return raw


@pytest.fixture
def run() -> Run:
    limited = quota("a", {"cpu": "2", "memory": "8Gi"}, {"cpu": "4", "memory": "8Gi"})
    stored = scenario(node("n1", "16"), limited, quota("b", {"cpu": "4"}), in_a("one", "3"), in_a("two", "2"))
    return ran(stored, config=json.dumps(KIND | CONFIG))


def test_the_page_of_a_rejected_pod_loads_the_quotas_at_the_instant_of_its_answer(client: Client, run: Run) -> None:
    page = get(client, f"/runs/{run.pk}/pods/a/two/").flat
    address = html.unescape(re.findall(r'id="quotas"[^>]*data-load="([^"]*)"', page)[0])
    assert address == f"/runs/{run.pk}/quotas/?pod=a%2Ftwo"  # the answer is that of the end of the run
    assert "after the run" in get(client, address).flat
    found = get(client, f"{address}&cycle=2").flat
    assert "before cycle 2" in found
    assert "3 used of min 2, max 4; 1 borrowed; requests 2: more than max" in found
    assert "quota of a/two" in found
    assert 'id="quotas"' not in get(client, f"/runs/{run.pk}/pods/a/one/").flat


def test_the_quotas_after_the_run(client: Client, run: Run) -> None:
    assert f'href="/runs/{run.pk}/quotas/"' in get(client, f"/runs/{run.pk}/").flat
    found = get(client, f"/runs/{run.pk}/quotas/").flat
    assert "after the run" in found
    assert "3 used of min 2, max 4; 1 borrowed" in found
    assert "must be in 1..3" in get(client, f"/runs/{run.pk}/quotas/?cycle=9").flat
    assert "/quotas/" not in get(client, f"/runs/{ran(run.scenario).pk}/").flat


def test_the_page_of_a_pod_that_evicts_others_is_about_its_cycle(client: Client) -> None:
    taken = [pod(f"t{i}", "2", nodeName="n1", status={"phase": "Running"}) for i in range(2)]
    for one in taken:
        one["metadata"]["namespace"] = "b"
    quotas = quota("a", {"cpu": "3", "memory": "8Gi"}), quota("b", {"cpu": "1", "memory": "8Gi"})
    run = ran(scenario(node("n1", "4"), *quotas, *taken, in_a("p", "2")), config=json.dumps(KIND | CONFIG))
    page = get(client, f"/runs/{run.pk}/pods/a/p/")
    sentence = "All quotas together have too little of their guarantees left for the pod. It fits on n1 by evicting"
    assert page.answer.startswith(sentence)
    assert f'data-load="/runs/{run.pk}/quotas/?cycle=1&amp;pod=a%2Fp"' in page.flat
    for query, other in (("", "No simulated change"), ("?node=n1", "No suggested fix")):
        fixes = get(client, f"/runs/{run.pk}/pods/a/p/why/{query}").flat
        assert "It needs no change: it fits on" in fixes
        assert other not in fixes


def test_the_quotas_before_any_run(client: Client) -> None:
    taken = in_a("one", "3", nodeName="n1", status={"phase": "Running"})
    stored = scenario(node("n1", "16"), quota("a", {"cpu": "2"}), taken, in_a("two", "2"))
    assert f'href="/scenarios/{stored.pk}/quotas/"' in get(client, f"/scenarios/{stored.pk}/").flat
    found = get(client, f"/scenarios/{stored.pk}/quotas/").flat
    assert "before any run" in found
    assert "3 used of min 2, no max; 1 borrowed" in found
    without = scenario(node("n1"))
    assert "/quotas/" not in get(client, f"/scenarios/{without.pk}/").flat
    assert "There are no ElasticQuotas." in get(client, f"/scenarios/{without.pk}/quotas/").flat
