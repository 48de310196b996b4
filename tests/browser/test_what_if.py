"""Changes of nodes and pods by clicks alone and by keyboard alone: each is a fork whose comparison shows its effect.

Also the number of actions from the home page to a comparison of two strategies and to an upgrade preview.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import new_page
from tests.kubesched_ui.clusters import as_list, node, pod
from tests.kubesched_ui.instance import Instance

pytestmark = pytest.mark.long

TABS = 300  # key presses at most until an element has the focus
TAINT = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
Press = Callable[[Locator], None]


def cluster() -> bytes:
    """On n1 are db (1 cpu) and, after the run, web-1 and web-2 (1.5 each); web-3 finds no node, nor does picky."""
    db = pod("db", on="n1")
    db["metadata"]["ownerReferences"] = [
        {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "db", "controller": True}
    ]
    nodes = node("n1", cpu="4500m"), node("n2", taints=[TAINT])
    pods = (pod(f"web-{i}", cpu="1500m") for i in (1, 2, 3))
    return as_list(*nodes, db, *pods, pod("picky", cpu="100m", nodeSelector={"disk": "ssd"}))


@pytest.fixture(scope="module")
def run(site: Instance) -> int:
    return int(site.record(cluster(), tie_break="name")["run"])


def click(what: Locator) -> None:
    what.click()


def press(what: Locator) -> None:
    """Move the focus to an element with Tab, and press Enter."""
    expect(what).to_be_visible()
    for _ in range(TABS):
        if what.evaluate("element => element === document.activeElement"):
            what.page.keyboard.press("Enter")
            return
        what.page.keyboard.press("Tab")
    raise AssertionError(f"{what} does not get the focus")


def opened(page: Page) -> Locator:
    """Open the folded section of a page."""
    page.locator("summary", has_text="What if …").press("Enter")
    return page.locator("#what-if")


def on_node(page: Page, run: int, name: str) -> Locator:
    page.goto(f"/runs/{run}/nodes/{name}/")
    return opened(page)


def on_pod(page: Page, run: int, name: str) -> Locator:
    page.goto(f"/runs/{run}/pods/default/{name}/")
    return opened(page)


def on_map(page: Page, run: int, name: str, act: Press) -> Locator:
    """Open the dialog of a node: of the selected one next to the map, or of a row of its table."""
    page.goto(f"/runs/{run}/?node={name}")
    expect(page.locator("#map [data-node]")).to_be_visible()
    if act is press:
        press(page.get_by_role("button", name="As a table"))
        act(page.locator("#map table").get_by_role("button", name=f"What if: Node {name}"))
    else:
        act(page.locator("#map [data-node]").get_by_role("button", name=f"What if: Node {name}"))
    return page.get_by_role("dialog")


def in_list(page: Page, run: int, name: str, act: Press) -> Locator:
    page.goto(f"/runs/{run}/")
    act(page.locator("#together").get_by_role("button", name=f"What if: Pod default/{name}"))
    return page.get_by_role("dialog")


def button(within: Locator, name: str) -> Locator:
    return within.get_by_role("button", name=name, exact=True)


def compared(page: Page, run: int, title: str, *outcome: str) -> None:
    """Return the comparison of the fork, after the end of both runs."""
    page.wait_for_url(re.compile(rf"/compare/{run}/\d+/"))
    for text in outcome:
        expect(page.locator(".answer")).to_contain_text(text)
    expect(page.locator(".compared")).to_contain_text(f"Run {run} + {title}")
    for side in "ab":
        expect(page.locator(f"#maps [data-side={side}] [data-status]")).to_contain_text(re.compile(r"after \d cycles"))
    expect(page.locator("#maps [data-apart]")).to_contain_text("on different nodes at this step")


@pytest.mark.parametrize("act", [click, press], ids=["clicks", "keys"])
def test_each_change_is_a_fork(page: Page, run: int, act: Press) -> None:
    act(button(on_map(page, run, "n1", act), "Cordon"))
    compared(page, run, "cordon n1", "2 pods lose their node")

    act(button(on_node(page, run, "n1"), "Drain"))
    compared(page, run, "drain n1", "3 pods lose their node")

    what_if = on_pod(page, run, "web-1")
    act(what_if.get_by_text("Change requests", exact=True).first)
    what_if.get_by_label(re.compile("cpu of")).fill("3")
    act(button(what_if, "Change requests"))
    compared(page, run, "3 cpu for web-1", "1 pod loses its node")

    act(button(on_node(page, run, "n2"), "Remove taint dedicated=gpu:NoSchedule"))
    compared(page, run, "no taint dedicated=gpu:NoSchedule on n2", "1 pod is placed")

    what_if = on_node(page, run, "n1")
    number = what_if.get_by_label("Number of new nodes")
    if act is press:
        press(number)  # Enter in a field starts nothing
        page.keyboard.press("ArrowUp")
    else:
        number.fill("2")
    act(button(what_if, "Add nodes like this one"))
    compared(page, run, "2 nodes like n1", "1 pod is placed")

    act(button(in_list(page, run, "picky", act), "Prefer: nodeSelector disk=ssd"))
    compared(page, run, "preferred nodeSelector on picky", "1 pod is placed")


def test_an_error_is_shown_and_nothing_starts(page: Page, site: Instance, run: int) -> None:
    before = len(site.api("GET", "/runs"))
    what_if = on_node(page, run, "n1")
    what_if.get_by_text("Add a taint").click()
    what_if.get_by_label("Key").fill("not a key")
    button(what_if, "Add taint").click()
    expect(page.get_by_role("alert")).to_contain_text("Node n1: spec.taints.key: must be at most 63 letters")
    page.get_by_role("link", name="Back", exact=True).click()
    expect(page.get_by_role("heading", name="n1")).to_be_visible()
    assert len(site.api("GET", "/runs")) == before


def test_without_scripts(browser: Browser, site: Instance, run: int) -> None:
    with new_page(browser, site, java_script_enabled=False) as page:
        page.goto(f"/runs/{run}/nodes/n1/")
        page.get_by_text("What if …").click()
        page.get_by_role("link", name="Change this node in a fork").click()
        page.get_by_role("button", name="Cordon").click()
        expect(page).to_have_url(re.compile(rf"/compare/{run}/\d+/"))
        expect(page.get_by_role("heading", name="Comparison of two runs")).to_be_visible()


class Counted:
    """Count the actions of a user."""

    def __init__(self, page: Page) -> None:
        self.page, self.actions = page, 0
        page.goto("/")

    def upload(self, data: bytes) -> None:
        self.actions += 1
        self.page.locator("#files").set_input_files({"name": "c.json", "mimeType": "text/plain", "buffer": data})
        self.page.wait_for_url(re.compile(r"/(scenarios|runs)/\d+/"))

    def click(self, what: Locator) -> None:
        self.actions += 1
        what.click()

    def open_scenario(self) -> None:
        """Open the scenario after an upload, which opens the scenario or its first run."""
        if "/runs/" in self.page.url:
            self.click(self.page.locator("nav.crumbs a[href^='/scenarios/'], .crumbs a[href^='/scenarios/']").last)
            self.page.wait_for_url(re.compile(r"/scenarios/\d+/"))


@pytest.mark.parametrize("uploads", [True, False], ids=["upload", "sample"])
def test_few_actions_from_home_to_two_strategies(page: Page, uploads: bool) -> None:
    user = Counted(page)
    begin(user, uploads)
    user.click(page.get_by_role("button", name="Compare strategies"))
    page.wait_for_url(re.compile(r"/compare/\d+/\d+/"))
    expect(page.locator(".answer")).to_be_visible()
    expect(page.locator(".compared")).to_contain_text("MostAllocated")
    assert user.actions <= 4


@pytest.mark.parametrize("uploads", [True, False], ids=["upload", "sample"])
def test_few_actions_from_home_to_an_upgrade_preview(page: Page, uploads: bool) -> None:
    user = Counted(page)
    if uploads:
        begin(user, uploads)
    else:
        user.click(page.get_by_role("button", name="Preview an upgrade"))
    user.click(page.get_by_role("button", name="Preview the upgrade"))
    page.wait_for_url(re.compile(r"/upgrades/\d+/"))
    assert user.actions <= 3


def begin(user: Counted, uploads: bool) -> None:
    if uploads:
        user.upload(cluster())
    else:
        user.click(user.page.locator(".samples summary").first)
        user.click(user.page.locator(".tile").first)
        user.page.wait_for_url(re.compile(r"/(scenarios|runs)/\d+/"))
    user.open_scenario()


def test_a_fork_with_weights_needs_no_json(page: Page, run: int) -> None:
    page.goto(f"/runs/{run}/")
    page.get_by_text("Fork with any change").click()
    fork: Any = page.locator("#fork")
    fork.get_by_text("Scoring: strategy and weights").click()
    fork.get_by_label("Strategy of NodeResourcesFit").select_option("MostAllocated")
    fork.get_by_label("ImageLocality").fill("3")
    fork.get_by_role("button", name="Fork and compare").click()
    page.wait_for_url(re.compile(rf"/compare/{run}/\d+/"))
    expect(page.locator(".compared")).to_contain_text(f"Run {run} + MostAllocated, ImageLocality ×3")
