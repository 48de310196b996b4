"""Lessons: a question of each kind, wrong then right; by keyboard alone; on a narrow phone."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from kubesched_ui.lessons import catalog, changes, lint
from kubesched_ui.lessons.questions import Question


def kinds() -> dict[str, tuple[str, int]]:
    """Return for each kind of question the first lesson and step that has it."""
    found: dict[str, tuple[str, int]] = {}
    for lesson in catalog.lessons()[0]:
        for number, step in enumerate(lesson.steps, 1):
            if step.ask:
                found.setdefault(step.ask.kind, (lesson.name, number))
    return found


def question_of(name: str, step: int) -> Question:
    lesson = catalog.lesson(name)
    assert lesson is not None
    found = lesson.question(step)
    assert found is not None
    return found


def give(form: Locator, question: Question, answers: list[str]) -> None:
    """Answer with the fields of the form."""
    if question.form == "number":
        form.get_by_role("textbox").fill(answers[0])
    elif question.form == "order":
        for at, place in enumerate(answers):
            form.get_by_role("combobox").nth(at).select_option(place)
    elif answers[0] == changes.COMMAND:
        form.get_by_role("textbox", name="Command").fill(answers[1])
    elif question.form == "change":
        form.locator(f'input[value="{answers[0]}"]').check()
        form.get_by_role("textbox", name="New value").fill(answers[1])
    elif question.form == "choice":
        form.locator(f"input[value={answers[0]!r}]").check()
    else:
        for box in form.get_by_role("checkbox").all():
            box.set_checked(box.get_attribute("value") in answers)
    form.locator("button.primary").click()


def each_kind() -> list[Any]:
    """Return all kinds of questions. `make test` runs the two whose forms have more than one field."""
    return [pytest.param(kind, marks=() if kind in ("change", "order") else pytest.mark.long) for kind in kinds()]


@pytest.mark.parametrize("kind", each_kind())
def test_wrong_then_right(page: Page, kind: str) -> None:
    name, step = kinds()[kind]
    question = question_of(name, step)
    page.goto(f"/learn/{name}/{step}/")
    form = page.locator("#question")
    expect(page.locator("#revealed")).to_have_count(0)
    give(form, question, lint.wrong_answers(question)[0])
    expect(page.locator("#verdict")).to_contain_text("Not")
    expect(page.locator("#verdict")).to_be_focused()
    expect(page.locator("#revealed")).to_have_count(0)
    give(form, question, lint.right_answers(question))
    expect(page.locator("#verdict")).to_contain_text("Right")
    expect(page.locator("#revealed")).to_be_visible()
    expect(page.locator(f".lesson-steps a[data-step='{step}']")).to_have_attribute("data-done", "")
    page.goto("/learn/")
    expect(page.locator(f"[data-lesson='{name}'] [data-done]")).to_contain_text("1 of")
    expect(page.locator("[data-continue]")).to_have_text("Continue the course")
    expect(page.locator(".chapter[open]")).to_have_count(1)
    next_lesson = page.locator("[data-continue]").get_attribute("href")
    assert next_lesson
    expect(
        page.locator(f".chapter[open] a[href='{next_lesson.removeprefix(page.url.partition('/learn/')[0])}']")
    ).to_be_visible()


def test_by_keyboard_alone_and_without_scripts(page: Page) -> None:
    name, step = kinds()["lands"]
    question = question_of(name, step)
    right = lint.right_answers(question)[0]
    page.goto(f"/learn/{name}/{step}/")
    radios = page.get_by_role("radio")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.type") == "radio":
            break
    page.keyboard.press("Space")
    for _ in range(radios.count()):
        if page.evaluate("document.activeElement.value") == right:
            break
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#verdict")).to_contain_text("Right")
    assert page.context.browser is not None
    plain = page.context.browser.new_context(java_script_enabled=False)
    other = plain.new_page()
    other.goto(page.url)
    other.locator(f"input[value='{right}']").check()
    other.get_by_role("button", name="Check").click()
    expect(other.locator("#verdict")).to_contain_text("Right")
    plain.close()


@pytest.mark.long
def test_a_lesson_fits_a_narrow_phone(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto("/learn/how-the-scheduler-knows/1/")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    for name, step in list(kinds().values()):
        page.goto(f"/learn/{name}/{step}/")
        page.get_by_role("button", name=re.compile("^Show (the answer|a solution)$")).click()
        expect(page.locator("#revealed")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, (name, step)


@pytest.mark.long
def test_revealed_answers_are_hidden_again_until_requested(page: Page) -> None:
    name, step = kinds()["lands"]
    page.goto(f"/learn/{name}/{step}/")
    expect(page.locator("[data-again]")).to_be_hidden()
    page.get_by_role("button", name="Show the answer").click()
    expect(page.locator("#revealed")).to_be_visible()
    page.reload()
    expect(page.locator("#revealed")).to_have_count(0)
    page.get_by_role("button", name="Show it again").click()
    expect(page.locator("#revealed")).to_be_visible()


def test_the_object_flow_moves_by_buttons(page: Page) -> None:
    page.emulate_media(reduced_motion="reduce")
    page.goto("/learn/how-the-scheduler-knows/1/")
    text = page.locator("[data-walk-text]")
    expect(text).to_contain_text("API server: The list of nodes contains Node n1.")
    forth = page.get_by_role("button", name="Next step")
    for _ in range(6):
        forth.click()
    expect(text).to_contain_text("API server: The list of pods contains Pod old.")
    page.locator(".walk-objects summary").last.click()
    expect(text).to_contain_text("ADDED Pod fresh")
    for _ in range(5):
        forth.click()
    expect(text).to_contain_text("fresh moves to activeQ")
    expect(forth).to_be_disabled()
    page.get_by_role("button", name="Back").click()
    expect(text).to_contain_text("Handler")


def pictures() -> dict[str, tuple[str, int]]:
    """Return for each kind of moving picture the first lesson and step that has it."""
    found: dict[str, tuple[str, int]] = {}
    for lesson in catalog.lessons()[0]:
        for number, step in enumerate(lesson.steps, 1):
            if step.picture is not None:
                found.setdefault(step.picture.shows, (lesson.name, number))
    return found


def open_picture(page: Page, kind: str) -> Locator:
    """Open a step and reveal its answer, if it has a question. Return its picture."""
    name, step = pictures()[kind]
    page.goto(f"/learn/{name}/{step}/")
    if page.locator("#question").count():
        expect(page.locator("moving-picture")).to_have_count(0)
        page.get_by_role("button", name="Show the answer").click()
    return page.locator("moving-picture")


def look_through(picture: Locator) -> list[str]:
    """Go to the last moment of a picture. Return the texts of its moments."""
    forth, moment = picture.get_by_role("button", name="Next"), picture.locator("[data-moment]:visible")
    seen = []
    while True:
        expect(moment).to_have_count(1)
        seen.append(moment.inner_text())
        if forth.is_disabled():
            return seen
        forth.click()
        expect(forth).to_be_in_viewport()


def test_a_moving_picture_is_moved_by_one_button_and_by_keys(page: Page) -> None:
    page.emulate_media(reduced_motion="reduce")
    picture = open_picture(page, "queue")
    forth, moment = picture.get_by_role("button", name="Next"), picture.locator("[data-moment]:visible")
    expect(moment).to_have_text(re.compile("The queue is empty"))
    expect(page.locator(".lesson-way .primary")).to_have_count(0)
    forth.click()
    expect(moment).to_contain_text("unlucky is created without a node. It enters activeQ.")
    expect(picture.locator('[data-lane="active"] .chip')).to_have_text("unlucky")
    expect(picture.get_by_text("2 of 5")).to_be_visible()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(moment).to_contain_text("The pod moves to backoffQ. Its backoff of 1 s begins.")
    expect(picture.locator('[data-lane="backoff"] .chip')).to_have_text("unlucky")
    page.keyboard.press("ArrowLeft")
    expect(picture.locator('[data-lane="active"] .chip')).to_have_count(2)
    page.keyboard.press("e")
    expect(forth).to_be_disabled()
    expect(picture.locator('[data-lane="unschedulable"] .chip')).to_have_text("stuck")
    expect(page.locator(".lesson-way .primary")).to_have_text("Next step")


@pytest.mark.long
@pytest.mark.parametrize("width", [390, 1440])
def test_every_moment_of_every_picture_is_reached(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    for kind in pictures():
        picture = open_picture(page, kind)
        seen = look_through(picture)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, (kind, seen[-1])
        assert len(seen) == picture.locator("[data-moment]").count(), kind
        if picture.locator("canvas").count():
            picture.get_by_role("button", name="As a table").click()
            expect(picture.locator("[data-table] tbody tr").first).to_be_visible()


@pytest.mark.long
def test_a_presented_picture_moves_before_the_lesson_does(page: Page) -> None:
    name, step = pictures()["victims"]
    page.goto(f"/learn/{name}/{step}/?present=1")
    page.keyboard.press("ArrowRight")  # shows the answer
    picture = page.locator("moving-picture")
    expect(picture).to_be_visible()
    for number in range(1, picture.locator("[data-moment]").count()):
        expect(picture.locator("[data-at]")).to_contain_text(f"{number} of")
        page.keyboard.press("ArrowRight")
    expect(picture.locator("[data-moment]:visible")).to_contain_text("is a victim")
    page.keyboard.press("ArrowRight")
    page.wait_for_url(f"**/{step + 1}/?present=1")


@pytest.mark.long
def test_on_a_phone_the_question_follows_its_picture(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/learn/taints-and-tolerations/1/")
    box = {part: page.locator(part).bounding_box() for part in (".prose", "canvas", "#question", ".lesson-way")}
    tops = [place["y"] for place in box.values() if place]
    assert tops == sorted(tops)
    assert len(tops) == len(box)
    expect(page.locator(".lesson-picture details[open]")).to_have_count(0)


@pytest.mark.long
def test_a_presented_lesson_continues_with_one_key(page: Page) -> None:
    page.set_viewport_size({"width": 1920, "height": 1080})
    page.goto("/learn/what-a-scheduler-does/2/?present=1")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#revealed")).to_be_visible()
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**/3/?present=1")
    assert page.evaluate("parseFloat(getComputedStyle(document.querySelector('.prose')).fontSize)") >= 28


@pytest.mark.long
def test_a_lesson_is_written_by_keyboard(quiet_page: Page, recorded: dict[str, int]) -> None:
    page = quiet_page  # it asks before it leaves unsaved changes
    page.goto(f"/scenarios/{recorded['scenario']}/")
    page.get_by_role("button", name="Write a lesson").click()
    title, kind = page.get_by_label("Title"), page.get_by_label("Kind of question")
    title.fill("Where it goes")
    title.press("Enter")
    preview = page.locator("[data-check]")
    expect(preview).to_contain_text("1. Where it goes", timeout=60_000)
    expect(preview).to_contain_text("The answer")
    expect(preview).to_contain_text(re.compile("hidden (fields|ones) that decide"))
    page.get_by_role("button", name="Add step").press("Enter")
    expect(page.get_by_role("heading", name="Step 2", exact=True)).to_be_visible()
    expect(page.get_by_label("Question", exact=True)).to_be_hidden()
    kind.select_option("change")
    expect(page.get_by_role("textbox", name="Goal")).to_be_visible()
    expect(page.get_by_label("Option 1")).to_be_hidden()
    kind.select_option("choice")
    expect(page.get_by_role("textbox", name="Goal")).to_be_hidden()
    page.get_by_label("Option 1").fill("It is placed")
    page.get_by_role("button", name="Move up").press("Enter")
    expect(page.get_by_role("heading", name="Step 1", exact=True)).to_be_visible()
    expect(preview).to_contain_text("Step 1, Question", timeout=60_000)
    expect(page.get_by_label("Option 1")).to_have_value("It is placed")
    page.get_by_role("button", name="Delete step").press("Enter")
    page.get_by_role("dialog").get_by_role("button", name="Delete").press("Enter")
    expect(title).to_have_value("Where it goes")
    title.fill("Not saved")
    page.once("dialog", lambda dialog: dialog.dismiss())
    page.get_by_role("link", name="Runs", exact=True).click()
    expect(title).to_have_value("Not saved")


@pytest.mark.long
def test_the_player_shows_the_decision_of_a_lesson(page: Page) -> None:
    """The steps end with what the next question asks, go back and forth by keys, and have a table."""
    page.emulate_media(reduced_motion="reduce")
    page.goto("/learn/taints-and-tolerations/1/")
    stage = page.locator("[data-stage]")
    expect(stage).to_have_text("The cluster before the cycle.")
    expect(page.locator(".transport")).to_be_hidden()
    page.get_by_role("button", name="Show the answer").click()
    expect(stage).to_contain_text("Filter · NodeResourcesFit")
    expect(page.locator("[data-verdicts]")).to_contain_text("TaintToleration refuses")
    last = page.locator("[data-place]").inner_text()
    page.locator("h2").first.click()
    page.keyboard.press("k")
    expect(stage).to_contain_text("Filter · TaintToleration")
    page.keyboard.press("ArrowLeft")
    expect(stage).to_contain_text("PreFilter")
    page.keyboard.press("ArrowLeft")
    expect(stage).to_have_text("The cluster before the cycle.")
    page.keyboard.press("r")
    expect(page.locator("[data-place]")).to_have_text(last, timeout=30_000)
    expect(page.locator("[data-play='1']")).to_have_attribute("aria-pressed", "false")
    page.get_by_role("button", name="As a table").click()
    expect(page.locator("[data-table]")).to_contain_text("TaintToleration refuses")


# The pictures whose parts move without end: each moving part over the texts of its picture, at many times.
TOUCHING = """() => {
  const found = [];
  const moving = document.getAnimations().filter((one) => one.effect.getComputedTiming().iterations === Infinity);
  for (const one of moving) one.pause();
  for (let at = 0; at < 1; at += 1 / 240)
    for (const one of moving) {
      const { target } = one.effect;
      const { duration, delay } = one.effect.getComputedTiming();
      one.currentTime = delay + duration * (1 + at);
      const part = target.getBoundingClientRect();
      for (const text of target.closest("svg, section, main").querySelectorAll("text, p, span, li, a")) {
        const box = text.getBoundingClientRect();
        const across = box.right > part.left && box.left < part.right;
        const touches = across && box.bottom > part.top && box.top < part.bottom && !text.contains(target);
        if (touches) found.push(`${target.getAttribute("class")} over ${text.textContent}`);
      }
    }
  return [moving.length, [...new Set(found)]];
}"""


@pytest.mark.long
def test_no_moving_part_lies_over_a_text(page: Page) -> None:
    for address, moving in (("/learn/", 3), ("/learn/how-the-scheduler-knows/1/", 3), ("/", 0)):
        page.goto(address)
        page.wait_for_load_state("networkidle")
        assert page.evaluate(TOUCHING) == [moving, []], address


@pytest.mark.long
@pytest.mark.parametrize("width", [390, 1440])
def test_a_learner_finishes_the_first_part(page: Page, width: int) -> None:
    """Each question is answered right, in the order of the course; the course counts each lesson, then the part."""
    lessons = catalog.lessons()[0]
    part = catalog.chapters(lessons)[0]
    page.set_viewport_size({"width": width, "height": 844})
    page.goto("/learn/")
    page.locator("[data-continue]").click()
    for lesson in part.lessons:
        for step in range(1, len(lesson.steps) + 1):
            expect(page.locator("#lesson")).to_have_attribute("data-lesson", lesson.name)
            expect(page.locator("#lesson")).to_have_attribute("data-step", str(step))
            if question := lesson.question(step):
                give(page.locator("#question"), question, lint.right_answers(question))
                expect(page.locator("#verdict")).to_contain_text("Right")
                if lesson.steps[step - 1].picture:
                    look_through(page.locator("moving-picture"))
                ink = page.locator(".lesson-way .primary").evaluate("(one) => getComputedStyle(one).color")
                expect(page.locator(".lesson-steps [aria-current]")).to_have_css("color", ink)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (lesson.name, step)
            page.locator(".lesson-way [rel=next]").click()
    page.goto("/learn/")
    expect(page.locator("[data-progress]")).to_have_text(
        f"{sum(lesson.questions for lesson in part.lessons)} of {sum(lesson.questions for lesson in lessons)} "
        f"questions answered, {len(part.lessons)} of {len(lessons)} lessons finished"
    )
    expect(page.locator(".chapter").first).to_contain_text(f", {len(part.lessons)} done")
    expect(page.locator(".chapter").nth(1)).to_have_attribute("open", "")
