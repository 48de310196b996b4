"""The OpenAPI document describes what the API does."""

import json
from collections import defaultdict
from functools import cache
from typing import Any

import pytest
from django.test import Client
from jsonschema import Draft202012Validator
from ninja import Schema

from kubesched_ui.api import api
from kubesched_ui.models import Run
from tests.kubesched_ui.clusters import as_list, every_outcome, node, pod
from tests.kubesched_ui.http_api import post, ran, start, upload


@cache
def document() -> dict[str, Any]:
    made: dict[str, Any] = json.loads(json.dumps(api.get_openapi_schema()))
    return made


def parts(value: Any) -> list[dict[str, Any]]:
    """Yield every object of the document."""
    if isinstance(value, list):
        return [part for inner in value for part in parts(inner)]
    return [value, *parts(list(value.values()))] if isinstance(value, dict) else []


def agrees(answer: Any, schema: str) -> None:
    schema_of = {"$ref": f"#/components/schemas/{schema}", "components": document()["components"]}
    Draft202012Validator(schema_of).validate(answer)


def test_every_schema_is_valid_and_every_array_has_item_types() -> None:
    for name, schema in document()["components"]["schemas"].items():
        Draft202012Validator.check_schema(schema)
        assert [part for part in parts(schema) if part.get("type") == "array" and "items" not in part] == [], name


def test_schema_names_are_unique() -> None:
    """Otherwise the document would use one schema in both places."""
    made = list(Schema.__subclasses__())
    for one in made:
        made += one.__subclasses__()
    places: defaultdict[str, set[str]] = defaultdict(set)
    for one in made:
        places[one.__name__].add(one.__module__)
    assert [name for name in document()["components"]["schemas"] if len(places[name]) > 1] == []


def test_bounds_use_json_schema_keywords() -> None:
    assert [part for part in parts(document()["components"]) if {"gt", "ge", "lt", "le"} & part.keys()] == []


def test_every_operation_documents_its_errors() -> None:
    found = document()["paths"].items()
    operations = [(f"{verb} {path}", operation) for path, verbs in found for verb, operation in verbs.items()]
    assert [name for name, operation in operations if not {"404", "422"} <= operation["responses"].keys()] == []


@pytest.mark.django_db
@pytest.mark.parametrize("in_time", [False, True])
def test_responses_match_their_schemas(client: Client, in_time: bool) -> None:
    run = ran(client, every_outcome(), in_time=in_time).url
    page = client.get(f"{run}/pods").json()
    assert any(pod["reasons"] for pod in page["pods"])
    agrees(page, "PodPage")
    found = client.get(run).json()
    agrees(found, "RunDetail")
    agrees(client.get(f"/api/scenarios/{found['scenario']}").json(), "ScenarioDetail")
    agrees(client.get(f"{run}/events").json(), "Events")
    if in_time:
        lanes = client.get(f"{run}/lanes").json()
        assert lanes["moves"]
        agrees(lanes, "Lanes")
        agrees(client.get(f"{run}/lanes/overview").json(), "Overview")
        agrees(client.get(f"{run}/lanes/stretch?t=0").json(), "TimeWindow")
        agrees(client.get(f"{run}/moment?t=0").json(), "Moment")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("field", "value"),
    [
        *[("percentage", True), ("percentage", "5"), ("seed", True), ("seed", "1"), ("copies", False), ("until", True)],
        *[("preemption", "yes"), ("preemption", 1), ("in_time", "true"), ("feature_gates", {"SidecarContainers": 1})],
    ],
)
def test_booleans_and_strings_are_not_numbers(client: Client, field: str, value: Any) -> None:
    scenario = upload(client, as_list(node("n1"), pod("a")))
    assert f".{field}" in post(client, f"/api/scenarios/{scenario}/runs", {field: value}, 422)["error"]
    assert not Run.objects.exists()


@pytest.mark.django_db
def test_lists_are_paginated(client: Client) -> None:
    scenarios = [upload(client, as_list(node("n1"), pod("a")), f"s{n}") for n in range(3)]
    runs = [start(client, scenarios[0]).pk for _ in range(3)]
    for address, newest in (("/api/scenarios", scenarios[::-1]), ("/api/runs", runs[::-1])):
        assert [one["id"] for one in client.get(address).json()] == newest
        assert [one["id"] for one in client.get(f"{address}?limit=2").json()] == newest[:2]
        assert [one["id"] for one in client.get(f"{address}?limit=2&offset=2").json()] == newest[2:]
        assert client.get(f"{address}?offset={2**62 - 1}").json() == []
        for wrong in ("limit=0", "limit=1001", "offset=-1", f"offset={2**63}", "limit=x"):
            assert client.get(f"{address}?{wrong}").status_code == 422, wrong


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["/api/nothing", "/api/runs/-1", "/api/runs/x/map", "/api/"])
def test_unknown_urls_of_the_api_return_json(client: Client, address: str) -> None:
    answer = client.get(address)
    assert (answer.status_code, answer["Content-Type"]) == (404, "application/json")
    assert answer.json()["error"].endswith(".")
