"""Live class on a written lesson: it keeps the lesson that it started with, and a worker computes the results."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import reverse

from kubesched_ui.lessons import written_lessons
from kubesched_ui.live_classes import hub, lesson_copies, parts, publisher, teacher_actions
from kubesched_ui.live_classes.models import LessonCopy, LiveClass
from kubesched_ui.models import WrittenLesson
from kubesched_ui.offload import pools
from kubesched_ui.offload.pool import PoolBusy
from kubesched_ui.scenarios.uploads import store_upload
from tests.kubesched_ui.clusters import as_list, node, pod
from tests.kubesched_ui.live_classes.conftest import ClassClient, browser, opened_at

pytestmark = pytest.mark.django_db


@pytest.fixture
def written() -> WrittenLesson:
    cluster = as_list(node("n1", cpu="1"), node("n2", cpu="8"), pod("web", cpu="4"))
    return written_lessons.create(store_upload([("c.json", cluster)], "A shop").scenario)


def address(written: WrittenLesson, step: int = 1) -> str:
    return reverse("written-class", args=[written.pk, step])


@pytest.fixture
def opened(written: WrittenLesson) -> ClassClient:
    return opened_at(address(written))


def test_a_lesson_page_starts_a_class(written: WrittenLesson) -> None:
    assert address(written) in browser().get(reverse("written-lesson", args=[written.pk])).content.decode()


def test_a_class_answers_and_sees_its_results(opened: ClassClient) -> None:
    ada, bob = opened.join("Ada"), opened.join("Bob")
    assert opened.answer(ada, 1, "n2").status_code == 200
    assert opened.answer(bob, 1, "n1").status_code == 200
    assert opened.answers(1) == [("Ada", "n2", True), ("Bob", "n1", False)]
    assert 'id="revealed"' not in opened.page(ada)
    opened.move(reveal=1)
    assert "is placed on" in opened.part(ada)["parts"]["after"]
    assert "n1" in opened.part(bob)["mine"]
    assert "A lesson about A shop" in opened.teacher_page("live-class-results")
    assert "Ada,1,On which node is the pod placed?,n2,yes" in opened.teacher_page("live-class-answers")


def test_a_class_keeps_the_lesson_that_it_started_with(opened: ClassClient, written: WrittenLesson) -> None:
    written_lessons.save(written, "no lesson at all")
    ada = opened.join("Ada")
    assert "The cluster has" in opened.page(ada)
    written.scenario.delete()
    lesson_copies._copied.cache_clear()
    assert "The cluster has" in opened.page(ada)
    assert opened.answer(ada, 1, "n2").status_code == 200
    opened.row.delete()
    assert not LessonCopy.objects.exists()


@pytest.mark.parametrize(
    ("old", "new", "step", "message"),
    [
        ("kind: lands", "kind: guess", 1, "line 9: steps[0].ask.kind"),
        ("pod: web", "pod: other", 1, "never tried pod"),
        ("{{ count(nodes()) }}", "{{ asks('gone', 'cpu') }}", 1, "gone"),
        ("", "", 2, "has no step 2"),
    ],
)
def test_a_lesson_with_a_problem_cannot_start_a_class(
    written: WrittenLesson, old: str, new: str, step: int, message: str
) -> None:
    assert old in written.text
    written_lessons.save(written, written.text.replace(old, new, 1))
    page = browser().post(address(written, step))
    assert page.status_code in (404, 409)
    assert message in page.content.decode()
    assert not LiveClass.objects.exists()


def test_copies_of_lessons_are_bounded(written: WrittenLesson, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(teacher_actions, "COPIES_PER_USER", 1)
    opened_at(address(written)).move(close=1)
    assert "You had 1 classes on written lessons" in browser().post(address(written)).content.decode()


class Pool:
    """Pool that runs tasks in this process, as a worker does."""

    def __init__(self, settings: Any) -> None:
        self.settings, self.tasks, self.busy = settings, 0, False

    def run(self, function: Any, *args: Any, ticket: Any) -> Any:
        if self.busy:
            raise PoolBusy
        self.tasks += 1
        self.settings.OFFLOAD = False
        try:
            return function(*args)
        finally:
            self.settings.OFFLOAD = True


@pytest.fixture
def pool(settings: Any, monkeypatch: pytest.MonkeyPatch, written: WrittenLesson) -> Iterator[Pool]:
    found = Pool(settings)
    monkeypatch.setattr(lesson_copies, "get_pool", {"lessons": found}.__getitem__)
    assert "lessons" in pools.configs()
    settings.OFFLOAD = True
    yield found
    settings.OFFLOAD = False


def test_a_worker_computes_each_result_once(pool: Pool, written: WrittenLesson) -> None:
    opened = opened_at(address(written))
    assert pool.tasks == 1, "all steps"
    ada, bob = opened.join("Ada"), opened.join("Bob")
    assert "The cluster has" in opened.page(ada)
    assert pool.tasks == 2, "that nothing was answered"
    opened.page(bob)
    opened.answer(ada, 1, "n2")
    tasks = pool.tasks
    opened.answer(bob, 1, "n2")
    assert pool.tasks == tasks + 1, "what the class shows of the answer"


def test_pages_say_that_no_worker_is_free(pool: Pool, written: WrittenLesson) -> None:
    opened = opened_at(address(written))
    ada = opened.join("Ada")
    parts._cache.clear()
    pool.busy = True
    for page in (f"/classes/{opened.key}/", f"/wall/{opened.row.code}/", f"/join/{opened.row.code}/"):
        answer = (ada if "join" in page else opened.teacher).get(page)
        assert (answer.status_code, "The server is busy" in answer.content.decode()) == (503, True)
    assert opened.answer(ada, 1, "n2").status_code == 503, "the page sends it again"
    pool.busy = False
    assert opened.answer(ada, 1, "n2").status_code == 200


def test_sockets_do_not_wait_for_a_worker(pool: Pool, written: WrittenLesson, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, later = opened_at(address(written)), []
    monkeypatch.setattr(lesson_copies, "compute_in_thread", lambda *args: later.append(args))
    monkeypatch.setattr(publisher, "publish", lambda live_class: None)
    parts._cache.clear()
    query = hub.LiveClassQuery(opened.row.pk, None, False)
    pool.busy = True
    first = hub.read(opened.row, query)
    assert (first.version, first.shown, first.over, len(later)) == (0, None, "", 1)
    pool.busy = False
    while later:
        lesson_copies.run_now(*later.pop())
        first = hub.read(opened.row, query)
    assert "The cluster has" in str(first.shown)
