"""Numbers of 5,000 digits, which Python cannot parse, in URLs, forms and documents."""

import json
from typing import Any

import pytest
from django.test import Client

from kubesched_ui.models import Run
from kubesched_ui.runs.tasks import execute_run
from tests.kubesched_ui.recordings import node, pod, ran, scenario

pytestmark = pytest.mark.django_db

LONG = "9" * 5000
POD = "/runs/{run}/pods/default/p0/"
URLS = [
    *(f"{POD}{part}?{name}={LONG}" for part in ("", "why/", "trials/", "claims/") for name in ("attempt", "cycle")),
    *(f"{POD}{part}?page={LONG}&node={LONG}" for part in ("", "why/", "trials/", "claims/")),
    *(f"/runs/{{run}}/pods/default/{LONG}/{part}" for part in ("", "why/", "trials/", "claims/")),
    f"/runs/{{run}}/pods/{LONG}/p0/",
    *(f"/runs/{{run}}/{part}/{LONG}/" for part in ("nodes", "cycles", "groups/default")),
    *(f"/runs/{{run}}/?{name}={LONG}" for name in ("page", "q", "against", "result", "sort")),
    *(f"/runs/{{run}}/present/?{name}={LONG}" for name in ("pod", "cycle", "step", "attempt")),
    *(f"/runs/{{run}}/object/?kind=Pod&namespace=default&name=p0&{name}={LONG}" for name in ("cycle", "seq", "t")),
    *(f"/runs/?{name}={LONG}" for name in ("page", "q", "state")),
    f"/scenarios/?page={LONG}&q={LONG}",
    f"/scenarios/{{scenario}}/?like={LONG}",
    *(f"/scenarios/{{scenario}}/{part}/?page={LONG}&q={LONG}" for part in ("pods", "nodes", "objects")),
    f"/scenarios/{{scenario}}/object/Pod/default/{LONG}/",
    f"/compare/?run={LONG}&run={{run}}",
    f"/compare/{{run}}/{{run}}/?page={LONG}&pod={LONG}",
    f"/compose/?scenario={LONG}",
    f"/runs/{LONG}/",
    f"/compare/{LONG}/{LONG}/",
    *(f"/api{POD}{part}?attempt={LONG}" for part in ("remedies", "trials", "claims", "provenance")),
    f"/api{POD}provenance?point=total&cycle={LONG}",
    f"/api/runs/{{run}}/pods/default/{LONG}",
    f"/api/runs/{{run}}/events?since={LONG}",
    f"/api/runs/{{run}}/state?at={LONG}",
    f"/api/runs/{LONG}",
    f"/api/runs?offset={LONG}",
]
CONTAINERS = {"containers": [{"name": "c"}]}
SENT: list[tuple[str, dict[str, Any]]] = [
    ("/api/scenarios/{scenario}/runs", {"seed": "N"}),
    ("/api/scenarios/{scenario}/runs", {"copies": "N", "template": json.dumps({"kind": "Pod", "spec": CONTAINERS})}),
    ("/api/scenarios/{scenario}/runs", {"until": "N", "in_time": True}),
    ("/api/scenarios/{scenario}/runs", {"pods": [f"default/{LONG}"]}),
    ("/api/runs/{run}/fork", {"at": "N"}),
    ("/api/runs/{run}/fork", {"at": 1, "changes": [{"create": pod(LONG)}]}),
    (
        "/api/scenarios/{scenario}/runs",
        {"copies": 1, "template": json.dumps({"kind": "Pod", "metadata": {"name": LONG}, "spec": CONTAINERS})},
    ),
]


@pytest.fixture
def run() -> Run:
    return ran(scenario(node("n1"), pod("p0"), pod("p1", cpu="64")))


def at(address: str, run: Run) -> str:
    return address.replace("{run}", str(run.pk)).replace("{scenario}", str(run.scenario_id))


def test_long_numbers_in_urls(client: Client, run: Run) -> None:
    """Each request gets an existing page or an error message."""
    for address in URLS:
        answer = client.get(at(address, run))
        assert answer.status_code < 500, address.replace(LONG, "9...")
        if address.startswith("/api/"):
            assert answer.status_code == 200 or answer.json()["error"]


def test_long_numbers_in_forms_and_documents(client: Client, run: Run) -> None:
    before = Run.objects.count()
    for address, body in SENT:
        text = json.dumps(body).replace('"N"', LONG)
        answer = client.post(at(address, run), text, content_type="application/json")
        assert 400 <= answer.status_code < 500, (address, text[:80])
        assert answer.json()["error"]
    form = {"which": "pending", "mode": "time", "release": "1.34", "copies": LONG, "seed": LONG, "until": LONG}
    assert client.post(at("/scenarios/{scenario}/run/", run), form).status_code == 400
    assert client.post(at("/runs/{run}/fork/", run), {"at": LONG}).status_code < 500
    assert Run.objects.count() == before
    changes = [{"place": {"pod": f"default/{LONG}", "node": LONG}}]
    answer = client.post(at("/api/runs/{run}/fork", run), {"at": 1, "changes": changes}, "application/json")
    execute_run(answer.json()["id"])  # the run itself finds out whether there is such a pod
    made = Run.objects.latest("pk")
    assert (made.state, "default/9999" in made.error) == ("failed", True)
