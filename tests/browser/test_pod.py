"""Pod page: many attempts, keys, links to other pods, dialogs."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.kubesched_ui.instance import Instance

UNLUCKY = b"""
apiVersion: kubesched.dev/v1alpha1
kind: Scenario
metadata: {name: unlucky}
spec:
  until: 10m
  binding: {seconds: 100ms, failures: [{pod: default/unlucky, times: 33}]}
  objects:
    - {apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}}
    - {apiVersion: v1, kind: Pod, metadata: {name: unlucky}, spec: {containers: [{name: c}]}}
"""


@pytest.fixture(scope="package")
def unlucky(site: Instance) -> str:
    """Return the page of a pod with 34 attempts, of which the last one binds it."""
    return f"/runs/{site.record(UNLUCKY)['run']}/pods/default/unlucky/"


IN_VIEW = """number => {
  const chosen = document.querySelector("#attempts ol [aria-current]");
  const [tab, strip] = [chosen, chosen.closest("ol")].map((element) => element.getBoundingClientRect());
  const inside = strip.left - 1 <= tab.left && tab.right <= strip.right + 1;
  return inside && chosen.textContent.includes(`Attempt ${number}\\n`);
}"""


def expect_in_view(page: Page, number: int) -> None:
    """Expect the attempt to be selected and visible in its strip."""
    page.wait_for_function(IN_VIEW, arg=number)


@pytest.mark.long
def test_the_selected_attempt_of_many_is_in_view(page: Page, unlucky: str) -> None:
    page.goto(unlucky)
    expect_in_view(page, 34)
    expect(page.locator("#attempts")).to_contain_text("34 of 34")
    page.goto(f"{unlucky}?attempt=17")
    expect_in_view(page, 17)
    for way, number in (("Next attempt", 18), ("First attempt", 1), ("Last attempt", 34), ("Previous attempt", 33)):
        page.get_by_role("link", name=way).click()
        expect_in_view(page, number)
        expect(page).to_have_url(re.compile(rf"attempt={number}$"))
    page.go_back()
    expect_in_view(page, 34)


# The position once the page no longer moves: scrolling is smooth, and slow on busy machines.
SETTLED = """async () => {
  for (let was = -1, same = 0; same < 4; ) {
    await new Promise((done) => setTimeout(done, 100));
    same = scrollY === was ? same + 1 : 0;
    was = scrollY;
  }
  return scrollY;
}"""


@pytest.mark.long
def test_keys_do_not_block_scrolling(page: Page, unlucky: str) -> None:
    page.goto(f"{unlucky}?attempt=17")
    expect(page.locator(".way .attempt").first).to_be_visible()
    page.wait_for_load_state("networkidle")  # later content moves what is below it
    for key, down in (("ArrowDown", True), ("ArrowUp", False), ("PageDown", True), ("Home", False), (" ", True)):
        before = page.evaluate(SETTLED)
        page.keyboard.press(key)
        page.wait_for_function(f"before => {'scrollY > before' if down else 'scrollY < before'}", arg=before)
        expect_in_view(page, 17)
    settled = page.evaluate(SETTLED)
    page.keyboard.press("n")
    expect_in_view(page, 18)
    assert page.evaluate("scrollY") == settled, "another attempt comes where the eye is"
    page.keyboard.press("p")
    page.keyboard.press("p")
    expect_in_view(page, 16)
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#stepper [aria-current]")).to_contain_text("PreBind")
    page.keyboard.press("n")
    expect_in_view(page, 17)
    expect(page.locator("#stepper [aria-current]")).to_contain_text("PreBind")


def test_keys_are_off_while_typing_and_listed_on_request(page: Page, unlucky: str) -> None:
    page.goto(f"{unlucky}?attempt=17&point=filter")
    page.locator("#nodes-card > summary").click()
    page.locator("#node-search").press_sequentially("np?")
    expect(page.locator("#node-search")).to_have_value("np?")
    expect_in_view(page, 17)
    page.locator("h1").click()
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(keys).to_be_visible()
    page.keyboard.press("n")
    page.keyboard.press("Escape")
    expect(keys).to_be_hidden()
    expect_in_view(page, 17)
    page.get_by_role("button", name="All keys").click()
    keys.get_by_role("button", name="Close").click()
    expect(keys).to_be_hidden()


def test_the_next_pod_opens_at_the_same_point(page: Page, recorded: dict[str, Any]) -> None:
    page.goto(f"/runs/{recorded['run']}/")
    first, second = (page.locator("#pods tbody th a").nth(n).get_attribute("href") for n in (0, 1))
    page.goto(f"{first}?point=filter")
    page.locator('.matrix th.plug[data-plugin="NodeResourcesFit"] a').click()
    page.get_by_role("link", name="Next pod").click()
    page.wait_for_url(f"**{second}?point=filter&plugin=NodeResourcesFit")
    page.locator('[data-step="prefilter"] a').click()
    page.get_by_role("link", name="Previous pod").click()
    page.wait_for_url(f"**{first}?point=prefilter")
    expect(page.locator("#stepper [aria-current]")).to_contain_text("PreFilter")


def test_an_irreversible_action_needs_a_confirmation(page: Page, site: Instance, unlucky: str) -> None:
    run = site.record(UNLUCKY)["run"]
    page.goto(f"/runs/{run}/")
    page.wait_for_load_state("networkidle")  # requests of the page fail once the run is deleted
    dialog = page.get_by_role("dialog", name="Are you sure?")
    page.get_by_role("button", name="Delete").click()
    expect(dialog).to_contain_text("Delete this run")
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_be_hidden()
    assert site.api("GET", f"/runs/{run}")["state"] == "done"
    page.get_by_role("button", name="Delete").click()
    dialog.get_by_role("button", name="Delete").click()
    expect(page.get_by_text(f"Run {run} was deleted.")).to_be_visible()


def test_keys_step_through_plugins_and_cycles(page: Page, recorded: dict[str, Any]) -> None:
    run = f"/runs/{recorded['run']}"
    page.goto(f"{run}/cycles/1/?point=filter")
    page.wait_for_url("**?point=filter&cycle=1")
    chosen = page.locator("th[data-plugin][aria-current]:visible")
    plugins = page.locator("#point-filter th[data-plugin]")
    page.keyboard.press("j")
    expect(chosen).to_have_attribute("data-plugin", plugins.nth(0).get_attribute("data-plugin") or "")
    shown = page.locator("#pod-map [data-hand]")
    expect(shown).to_have_text(f"After Filter: {plugins.nth(0).get_attribute('data-plugin')}")
    page.keyboard.press("j")
    expect(chosen).to_have_attribute("data-plugin", plugins.nth(1).get_attribute("data-plugin") or "")
    page.keyboard.press("k")
    page.keyboard.press("k")
    expect(page.locator("#stepper [aria-current]")).to_contain_text("PreFilter")
    page.goto(f"{run}/cycles/1/")
    expect(shown).to_have_text("Result")
    expect(page.locator("#pod-map [data-shades]")).to_contain_text("★ chosen")
    page.goto(f"{run}/cycles/1/?point=score")
    page.keyboard.press("j")
    expect(chosen).to_have_attribute("data-plugin", re.compile("."))
    assert "point=score&" in page.url
    assert "plugin=" in page.url
    before = page.url
    page.keyboard.press(".")
    page.wait_for_url("**cycle=2")
    page.keyboard.press(",")
    page.wait_for_url(lambda url: "cycle=1" in url)
    page.keyboard.press("g")
    page.get_by_role("dialog", name="Go to a cycle").get_by_role("spinbutton").fill("2")
    page.keyboard.press("Enter")
    page.wait_for_url("**cycle=2")
    page.goto(before)
    page.get_by_role("link", name="Show step on the map of the run").click()
    page.wait_for_url(lambda url: "cycle=1" in url and "point=score" in url and url.endswith("#map"))


@pytest.mark.parametrize(("name", "pixels"), [("search-1", 2150), ("front-3", 1900)])
def test_answer_picture_steps_and_inspector_are_in_view_together(
    page: Page, recorded: dict[str, int], name: str, pixels: int
) -> None:
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(f"/runs/{recorded['run']}/pods/shop/{name}/")
    expect(page.locator("#pod-map [data-wait]")).to_be_hidden()
    expect(page.get_by_text("Simulating fixes")).to_have_count(0)
    expect(page.locator("#pod-map [data-shades]")).to_contain_text("cordoned")
    expect(page.locator("#pod-map [data-shades]")).to_contain_text("tainted")
    for part in (".answer", "#pod-map canvas", "#pod-map .map-side p >> nth=0", "#stepper"):
        box = page.locator(part).first.bounding_box()
        assert box, part
        assert box["y"] >= 0, part
        assert box["y"] + box["height"] <= 720, part
    page.set_viewport_size({"width": 1440, "height": 900})
    assert page.evaluate("document.documentElement.scrollHeight") < pixels
