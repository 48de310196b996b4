"""Experiments over the API, and documents that are refused."""

import json
from typing import Any

import pytest
from django.test import Client

from kubesched_ui.experiments.models import Experiment
from kubesched_ui.models import Scenario
from tests.kubesched_ui.experiments.documents import document
from tests.kubesched_ui.experiments.questions import Squares
from tests.kubesched_ui.experiments.test_experiments import finish

pytestmark = pytest.mark.django_db


def start(client: Client, body: str | bytes | dict[str, Any], status: int = 202) -> Any:
    data = json.dumps(body) if isinstance(body, dict) else body
    answer = client.post("/api/experiments", data, content_type="application/yaml")
    assert answer.status_code == status, answer.content[:1000]
    return answer.json() if status == 202 else answer.json()["error"]


def get(client: Client, path: str, status: int = 200) -> Any:
    answer = client.get(f"/api{path}")
    assert answer.status_code == status, answer.content[:1000]
    return answer.json()


def test_an_experiment_over_the_api(client: Client, cluster: Scenario, squares: Squares) -> None:
    made = start(client, document(cluster.pk, seeds=[1, 2, 3]))
    assert (made["state"], made["question"], made["cells_total"], made["sentence"]) == ("queued", "compare", 0, "")
    address = f"/experiments/{made['id']}"
    assert made["url"] == f"/api{address}"
    assert get(client, f"{address}/answer", 409)["error"] == f"Experiment {made['id']} is queued and has no answer."
    finish(Experiment.objects.get())
    found = get(client, address)
    assert (found["state"], found["sentence"], found["cells_done"]) == ("done", "The sum is 14.", 3)
    assert get(client, f"{address}/answer") == {"answer": "The sum is 14.", "total": 14, "cells": 3}
    page = get(client, f"{address}/cells?limit=2&offset=1")
    assert (page["total"], [(one["number"], one["metrics"]) for one in page["cells"]]) == (
        3,
        [(2, {"square": 4}), (3, {"square": 9})],
    )
    cell = get(client, f"{address}/cells/2")
    assert (cell["cell"]["seed"], cell["result"]["objects"], cell["labels"]["seed"]) == (2, 3, "2")
    assert get(client, f"{address}/cells/4", 404)["error"] == f"Experiment {made['id']} has no cell 4."
    assert [one["id"] for one in get(client, "/experiments")] == [made["id"]]
    assert [one["id"] for one in get(client, f"/scenarios/{cluster.pk}/experiments")] == [made["id"]]
    assert client.delete(f"/api{address}").status_code == 204
    assert get(client, address, 404)["error"] == f"There is no experiment {made['id']}."


def test_cancel(client: Client, cluster: Scenario, squares: Squares) -> None:
    made = start(client, document(cluster.pk))
    assert client.post(f"/api/experiments/{made['id']}/cancel").json()["state"] == "cancelled"
    assert client.post(f"/api/experiments/{made['id']}/cancel").json()["state"] == "cancelled"
    assert finish(Experiment.objects.get()).cells_total == 0


def test_yaml_is_kept_as_it_was_sent(client: Client, cluster: Scenario, squares: Squares) -> None:
    text = (
        f"# mine\napiVersion: kubesched.dev/v1alpha1\nkind: Experiment\nspec: {{scenarios: [{{id: {cluster.pk}}}]}}\n"
    )
    assert start(client, text)["document"] == text


HEAD = "apiVersion: kubesched.dev/v1alpha1\nkind: Experiment\nspec:\n"
REFUSED = {
    "empty": (b"", "must hold one document"),
    "no document": (b"[1, 2]", "Expected `object`, got `array`"),
    "binary": (b"\xff\xfe\x00", "is not UTF-8 text"),
    "large": (b"a: " + b"x" * 3_000_000, "is larger than 2 MB"),
    "other kind": (b"apiVersion: v1\nkind: Pod\n", "apiVersion: Invalid enum value 'v1'"),
    "unknown field": (HEAD.encode() + b"  scenarios: [{id: 1}]\n  seed: 3\n", "unknown field `seed`"),
    "10^9 cells": (HEAD.encode() + b"  scenarios: [{id: 1}]\n  seeds: {count: 1000000000}\n", "1,000,000,000 cells"),
    "deep": (b'{"a": ' * 5000 + b"1" + b"}" * 5000, "is nested deeper than 64 levels"),
    "deep yaml": (b"[" * 5000 + b"]" * 5000, "deep"),
    "aliases": (b"a: &a [" + b"1," * 3000 + b"]\nb: [" + b"*a," * 900 + b"]\n", "YAML aliases add more than"),
    "file": (HEAD.encode() + b"  scenarios: [{file: /etc/passwd}]\n", "only the command line reads files"),
    "missing scenario": (HEAD.encode() + b"  scenarios: [{id: 987654}]\n", "there is no scenario 987654"),
    "huge id": (HEAD.encode() + b"  scenarios: [{id: 99999999999999999999}]\n", "id"),
    "nul": (HEAD.encode() + b'  scenarios: [{id: 1, name: "a\\0b"}]\n', "NUL"),
    "many scenarios": (
        HEAD.encode() + b"  scenarios: [" + b", ".join(b"{id: %d}" % n for n in range(1, 200)) + b"]\n",
        "must name at most 100 scenarios",
    ),
    "unknown question": (HEAD.encode() + b"  question: why\n  scenarios: [{id: 1}]\n", "Invalid enum value 'why'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_document_that_is_wrong_gets_one_sentence(client: Client, name: str) -> None:
    body, expected = REFUSED[name]
    error = start(client, body, 400)
    assert expected in error
    assert "\n" not in error
    assert len(error) < 300
    assert not Experiment.objects.exists()


def test_a_body_of_100_mb_is_refused(client: Client) -> None:
    assert start(client, b" " * 100_000_000, 413) == "The request body is too large."
