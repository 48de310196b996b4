"""From the home page to each task in few actions, the search by keyboard, and sentences that link to the cause."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.preview import cluster
from tests.kubesched_ui.clusters import as_list
from tests.kubesched_ui.instance import Instance

pytestmark = pytest.mark.long


class Actions:
    """Count the actions of a user: clicks and choices."""

    def __init__(self) -> None:
        self.done = 0

    def click(self, target: Locator) -> None:
        self.done += 1
        target.click()

    def choose(self, target: Locator, value: str) -> None:
        self.done += 1
        target.select_option(value)


@pytest.fixture
def actions() -> Actions:
    return Actions()


@pytest.fixture(scope="module")
def scenario(site: Instance) -> int:
    number: int = site.api("POST", "/scenarios", as_list(*cluster()))["id"]
    return number


def test_from_home_to_an_upgrade_preview_in_three_actions(page: Page, scenario: int, actions: Actions) -> None:
    page.goto("/")
    region = page.get_by_role("region", name="I plan an upgrade")
    actions.choose(region.get_by_label("Cluster"), str(scenario))
    actions.click(region.get_by_role("button", name="Preview an upgrade"))
    page.wait_for_url(re.compile(rf"/scenarios/{scenario}/#upgrade$"))
    actions.click(page.get_by_role("button", name="Preview the upgrade"))
    page.wait_for_url(re.compile(r"/upgrades/\d+/$"))
    expect(page.locator("#preview")).to_be_visible()
    assert actions.done <= 3


def test_from_home_to_most_allocated_in_four_actions(page: Page, scenario: int, actions: Actions) -> None:
    page.goto("/")
    region = page.get_by_role("region", name="I tune the scheduler")
    actions.choose(region.get_by_label("Cluster"), str(scenario))
    actions.click(region.get_by_role("button", name="Compare settings"))
    actions.click(page.locator("#pairs").get_by_role("button", name="Compare strategies"))
    page.wait_for_url(re.compile(r"/compare/\d+/\d+/"))
    expect(page.locator("#compare .answer").first).to_be_visible(timeout=60_000)
    assert actions.done <= 4


PASTE = """text => {
  const data = new DataTransfer();
  data.setData("text/plain", text);
  document.body.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true}));
}"""


def test_a_message_that_is_pasted_anywhere_is_explained(page: Page) -> None:
    page.goto("/")
    page.evaluate(PASTE, "0/3 nodes are available: 3 Insufficient cpu.")
    page.wait_for_url("**/message/")
    expect(page.locator(".answer")).to_have_text("None of 3 nodes takes the pod: 3 lack cpu.")
    page.get_by_role("link", name="Upload a snapshot").click()
    page.wait_for_url("**/#upload")


def test_search_by_keyboard(page: Page, recorded: dict[str, Any]) -> None:
    run = recorded["run"]
    page.goto(f"/runs/{run}/")
    page.keyboard.press("/")
    box = page.get_by_role("combobox", name="Search")
    expect(box).to_be_focused()
    expect(box).to_have_attribute("aria-expanded", "true")  # actions
    page.keyboard.type("front-")
    chosen = page.locator("#search [aria-selected=true]")
    expect(chosen).to_contain_text("front-3")
    expect(page.locator("#search [role=status]")).to_contain_text("result")
    for key in ("ArrowDown", "ArrowUp", "ArrowUp"):
        before = box.get_attribute("aria-activedescendant")
        page.keyboard.press(key)
        expect(box).not_to_have_attribute("aria-activedescendant", before or "")
        expect(chosen).to_have_count(1)
        expect(chosen).to_have_id(box.get_attribute("aria-activedescendant") or "")
    page.keyboard.press("Escape")
    expect(box).to_be_hidden()
    page.keyboard.press("Control+k")
    expect(box).to_be_focused()
    page.keyboard.type("front-3")  # replaces the text, and Enter waits for its results
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(rf"/runs/{run}/pods/shop/front-3/"))


def test_a_slash_in_a_text_field_is_a_character(page: Page) -> None:
    page.goto("/scenarios/")
    page.locator("#q").press("/")
    expect(page.locator("#q")).to_have_value("/")
    expect(page.locator("#search")).to_be_hidden()
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox", name="Search")).to_be_focused()


def test_the_list_of_keys_includes_the_search(page: Page, recorded: dict[str, Any]) -> None:
    page.goto(f"/runs/{recorded['run']}/")
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_contain_text("search pods, nodes, runs")
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_hidden()  # one dialog at a time


def test_a_sentence_opens_what_decided(page: Page, recorded: dict[str, Any]) -> None:
    page.goto(f"/runs/{recorded['run']}/pods/shop/search-1/?point=postfilter")
    page.locator(".answer").get_by_role("link", name="cpu").first.click()
    expect(page.locator("#point-filter")).to_be_visible()
    column = page.locator("#point-filter th[data-plugin=NodeResourcesFit]")
    expect(column).to_have_attribute("aria-current", "")
    expect(page).to_have_url(re.compile("point=filter.*plugin=NodeResourcesFit"))
    page.go_back()
    expect(page.locator("#point-postfilter")).to_be_visible()
    page.goto(f"/runs/{recorded['run']}/nodes/delta/")
    page.locator("#pod-verdicts").get_by_role("link", name=re.compile("TaintToleration")).first.click()
    expect(page.locator("#from-tree .lead")).to_contain_text("delta")
