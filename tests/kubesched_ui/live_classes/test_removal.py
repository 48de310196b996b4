"""Removal of a student: name and answers are deleted, the cookie gives no access, only the teacher can do it."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from kubesched_ui.live_classes import answers, membership
from kubesched_ui.live_classes.membership import REMOVED
from kubesched_ui.live_classes.models import Answer, Student
from tests.kubesched_ui.live_classes.conftest import ClassClient, opened_on_run
from tests.kubesched_ui.recordings import node, pod, ran, scenario

pytestmark = pytest.mark.django_db


def number(name: str) -> int:
    return Student.objects.get(name=name).pk


def test_name_and_answers_are_deleted_for_good(lesson_class: ClassClient) -> None:
    step, ada, bob = lesson_class.row.step, lesson_class.join("Rude <b>"), lesson_class.join("Bob")
    for one in (ada, bob):
        assert lesson_class.answer(one, step, lesson_class.right(step)).status_code == 200
    page = lesson_class.teacher_page()
    version, rude = lesson_class.row.answers_version, number("Rude <b>")
    assert f'name="remove" value="{rude}"' in " ".join(page.split()), "there is a button, also of who has answered"
    for _ in range(2):  # repeated requests remove the student once
        assert lesson_class.move(remove=rude).status_code == 302
    assert lesson_class.row.answers_version == version + 1
    assert Student.objects.filter(name="Rude <b>").count() == 0
    assert [name for name, _, _ in lesson_class.answers(step)] == ["Bob"]
    for address in ("live-class", "live-class-results", "live-class-answers"):
        assert "Rude" not in lesson_class.teacher_page(address)
    assert "1 student." in lesson_class.teacher_page("live-class-results")
    assert_removed(lesson_class, ada)
    assert lesson_class.page(bob, step)
    assert lesson_class.join("Rude <b>") is not ada, "another student may use the name"


def assert_removed(live_class: ClassClient, client: Client) -> None:
    """Each address says so, and the cookie cannot join with another nickname."""
    address = reverse("join-class", args=[live_class.row.code])
    students = Student.objects.count()
    for answer in (client.get(address), client.post(address, {"name": "Other"}), client.get(f"{address}?step=1")):
        assert answer.status_code == 403
        assert REMOVED in answer.content.decode()
    assert client.get(reverse("join-part", args=[live_class.row.code])).json() == {"error": REMOVED}
    response = live_class.answer(client, live_class.row.step, ["x"])
    assert (response.status_code, response.json()) == (403, {"error": REMOVED})
    assert Student.objects.count() == students


def test_an_answer_sent_during_the_removal_is_not_counted(
    lesson_class: ClassClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    step, ada = lesson_class.row.step, lesson_class.join("Ada")
    judged = answers.judge

    def meanwhile(*args: Any) -> Any:
        lesson_class.move(remove=number("Ada"))
        return judged(*args)

    monkeypatch.setattr(answers, "judge", meanwhile)
    assert lesson_class.answer(ada, step, lesson_class.right(step)).status_code == 403
    assert Answer.objects.count() == 0


def test_only_the_teacher_removes_students(lesson_class: ClassClient) -> None:
    eve = lesson_class.join("Eve")
    lesson_class.join("Ada")
    victim, code = number("Ada"), lesson_class.row.code
    secret = eve.cookies[membership.cookie_of(code)].value
    for key in (code, secret, "k" * 43, lesson_class.row.digest):
        assert eve.post(f"/classes/{key}/move/", {"remove": victim}).status_code == 404
    assert eve.post(reverse("join-class", args=[code]), {"remove": victim}).status_code == 200
    assert eve.post(reverse("join-answer", args=[code]), {"remove": victim, "step": 1}).status_code in (400, 404)
    assert lesson_class.teacher.get(f"/classes/{lesson_class.key}/move/?remove={victim}").status_code == 405
    strict = Client(enforce_csrf_checks=True, headers={"host": "localhost"})
    assert strict.post(f"/classes/{lesson_class.key}/move/", {"remove": victim}).status_code == 403, "no token"
    assert number("Ada") == victim


@pytest.mark.parametrize("wanted", ["", "x", "0", "-1", "9" * 30, "\u0663", "1 or 1=1", "<script>"])
def test_a_missing_student_is_404(lesson_class: ClassClient, wanted: str) -> None:
    lesson_class.join("Ada")
    response = lesson_class.move(remove=wanted)
    assert response.status_code == 404
    assert b"no such student" in response.content
    assert lesson_class.names() == ["Ada"]


def test_a_student_of_another_class_is_not_removed(lesson_class: ClassClient, db: None) -> None:
    run = ran(scenario(node("n1"), pod("a")))
    other = opened_on_run(run)
    bob = other.join("Bob")
    assert lesson_class.move(remove=number("Bob")).status_code == 404
    assert other.names() == ["Bob"]
    page = other.teacher_page()
    assert 'aria-label="Remove Bob"' in page
    other.move(close=1)
    other.move(remove=number("Bob"))
    assert "Bob" not in other.teacher_page(), "also once it is closed"
    assert_removed(other, bob)
