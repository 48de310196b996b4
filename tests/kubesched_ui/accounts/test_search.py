"""The search shows only what the viewer may open."""

import re

import pytest
from django.test import Client

from tests.examples import selection
from tests.kubesched_ui.accounts.conftest import World, client_of
from tests.kubesched_ui.pages import get


def found(client: Client, text: str, page: str = "") -> list[str]:
    """Addresses of the results."""
    results = get(client, f"/search/?q={text}&from={page}").source.partition('id="search-results"')[2]
    return re.findall(r'<a href="([^"]*)"', results.partition("</main>")[0])


@pytest.mark.parametrize("text", selection(["p1", "n1", "undercover", "big"], 2))
def test_names_of_others_are_not_found(world: World, text: str) -> None:
    mine, page = re.compile("/(runs|scenarios)/"), f"/runs/{world.run.pk}/"
    assert [address for address in found(client_of(world.ada), text) if mine.match(address)]
    assert [address for address in found(client_of(world.eve), text, page) if mine.match(address)] == []
    assert [
        address for address in found(Client(headers={"host": "localhost"}), text, page) if mine.match(address)
    ] == []
    shown = [address for address in found(world.holder(world.run), text) if mine.match(address)]
    assert all(address.startswith((f"/runs/{world.run.pk}/", "/scenarios/")) for address in shown)


def test_actions_are_those_that_the_viewer_may_open(world: World) -> None:
    stranger, ada = found(client_of(), ""), found(client_of(world.ada), "")
    assert {"/learn/", "/docs/", "/join/"} <= {*stranger}
    assert {"/compose/", "/#upload"}.isdisjoint(stranger)
    assert {"/compose/", "/#upload"} <= {*ada}
