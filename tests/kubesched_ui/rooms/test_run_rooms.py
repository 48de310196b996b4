"""A class at a run: it sees the page that the teacher shows, and nothing of what only an owner may do."""

from __future__ import annotations

import pytest
from django.urls import reverse

from kubesched_ui.models import Run
from kubesched_ui.rooms.models import Room
from tests.kubesched_ui.recordings import node, pod, ran, scenario
from tests.kubesched_ui.rooms.conftest import Class, browser

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    return ran(scenario(node("n1"), node("n2"), pod("a"), pod("big", cpu="64")))


def opened(run: Run, address: str = "") -> Class:
    teacher = browser()
    answer = teacher.post(reverse("run-room", args=[run.pk]), {"address": address})
    assert answer.status_code == 302, answer.content
    return Class(answer.headers["Location"].split("/")[2], teacher)


def test_a_run_offers_to_be_shown_in_a_room(run: Run) -> None:
    assert reverse("run-room", args=[run.pk]) in browser().get(reverse("run", args=[run.pk])).content.decode()


def test_the_class_sees_what_the_teacher_shows(run: Run) -> None:
    room = opened(run)
    ada = room.join("Ada")
    page = room.page(ada)
    assert "default/big" in page
    for never in ("Fork: what if", "Rename", "Run again"):  # nothing to do there
        assert never not in page
    shown = f"/runs/{run.pk}/pods/default/big/?point=filter&plugin=NodeResourcesFit"
    assert room.move(address=f"http://localhost{shown}").status_code == 302
    told = room.part(ada)
    assert (told["address"], told["version"]) == (shown.replace("http://localhost", ""), 2)
    html = told["parts"]["run"]
    assert "Insufficient cpu" in html
    assert f'href="/runs/{run.pk}/pods/default/big/?' in html, "links lead on from the run's page, not the room's"
    for never in ("<form", "<script", "csrfmiddlewaretoken", "data-load", "<button", "Delete"):
        assert never not in html
    assert 'class="from"' in html, "verdicts stay"
    teacher = room.teacher.get(reverse("room", args=[room.key])).content.decode()
    assert "Insufficient cpu" in teacher
    assert "Ada" in teacher


@pytest.mark.parametrize(
    "address",
    ["", "x", "/", "/runs/", "/runs/999999/", "//evil.example/runs/{n}/", "javascript:alert(1)", "/runs/{n}/delete/",
     "/runs/{n}/export/", "/api/runs/{n}", "/runs/{n}/?q=\u0000", "/runs/{n}/" + "?q=" + "x" * 3000, "http://[::1/"],
)  # fmt: skip
def test_only_pages_of_this_run_are_shown(run: Run, address: str) -> None:
    room = opened(run, f"/runs/{run.pk}/pods/default/a/")
    said = room.move(address=address.replace("{n}", str(run.pk)))
    assert said.status_code in (302, 400)
    assert room.room.address in (f"/runs/{run.pk}/pods/default/a/", f"/runs/{run.pk}/")


def test_a_page_that_is_not_there_is_told_so(run: Run) -> None:
    room = opened(run)
    ada = room.join("Ada")
    room.move(address=f"/runs/{run.pk}/pods/default/none/")
    page = ada.get(reverse("join-room", args=[room.room.code]))
    assert page.status_code == 200
    assert "knows no pod default/none" in page.content.decode()
    room.move(address=f"/runs/{run.pk}/")
    assert ada.get(reverse("join-room", args=[room.room.code])).status_code == 200


def test_nothing_is_answered_or_stepped_there(run: Run) -> None:
    room = opened(run)
    ada = room.join("Ada")
    assert room.answer(ada, 1, ["n1"]).status_code == 404
    assert room.move(step=1).status_code == 404
    assert room.move(reveal=1).status_code == 404
    for address in ("room-results", "room-answers"):
        assert room.teacher.get(reverse(address, args=[room.key])).status_code == 404
    room.move(close=1)
    assert ada.get(reverse("join-room", args=[room.room.code])).status_code == 410
    assert "This room is closed" in room.teacher.get(reverse("room", args=[room.key])).content.decode()


def test_the_room_goes_with_its_run(run: Run) -> None:
    opened(run)
    run.delete()
    assert Room.objects.count() == 0
