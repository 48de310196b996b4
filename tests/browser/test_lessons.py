"""Lessons in a browser: a question of each kind, wrong then right; by keyboard alone; on a narrow phone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from kubesched_ui.classroom import checking, course
from kubesched_ui.classroom.questions import Question


def kinds() -> dict[str, tuple[str, int]]:
    """Kind of question -> the first lesson and step that has it."""
    found: dict[str, tuple[str, int]] = {}
    for lesson in course.lessons()[0]:
        for number, step in enumerate(lesson.steps, 1):
            if step.ask:
                found.setdefault(step.ask.kind, (lesson.name, number))
    return found


def question_of(name: str, step: int) -> Question:
    lesson = course.lesson(name)
    assert lesson is not None
    found = lesson.question(step)
    assert found is not None
    return found


def give(form: Locator, question: Question, answers: list[str]) -> None:
    """Answers by the form's own fields."""
    if question.form == "number":
        form.get_by_role("textbox").fill(answers[0])
    elif question.form == "order":
        for at, place in enumerate(answers):
            form.get_by_role("combobox").nth(at).select_option(place)
    elif question.form == "choice":
        form.locator(f"input[value={answers[0]!r}]").check()
    else:
        for box in form.get_by_role("checkbox").all():
            box.set_checked(box.get_attribute("value") in answers)
    form.get_by_role("button", name="Check").click()


@pytest.mark.parametrize("kind", kinds())
def test_wrong_then_right(page: Page, kind: str) -> None:
    name, step = kinds()[kind]
    question = question_of(name, step)
    page.goto(f"/learn/{name}/{step}/")
    form = page.locator("#question")
    expect(page.locator("#revealed")).to_have_count(0)
    give(form, question, checking.wrong_answers(question)[0])
    expect(page.locator("#verdict")).to_contain_text("Not")
    expect(page.locator("#verdict")).to_be_focused()
    expect(page.locator("#revealed")).to_have_count(0)
    give(form, question, checking.right_answers(question))
    expect(page.locator("#verdict")).to_contain_text("Right")
    expect(page.locator("#revealed")).to_be_visible()
    expect(page.locator(f".lesson-steps a[data-step='{step}']")).to_have_attribute("data-done", "")
    page.goto("/learn/")
    expect(page.locator(f"[data-lesson='{name}'] [data-done]")).to_contain_text("1 of")
    expect(page.locator("[data-continue]")).to_have_text("Continue the course")


def test_by_keyboard_alone_and_without_scripts(page: Page) -> None:
    name, step = kinds()["lands"]
    question = question_of(name, step)
    right = checking.right_answers(question)[0]
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


def test_on_a_narrow_phone_nothing_is_cut_off(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    for name, step in list(kinds().values()):
        page.goto(f"/learn/{name}/{step}/")
        page.get_by_role("button", name="Show the answer").click()
        expect(page.locator("#revealed")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, (name, step)
