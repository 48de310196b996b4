"""The site search finds only what the viewer may open."""

import re

import pytest
from django.test import Client

from kubesched_ui.accounts import share_links
from kubesched_ui.models import WrittenLesson, current_viewer
from kubesched_ui.views import lessons
from tests.examples import selection
from tests.kubesched_ui.accounts.conftest import World, client_of
from tests.kubesched_ui.pages import get


def found(client: Client, text: str, page: str = "") -> list[str]:
    """Return the addresses of the results."""
    results = get(client, f"/search/?q={text}&from={page}").source.partition('id="search-results"')[2]
    return re.findall(r'<a href="([^"]*)"', results.partition("</main>")[0])


@pytest.mark.parametrize("text", selection(["p1", "n1", "undercover", "big"], 2))
def test_names_of_other_users_are_not_found(world: World, text: str) -> None:
    mine, page = re.compile("/(runs|scenarios)/"), f"/runs/{world.run.pk}/"
    assert [address for address in found(client_of(world.ada), text) if mine.match(address)]
    assert [address for address in found(client_of(world.eve), text, page) if mine.match(address)] == []
    assert [
        address for address in found(Client(headers={"host": "localhost"}), text, page) if mine.match(address)
    ] == []
    shown = [address for address in found(world.holder(world.run), text) if mine.match(address)]
    assert all(address.startswith((f"/runs/{world.run.pk}/", "/scenarios/")) for address in shown)


def test_written_lessons_are_found_and_listed_for_those_who_may_see_them(world: World) -> None:
    lesson = f"/lessons/{world.lesson.pk}/"
    assert found(client_of(world.ada), "undercover lesson").count(lesson) == 1
    for client, sees in ((client_of(world.bob), False), (client_of(), False), (world.holder(world.scenario), True)):
        assert (lesson in found(client, "undercover lesson")) == sees
        assert (f'href="{lesson}"' in get(client, "/learn/").source) == sees
    with current_viewer.as_viewer(world.as_ada()):
        share_links.share_with(world.scenario, world.ada, world.group)
    page = get(client_of(world.bob), "/learn/").source.partition("Written lessons")[2]
    assert "shared by ada" in page
    assert f"{lesson}edit/" not in page


def test_the_list_of_written_lessons_is_searched_and_has_pages(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lessons, "ROWS", 1)
    WrittenLesson._base_manager.create(owner=world.ada, scenario=world.scenario, name="Second", text="x")
    ada, first = client_of(world.ada), f"/lessons/{world.lesson.pk}/"
    assert "Next ›" in get(ada, "/learn/").source
    assert first in get(ada, "/learn/?page=2").source
    assert first in get(ada, "/learn/?q=lesson+UNDERCOVER").source
    assert "No written lesson matches" in get(ada, "/learn/?q=nothing").source


def test_actions_are_those_that_the_viewer_may_open(world: World) -> None:
    stranger, ada = found(client_of(), ""), found(client_of(world.ada), "")
    assert {"/learn/", "/docs/", "/join/"} <= {*stranger}
    assert {"/compose/", "/#upload"}.isdisjoint(stranger)
    assert {"/compose/", "/#upload"} <= {*ada}
