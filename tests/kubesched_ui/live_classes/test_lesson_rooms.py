"""A class at a lesson: opening, joining, moving, answering once, what is told of it."""

import csv
import io
import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from kubesched_ui.celery import app
from kubesched_ui.housekeeping import tasks
from kubesched_ui.lessons import catalog
from kubesched_ui.live_classes import answer_counts, join_address, membership
from kubesched_ui.live_classes.models import Answer, LiveClass, Student
from tests.kubesched_ui.live_classes.conftest import FIRST, Class, browser, opened

pytestmark = pytest.mark.django_db


def test_a_lesson_offers_to_be_taught_in_a_room(client: Client) -> None:
    assert reverse("lesson-room", args=[FIRST, 1]) in client.get(reverse("lesson", args=[FIRST])).content.decode()


def test_the_key_is_not_the_code_and_is_stored_hashed(lesson_class: Class) -> None:
    room = lesson_class.room
    assert len(lesson_class.key) == 43
    assert room.code not in lesson_class.key
    assert lesson_class.key not in str(LiveClass.objects.values())
    page = lesson_class.taught()
    assert room.spaced in page
    assert f"http://localhost/join/{room.code}/" in page
    assert browser().get(f"/rooms/{room.code}/").status_code == 404
    assert browser().get(f"/rooms/{'k' * 43}/").status_code == 404


def test_the_wall_shows_bars_once_the_teacher_shows_them(lesson_class: Class) -> None:
    room, step = lesson_class.room, lesson_class.room.step
    lesson_class.answer(lesson_class.join("Ada"), step, lesson_class.wrong(step))
    wall = browser()

    def shown() -> str:
        return wall.get(f"/wall/{room.code.lower()}/").content.decode()

    assert f'href="/wall/{room.code}/"' in lesson_class.taught()
    assert all(text in shown() for text in (room.spaced, "1 of 1 student answered", 'id="t-step"'))
    for hidden in (lesson_class.key, "Ada", 'class="bars"', "<button"):
        assert hidden not in shown().partition("<main")[2].partition("</main>")[0], hidden
    lesson_class.move(bars=step)
    assert 'class="bars"' in shown()
    assert 'class="badge ok"' not in shown()
    lesson_class.move(reveal=step)
    assert 'class="badge ok"' in shown()
    lesson_class.move(step=step + 1)
    assert 'class="bars"' not in shown()
    lesson_class.move(close=1)
    assert wall.get(f"/wall/{room.code}/").status_code == 404


@pytest.mark.parametrize(
    ("host", "listens", "allowed", "url", "start"),
    [
        ("kubesched.example", "0.0.0.0", "*", "http://kubesched.example/", ""),
        ("localhost:8000", "0.0.0.0", "192.0.2.7", "http://192.0.2.7:8000/", ""),
        ("127.0.0.1:8000", "127.0.0.1", "192.0.2.7", "http://127.0.0.1:8000/", "KUBESCHED_HOST=0.0.0.0 "),
        ("[::1]:8000", "::", "x", "http://[::1]:8000/", "KUBESCHED_ALLOWED_HOSTS=localhost,127.0.0.1,192.0.2.7 make"),
    ],
)
def test_the_join_address_is_one_that_phones_reach(
    lesson_class: Class, settings: Any, monkeypatch: pytest.MonkeyPatch,
    host: str, listens: str, allowed: str, url: str, start: str,
) -> None:  # fmt: skip
    settings.ALLOWED_HOSTS = [host.rpartition(":")[0] or host, allowed]
    monkeypatch.setenv("KUBESCHED_HOST", listens)
    monkeypatch.setattr(join_address, "network_address", lambda: "192.0.2.7")
    page = lesson_class.teacher.get(f"/rooms/{lesson_class.key}/", headers={"host": host}).content.decode()
    assert f"{url}join/{lesson_class.room.code}/" in page
    assert ("QR code of the join address" in page, "Phones cannot reach" in page) == (not start, bool(start))
    assert start in page


def test_students_see_the_step_and_what_comes_after_it_only_with_the_class(lesson_class: Class) -> None:
    room, ada = lesson_class.room, lesson_class.join("Ada")
    title = lesson_class.lesson.steps[room.step - 1].title
    assert title in lesson_class.page(ada)
    assert lesson_class.part(ada, room.step + 1)["step"] == room.step, "not beyond the class"
    lesson_class.move(step=room.step + 1)
    assert lesson_class.part(ada)["step"] == room.step + 1
    back = lesson_class.part(ada, room.step)
    assert (back["step"], back["class"]) == (room.step, room.step + 1), "one may wander"
    lesson_class.move(step=1)
    assert lesson_class.part(ada, room.step + 1)["step"] == 1


def test_what_is_sent_twice_moves_once(lesson_class: Class) -> None:
    before = lesson_class.room
    for _ in range(3):
        lesson_class.move(step=before.step + 1)
    assert lesson_class.room.step == before.step + 1
    assert lesson_class.room.version == before.version + 1


@pytest.mark.parametrize("form", [{"step": "99"}, {"step": "0"}, {"step": "x"}, {"reveal": "99"}, {"step": "9" * 500}])
def test_there_is_no_such_step(lesson_class: Class, form: dict[str, str]) -> None:
    assert lesson_class.move(**form).status_code == 404


def test_a_step_that_the_class_has_not_come_to_is_not_revealed(lesson_class: Class) -> None:
    assert lesson_class.move(reveal=lesson_class.room.step + 1).status_code == 409
    assert lesson_class.room.revealed == []


def test_an_answer_counts_once(lesson_class: Class) -> None:
    step, ada = lesson_class.room.step, lesson_class.join("Ada")
    for _ in range(3):
        told = lesson_class.answer(ada, step, lesson_class.right(step))
        assert told.status_code == 200
        assert "Counted" in told.json()["mine"]
        assert "Right" not in told.json()["mine"]
    other = lesson_class.answer(ada, step, lesson_class.wrong(step))
    assert other.status_code == 409
    assert "first answer counts" in other.json()["error"]
    assert [(name, good) for name, _, good in lesson_class.answers(step)] == [("Ada", True)]
    page = lesson_class.taught()
    assert "1 of 1 student answered" in re.sub(r"\s+", " ", page)


def test_what_became_of_it_is_told_when_it_is_revealed(lesson_class: Class) -> None:
    step = lesson_class.room.step
    ada, bob, cy = (lesson_class.join(name) for name in ("Ada", "Bob", "Cy"))
    assert lesson_class.answer(ada, step, lesson_class.right(step)).status_code == 200
    assert lesson_class.answer(bob, step, lesson_class.wrong(step)).status_code == 200
    before = [lesson_class.part(one)["mine"] for one in (ada, bob, cy)]
    assert [("Counted" in told, "Right" in told, "Not correct" in told) for told in before] == [
        (True, False, False),
        (True, False, False),
        (False, False, False),
    ]
    lesson_class.move(reveal=step)
    assert "Right" in lesson_class.part(ada)["mine"]
    assert "Not correct" in lesson_class.part(bob)["mine"]
    assert lesson_class.part(bob)["mine"].count("<p") >= 2, "why, too"
    assert "did not answer" in lesson_class.part(cy)["mine"]
    late = lesson_class.answer(cy, step, lesson_class.right(step))
    assert (late.status_code, late.json()["error"]) == (409, "The answer was revealed before yours arrived.")
    again = lesson_class.answer(ada, step, lesson_class.right(step))
    assert again.status_code == 200, "who had no word back and sends it again"


def test_what_is_no_answer_is_not_counted(lesson_class: Class) -> None:
    step, ada = lesson_class.room.step, lesson_class.join("Ada")
    for answers in ([""], ["<script>alert(1)</script>"], ["x"] * 5000, ["\u0000"], ["9" * 9000]):
        told = lesson_class.answer(ada, step, answers)
        assert told.status_code == (413 if len(answers) > 1000 else 400), told.content
    assert lesson_class.answer(ada, 999, ["n1"]).status_code == 404
    assert Answer.objects.count() == 0
    assert lesson_class.answer(ada, step, lesson_class.right(step)).status_code == 200


def test_a_question_to_come_is_not_even_judged(lesson_class: Class) -> None:
    room, ada = lesson_class.room, lesson_class.join("Ada")
    coming = next(n for n, step in enumerate(lesson_class.lesson.steps, 1) if step.ask and n > room.step)
    said = [lesson_class.answer(ada, coming, one).json() for one in (lesson_class.right(coming), ["nonsense"])]
    assert said == [{"error": "The class has not reached this question yet."}] * 2


HOSTILE = [
    "<script>alert(1)</script>", "=cmd|' /C calc'!A0", "Ada\u202eadA", "a\u0000b\u0007", "  \u200b ", "Z" * 5000,
    "o" + "\u0301" * 500, "{{ 7*7 }}", "' OR 1=1 --", "\U0001f600", "\ud7ff", "<img src=x onerror=alert(1)>",
    "@SUM(A1)",
]  # fmt: skip


def test_hostile_nicknames(lesson_class: Class) -> None:
    for name in HOSTILE:
        client = browser()
        told = client.post(reverse("join-room", args=[lesson_class.room.code]), {"name": name})
        assert told.status_code in (302, 400)
        assert "alert(1)</script>" not in lesson_class.page(client)
    names = lesson_class.names()
    assert all(0 < len(name) <= 32 and name.isprintable() for name in names), names
    assert "\u202e" not in "".join(names)
    step = lesson_class.room.step
    page = lesson_class.taught()
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "&lt;script&gt;" in page
    lesson_class.move(reveal=step)
    told = lesson_class.taught("room-answers")
    cells = [cell for row in csv.reader(io.StringIO(told)) for cell in row]
    assert not [cell for cell in cells if cell[:1] in "=+-@\t\r" and cell]
    assert any(cell.startswith("'=cmd") for cell in cells)


@pytest.mark.parametrize("cell", ["=1", "+1", "-1", "@x", "\t=1", "\r=1", " =1", "\uff1d1"])
def test_no_cell_is_a_formula(cell: str) -> None:
    assert answer_counts.escape_formula(cell).startswith("'")
    assert answer_counts.escape_formula("n1 = 2") == "n1 = 2"


def test_names_are_made_distinct(lesson_class: Class) -> None:
    for name in ("Ada", "ada", "Ada", "Z" * 40, "Z" * 40):
        lesson_class.join(name)
    assert lesson_class.names() == ["Ada", "ada 2", "Ada 3", "Z" * 32, "Z" * 30 + " 2"]


def test_a_browser_is_one_student(lesson_class: Class) -> None:
    ada = lesson_class.join("Ada")
    page = ada.post(reverse("join-room", args=[lesson_class.room.code]), {"name": "Other"})
    assert page.status_code == 200
    assert lesson_class.names() == ["Ada"]


def test_codes_are_not_guessed(lesson_class: Class, settings: Any) -> None:
    settings.PROXIES = 0
    assert not set(lesson_class.room.code) & set("01OILAEU")
    client, room = browser(), lesson_class.room
    assert client.post("/join/", {"code": f" {room.code[:4].lower()}-{room.code[4:]} "}).headers["Location"] == (
        f"/join/{room.code}/"
    )
    ada = lesson_class.join("Ada")
    for _ in range(membership.TRIES.most):
        assert client.get("/join/BBBBBBBB/").status_code == 404
    assert client.get(f"/join/{room.code}/").status_code == 429, "not even the right one is looked at"
    assert ada.get(f"/join/{room.code}/").status_code == 200, "who is in stays in"
    assert browser().get(f"/join/{room.code}/", REMOTE_ADDR="10.0.0.9").status_code == 200


def test_other_addresses_do_not_tell_whether_a_room_is_there(lesson_class: Class) -> None:
    client = browser()
    for code in (lesson_class.room.code, "BBBBBBBB", "x"):
        for answer in (client.get(f"/join/{code}/part/"), client.post(f"/join/{code}/answer/", {"step": 1})):
            assert answer.status_code == 403
            assert b"Join the class first" in answer.content


@pytest.mark.parametrize("code", ["", "x", "BCDFGHJ", "<script>", "%00", "BCDF GHJK LMNP", "\u00df" * 8, "Z" * 3000])
def test_hostile_codes(client: Client, code: str, db: None) -> None:
    page = client.post("/join/", {"code": code})
    assert page.status_code == 404
    assert b"<script>alert" not in page.content
    assert b"No class with this code is open" in page.content


def test_a_cookie_of_another_room_opens_nothing(lesson_class: Class) -> None:
    ada, other = lesson_class.join("Ada"), opened()
    secret = ada.cookies[membership.cookie_of(lesson_class.room.code)].value
    ada.cookies[membership.cookie_of(other.room.code)] = secret
    assert ada.get(f"/join/{other.room.code}/part/").status_code == 403


def test_bounds(lesson_class: Class, settings: Any) -> None:
    settings.LIVE_CLASS_STUDENTS_MAX = 2
    lesson_class.join("a"), lesson_class.join("b")
    full = browser().post(reverse("join-room", args=[lesson_class.room.code]), {"name": "c"})
    assert full.status_code == 409
    assert "the limit is" in full.content.decode()
    settings.LIVE_CLASSES_MAX = 1
    refused = browser().post(reverse("lesson-room", args=[FIRST, 1]))
    assert refused.status_code == 503
    assert "Try again when one is closed" in refused.content.decode()


def test_closed_and_expired(lesson_class: Class) -> None:
    step, ada = lesson_class.room.step, lesson_class.join("Ada")
    code = lesson_class.room.code
    LiveClass.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert browser().get(f"/join/{code}/").status_code == 404
    assert ada.get(f"/join/{code}/").status_code == 410
    LiveClass.objects.update(expires_at=timezone.now() + timedelta(hours=1))
    lesson_class.move(close=1)
    assert lesson_class.answer(ada, step, lesson_class.right(step)).status_code == 410
    assert lesson_class.move(step=1).status_code == 409
    assert ada.get(f"/join/{code}/part/").json() == {"error": "This class is closed."}
    assert "This class is closed" in lesson_class.taught()


def test_rooms_that_are_over_are_deleted(lesson_class: Class, settings: Any) -> None:
    lesson_class.join("Ada")
    app.loader.import_default_modules()  # as a worker does
    assert not any(one.due() for one in tasks.cleanups)
    LiveClass.objects.update(closed_at=timezone.now() - timedelta(days=settings.LIVE_CLASS_KEEP_DAYS, seconds=1))
    assert any(one.due() for one in tasks.cleanups)
    tasks.tidy()
    assert (LiveClass.objects.count(), Student.objects.count()) == (0, 0)


def test_which_questions_were_hard(lesson_class: Class) -> None:
    step = lesson_class.room.step
    for number in range(4):
        one = lesson_class.join(f"s{number}")
        give = lesson_class.right(step) if number == 0 else lesson_class.wrong(step)
        assert lesson_class.answer(one, step, give).status_code == 200
    lesson_class.join("silent")
    found = answer_counts.results(lesson_class.room, lesson_class.lesson)
    assert (found[0].step, found[0].answered, found[0].right, found[0].share) == (step, 4, 1, 25)
    assert found[0].wrong[0].number == 3
    page = lesson_class.taught("room-results")
    assert "25 %" in page
    told = lesson_class.teacher.get(reverse("room-answers", args=[lesson_class.key]))
    rows = list(csv.DictReader(io.StringIO(told.content.decode("utf-8-sig"))))
    assert [(row["nickname"], row["right"]) for row in rows if row["step"] == str(step)] == [
        ("s0", "yes"), ("s1", "no"), ("s2", "no"), ("s3", "no"), ("silent", ""),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", sorted({s.ask.kind for one in catalog.lessons()[0] for s in one.steps if s.ask}))
def test_a_question_of_each_kind_is_answered_counted_and_told(db: None, kind: str) -> None:
    lesson, step = next(
        (one, n) for one in catalog.lessons()[0] for n, s in enumerate(one.steps, 1) if s.ask and s.ask.kind == kind
    )
    room = opened(lesson.name, step)
    ada, bob = room.join("Ada"), room.join("Bob")
    assert room.answer(ada, step, room.right(step)).status_code == 200
    assert room.answer(bob, step, room.wrong(step)).status_code == 200
    assert [good for _, _, good in room.answers(step)] == [True, False]
    teacher = room.taught()
    assert "bars" in teacher
    assert 'class="badge ok">right' not in teacher, "the class may see this page"
    room.move(reveal=step)
    teacher = room.taught()
    assert 'class="badge ok">right' in teacher or kind in ("passes", "victims", "which")
    assert "Right" in room.part(ada)["mine"]
    assert room.teacher.get(reverse("room-results", args=[room.key])).status_code == 200
    assert room.teacher.get(reverse("room-answers", args=[room.key])).status_code == 200
