"""Live class on a lesson: open, join, move, answer once, reveal results."""

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
from tests.kubesched_ui.live_classes.conftest import FIRST, ClassClient, browser, opened

pytestmark = pytest.mark.django_db


def test_a_lesson_page_links_to_a_live_class(client: Client) -> None:
    assert reverse("lesson-class", args=[FIRST, 1]) in client.get(reverse("lesson", args=[FIRST])).content.decode()


def test_the_key_differs_from_the_code_and_is_stored_as_a_hash(lesson_class: ClassClient) -> None:
    live_class = lesson_class.row
    assert len(lesson_class.key) == 43
    assert live_class.code not in lesson_class.key
    assert lesson_class.key not in str(LiveClass.objects.values())
    page = lesson_class.teacher_page()
    assert live_class.spaced in page
    assert f"http://localhost/join/{live_class.code}/" in page
    assert browser().get(f"/classes/{live_class.code}/").status_code == 404
    assert browser().get(f"/classes/{'k' * 43}/").status_code == 404
    former = browser().post(f"/rooms/{lesson_class.key}/move/?a=1", {"step": 2})
    assert (former.status_code, former.url) == (307, f"/classes/{lesson_class.key}/move/?a=1")


def test_the_projector_page_shows_bars_when_the_teacher_does(lesson_class: ClassClient) -> None:
    live_class, step = lesson_class.row, lesson_class.row.step
    lesson_class.answer(lesson_class.join("Ada"), step, lesson_class.wrong(step))
    wall = browser()

    def shown() -> str:
        return wall.get(f"/wall/{live_class.code.lower()}/").content.decode()

    assert f'href="/wall/{live_class.code}/"' in lesson_class.teacher_page()
    for admin in ('<nav aria-label="Main"', "<footer", "Documentation:", "Phones cannot reach this address"):
        assert admin not in shown(), "students need the class alone"
    assert all(text in shown() for text in (live_class.spaced, "1 of 1 student answered", 'id="t-step"'))
    main = shown().partition("<main")[2].partition("</main>")[0]
    of_class = re.sub(
        r"<stage-map.*?</stage-map>", "", main, flags=re.S
    )  # the map plays its decision for the viewer alone
    for hidden in (lesson_class.key, "Ada", 'class="bars"'):
        assert hidden not in main, hidden
    assert "<button" not in of_class
    assert 'data-dialog="keys"' not in main, "the page has no such dialog"
    lesson_class.move(bars=step)
    assert 'class="bars"' in shown()
    assert 'class="badge ok"' not in shown()
    lesson_class.move(reveal=step)
    assert 'class="badge ok"' in shown()
    lesson_class.move(step=step + 1)
    assert 'class="bars"' not in shown()
    lesson_class.move(close=1)
    assert wall.get(f"/wall/{live_class.code}/").status_code == 404


@pytest.mark.parametrize(
    ("host", "listens", "allowed", "url", "start"),
    [
        ("kubesched.example", "0.0.0.0", "*", "http://kubesched.example/", ""),
        ("localhost:8000", "0.0.0.0", "192.0.2.7", "http://192.0.2.7:8000/", ""),
        ("127.0.0.1:8000", "127.0.0.1", "192.0.2.7", "http://127.0.0.1:8000/", "KUBESCHED_HOST=0.0.0.0 "),
        ("[::1]:8000", "::", "x", "http://[::1]:8000/", "KUBESCHED_ALLOWED_HOSTS=localhost,127.0.0.1,192.0.2.7 make"),
    ],
)
def test_the_join_address_is_reachable_from_phones(
    lesson_class: ClassClient, settings: Any, monkeypatch: pytest.MonkeyPatch,
    host: str, listens: str, allowed: str, url: str, start: str,
) -> None:  # fmt: skip
    settings.ALLOWED_HOSTS = [host.rpartition(":")[0] or host, allowed]
    monkeypatch.setenv("KUBESCHED_HOST", listens)
    monkeypatch.setattr(join_address, "network_address", lambda: "192.0.2.7")
    page = lesson_class.teacher.get(f"/classes/{lesson_class.key}/", headers={"host": host}).content.decode()
    assert f"{url}join/{lesson_class.row.code}/" in page
    assert ("QR code of the join address" in page, "Phones cannot reach" in page) == (not start, bool(start))
    assert start in page


def test_students_see_steps_only_up_to_the_class(lesson_class: ClassClient) -> None:
    live_class, ada = lesson_class.row, lesson_class.join("Ada")
    title = lesson_class.lesson.steps[live_class.step - 1].title
    assert title in lesson_class.page(ada)
    assert lesson_class.part(ada, live_class.step + 1)["step"] == live_class.step, "not beyond the class"
    lesson_class.move(step=live_class.step + 1)
    assert lesson_class.part(ada)["step"] == live_class.step + 1
    back = lesson_class.part(ada, live_class.step)
    assert (back["step"], back["class"]) == (live_class.step, live_class.step + 1), "students may go back"
    lesson_class.move(step=1)
    assert lesson_class.part(ada, live_class.step + 1)["step"] == 1


def test_repeated_moves_move_once(lesson_class: ClassClient) -> None:
    before = lesson_class.row
    for _ in range(3):
        lesson_class.move(step=before.step + 1)
    assert lesson_class.row.step == before.step + 1
    assert lesson_class.row.version == before.version + 1


@pytest.mark.parametrize("form", [{"step": "99"}, {"step": "0"}, {"step": "x"}, {"reveal": "99"}, {"step": "9" * 500}])
def test_a_missing_step_is_404(lesson_class: ClassClient, form: dict[str, str]) -> None:
    assert lesson_class.move(**form).status_code == 404


def test_a_later_step_cannot_be_revealed(lesson_class: ClassClient) -> None:
    assert lesson_class.move(reveal=lesson_class.row.step + 1).status_code == 409
    assert lesson_class.row.revealed == []


def test_an_answer_counts_once(lesson_class: ClassClient) -> None:
    step, ada = lesson_class.row.step, lesson_class.join("Ada")
    for _ in range(3):
        answer = lesson_class.answer(ada, step, lesson_class.right(step))
        assert answer.status_code == 200
        assert "Counted" in answer.json()["mine"]
        assert "Right" not in answer.json()["mine"]
    other = lesson_class.answer(ada, step, lesson_class.wrong(step))
    assert other.status_code == 409
    assert "first answer counts" in other.json()["error"]
    assert [(name, good) for name, _, good in lesson_class.answers(step)] == [("Ada", True)]
    page = lesson_class.teacher_page()
    assert "1 of 1 student answered" in re.sub(r"\s+", " ", page)


def test_results_are_shown_to_students_after_the_reveal(lesson_class: ClassClient) -> None:
    step = lesson_class.row.step
    ada, bob, cy = (lesson_class.join(name) for name in ("Ada", "Bob", "Cy"))
    assert lesson_class.answer(ada, step, lesson_class.right(step)).status_code == 200
    assert lesson_class.answer(bob, step, lesson_class.wrong(step)).status_code == 200
    before = [lesson_class.part(one)["mine"] for one in (ada, bob, cy)]
    assert [("Counted" in answer, "Right" in answer, "Not correct" in answer) for answer in before] == [
        (True, False, False),
        (True, False, False),
        (False, False, False),
    ]
    lesson_class.move(reveal=step)
    assert "Right" in lesson_class.part(ada)["mine"]
    assert "Not correct" in lesson_class.part(bob)["mine"]
    assert lesson_class.part(bob)["mine"].count("<p") >= 2, "with the reason"
    assert "did not answer" in lesson_class.part(cy)["mine"]
    late = lesson_class.answer(cy, step, lesson_class.right(step))
    assert (late.status_code, late.json()["error"]) == (409, "The answer was revealed before yours arrived.")
    again = lesson_class.answer(ada, step, lesson_class.right(step))
    assert again.status_code == 200, "a student whose response was lost sends the answer again"


def test_invalid_answers_are_not_counted(lesson_class: ClassClient) -> None:
    step, ada = lesson_class.row.step, lesson_class.join("Ada")
    for answers in ([""], ["<script>alert(1)</script>"], ["x"] * 5000, ["\u0000"], ["9" * 9000]):
        answer = lesson_class.answer(ada, step, answers)
        assert answer.status_code == (413 if len(answers) > 1000 else 400), answer.content
    assert lesson_class.answer(ada, 999, ["n1"]).status_code == 404
    assert Answer.objects.count() == 0
    assert lesson_class.answer(ada, step, lesson_class.right(step)).status_code == 200


def test_an_answer_to_a_later_question_is_not_judged(lesson_class: ClassClient) -> None:
    live_class, ada = lesson_class.row, lesson_class.join("Ada")
    coming = next(n for n, step in enumerate(lesson_class.lesson.steps, 1) if step.ask and n > live_class.step)
    answers = [lesson_class.answer(ada, coming, one).json() for one in (lesson_class.right(coming), ["nonsense"])]
    assert answers == [{"error": "The class has not reached this question yet."}] * 2


HOSTILE = [
    "<script>alert(1)</script>", "=cmd|' /C calc'!A0", "Ada\u202eadA", "a\u0000b\u0007", "  \u200b ", "Z" * 5000,
    "o" + "\u0301" * 500, "{{ 7*7 }}", "' OR 1=1 --", "\U0001f600", "\ud7ff", "<img src=x onerror=alert(1)>",
    "@SUM(A1)",
]  # fmt: skip


def test_hostile_nicknames(lesson_class: ClassClient) -> None:
    for name in HOSTILE:
        client = browser()
        answer = client.post(reverse("join-class", args=[lesson_class.row.code]), {"name": name})
        assert answer.status_code in (302, 400)
        assert "alert(1)</script>" not in lesson_class.page(client)
    names = lesson_class.names()
    assert all(0 < len(name) <= 32 and name.isprintable() for name in names), names
    assert "\u202e" not in "".join(names)
    step = lesson_class.row.step
    page = lesson_class.teacher_page()
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "&lt;script&gt;" in page
    lesson_class.move(reveal=step)
    answer = lesson_class.teacher_page("live-class-answers")
    cells = [cell for row in csv.reader(io.StringIO(answer)) for cell in row]
    assert not [cell for cell in cells if cell[:1] in "=+-@\t\r" and cell]
    assert any(cell.startswith("'=cmd") for cell in cells)


@pytest.mark.parametrize("cell", ["=1", "+1", "-1", "@x", "\t=1", "\r=1", " =1", "\uff1d1"])
def test_no_exported_cell_is_a_formula(cell: str) -> None:
    assert answer_counts.escape_formula(cell).startswith("'")
    assert answer_counts.escape_formula("n1 = 2") == "n1 = 2"


def test_nicknames_are_made_unique(lesson_class: ClassClient) -> None:
    for name in ("Ada", "ada", "Ada", "Z" * 40, "Z" * 40):
        lesson_class.join(name)
    assert lesson_class.names() == ["Ada", "ada 2", "Ada 3", "Z" * 32, "Z" * 30 + " 2"]


def test_a_browser_is_one_student(lesson_class: ClassClient) -> None:
    ada = lesson_class.join("Ada")
    page = ada.post(reverse("join-class", args=[lesson_class.row.code]), {"name": "Other"})
    assert page.status_code == 200
    assert lesson_class.names() == ["Ada"]


def test_codes_cannot_be_guessed(lesson_class: ClassClient, settings: Any) -> None:
    settings.PROXIES = 0
    assert not set(lesson_class.row.code) & set("01OILAEU")
    client, live_class = browser(), lesson_class.row
    assert client.post("/join/", {"code": f" {live_class.code[:4].lower()}-{live_class.code[4:]} "}).headers[
        "Location"
    ] == (f"/join/{live_class.code}/")
    ada = lesson_class.join("Ada")
    for _ in range(membership.TRIES.most):
        assert client.get("/join/BBBBBBBB/").status_code == 404
    assert client.get(f"/join/{live_class.code}/").status_code == 429, "not even the right code is accepted"
    assert ada.get(f"/join/{live_class.code}/").status_code == 200, "a student who joined keeps access"
    assert browser().get(f"/join/{live_class.code}/", REMOTE_ADDR="10.0.0.9").status_code == 200


def test_other_addresses_do_not_reveal_whether_a_class_exists(lesson_class: ClassClient) -> None:
    client = browser()
    for code in (lesson_class.row.code, "BBBBBBBB", "x"):
        for answer in (client.get(f"/join/{code}/part/"), client.post(f"/join/{code}/answer/", {"step": 1})):
            assert answer.status_code == 403
            assert b"Join the class first" in answer.content


@pytest.mark.parametrize("code", ["", "x", "BCDFGHJ", "<script>", "%00", "BCDF GHJK LMNP", "\u00df" * 8, "Z" * 3000])
def test_hostile_codes(client: Client, code: str, db: None) -> None:
    page = client.post("/join/", {"code": code})
    assert page.status_code == 404
    assert b"<script>alert" not in page.content
    assert b"No class with this code is open" in page.content


def test_a_cookie_of_another_class_gives_no_access(lesson_class: ClassClient) -> None:
    ada, other = lesson_class.join("Ada"), opened()
    secret = ada.cookies[membership.cookie_of(lesson_class.row.code)].value
    ada.cookies[membership.cookie_of(other.row.code)] = secret
    assert ada.get(f"/join/{other.row.code}/part/").status_code == 403


def test_limits(lesson_class: ClassClient, settings: Any) -> None:
    settings.LIVE_CLASS_STUDENTS_MAX = 2
    lesson_class.join("a"), lesson_class.join("b")
    full = browser().post(reverse("join-class", args=[lesson_class.row.code]), {"name": "c"})
    assert full.status_code == 409
    assert "the limit is" in full.content.decode()
    settings.LIVE_CLASSES_MAX = 1
    refused = browser().post(reverse("lesson-class", args=[FIRST, 1]))
    assert refused.status_code == 503
    assert "Try again when one is closed" in refused.content.decode()


def test_closed_and_expired_classes(lesson_class: ClassClient) -> None:
    step, ada = lesson_class.row.step, lesson_class.join("Ada")
    code = lesson_class.row.code
    LiveClass.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert browser().get(f"/join/{code}/").status_code == 404
    assert ada.get(f"/join/{code}/").status_code == 410
    LiveClass.objects.update(expires_at=timezone.now() + timedelta(hours=1))
    lesson_class.move(close=1)
    assert lesson_class.answer(ada, step, lesson_class.right(step)).status_code == 410
    assert lesson_class.move(step=1).status_code == 409
    assert ada.get(f"/join/{code}/part/").json() == {"error": "This class is closed."}
    assert "This class is closed" in lesson_class.teacher_page()


def test_expired_classes_are_deleted(lesson_class: ClassClient, settings: Any) -> None:
    lesson_class.join("Ada")
    app.loader.import_default_modules()  # as a worker does
    assert not any(one.due() for one in tasks.cleanups)
    LiveClass.objects.update(closed_at=timezone.now() - timedelta(days=settings.LIVE_CLASS_KEEP_DAYS, seconds=1))
    assert any(one.due() for one in tasks.cleanups)
    tasks.tidy()
    assert (LiveClass.objects.count(), Student.objects.count()) == (0, 0)


def test_results_show_the_hard_questions(lesson_class: ClassClient) -> None:
    step = lesson_class.row.step
    for number in range(4):
        one = lesson_class.join(f"s{number}")
        give = lesson_class.right(step) if number == 0 else lesson_class.wrong(step)
        assert lesson_class.answer(one, step, give).status_code == 200
    lesson_class.join("silent")
    found = answer_counts.results(lesson_class.row, lesson_class.lesson)
    assert (found[0].step, found[0].answered, found[0].right, found[0].share) == (step, 4, 1, 25)
    assert found[0].wrong[0].number == 3
    page = lesson_class.teacher_page("live-class-results")
    assert "25 %" in page
    answer = lesson_class.teacher.get(reverse("live-class-answers", args=[lesson_class.key]))
    rows = list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))
    assert [(row["nickname"], row["right"]) for row in rows if row["step"] == str(step)] == [
        ("s0", "yes"), ("s1", "no"), ("s2", "no"), ("s3", "no"), ("silent", ""),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", sorted({s.ask.kind for one in catalog.lessons()[0] for s in one.steps if s.ask}))
def test_each_kind_of_question_is_answered_counted_and_shown(db: None, kind: str) -> None:
    lesson, step = next(
        (one, n) for one in catalog.lessons()[0] for n, s in enumerate(one.steps, 1) if s.ask and s.ask.kind == kind
    )
    live_class = opened(lesson.name, step)
    ada, bob = live_class.join("Ada"), live_class.join("Bob")
    assert live_class.answer(ada, step, live_class.right(step)).status_code == 200
    assert live_class.answer(bob, step, live_class.wrong(step)).status_code == 200
    assert [good for _, _, good in live_class.answers(step)] == [True, False]
    teacher = live_class.teacher_page()
    assert "bars" in teacher
    assert 'class="badge ok">right' not in teacher, "the class may see this page"
    live_class.move(reveal=step)
    teacher = live_class.teacher_page()
    assert 'class="badge ok">right' in teacher or kind in ("passes", "victims", "which")
    assert "Right" in live_class.part(ada)["mine"]
    assert live_class.teacher.get(reverse("live-class-results", args=[live_class.key])).status_code == 200
    assert live_class.teacher.get(reverse("live-class-answers", args=[live_class.key])).status_code == 200
