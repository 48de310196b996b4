"""No NUL character of a URL reaches the database. PostgreSQL would raise an error (test_processes.py)."""

import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from kubesched_ui.models import Run
from tests.kubesched_ui.recordings import node, pod, ran, scenario

pytestmark = pytest.mark.django_db


QUERIES = [
    *("/?q=%00", "/runs/?q=a%00b", "/runs/?state=%00", "/scenarios/?origin=%00&q=%00"),
    *("/scenarios/{scenario}/objects/?kind=%00", "/scenarios/{scenario}/pods/?q=%00"),
    *("/runs/{run}/?q=%00", "/runs/{run}/?result=%00", "/runs/{run}/?sort=%00"),
    *("/runs/{run}/pods/default/a/?attempt=%00&node=%00", "/runs/{run}/object/?kind=Pod&namespace=%00&name=a"),
]


@pytest.fixture
def run() -> Run:
    return ran(scenario(node("n1"), pod("a")))


def requested(client: Client, address: str, run: Run) -> tuple[int, list[Any]]:
    """Return the status, and the parameters of all database queries."""
    parameters: list[Any] = []

    def noted(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        parameters.append(params)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(noted):  # queries of SQLite's own end at a NUL
        answer = client.get(address.replace("{run}", str(run.pk)).replace("{scenario}", str(run.scenario_id)))
    return answer.status_code, parameters


@pytest.mark.parametrize("address", QUERIES)
def test_nul_characters_in_the_query_of_a_page_are_removed(client: Client, run: Run, address: str) -> None:
    status, parameters = requested(client, address, run)
    assert "\\x00" not in repr(parameters)
    assert status == requested(client, address.replace("%00", ""), run)[0] < 500


@pytest.mark.parametrize(
    "address",
    [
        *("/runs/{run}/pods/%00/x/", "/runs/{run}/pods/default/a%00/", "/runs/{run}/pods/%00/x/why/"),
        *("/runs/{run}/nodes/a%00/", "/runs/{run}/groups/%00/x/", "/scenarios/{scenario}/object/Pod/default/%00/"),
        *("/%00", "/scenarios/%00/"),
    ],
)
def test_a_path_with_a_nul_character_is_404(client: Client, run: Run, address: str) -> None:
    assert requested(client, address, run) == (404, [])


def test_the_api_rejects_nul_characters(client: Client) -> None:
    for address in ("/api/runs/1/pods/default/%00", "/api/%00"):
        answer = client.get(address)
        assert (answer.status_code, list(answer.json())) == (404, ["error"])
    answer = client.get("/api/runs?limit=%00&q=x&%00=1")
    assert answer.status_code == 422
    assert answer.json()["fields"] == ["limit: contains a NUL character", ": contains a NUL character"]


def test_a_run_form_rejects_nul_characters_by_field(client: Client, run: Run) -> None:
    image = {"kind": "Pod", "spec": {"containers": [{"name": "c", "image": "a\0"}]}}
    null = {"kind": "Pod", "spec": {"containers": [{"name": "c"}], "tolerations": [None]}}
    config = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    for wanted, message in (
        ({"template": json.dumps(image), "copies": 1}, "Template: spec.containers[0].image: contains a NUL"),
        ({"template": json.dumps(null), "copies": 1}, "Template: spec.tolerations[0]: is null"),
        ({"config": json.dumps(config | {"profiles": [{"schedulerName": "\0"}]})}, "schedulerName: contains a NUL"),
        ({"name": "\0"}, "name"),
        ({"pods": ["default/a\0"]}, "pods.0"),
    ):
        body = json.dumps(wanted)
        answer = client.post(f"/api/scenarios/{run.scenario_id}/runs", body, content_type="application/json")
        assert answer.status_code in (400, 422)
        assert message in answer.json()["error"]


@pytest.mark.parametrize(
    "change",
    [
        {"cordon": "n1\0"},
        {"place": {"pod": "default/a", "node": "\0"}},
        {"delete": {"kind": "Pod", "namespace": "\0", "name": "a"}},
        {"patch": {"kind": "Node", "name": "n1", "patch": {"metadata": {"labels": {"a": "\0"}}}}},
        {"create": {"kind": "Pod", "metadata": {"name": "x"}, "spec": {"containers": [{"name": "c", "x": "\0"}]}}},
    ],
)
def test_a_fork_form_rejects_nul_characters(client: Client, run: Run, change: dict[str, Any]) -> None:
    body = json.dumps({"at": 1, "changes": [change]})
    answer = client.post(f"/api/runs/{run.pk}/fork", body, content_type="application/json")
    assert (answer.status_code, "contains a NUL character" in answer.json()["error"]) == (400, True)
    assert Run.objects.count() == 1
