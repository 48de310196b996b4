"""A room at a lesson, a teacher's browser and students'."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from kubesched_ui.lessons import catalog
from kubesched_ui.lessons.catalog import Lesson
from kubesched_ui.live_classes.models import Answer, LiveClass, Student

FIRST = catalog.paths()[0].stem


@pytest.fixture(autouse=True)
def nobody_tried() -> None:
    cache.clear()


def browser() -> Client:
    return Client(headers={"host": "localhost"})


@dataclass
class Class:
    """A room and whoever is in it."""

    key: str
    teacher: Client = field(default_factory=browser)

    @property
    def room(self) -> LiveClass:
        from kubesched_ui.accounts.token_hash import digest

        return LiveClass.objects.get(digest=digest(self.key))

    @property
    def lesson(self) -> Lesson:
        found = catalog.lesson(self.room.lesson)
        assert found is not None
        return found

    def move(self, **form: Any) -> Any:
        return self.teacher.post(reverse("room-move", args=[self.key]), form)

    def join(self, name: str, client: Client | None = None) -> Client:
        client = client or browser()
        answer = client.post(reverse("join-room", args=[self.room.code]), {"name": name})
        assert answer.status_code == 302, answer.content
        return client

    def answer(self, client: Client, step: int, answers: Any) -> Any:
        address = reverse("join-answer", args=[self.room.code])
        return client.post(address, {"step": step, "answer": answers}, headers={"X-Requested-With": "fetch"})

    def page(self, client: Client, step: int | str = "") -> str:
        return client.get(f"{reverse('join-room', args=[self.room.code])}?step={step}").content.decode()

    def part(self, client: Client, step: int | str = "") -> Any:
        return client.get(f"{reverse('join-part', args=[self.room.code])}?step={step}").json()

    def answers(self, step: int) -> list[tuple[str, Any, bool]]:
        rows = Answer.objects.filter(student__live_class=self.room, step=step)
        return list(rows.values_list("student__name", "given", "right"))

    def names(self) -> list[str]:
        return list(Student.objects.filter(live_class=self.room).values_list("name", flat=True))


def opened(name: str = FIRST, step: int = 1, teacher: Client | None = None) -> Class:
    teacher = teacher or browser()
    answer = teacher.post(reverse("lesson-room", args=[name, step]))
    assert answer.status_code == 302, answer.content
    return Class(answer.headers["Location"].split("/")[2], teacher)


@pytest.fixture
def lesson_class(db: None) -> Class:
    """At the first question of the first lesson."""
    lesson = catalog.lesson(FIRST)
    assert lesson is not None
    return opened(step=next(n for n, step in enumerate(lesson.steps, 1) if step.ask))
