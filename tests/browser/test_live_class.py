"""Live class: a teacher and two students, one on a narrow phone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from kubesched_ui.lessons import catalog, lint
from tests.browser.conftest import new_page
from tests.browser.test_axe import serious_findings
from tests.browser.test_lessons import kinds, question_of
from tests.kubesched_ui.instance import Instance


@pytest.fixture
def students(browser: Browser, site: Instance) -> Iterator[list[Page]]:
    """Return two other browsers, one on a narrow phone."""
    with new_page(browser, site, 360, 740) as ada, new_page(browser, site, 1000, 740) as bob:
        yield [ada, bob]


def join(student: Page, teacher: Page, name: str) -> None:
    """Join by the code."""
    code = teacher.locator(".live-class-code").inner_text()
    student.goto("/join/")
    student.get_by_label("The code that the teacher shows").fill(code.lower())
    student.keyboard.press("Enter")
    student.get_by_label("Your nickname").fill(name)
    student.keyboard.press("Enter")


@pytest.mark.long
def test_a_class_at_a_lesson(page: Page, students: list[Page]) -> None:
    name, step = kinds()["lands"]
    right = lint.right_answers(question_of(name, step))[0]
    lesson = catalog.lesson(name)
    assert lesson is not None
    page.goto(f"/learn/{name}/{step}/")
    page.get_by_role("button", name="Start live class").click()
    ada, bob = students
    for one, nickname in ((ada, "Ada <b>"), (bob, "Bob")):
        join(one, page, nickname)
        expect(one.locator("#t-step")).to_be_visible()
    expect(page.locator("[data-summary]")).to_have_text("0 of 2 students answered")
    with page.expect_popup() as opened:
        page.get_by_role("link", name="wall page").click()
    wall = opened.value
    expect(wall.locator("[data-summary]")).to_have_text("0 of 2 students answered")
    ada.locator(f"#question input[value={right!r}]").check()
    ada.get_by_role("button", name="Answer").click()
    expect(ada.locator("#mine")).to_contain_text("Counted")
    expect(page.locator("[data-summary]")).to_have_text("1 of 2 students answered")
    expect(page.locator("[data-kept=names] .chip")).to_have_count(1)
    expect(page.locator("[data-kept=names] .chip")).to_contain_text("Bob")
    expect(ada.locator("#revealed")).to_have_count(0)
    expect(wall.locator("[data-summary]")).to_have_text("1 of 2 students answered")
    expect(wall.locator(".bars")).to_have_count(0)
    page.get_by_role("button", name="Show bars on the wall").click()
    expect(wall.locator(".bars")).to_be_visible()
    assert serious_findings(page) == serious_findings(ada) == serious_findings(wall) == []
    page.get_by_role("button", name="Reveal").click()
    expect(wall.locator("#revealed")).to_be_visible()
    expect(ada.locator("#mine")).to_contain_text("Right")
    expect(bob.locator("#mine")).to_contain_text("You did not answer")
    for one in (ada, bob):
        expect(one.locator("#revealed")).to_be_visible()
    assert ada.evaluate("document.documentElement.scrollWidth") <= 360
    back = page.locator("#controls [data-to='-1']")
    expect(back).to_be_enabled()
    page.keyboard.press("ArrowLeft")
    for one in (page, ada, bob):
        expect(one.locator("#t-step")).to_have_text(lesson.steps[step - 2].title)
    step_back_and_forth(ada, step)
    page.get_by_role("link", name="Results").click()
    expect(page.get_by_role("main")).to_contain_text("100 % right")
    page.go_back()
    page.get_by_role("button", name="Close the class").click()
    page.locator("#confirm button[value=yes]").click()
    expect(bob.locator("[data-link]")).to_have_text("This class is closed.")


def step_back_and_forth(page: Page, step: int) -> None:
    """Step back and return, without leaving the page."""
    if step < 3:
        return
    page.locator("[data-steps] a").first.click()
    expect(page.locator("[data-position]")).to_contain_text("The class is at step")
    page.get_by_role("link", name="Back to the class").click()
    expect(page.locator("[data-back]")).to_be_hidden()


@pytest.mark.long
def test_a_class_at_a_run(page: Page, students: list[Page], recorded: dict[str, Any]) -> None:
    page.goto(f"/runs/{recorded['run']}/")
    page.get_by_role("button", name="Start live class").click()
    ada = students[0]
    join(ada, page, "Ada")
    expect(ada.locator("#seen")).to_be_visible()
    page.locator("#seen").get_by_role("link", name="search-1").first.click()
    for one in (page, ada):
        expect(one.locator("#seen h1")).to_contain_text("search-1")
        expect(one.locator("#seen [data-section=why]")).to_contain_text("Add 1 node")  # loaded without an action
        expect(one.locator("#seen [data-section=map] .capacity-bar.out").first).to_be_visible()
    assert serious_findings(page) == []
    assert serious_findings(ada) == []
    page.locator("#seen #stepper a").nth(2).click()
    expect(ada.locator("#seen #stepper [aria-current=step]")).to_have_count(1)
    assert ada.evaluate("document.documentElement.scrollWidth") <= 360
    attempts(page, ada, recorded["run"])
    played(page, ada)
    removed(page, ada)


def attempts(page: Page, ada: Page, run: int) -> None:
    """Step from the end of the run back to its first attempt, by arrow keys."""
    page.get_by_label("Shown page").fill(f"/runs/{run}/")
    page.keyboard.press("Enter")
    position = page.locator("[data-position]")
    expect(position).to_have_text("The end of the run")
    expect(page.locator("[data-to=after]")).to_be_disabled()
    page.locator("#seen").focus()
    for says in ("Cycle 3 of 3", "Cycle 2 of 3", "Cycle 1 of 3"):
        page.keyboard.press("ArrowLeft")
        expect(position).to_have_text(says)
        expect(ada.locator("[data-section=map]")).to_contain_text(says)
    expect(page.locator("[data-to=before]")).to_be_disabled()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowRight")
    expect(ada.locator("[data-section=map]")).to_contain_text("Cycle 2 of 3")


def played(page: Page, ada: Page) -> None:
    """Play the run on the map of the teacher: the class follows its timepoint, and the map follows the class."""
    place, seen = page.locator("#map [data-place]"), ada.locator("[data-section=map]")
    page.get_by_text("Play the run for the class").click()
    expect(place).to_have_text("cycle 2 of 3")  # where the class is
    page.get_by_role("button", name="A step forward", exact=True).click()
    expect(place).to_have_text("cycle 3 of 3")
    expect(seen).to_contain_text("Cycle 3 of 3")
    page.get_by_label("Step by").select_option("point")
    page.get_by_role("button", name="A step forward", exact=True).click()
    expect(page.get_by_label("Shown page")).to_have_value(re.compile("point="))
    page.get_by_role("button", name="Previous").click()
    expect(place).to_have_text("cycle 2 of 3")
    page.get_by_label("Step by").select_option("cycle")
    page.get_by_role("button", name="Play forward").click()
    expect(place).to_have_text("after 3 cycles", timeout=60_000)
    expect(seen).to_contain_text("The end of the run")
    assert serious_findings(page) == []


def removed(page: Page, ada: Page) -> None:
    """Remove a student by keyboard, with a confirmation."""
    page.get_by_role("button", name="Remove Ada").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#confirm")).to_contain_text("Remove Ada?")
    page.locator("#confirm button[value=yes]").focus()
    page.keyboard.press("Enter")
    expect(page.locator("[data-summary]")).to_have_text("0 students in the class")
    expect(ada.locator("[data-link]")).to_have_text("The teacher removed you from this class.")
    ada.reload()
    expect(ada.get_by_role("main")).to_contain_text("The teacher removed you from this class.")
