"""Lists of runs and scenarios: names, search, filters, order; a run again with the settings of another."""

import json
import re
from typing import Any

import pytest
from django.template.loader import render_to_string
from django.test import Client

from kubesched_ui.models import Run, Scenario
from tests.kubesched_ui.pages import source
from tests.kubesched_ui.recordings import node, pod, ran, scenario

pytestmark = pytest.mark.django_db

PACKED = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}]}]
"""
TEMPLATE = "{kind: Pod, metadata: {name: web}, spec: {containers: [{name: c}]}}"


@pytest.fixture
def stored() -> Scenario:
    return scenario(node("n1"), pod("one"), pod("two", nodeName="n1", status={"phase": "Running"}), name="shop")


def titles(client: Client, address: str) -> list[str]:
    return re.findall(r'class="wrap titled"> <a[^>]*>(.*?)</a>', source(client, address))


def start(client: Client, stored: Scenario, **settings: Any) -> int:
    answer = client.post(f"/api/scenarios/{stored.pk}/runs", json.dumps(settings), content_type="application/json")
    assert answer.status_code == 202, answer.content
    number: int = answer.json()["id"]
    return number


def test_runs_have_distinct_titles_and_are_searched_filtered_and_sorted(client: Client, stored: Scenario) -> None:
    other = scenario(node("n1"), pod("p"), name="bank")
    start(client, stored, name="plain")
    start(client, stored, name="packed", config=PACKED, seed=7)
    start(client, other, name="soon", in_time=True, until=60, release="1.27")
    Run.objects.filter(name="packed").update(state="done", placed=3)
    page = source(client, "/runs/")
    for message in ("MostAllocated", "seed 7", "virtual time until 1 min", "default settings", "1.27"):
        assert message in page
    assert titles(client, "/runs/") == ["soon", "packed", "plain"]
    assert titles(client, "/runs/?q=most") == ["packed"]
    assert titles(client, "/runs/?q=shop+pl") == ["plain"]
    assert titles(client, "/runs/?q=1.27") == ["soon"]
    assert titles(client, f"/runs/?q={Run.objects.get(name='soon').pk}") == ["soon"]
    assert titles(client, "/runs/?state=done") == ["packed"]
    assert titles(client, "/runs/?mode=time") == ["soon"]
    assert titles(client, "/runs/?sort=name") == ["packed", "plain", "soon"]
    assert titles(client, "/runs/?sort=-placed")[0] == "packed"
    assert titles(client, "/runs/?sort=drop+table&q=%00") == ["soon", "packed", "plain"]
    assert "No run matches" in source(client, "/runs/?q=nothing")
    assert 'data-swap="#list"' in page


def test_scenarios_have_distinct_titles_and_are_searched_filtered_and_sorted(client: Client, stored: Scenario) -> None:
    large = scenario(*(node(f"n{i}") for i in range(12)), name="bank")
    Scenario.objects.filter(pk=large.pk).update(config=PACKED, origin="api", kubernetes="v1.30.1")
    start(client, stored)
    page = source(client, "/scenarios/")
    assert "configuration: MostAllocated" in page
    assert titles(client, "/scenarios/") == ["bank", "shop"]
    assert titles(client, "/scenarios/?q=SHO") == ["shop"]
    assert titles(client, "/scenarios/?origin=api") == ["bank"]
    for sort, names in (("nodes", "shop bank"), ("-nodes", "bank shop"), ("-runs", "shop bank"), ("name", "bank shop")):
        assert titles(client, f"/scenarios/?sort={sort}") == names.split(), sort
    assert "No scenario matches" in source(client, "/scenarios/?q=nothing")


def test_runs_and_scenarios_are_renamed(client: Client, stored: Scenario) -> None:
    run = ran(stored)
    assert "<h1>Run " in source(client, f"/runs/{run.pk}/")
    response = client.post(f"/runs/{run.pk}/rename/", {"name": "  night\tbatch\x07 <b> "})
    assert response["Location"] == f"/runs/{run.pk}/"
    run.refresh_from_db()
    assert run.name == "night batch\N{REPLACEMENT CHARACTER} <b>"
    assert "<h1>night batch" in source(client, f"/runs/{run.pk}/")
    assert "night batch" in source(client, f"/runs/{run.pk}/pods/default/one/")
    client.post(f"/runs/{run.pk}/rename/", {"name": "x" * 500})
    run.refresh_from_db()
    assert run.name == "x" * 200
    client.post(f"/runs/{run.pk}/rename/", {"name": ""})
    assert f"<h1>Run {run.pk}</h1>" in source(client, f"/runs/{run.pk}/")
    client.post(f"/scenarios/{stored.pk}/rename/", {"name": "bank"})
    assert "<h1>bank</h1>" in source(client, f"/scenarios/{stored.pk}/")
    client.post(f"/scenarios/{stored.pk}/rename/", {"name": " "})
    assert "<h1>bank</h1>" in source(client, f"/scenarios/{stored.pk}/")
    assert client.get(f"/runs/{run.pk}/rename/").status_code == 405


def patch(client: Client, address: str, body: Any) -> tuple[int, Any]:
    answer = client.patch(address, json.dumps(body), content_type="application/json")
    return answer.status_code, answer.json()


def test_names_are_changed_by_the_api(client: Client, stored: Scenario) -> None:
    number = start(client, stored, name=" first ")
    address = f"/api/runs/{number}"
    assert client.get(address).json()["name"] == "first"
    assert patch(client, address, {"name": "second"})[1]["name"] == "second"
    assert patch(client, address, {"name": ""})[1]["name"] == ""
    assert patch(client, address, {"name": "x" * 201})[0] == 422
    assert patch(client, address, {"seed": 3})[0] == 422
    assert patch(client, "/api/runs/9999", {"name": "x"})[0] == 404
    address = f"/api/scenarios/{stored.pk}"
    assert patch(client, address, {"name": "bank", "description": "what for"})[1]["name"] == "bank"
    assert client.get(address).json()["description"] == "what for"
    assert patch(client, address, {"name": " "})[0] == 422
    assert client.get(address).json()["name"] == "bank"


@pytest.mark.parametrize(
    "chosen",
    [
        {},
        {"release": "1.27", "seed": 7, "tie_break": "name", "preemption": False, "percentage": 40, "config": PACKED},
        {"pods": [], "unbind": ["default/two"]},
        {"pods": [], "template": TEMPLATE, "copies": 4},
        {"in_time": True, "until": 90},
    ],
)
def test_the_form_copies_the_settings_of_a_run(client: Client, stored: Scenario, chosen: dict[str, Any]) -> None:
    first = client.get(f"/api/runs/{start(client, stored, **chosen)}").json()
    again = client.get(f"/api/runs/{start(client, stored, **first['settings'])}").json()
    assert again["settings"] == first["settings"]
    assert again["differs"] == first["differs"]
    assert chosen.items() <= first["settings"].items()

    page = client.get(f"/scenarios/{stored.pk}/?like={first['id']}")
    assert f"?like={first['id']}#start" in source(client, f"/runs/{first['id']}/")
    form = page.context["form"]
    typed = {name: form[name].value() for name in form.fields}
    sent = {name: value for name, value in typed.items() if value not in (None, False)}
    response = client.post(f"/scenarios/{stored.pk}/run/", sent)
    assert response.status_code == 302, response.content
    made = client.get(f"/api{response['Location']}".rstrip("/")).json()
    assert made["settings"] == first["settings"] | {"pods": made["settings"]["pods"]}
    assert (made["settings"]["pods"] is None) == (first["settings"]["pods"] is None)


def test_settings_of_missing_or_foreign_runs_are_not_copied(client: Client, stored: Scenario) -> None:
    for like in ("9999", "x", "", "1" * 30):
        assert client.get(f"/scenarios/{stored.pk}/?like={like}").status_code == 200
    number = start(client, stored, pods=[], unbind=["default/two"], seed=9)
    other = scenario(node("n1"), pod("p"))
    form = client.get(f"/scenarios/{other.pk}/?like={number}").context["form"]
    assert (form["which"].value(), form["unbind"].value(), form["seed"].value()) == ("pending", "", 9)


@pytest.mark.parametrize(
    ("differs", "fork", "expected"),
    [(["seed 3"], True, "seed 3"), ([], True, "settings of the run"), ([], False, "default settings")],
)
def test_forks_do_not_have_default_settings(differs: list[str], fork: bool, expected: str) -> None:
    assert expected in render_to_string("parts/difference.html", {"differs": differs, "is_fork": fork})
