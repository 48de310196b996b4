"""Live classes with accounts: teachers sign in, students need no account."""

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


def test_teachers_of_a_lesson_sign_in_and_students_do_not(world: World) -> None:
    address = reverse("lesson-class", args=[FIRST, 1])
    assert client_of().post(address).headers["Location"].startswith("/account/login/")
    live_class = opened_at(address, client_of(world.ada))
    assert live_class.row.owner == world.ada
    student = live_class.join("Eve", client_of())
    assert student.get(f"/join/{live_class.row.code}/").status_code == 200
    assert client_of().get(f"/classes/{live_class.key}/").status_code == 200, "the key is the right"
    assert Entry.objects.filter(did="start live class", user=world.ada).exists()


def test_students_see_only_the_run_of_their_class_until_it_closes(world: World) -> None:
    live_class = opened_at(reverse("run-class", args=[world.run.pk]), client_of(world.ada))
    student, stranger = live_class.join("Eve", client_of()), client_of()
    assert "undercover run" in live_class.page(student)
    run = f"/runs/{world.run.pk}/"
    assert (student.get(run).status_code, stranger.get(run).status_code) == (200, 302)
    assert student.get(f"/runs/{world.other.pk}/").status_code == 302
    assert student.post(f"{run}delete/").status_code == 403
    live_class.move(close=1)
    assert student.get(run).status_code == 302
    assert Share.objects.count() == 0


def test_a_class_on_a_run_needs_permission_to_start_runs(world: World) -> None:
    address = reverse("run-class", args=[world.run.pk])
    assert client_of(world.eve).post(address).status_code == 404
    assert world.holder(world.run).post(address).status_code == 403
    share_links.share_with(world.scenario, world.ada, world.group)
    live_class = opened_at(address, client_of(world.bob))
    student = live_class.join("Student", client_of())
    assert "undercover run" in live_class.page(student)
    assert student.get(f"/runs/{world.run.pk}/").status_code == 302, "it is not Bob's to hand out"
    world.group.members.remove(world.bob)
    assert "undercover run" not in live_class.page(student)
    assert "can no longer view the run" in live_class.page(student)
    job = Job(live_class.row.pk, live_class.row.address, "map", "")
    with pytest.raises(Rejected, match="can no longer view the run"):
        async_parts.by_token(async_parts.token_of(job))
    assert set(live_class.part(student)["parts"]) == {"run"}, "nor its cluster"
