"""No NUL character of an address reaches the database: PostgreSQL would answer with an error (test_processes.py)."""

from __future__ import annotations

import json

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.kubesched_ui.clusters import as_list, node, pod

pytestmark = pytest.mark.django_db


ASKED = [
    *("/?q=%00", "/runs/?q=a%00b", "/runs/?state=%00", "/scenarios/?origin=%00&q=%00"),
    *("/scenarios/1/objects/?kind=%00", "/runs/1/?q=%00", "/runs/1/?result=%00"),
]


@pytest.mark.parametrize("address", ASKED)
def test_a_pages_query_is_read_without(client: Client, address: str) -> None:
    with CaptureQueriesContext(connection) as asked:
        with_nul = client.get(address)
    assert "\0" not in str([query["sql"] for query in asked.captured_queries])
    assert with_nul.status_code == client.get(address.replace("%00", "")).status_code


@pytest.mark.parametrize("address", ["/runs/1/pods/%00/x/", "/runs/1/nodes/a%00/", "/%00", "/scenarios/%00/"])
def test_nothing_is_at_an_address_with_one(client: Client, address: str) -> None:
    with CaptureQueriesContext(connection) as asked:
        assert client.get(address).status_code == 404
    assert asked.captured_queries == []


def test_the_api_refuses_it(client: Client) -> None:
    for address in ("/api/runs/1/pods/default/%00", "/api/%00"):
        answer = client.get(address)
        assert (answer.status_code, list(answer.json())) == (404, ["error"])
    answer = client.get("/api/runs?limit=%00&q=x&%00=1")
    assert answer.status_code == 422
    assert answer.json()["fields"] == ["limit: holds a NUL character", ": holds a NUL character"]


def test_what_is_typed_for_a_run_is_refused_by_its_field(client: Client) -> None:
    made = client.post("/api/scenarios", as_list(node("n1"), pod("a")), content_type="application/octet-stream").json()
    image = {"kind": "Pod", "spec": {"containers": [{"name": "c", "image": "a\0"}]}}
    null = {"kind": "Pod", "spec": {"containers": [{"name": "c"}], "tolerations": [None]}}
    config = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    for wanted, said in (
        ({"template": json.dumps(image), "copies": 1}, "Template: spec.containers[0].image: holds a NUL"),
        ({"template": json.dumps(null), "copies": 1}, "Template: spec.tolerations[0]: is null"),
        ({"config": json.dumps(config | {"profiles": [{"schedulerName": "\0"}]})}, "schedulerName: holds a NUL"),
        ({"name": "\0"}, "name"),
        ({"pods": ["default/a\0"]}, "pods.0"),
    ):
        body = json.dumps(wanted)
        answer = client.post(f"/api/scenarios/{made['id']}/runs", body, content_type="application/json")
        assert answer.status_code in (400, 422)
        assert said in answer.json()["error"]
