"""Pages of lessons: they hide answers before the reveal and explain wrong answers."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from kubesched_ui.event_log.cycle_batches import trace_of
from kubesched_ui.lessons import catalog, diagram, feedback, lint, markdown, parser, questions, step_state
from kubesched_ui.lessons.functions import FUNCTIONS
from kubesched_ui.models import Cycle, Run
from kubesched_ui.runs import tasks
from tests.examples import selection

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
NAMES = [path.stem for path in catalog.paths()]


def address(name: str, step: int) -> str:
    return reverse("lesson-step", args=[name, step])


def test_the_list_has_all_lessons(client: Client) -> None:
    page = client.get(reverse("learn"))
    assert page.status_code == 200
    assert all(reverse("lesson", args=[name]) in page.content.decode() for name in NAMES)


def test_lessons_are_grouped_by_chapters_with_times(client: Client) -> None:
    lessons, problems = catalog.lessons()
    assert not problems
    chapters = catalog.chapters(lessons)
    assert [lesson for chapter in chapters for lesson in chapter.lessons] == lessons
    assert all(chapter.title for chapter in chapters)
    assert len(chapters) == 7
    assert all([lesson.head.exam for lesson in chapter.lessons][-2:] == [False, True] for chapter in chapters)
    assert all(3 <= lesson.minutes <= 35 for lesson in lessons)
    page = re.sub(r"\s+", " ", client.get(reverse("learn")).content.decode())
    assert page.count('<details class="card chapter"') == len(chapters)
    assert page.count('<details class="card chapter" open>') == 1
    for chapter in chapters:
        assert f"{len(chapter.lessons)} lessons, about {chapter.minutes} min" in page


@pytest.mark.parametrize("name", selection(NAMES, 9))
def test_hidden_answers_are_not_sent(client: Client, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page is rendered without the answer, the decision of the cycle and the text below `Revealed`."""
    lesson = catalog.lesson(name)
    assert lesson is not None
    asking = [i for i, step in enumerate(lesson.steps, 1) if step.ask and step.ask.kind != "change"]
    pages = {step: client.post(address(name, step), {"reveal": "1"}).content.decode() for step in asking}

    def never(*args: object, **kwargs: object) -> None:
        raise AssertionError("what is asked was computed before it is revealed")

    for module, function in ((questions, "answer"), (diagram, "revealed"), (feedback, "explain"), (questions, "judge")):
        monkeypatch.setattr(module, function, never)
    for step in asking:
        sent = client.get(address(name, step)).content.decode()
        after = markdown.render(lesson.section(step).after.text, lesson.facts(step))
        assert after in pages[step], "it is there once it is revealed"
        for paragraph in re.findall(r"<p>(.+?)</p>", after):
            assert paragraph not in sent
        hidden = pages[step].partition('id="verdict"')[2].partition("</div>")[0]
        line = re.sub(r"<[^>]*>|\s+", " ", hidden).replace("The answer", "").strip()
        assert line
        assert 'id="revealed"' not in sent
        assert "How this value is computed" not in sent


@pytest.mark.parametrize("name", NAMES)
def test_shown_values_do_not_depend_on_the_outcome(name: str) -> None:
    """The values that a text may use before the reveal do not depend on the outcome of the cycle."""
    lesson = catalog.lesson(name)
    assert lesson is not None
    for number, step in enumerate(lesson.steps, 1):
        if step.ask is None or step.ask.kind == "change" or step.focus is None or not step.focus.pod:
            continue
        facts = lesson.facts(number, hides=True)
        for ask in ("node_of", "feasible", "victims", "message", "total", "rule", "attempts"):
            with pytest.raises(ValueError, match="reveals"):
                facts.call(ask, [step.focus.pod, *(["n"] if ask == "total" else [])], {})


@pytest.mark.parametrize("name", selection(NAMES, 9))
def test_a_wrong_answer_then_the_right_one(client: Client, name: str) -> None:
    lesson = catalog.lesson(name)
    assert lesson is not None
    for step in range(1, len(lesson.steps) + 1):
        question = lesson.question(step)
        if question is None:
            continue
        wrong = client.post(address(name, step), {"answer": lint.wrong_answers(question)[0]})
        assert wrong.status_code == 200
        assert 'id="revealed"' not in wrong.content.decode()
        assert re.search(r"Not correct|Not accepted", wrong.content.decode())
        right = client.post(address(name, step), {"answer": lint.right_answers(question)}).content.decode()
        assert "data-right" in right
        assert 'id="revealed"' in right


@pytest.mark.parametrize(
    "answers",
    [[], [""], ["<script>alert(1)</script>"], ["9" * 5000], ["nan"], ["1e999"], ["n1"] * 900, ["\u0000"], ["-0"]],
)
@pytest.mark.parametrize("name", selection(NAMES[:3], 3))
def test_hostile_answers_are_handled_as_answers(client: Client, name: str, answers: list[str]) -> None:
    lesson = catalog.lesson(name)
    assert lesson is not None
    for step, what in enumerate(lesson.steps, 1):
        if what.ask:
            page = client.post(address(name, step), {"answer": answers})
            assert page.status_code == 200
            assert "<script>alert" not in page.content.decode()


def test_the_map_hides_what_the_next_questions_ask(client: Client) -> None:
    """Its data are what a browser receives."""
    before, first, last = (cycle_of(client.post(address("raw-normalised-weighted", step), sent)) for step, sent in
                           ((1, {}), (1, {"reveal": "1"}), (6, {"reveal": "1"})))  # fmt: skip
    assert before["steps"] == []
    assert {step["point"] for step in first["steps"]} == {"prefilter", "filter", "prescore"}, "scores come later"
    assert first["points"] == {}
    assert last["total"]
    assert last["node"] == "n2", "with the solution"


@pytest.mark.long
def test_no_map_shows_a_cycle_before_its_question_is_answered() -> None:
    count = 0
    for lesson in map(catalog.lesson, NAMES):
        assert lesson is not None
        for number, step in enumerate(lesson.steps, 1):
            if step.ask is None or step.ask.kind == "change":  # the cycle before a change is no answer
                continue
            stages = step_state.shows(lesson, number)["stages"]
            assert not stages or stages["cycle"]["steps"] == [], (lesson.name, number)
            count += len(stages) > 0
    assert count > 100


def cycle_of(page: HttpResponse) -> dict[str, Any]:
    data = re.search(r'<script type="application/json">(.*?)</script>', page.content.decode(), re.DOTALL)
    assert data
    found: dict[str, Any] = json.loads(data[1])["cycle"]
    return found


def test_links_keep_the_presentation_mode(client: Client) -> None:
    page = client.get(f"{address(NAMES[0], 2)}?present=1").content.decode()
    assert 'class="presenting"' in page
    ways = re.findall(r'href="(/learn/[^"]+/\d+/[^"]*)"', page)
    assert len([way for way in ways if way.endswith("?present=1")]) == len(ways) - 1, "all but the one that leaves"
    assert re.search(r'action="[^"]+\?present=1"\s+class="card question', page)
    assert page.count('id="go-after"') == 1, "which shows the answer"
    pages = client.post(f"{address(NAMES[0], 2)}?present=1", {"reveal": "1"}).content.decode()
    assert re.search(r'<a[^>]*id="go-after"', pages)
    assert "data-revealed" in pages
    assert 'class="presenting"' not in client.get(address(NAMES[0], 2)).content.decode()


def test_an_extender_of_a_lesson_takes_part_without_a_connection(client: Client) -> None:
    for name, message in (("write-your-own-plugin", "RackLimit"), ("extenders", "Extender requests")):
        lesson = catalog.lesson(name)
        assert lesson is not None
        last = len(lesson.steps)
        pages = client.post(address(name, last), {"reveal": "1"}).content.decode()
        assert message in pages
        assert "cannot be opened in the browser" in pages
        assert client.post(reverse("lesson-open", args=[name, last])).status_code == 404
    assert Run.objects.count() == 0


def test_missing_pages_are_404(client: Client) -> None:
    for wrong in ("/learn/99-none/", f"/learn/{NAMES[0]}/99/", f"/learn/{NAMES[0]}/0/", "/learn/..%2f..%2fx/"):
        assert client.get(wrong).status_code == 404
    assert client.get(reverse("lesson-open", args=[NAMES[0], 1])).status_code == 405


def test_numbered_addresses_redirect(client: Client) -> None:
    """In version 1.0.0, names of lessons began with numbers."""
    for old, now in (
        ("/learn/07-topology-spread/", "/learn/topology-spread/1/"),
        ("/learn/07-topology-spread/2/?present=1", "/learn/topology-spread/2/?present=1"),
    ):
        answer = client.get(old)
        assert (answer.status_code, answer.headers["Location"]) == (301, now)
    lesson = catalog.lesson("07-topology-spread")
    assert lesson is not None
    assert lesson.name == "topology-spread"
    assert lesson.number == NAMES.index("topology-spread") + 1


def test_the_run_of_a_lesson_opens_in_the_product(client: Client) -> None:
    name = "requests-and-allocatable"
    lesson = catalog.lesson(name)
    assert lesson is not None
    opened = client.post(reverse("lesson-open", args=[name, 2]))
    run = Run.objects.get()
    assert opened.headers["Location"] == f"/runs/{run.pk}/pods/default/web/?attempt=1&point=filter"
    assert client.post(reverse("lesson-open", args=[name, 2])).headers["Location"] == opened.headers["Location"]
    tasks.execute_run(run.pk)
    played = lesson.runs["run"]
    stored = [trace_of(cycle) for cycle in Cycle.objects.filter(run=run).order_by("number")]
    assert [(trace.pod, trace.node) for trace in stored] == [(c.pod, c.trace.node) for c in played.cycles]
    assert client.get(opened.headers["Location"]).status_code == 200


def test_every_function_is_documented(checkout: Path) -> None:
    text = (checkout / "docs" / "lessons.md").read_text()
    assert [name for name in FUNCTIONS if f"`{name}(" not in text] == []
    assert [kind for kind in parser.Kind.__args__ if f"| `{kind}` |" not in text] == []
