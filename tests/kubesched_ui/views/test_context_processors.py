"""Frame of every page: navigation marks the section, the footer has the version."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from kubesched_ui import __version__ as VERSION
from kubesched_ui.models import Run
from kubesched_ui.views.context_processors import SECTIONS
from kubesched_ui.views.urls import urlpatterns
from tests.kubesched_ui.pages import source
from tests.kubesched_ui.recordings import node, pod, ran, scenario

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    return ran(scenario(node("n1"), pod("p")))


def test_every_page_marks_its_section_and_names_the_version(client: Client, run: Run) -> None:
    obj = run.scenario.cluster_objects.get(kind="Node")
    addresses = {
        "/": ("Home", "page"),
        "/scenarios/": ("Scenarios", "page"),
        "/runs/": ("Runs", "page"),
        f"/scenarios/{run.scenario_id}/": ("Scenarios", "true"),
        f"/scenarios/{run.scenario_id}/nodes/": ("Scenarios", "true"),
        f"/scenarios/{run.scenario_id}/pods/": ("Scenarios", "true"),
        f"/scenarios/{run.scenario_id}/objects/": ("Scenarios", "true"),
        f"/scenarios/{run.scenario_id}/objects/{obj.pk}/": ("Scenarios", "true"),
        f"/runs/{run.pk}/": ("Runs", "true"),
        f"/runs/{run.pk}/pods/default/p/": ("Runs", "true"),
        reverse("why", args=[run.pk, "default", "p"]): ("Runs", "true"),
        f"/runs/{run.pk}/nodes/n1/": ("Runs", "true"),
    }
    for address, (label, how) in addresses.items():
        page = source(client, address)
        nav = re.search(r'<nav aria-label="Main">(.*?)</nav>', page)
        assert nav
        assert re.findall(r'aria-current="(\w+)" ?>(\w+)<', nav[1]) == [(how, label)], address
        assert f"Version {VERSION}" in page, address


def test_every_url_belongs_to_a_section() -> None:
    shown = [pattern for pattern in urlpatterns if pattern.name != "former-class"]  # which redirects
    assert {str(pattern.pattern).split("/")[0] for pattern in shown} <= set(SECTIONS)


def test_plural_forms(client: Client, run: Run) -> None:
    base = f"/scenarios/{run.scenario_id}"
    assert '"status">1 node</span>' in source(client, f"{base}/nodes/")
    assert '"status">1 pod</span>' in source(client, f"{base}/pods/")
    assert '"status">2 objects</span>' in source(client, f"{base}/objects/")
    assert '"status">1 pod</span>' in source(client, f"/runs/{run.pk}/")
    page = source(client, f"/runs/{run.pk}/pods/default/p/?point=filter")
    assert '"status">1 node</span>' in page
    assert "1 of 1 node fits." in page
    assert not re.search(r"\b1 (nodes|pods|objects|labels|cycles)\b", page)
