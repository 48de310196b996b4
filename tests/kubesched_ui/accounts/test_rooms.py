"""Rooms where people sign in: who may open one, and that students need no account."""

import pytest
from django.urls import reverse

from kubesched_ui.accounts import share_links
from kubesched_ui.accounts.models import Entry, Share
from kubesched_ui.live_classes import async_parts
from kubesched_ui.live_classes.async_parts import Job
from kubesched_ui.live_classes.models import Rejected
from tests.kubesched_ui.accounts.conftest import World, client_of
from tests.kubesched_ui.live_classes.conftest import FIRST, opened_at

pytestmark = pytest.mark.django_db


def test_who_opens_a_lesson_s_room_is_signed_in_and_students_are_not(world: World) -> None:
    address = reverse("lesson-room", args=[FIRST, 1])
    assert client_of().post(address).headers["Location"].startswith("/account/login/")
    room = opened_at(address, client_of(world.ada))
    assert room.room.owner == world.ada
    student = room.join("Eve", client_of())
    assert student.get(f"/join/{room.room.code}/").status_code == 200
    assert client_of().get(f"/rooms/{room.key}/").status_code == 200, "the key is the right"
    assert Entry.objects.filter(did="start live class", user=world.ada).exists()


def test_students_see_the_run_of_their_room_and_nothing_else_until_it_is_closed(world: World) -> None:
    room = opened_at(reverse("run-room", args=[world.run.pk]), client_of(world.ada))
    student, stranger = room.join("Eve", client_of()), client_of()
    assert "undercover run" in room.page(student)
    run = f"/runs/{world.run.pk}/"
    assert (student.get(run).status_code, stranger.get(run).status_code) == (200, 302)
    assert student.get(f"/runs/{world.other.pk}/").status_code == 302
    assert student.post(f"{run}delete/").status_code == 403
    room.move(close=1)
    assert student.get(run).status_code == 302
    assert Share.objects.count() == 0


def test_a_room_on_a_run_is_opened_by_who_may_start_something_of_it(world: World) -> None:
    address = reverse("run-room", args=[world.run.pk])
    assert client_of(world.eve).post(address).status_code == 404
    assert world.holder(world.run).post(address).status_code == 403
    share_links.share_with(world.scenario, world.ada, world.group)
    room = opened_at(address, client_of(world.bob))
    student = room.join("Student", client_of())
    assert "undercover run" in room.page(student)
    assert student.get(f"/runs/{world.run.pk}/").status_code == 302, "it is not Bob's to hand out"
    world.group.members.remove(world.bob)
    assert "undercover run" not in room.page(student)
    assert "can no longer view the run" in room.page(student)
    job = Job(room.room.pk, room.room.address, "map", "")
    with pytest.raises(Rejected, match="can no longer view the run"):
        async_parts.by_token(async_parts.token_of(job))
    assert set(room.part(student)["parts"]) == {"run"}, "nor its cluster"
