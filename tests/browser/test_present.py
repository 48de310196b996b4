"""Presentation mode: by keys and swipes, without hidden results, readable from afar and on a phone."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect


def press_key(page: Page, key: str, heading: str) -> None:
    page.keyboard.press(key)
    expect(page.locator("#t-slide")).to_contain_text(heading)


def test_by_keys_alone(page: Page, recorded: dict[str, Any]) -> None:
    page.set_viewport_size({"width": 1920, "height": 1080})
    page.goto(f"/runs/{recorded['run']}/pods/shop/front-3/?point=score")
    page.keyboard.press("s")
    page.wait_for_url("**/present/**")
    expect(page.locator("#t-slide")).to_have_text("Total scores")
    press_key(page, "ArrowRight", "The decision")
    expect(page.locator("[data-status]")).to_contain_text("The decision")
    press_key(page, "PageUp", "Total scores")
    page.keyboard.press("h")
    expect(page.locator("#go-toggle")).to_have_text("Show later steps")
    page.keyboard.press("Home")
    expect(page.locator(".figures")).to_contain_text("pods")
    press_key(page, "ArrowRight", "front-3")
    expect(page.locator(".rail li")).to_have_count(1)
    assert "The decision" not in page.content()
    assert page.evaluate("parseFloat(getComputedStyle(document.querySelector('h1')).fontSize)") >= 40
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.wait_for_url("**/pods/**")


def test_the_map_of_a_slide_and_its_player_fit_a_small_screen(page: Page, recorded: dict[str, Any]) -> None:
    """The arrow keys move slides, and the player repeats the steps so far."""
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(f"/runs/{recorded['run']}/pods/shop/front-3/")
    page.keyboard.press("s")
    page.wait_for_url("**/present/**")
    page.locator(".rail a", has_text="Feasible nodes").click()
    place = page.locator("stage-map [data-place]")
    expect(place).to_contain_text("of")
    last = place.inner_text()
    page.keyboard.press("k")
    expect(place).not_to_have_text(last)
    page.keyboard.press("e")
    expect(place).to_have_text(last)
    for part in ("stage-map canvas", "stage-map .transport"):
        box = page.locator(part).bounding_box()
        way = page.locator(".present-way").bounding_box()
        assert box
        assert way
        assert box["y"] + box["height"] <= way["y"], part
    press_key(page, "ArrowRight", "×")


@pytest.mark.long
def test_every_slide_fits_a_phone_and_is_swiped(page: Page, recorded: dict[str, Any], story: dict[str, Any]) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    for run in (recorded["run"], story["run"]):
        page.goto(f"/runs/{run}/present/?hide=1")
        for _ in range(25):
            assert page.evaluate("document.documentElement.scrollWidth") <= 360, page.url
            link = page.locator("#go-after")
            if not link.count():
                break
            to = link.get_attribute("href") or ""
            page.evaluate(SWIPE)
            page.wait_for_url(lambda url, to=to: url.endswith(to))


SWIPE = """() => {
  const slide = document.querySelector('.slide');
  const down = {bubbles: true, pointerType: 'touch', clientX: 300, clientY: 300};
  slide.dispatchEvent(new PointerEvent('pointerdown', down));
  const touch = new Touch({identifier: 1, target: slide, clientX: 120, clientY: 310});
  slide.dispatchEvent(new TouchEvent('touchend', {bubbles: true, changedTouches: [touch]}));
}"""
