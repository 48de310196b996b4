"""Pod page: the outcome of an attempt and the current state of the pod agree."""

import html
import re
from typing import Any

import pytest
from django.test import Client

from kubesched_ui.ingest import ingest_files
from kubesched_ui.ingest.store import store
from kubesched_ui.models import Run
from kubesched_ui.runs.services import defaults
from kubesched_ui.scenarios.samples import FOLDER
from tests.kubesched_ui.recordings import node, pod, ran, scenario

pytestmark = pytest.mark.django_db

GANG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - plugins: {reserve: {enabled: [{name: Coscheduling}]}, permit: {enabled: [{name: Coscheduling}]}}
    pluginConfig: [{name: Coscheduling, args: {permitWaitingTimeSeconds: 30}}]
"""


def sample(name: str, **settings: Any) -> Run:
    """Return a finished run of a sample."""
    stored = store(ingest_files([(name, FOLDER / f"{name}.yaml")]))
    return ran(stored, **{"config": stored.config} | defaults(stored) | settings)


def plain(page: str) -> str:
    return re.sub(r"<[^>]*>", "", page)


def shown(client: Client, run: Run, name: str, query: str = "") -> dict[str, Any]:
    """Return {steps: point -> (state, number), place, badge, answer, attempts: [badge]} of a pod page."""
    response = client.get(f"/runs/{run.pk}/pods/default/{name}/{query}")
    assert response.status_code == 200
    page = re.sub(r"\s+", " ", html.unescape(response.content.decode()))

    def first(pattern: str) -> str:
        found = re.search(pattern, page)
        return re.sub(r"<[^>]*>", "", found[1]).strip() if found else ""

    steps = re.findall(r'data-step="(\w+)".*?class="mark (\w+)".*?class="fig">(.*?)</span>', page)
    strip = re.search(r'<nav class="attempts".*?</nav>', page)
    tabs = re.findall(r"<li>(.*?)</li>", strip[0]) if strip else []
    return {
        "steps": {key: (state, figure.strip()) for key, state, figure in steps},
        "place": first(r'<p class="place">(.*?)</p>'),
        "badge": first(r'<h1 class="mono">.*?</h1>.*?<span class="badge[^>]*>(.*?</span>.*?)</span>'),
        "answer": first(r'<p class="answer">(.*?)</p>'),
        "attempts": [re.sub(r" +", " ", re.sub(r"<[^>]*>", "", tab)).strip() for tab in tabs],
        "page": page,
    }


def test_a_pod_that_waited_at_permit_and_was_bound(client: Client) -> None:
    run = sample("18-gang")
    found = shown(client, run, "training-0")
    rejected = "✕ rejected by Permit"
    assert found["attempts"] == [
        f"Attempt 1 {rejected}", "Attempt 2 ✕ no node", f"Attempt 3 {rejected}", "Attempt 4 ✓ placed",
    ]  # fmt: skip
    assert found["steps"]["permit"] == ("pass", "after 0 s")
    assert [found["steps"][point][0] for point in ("reserve", "prebind", "bind", "postbind")] == ["pass"] * 4
    assert found["badge"] == "✓ on n1"
    assert found["place"] == "At the end of the run (3:00): bound on n1 since 1:40."
    assert found["answer"] == (
        "n1 was chosen. Coscheduling held it in Permit for 0 s, then it was bound there at 1:40."
    )


def test_an_attempt_rejected_by_permit_says_so_though_the_pod_was_bound_later(client: Client) -> None:
    found = shown(client, sample("18-gang"), "training-0", "?attempt=1")
    assert found["steps"]["permit"] == ("reject", "refused after 30 s")
    assert found["steps"]["reserve"] == ("skip", "given back")
    assert "bind" not in found["steps"]
    assert found["answer"].endswith("was rejected: rejected due to timeout after waiting 30s at plugin Coscheduling.")
    assert "bound on n1 since 1:40" in found["place"]
    assert found["badge"] == "✓ on n1"


def test_a_finished_pod_is_gone(client: Client) -> None:
    found = shown(client, sample("18-gang"), "other-0")
    assert found["place"] == "At the end of the run (3:00): gone since 50 s (finished)."
    assert found["badge"] == "∅ gone"
    assert found["attempts"] == ["Attempt 1 ✕ no node", "Attempt 2 ✓ placed"]


def test_a_failed_binding_is_no_placement(client: Client) -> None:
    run = sample("14-backoff")
    found = shown(client, run, "unlucky", "?attempt=2")
    assert found["attempts"] == [f"Attempt {n} ! binding failed" for n in range(1, 7)] + ["Attempt 7 ✓ placed"]
    assert found["steps"]["bind"] == ("reject", "failed")
    assert "postbind" not in found["steps"]
    assert found["answer"].startswith("n1 was chosen, the only node.")
    assert "Its binding failed after 0.1 s: the binding was made to fail by the scenario." in found["answer"]
    story = client.get(f"/api/runs/{run.pk}/pods/default/unlucky/history").json()
    assert [attempt["came_to"] for attempt in story["attempts"]] == ["unbound"] * 6 + ["scheduled"]


def test_a_binding_in_progress_at_the_end_of_the_run(client: Client) -> None:
    found = shown(client, sample("14-backoff", until=0.05), "unlucky")
    assert found["steps"]["bind"] == ("wait", "n1")
    assert found["badge"] == "⋯ being bound"
    assert "being bound to n1 since 0 s" in found["place"]


def test_an_evicted_pod_names_its_preemptor_and_is_gone(client: Client) -> None:
    found = shown(client, sample("16-preemption-in-time"), "worker")
    assert "evicted from n1 at 10 s (preempted for default/boss), gone since" in found["place"]
    assert found["badge"] == "∅ gone"


def gang(name: str, least: int) -> dict[str, Any]:
    """Return a pod of a group that is bound once `least` of its pods have a node."""
    made = pod(name)
    made["metadata"]["labels"] = {"scheduling.x-k8s.io/pod-group": f"of-{least}"}
    return made


def pod_group(least: int) -> dict[str, Any]:
    meta = {"name": f"of-{least}", "namespace": "default"}
    kind = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup"}
    return {**kind, "metadata": meta, "spec": {"minMember": least}}


def test_permit_in_a_single_pass(client: Client) -> None:
    run = ran(
        scenario(node("n1"), pod_group(2), pod_group(3), gang("one", 2), gang("two", 2), gang("alone", 3)), config=GANG
    )
    found = shown(client, run, "one")
    assert found["steps"]["permit"] == ("pass", "waited")
    assert found["steps"]["bind"] == ("pass", "n1")
    assert found["badge"] == "✓ on n1"
    assert found["answer"] == "Placed on n1, the only node. It waited in Permit for Coscheduling first."
    found = shown(client, run, "alone")
    assert found["steps"]["permit"] == ("reject", "Coscheduling")
    assert found["steps"]["reserve"] == ("skip", "given back")
    assert "prebind" not in found["steps"]
    assert found["badge"] == "✕ rejected by Permit"
    assert found["answer"] == "Its group default/of-3 needs 3 pods, and 1 exists."
    assert "n1 was chosen, but Coscheduling refused at permit after it waited" in plain(found["page"])
