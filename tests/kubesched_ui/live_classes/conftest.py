"""Fixtures for live classes: a class, its teacher's browser and the browsers of students."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from kubesched_ui.accounts.token_hash import digest
from kubesched_ui.lessons import catalog, lint
from kubesched_ui.lessons.catalog import Lesson
from kubesched_ui.lessons.questions import Question
from kubesched_ui.live_classes.models import Answer, LiveClass, Student
from kubesched_ui.models import Run

FIRST = catalog.paths()[0].stem


@pytest.fixture(autouse=True)
def empty_rate_limits() -> None:
    cache.clear()


def browser() -> Client:
    return Client(headers={"host": "localhost"})


@dataclass
class ClassClient:
    """Client of a live class, for its teacher and its students."""

    key: str
    teacher: Client = field(default_factory=browser)

    @property
    def row(self) -> LiveClass:
        return LiveClass.objects.get(digest=digest(self.key))

    @property
    def lesson(self) -> Lesson:
        found = catalog.lesson(self.row.lesson)
        assert found is not None
        return found

    def question(self, step: int) -> Question:
        found = self.lesson.question(step)
        assert found is not None
        return found

    def right(self, step: int) -> list[str]:
        return lint.right_answers(self.question(step))

    def wrong(self, step: int) -> list[str]:
        return lint.wrong_answers(self.question(step))[0]

    def teacher_page(self, address: str = "live-class") -> str:
        """Return a page of the teacher."""
        return self.teacher.get(reverse(address, args=[self.key])).content.decode("utf-8-sig")

    def move(self, **form: Any) -> Any:
        return self.teacher.post(reverse("live-class-move", args=[self.key]), form)

    def join(self, name: str, client: Client | None = None) -> Client:
        client = client or browser()
        answer = client.post(reverse("join-class", args=[self.row.code]), {"name": name})
        assert answer.status_code == 302, answer.content
        return client

    def answer(self, client: Client, step: int, answers: Any) -> Any:
        address = reverse("join-answer", args=[self.row.code])
        return client.post(address, {"step": step, "answer": answers}, headers={"X-Requested-With": "fetch"})

    def page(self, client: Client, step: int | str = "") -> str:
        return client.get(f"{reverse('join-class', args=[self.row.code])}?step={step}").content.decode()

    def part(self, client: Client, step: int | str = "") -> Any:
        return client.get(f"{reverse('join-part', args=[self.row.code])}?step={step}").json()

    def answers(self, step: int) -> list[tuple[str, Any, bool]]:
        rows = Answer.objects.filter(student__live_class=self.row, step=step)
        return list(rows.values_list("student__name", "given", "right"))

    def names(self) -> list[str]:
        return list(Student.objects.filter(live_class=self.row).values_list("name", flat=True))


def opened_at(url: str, teacher: Client | None = None, **form: Any) -> ClassClient:
    teacher = teacher or browser()
    answer = teacher.post(url, form)
    assert answer.status_code == 302, answer.content
    return ClassClient(answer.headers["Location"].split("/")[2], teacher)


def opened(name: str = FIRST, step: int = 1) -> ClassClient:
    return opened_at(reverse("lesson-class", args=[name, step]))


def opened_on_run(run: Run, address: str = "") -> ClassClient:
    return opened_at(reverse("run-class", args=[run.pk]), address=address)


@pytest.fixture
def lesson_class(db: None) -> ClassClient:
    """Open a class at the first question of the first lesson."""
    lesson = catalog.lesson(FIRST)
    assert lesson is not None
    return opened(step=next(n for n, step in enumerate(lesson.steps, 1) if step.ask))
