"""Map of a run: play to breakpoints and back, reload at a step, table, keys."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.kubesched_ui.clusters import as_list, node, pod
from tests.kubesched_ui.instance import Instance


@pytest.fixture(scope="package")
def mapped(site: Instance) -> int:
    """Return a run of 12 cycles on three nodes: p0 to p3 fit, big4 to big7 do not, p8 to p11 fit."""
    pods = [pod(f"big{i}", "64") if 4 <= i < 8 else pod(f"p{i}", "500m") for i in range(12)]
    return site.record(as_list(*(node(f"n{i}") for i in range(3)), *pods), tie_break="name")["run"]


def expect_place(page: Page, text: str) -> None:
    expect(page.locator("#map [data-place]")).to_have_text(text)


def open_at(page: Page, run: int, query: str, place: str) -> None:
    page.goto(f"/runs/{run}/{query}")
    expect_place(page, place)


def hand(page: Page) -> Any:
    return page.locator("#map [data-hand]")


@pytest.mark.long
def test_playing_stops_at_breakpoints_in_both_directions(page: Page, site: Instance, mapped: int) -> None:
    open_at(page, mapped, "", "after 12 cycles")
    page.get_by_role("button", name="Before the first cycle").click()
    expect_place(page, "cycle 1 of 12")
    page.locator("#map-where").fill('result == "unschedulable" && attempt == 1')
    page.get_by_role("button", name="Add breakpoint", exact=True).click()
    expect(page.get_by_role("list", name="Breakpoints").get_by_role("listitem")).to_have_count(1)
    page.locator("#map [data-speed]").select_option("30")
    forward, back = (page.get_by_role("button", name=name) for name in ("Play forward", "Play backward"))
    forward.click()
    expect(page.locator("#map [data-stopped]")).to_contain_text("Stopped")
    expect_place(page, "cycle 5 of 12")
    expect(hand(page)).to_contain_text("default/big4, 64 cpu")
    expect(forward).to_have_attribute("aria-pressed", "false")
    forward.click()
    expect_place(page, "cycle 6 of 12")
    open_at(page, mapped, "?cycle=13", "after 12 cycles")
    page.locator("#map [data-speed]").select_option("30")
    expect(page.get_by_role("list", name="Breakpoints").get_by_role("listitem")).to_have_count(1)
    back.click()
    expect_place(page, "cycle 8 of 12")
    expect(page).to_have_url(re.compile("cycle=8"))
    page.get_by_role("button", name=re.compile("^Remove")).click()
    expect(page.get_by_role("list", name="Breakpoints").get_by_role("listitem")).to_have_count(0)
    assert site.api("GET", f"/runs/{mapped}/breakpoints") == []
    back.click()
    expect_place(page, "cycle 1 of 12")


DRAWN = "document.querySelector('#map canvas').toDataURL()"
ANEW = """new Promise((drawn) => {
  document.dispatchEvent(new Event("themechange"));
  requestAnimationFrame(() => requestAnimationFrame(drawn));
})"""


@pytest.mark.long
@pytest.mark.parametrize(("cycle", "speed"), [(1, "30"), (9, "5")])  # at 5 a second pods are animated
def test_incremental_drawing_equals_full_drawing(page: Page, mapped: int, cycle: int, speed: str) -> None:
    open_at(page, mapped, f"?cycle={cycle}", f"cycle {cycle} of 12")
    began = page.evaluate(DRAWN)
    page.locator("#map [data-speed]").select_option(speed)
    page.get_by_role("button", name="Play forward").click()
    expect_place(page, "after 12 cycles")
    expect(page.get_by_role("button", name="Play forward")).to_have_attribute("aria-pressed", "false")
    page.wait_for_timeout(600)  # the last one has landed
    parts = page.evaluate(DRAWN)
    page.evaluate(ANEW)
    assert parts == page.evaluate(DRAWN)
    assert parts != began


def test_the_url_has_the_step(page: Page, mapped: int) -> None:
    open_at(page, mapped, "?cycle=5&point=filter&plugin=NodeResourcesFit", "cycle 5 of 12")
    expect(page.locator("#map .steps .here")).to_contain_text("NodeResourcesFit decides against 3 of 3 nodes")
    expect(page.locator("#map [data-shades]")).to_contain_text("NodeResourcesFit refuses 3")
    page.get_by_role("button", name="As a table").click()
    expect(page.locator(".map-table tbody tr").first).to_contain_text("NodeResourcesFit refuses: Insufficient cpu")
    page.reload()
    expect(page.locator("#map .steps .here")).to_contain_text("NodeResourcesFit decides against 3 of 3 nodes")
    page.keyboard.press(".")
    expect_place(page, "cycle 6 of 12")
    page.keyboard.press("j")
    expect(page).to_have_url(re.compile("cycle=6&point=prefilter"))
    page.go_back()
    page.go_back()
    expect(page).to_have_url(re.compile("cycle=5&point=filter&plugin=NodeResourcesFit"))
    expect(page.locator("#map .steps .here")).to_contain_text("NodeResourcesFit")
    open_at(page, mapped, "?cycle=99", "after 12 cycles")
    expect(page.locator("#map [data-wait]")).to_be_hidden()


def test_keys(page: Page, mapped: int) -> None:
    open_at(page, mapped, "?cycle=2", "cycle 2 of 12")
    page.locator("h1").click()
    current = page.locator("#map .steps a[aria-current]")
    page.keyboard.press("ArrowRight")
    expect(current.first).to_have_text("PreFilter")
    page.keyboard.press("ArrowRight")
    expect(current.first).to_have_text("Filter")
    page.keyboard.press("j")
    expect(page.locator("#map .steps .here")).to_have_count(1)
    page.keyboard.press("ArrowLeft")
    expect(current.first).to_have_text("Filter")
    page.keyboard.press("ArrowLeft")
    expect(current.first).to_have_text("PreFilter")
    page.keyboard.press(".")
    expect_place(page, "cycle 3 of 12")
    page.keyboard.press(",")
    expect_place(page, "cycle 2 of 12")
    page.keyboard.press("g")
    page.get_by_role("dialog", name="Go to a cycle").get_by_role("spinbutton").fill("12")
    page.keyboard.press("Enter")
    expect_place(page, "cycle 12 of 12")
    before = page.evaluate("scrollY")
    page.keyboard.press("PageDown")
    page.wait_for_function("before => scrollY > before", arg=before)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("previous and next plugin")


def test_the_table_agrees_with_the_map(page: Page, mapped: int) -> None:
    open_at(page, mapped, "?cycle=4", "cycle 4 of 12")
    page.get_by_role("button", name="As a table").press("Enter")
    rows = page.locator(".map-table tbody tr")
    expect(rows).to_have_count(3)
    assert sum(int(row.locator("td").nth(3).inner_text()) for row in rows.all()) == 3
    expect(rows.filter(has_text="chosen")).to_have_count(1)
    page.locator("#map [data-fill]").select_option("memory")
    expect(page.locator(".map-table thead")).to_contain_text("memory requested")
    page.get_by_label("Search nodes, groups, verdicts").fill("n1")
    expect(rows).to_have_count(1)
    page.get_by_label("Search nodes, groups, verdicts").fill("")
    page.get_by_role("button", name="After the last cycle").press("Enter")
    expect_place(page, "after 12 cycles")
    expect(rows).to_have_count(3)
    assert sum(int(row.locator("td").nth(3).inner_text()) for row in rows.all()) == 8


@pytest.mark.long
def test_a_node_is_selected_and_awaited(page: Page, mapped: int) -> None:
    open_at(page, mapped, "?cycle=3&node=n1", "cycle 3 of 12")
    card = page.locator("#map .node-card")
    expect(card).to_contain_text("0.5 of 4 cpu requested")
    card.get_by_role("button", name="Go to next: n1 refuses").click()
    expect_place(page, "cycle 5 of 12")
    canvas = page.locator("#map canvas")
    box = canvas.bounding_box()
    assert box
    canvas.click(position={"x": 60, "y": 90})
    expect(card.locator("h3 a")).to_have_text("n0")
    card.get_by_role("button", name="Add breakpoint: n0 is chosen").click()
    kept = page.get_by_role("list", name="Breakpoints").get_by_role("listitem")
    expect(kept).to_contain_text(["n0 is chosen"])
    kept.get_by_role("button", name="Remove n0 is chosen").click()
    expect(kept).to_have_count(0)
    card.get_by_role("button", name="Clear node selection").click()
    expect(card).to_be_hidden()


@pytest.mark.long
def test_searching_cycles(page: Page, mapped: int) -> None:
    open_at(page, mapped, "", "after 12 cycles")
    page.locator("#map-where").fill('refused_by("NodeResourcesFit")')
    page.get_by_role("button", name="Find", exact=True).click()
    found = page.get_by_role("list", name="Matching cycles").get_by_role("listitem")
    expect(found).to_have_count(4)
    found.nth(1).get_by_role("link").click()
    expect_place(page, "cycle 6 of 12")


def test_an_invalid_expression_shows_its_position(page: Page, mapped: int) -> None:
    open_at(page, mapped, "", "after 12 cycles")
    page.locator("#map-where").fill("tied >")
    page.get_by_role("button", name="Find", exact=True).click()
    expect(page.locator("#map [data-found] [role=alert]")).to_be_visible()
    expect(page.locator("#map [data-found] pre")).to_contain_text("^")


@pytest.mark.long
def test_map_and_queue_chart_share_a_cursor(page: Page, story: dict[str, Any]) -> None:
    page.goto(f"/runs/{story['run']}/?t=70")
    slider, place = page.get_by_label("Timepoint", exact=True), page.locator("#map [data-place]")
    expect(place).to_contain_text("1:10")
    expect(slider).to_have_value("70")
    page.get_by_role("button", name="A step forward", exact=True).click()
    expect(place).to_contain_text(re.compile(r"cycle \d of"))
    expect(slider).not_to_have_value("70")
    at = float(slider.input_value())
    assert at > 70
    expect(page).to_have_url(re.compile("cycle="))
    page.locator("#lanes").get_by_role("button", name="Go to the start").click()
    expect(place).to_contain_text("0 s")
    expect(page).to_have_url(re.compile(r"\?t=0$"))
    page.locator("#map [data-unit]").select_option("move")
    for _ in range(2):
        page.get_by_role("button", name="A step forward", exact=True).click()
        expect(page).to_have_url(re.compile("seq="))
    expect(page.locator("#map [data-cycle]")).to_contain_text("Event")
    page.reload()
    expect(page).to_have_url(re.compile("seq="))
    expect(page.locator("#map [data-cycle]")).to_contain_text("Event")


def test_a_long_list_of_pods_leaves_no_space_below_the_map(page: Page, site: Instance) -> None:
    full = (pod(f"p{i}", "100m") | {"spec": {**pod("p", "100m")["spec"], "nodeName": "n0"}} for i in range(40))
    made = site.api("POST", "/scenarios", as_list(node("n0"), node("n1"), *full))["id"]
    page.goto(f"/scenarios/{made}/")
    canvas, card = page.locator(".map canvas"), page.locator(".map .node-card")
    expect(page.locator(".map .map-wait")).to_be_hidden()
    canvas.click(position={"x": 60, "y": 60})
    expect(card).to_contain_text("and 26 more")
    side, main = page.locator(".map-side").bounding_box(), page.locator(".map-main").bounding_box()
    assert side
    assert main
    assert side["height"] <= main["height"] + 1
    assert main["height"] < 500


@pytest.mark.long
def test_forced_colours_show_the_current_item(page: Page, site: Instance) -> None:
    page.emulate_media(forced_colors="active")
    page.goto("/scenarios/")
    current = page.locator(".top a[aria-current]").first
    expect(current).to_be_visible()
    colours = "link => { const style = getComputedStyle(link); return [style.backgroundColor, style.color] }"
    background, text = current.evaluate(colours)
    other, _ = page.locator(".top nav a:not([aria-current])").first.evaluate(colours)
    assert background not in (other, text)
