"""Access to written lessons: their owner and the users with whom the scenario is shared."""

from typing import Any

import pytest
from django.urls import reverse

from kubesched_ui.accounts import share_links
from kubesched_ui.accounts.models import Share
from kubesched_ui.lessons import written_lessons
from kubesched_ui.models import Scenario, WrittenLesson, current_viewer
from tests.kubesched_ui.accounts.conftest import World, client_of
from tests.kubesched_ui.live_classes.conftest import opened_at


@pytest.fixture
def written(world: World) -> WrittenLesson:
    with current_viewer.as_viewer(world.as_ada()):
        written_lessons.save(
            world.lesson, written_lessons.start_text(world.scenario, written_lessons.spec_of(world.scenario))
        )
    return world.lesson


def test_access(world: World, written: WrittenLesson) -> None:
    lesson, edit = (reverse(name, args=[written.pk]) for name in ("written-lesson", "written-edit"))
    assert client_of(world.ada).get(edit).status_code == 200
    for page in (lesson, edit):
        assert client_of(world.bob).get(page).status_code == 404
        assert client_of().get(page).status_code == 302
    with current_viewer.as_viewer(world.as_ada()):
        share_links.share_with(world.scenario, world.ada, world.group)
    visitor = world.holder(world.scenario)
    for client in (client_of(world.bob), visitor):
        assert client.get(lesson).status_code == 200
        assert client.get(edit).status_code == 403
        assert client.post(edit, {"text": "mine"}).status_code == 403
    assert client_of(world.eve).get(lesson).status_code == 404


def test_a_lesson_about_a_shared_scenario_uses_a_copy(world: World) -> None:
    with current_viewer.as_viewer(world.as_ada()):
        share_links.share_with(world.scenario, world.ada, world.group)
    bob = client_of(world.bob)
    page = bob.post(reverse("written-new", args=[world.scenario.pk]))
    mine = WrittenLesson._base_manager.get(owner=world.bob)
    assert page.headers["Location"] == reverse("written-edit", args=[mine.pk])
    assert mine.owner == mine.scenario.owner == world.bob
    assert mine.scenario != world.scenario
    objects = [list(Scenario._base_manager.get(pk=pk).objects_of()) for pk in (mine.scenario_id, world.scenario.pk)]
    assert objects[0] == objects[1]


def test_starting_a_class_needs_permission_to_start_runs_of_the_lesson(world: World, written: WrittenLesson) -> None:
    address = reverse("written-class", args=[written.pk, 1])
    assert client_of().post(address).status_code == 302
    assert client_of(world.bob).post(address).status_code == 404
    assert world.holder(world.scenario).post(address).status_code == 403
    with current_viewer.as_viewer(world.as_ada()):
        share_links.share_with(world.scenario, world.ada, world.group)
    opened = opened_at(address, client_of(world.bob))
    assert opened.row.owner == world.bob
    world.group.members.remove(world.bob)
    student = opened.join("Eve", client_of())
    assert "The cluster has" in opened.page(student), "the class keeps its copy"
    assert student.get(reverse("written-lesson", args=[written.pk])).status_code == 302


def test_an_embedded_lesson_needs_the_secret_of_a_link(world: World, written: WrittenLesson, settings: Any) -> None:
    settings.EMBED_ORIGINS = ["https://wiki.example.com"]
    html = client_of(world.ada).post(reverse("written-embed", args=[written.pk])).content.decode()
    address = html.partition("http://localhost")[2].partition("&quot;")[0].partition('"')[0]
    stranger = client_of()
    page = stranger.get(address)
    assert page.status_code == 200
    assert "https://wiki.example.com" in page.headers["Content-Security-Policy"]
    assert not page.cookies.get("sessionid")
    assert stranger.get(address, {"check": "1", "answer": "n1"}).status_code == 200
    assert stranger.get(reverse("scenario", args=[world.scenario.pk])).status_code == 302
    assert stranger.get(address.replace("/embed/", "/embed/x")).status_code == 404
    assert stranger.get(reverse("embedded", args=[address.split("/")[2], written.pk + 1, 1])).status_code == 404
    Share.objects.all().delete()
    assert stranger.get(address).status_code == 404
