"""Feature gates of a run, set by API, page and command. Forks and run files keep them."""

import html
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from kubesched_ui.models import Run
from tests.kubesched_ui import http_api
from tests.kubesched_ui.clusters import as_list, node, pod
from tests.kubesched_ui.http_api import exported, forked, imported, run_of, start, upload

pytestmark = pytest.mark.django_db

OFF = {"NodeDeclaredFeatures": False}
NAMED = "1.36 NodeDeclaredFeatures=false"


def cluster() -> bytes:
    """Return a pod that needs a feature which no node declares."""
    needy = pod("needy")
    needy["spec"] |= {"hostNetwork": True, "hostUsers": False}
    return as_list(node("n1"), needy)


def ran(client: Client, **wanted: Any) -> Run:
    return http_api.ran(client, cluster(), **wanted)


def test_a_run_uses_and_shows_its_gates(client: Client) -> None:
    assert ran(client, release="1.36").unschedulable == 1
    run = ran(client, release="1.36", feature_gates=OFF)
    assert (run.placed, run.release) == (1, NAMED)
    answer = client.get(run.url).json()
    assert (answer["release"], answer["feature_gates"], answer["differs"]) == (
        "1.36",
        OFF,
        ["NodeDeclaredFeatures off"],
    )
    assert (answer["settings"]["release"], answer["settings"]["feature_gates"]) == ("1.36", OFF)
    assert start(client, run.scenario_id, **answer["settings"]).release == NAMED
    page = html.unescape(client.get(f"/runs/{run.pk}/").content.decode())
    assert NAMED in page
    form = client.get(f"/scenarios/{run.scenario_id}/", {"like": run.pk}).content.decode()
    assert 'value="NodeDeclaredFeatures=false"' in form


def test_gates_with_their_default_are_dropped(client: Client) -> None:
    run = ran(client, release="1.36", feature_gates={"NodeDeclaredFeatures": True})
    assert (run.release, run.differs) == ("1.36", [])


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ({"feature_gates": {"Fancy": True}}, "Fancy"),
        ({"release": "1.34", "feature_gates": OFF}, "from Kubernetes 1.35 on"),
        ({"release": "1.34", "feature_gates": {"SchedulerQueueingHints": False}}, "locked to true"),
        ({"feature_gates": {"SchedulerPopFromBackoffQ": "soon"}}, "SchedulerPopFromBackoffQ"),
        ({"release": "1.36 NodeDeclaredFeatures"}, "name=true or name=false"),
    ],
)
def test_invalid_gates_are_rejected(client: Client, wanted: Any, says: str) -> None:
    answer = client.post(
        f"/api/scenarios/{upload(client, cluster())}/runs", json.dumps(wanted), content_type="application/json"
    )
    assert answer.status_code in (400, 422)
    assert says in answer.json()["error"]
    assert not Run.objects.exists()


def test_gates_are_set_on_the_page(client: Client) -> None:
    scenario = upload(client, cluster())
    given = {"which": "pending", "release": "1.36", "preemption": "on"}
    answer = client.post(f"/scenarios/{scenario}/run/", given | {"gates": "Fancy=true"})
    assert answer.status_code == 400
    assert "Fancy: is not one of the supported gates" in html.unescape(answer.content.decode())
    client.post(f"/scenarios/{scenario}/run/", given | {"gates": " NodeDeclaredFeatures=F "})
    assert Run.objects.get().release == NAMED


def test_a_fork_has_other_gates(client: Client) -> None:
    run = ran(client, release="1.36")
    fork = forked(client, run, at=1, settings={"feature_gates": OFF})
    assert (fork.release, fork.placed, fork.differs) == (NAMED, 1, ["NodeDeclaredFeatures off"])
    back = forked(client, fork, at=1, settings={"feature_gates": {}})
    assert (back.release, back.unschedulable) == ("1.36", 1)
    answer = client.get("/api/compare", {"a": run.pk, "b": fork.pk}).json()
    assert "1.36" in json.dumps(answer)


def test_a_run_file_has_the_gates(client: Client) -> None:
    run = ran(client, release="1.36", feature_gates=OFF)
    again = imported(client, exported(client, run))
    assert (again.release, again.placed, again.imported["differs"]) == (NAMED, 1, 0)


def test_a_virtual_time_scenario_has_its_own_gates(client: Client) -> None:
    document = {
        "apiVersion": "kubesched.dev/v1alpha1",
        "kind": "Scenario",
        "spec": {"kubernetes": "1.36", "featureGates": OFF, "until": 10, "objects": json.loads(cluster())["items"]},
    }
    scenario = upload(client, json.dumps(document).encode())
    run = run_of(client, scenario)
    assert (run.release, run.placed, run.in_time) == (NAMED, 1, True)
    assert run_of(client, scenario, release="1.36").unschedulable == 1
    assert 'value="NodeDeclaredFeatures=false"' in client.get(f"/scenarios/{scenario}/").content.decode()


def test_gates_are_set_by_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.json").write_bytes(cluster())
    call_command("simulate", str(tmp_path / "c.json"), "--release=1.36", "--feature-gates=NodeDeclaredFeatures=false")
    assert "default/needy  scheduled" in capsys.readouterr().out
