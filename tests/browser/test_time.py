"""Virtual time run: the queue chart is scrubbed and played, and a pod page shows its timeline."""

from __future__ import annotations

import base64
import json
import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import new_page
from tests.browser.test_look import expect_readable
from tests.examples import selection
from tests.kubesched_ui.instance import Instance, until
from tests.kubesched_ui.recordings import node, pod
from tests.scheduler_core.evidence.test_recorded_decisions import audit_log

STORY = Path(__file__).parent / "story.yaml"
BOUND = 'spec: {nodeName: n1, containers: [{name: c, resources: {requests: {cpu: "3"}}}]}'


def scenario(**spec: Any) -> bytes:
    return json.dumps({"apiVersion": "kubesched.dev/v1alpha1", "kind": "Scenario", "spec": spec}).encode()


def lane(page: Page, name: str) -> Locator:
    return page.locator(f'[data-lane="{name}"]')


def expect_pods(page: Page, name: str, pods: list[str]) -> None:
    """Expect the pods in a queue at present, without those that only passed through it."""
    expect(page.locator(f'[data-count="{name}"]')).to_have_text(str(len(pods)))
    expect(lane(page, name).locator("a.chip:not(.passed)")).to_have_text(pods)


def go(page: Page, t: float) -> None:
    slider = page.get_by_label("Timepoint", exact=True)
    expect(slider).to_have_attribute("aria-valuetext", re.compile("bound"), timeout=20_000)  # the moves have loaded
    slider.evaluate("(slider, t) => { slider.value = t; slider.dispatchEvent(new Event('input')); }", t)


def test_scrubbing_changes_the_queues(page: Page, story: dict[str, Any]) -> None:
    page.goto(f"/runs/{story['run']}/?t=70")
    expect_pods(page, "unschedulable", ["boss"])
    expect_pods(page, "gated", ["held"])
    expect_pods(page, "bound", ["worker"])
    go(page, 10)
    expect_pods(page, "unschedulable", [])
    expect(page).to_have_url(re.compile(r"\?t=10$"))
    go(page, 150)
    expect_pods(page, "unschedulable", ["late"])
    expect_pods(page, "bound", ["boss"])
    go(page, 241)
    expect(lane(page, "bound").locator("a.moved")).to_have_text(["late"])
    events = page.locator("[data-events] li")
    expect(events).to_contain_text(
        ["step 3 of the scenario: create Node n2", "node n2 was created", "unschedulable → active NodeAdd"]
    )
    expect(events.filter(has_text="NodeAdd")).to_have_class(re.compile("deep-2"))


@pytest.mark.long
def test_keys_step_through_timepoints_and_playing_advances(page: Page, story: dict[str, Any]) -> None:
    page.goto(f"/runs/{story['run']}/?t=0")
    slider = page.get_by_label("Timepoint", exact=True)
    expect(slider).to_have_attribute("aria-valuetext", re.compile("bound"), timeout=20_000)  # the moves have loaded
    slider.focus()
    slider.press("ArrowRight")
    expect(page.locator("[data-clock]")).to_have_text("1:00")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("1 unschedulable"))
    slider.press("ArrowLeft")
    expect(page.locator("[data-clock]")).to_have_text("0 s")
    expect(page.locator("#fork-t")).to_have_value("0")  # the form has what the map shows
    page.get_by_label("Speed").select_option("60")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_enabled()  # the map has loaded
    slider.press(" ")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.locator("[data-clock]")).to_have_text("5:00", timeout=60_000)
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile(r"\?t=300$"))
    expect(page.locator("#fork-t")).to_have_value("300")
    expect(page.locator("#fork-at")).to_have_value("")
    page.get_by_text("Fork with any change").click()
    page.locator("#fork-t").fill("7")  # what the user enters stays
    slider.press("ArrowLeft")
    expect(page).not_to_have_url(re.compile(r"\?t=300$"))
    expect(page.locator("#fork-t")).to_have_value("7")


@pytest.mark.long
def test_links_to_a_pod_and_to_a_second(page: Page, story: dict[str, Any], site: Instance) -> None:
    page.goto(f"/runs/{story['run']}/?t=70")
    lane(page, "unschedulable").get_by_role("link", name="boss").click()
    page.wait_for_url("**/pods/default/boss/?t=70")
    expect(page.locator("[data-summary]")).to_contain_text("over 2 attempts: 30 s unschedulable")
    recorded = site.record(audit_log("n1"))
    page.goto(f"/scenarios/{recorded['scenario']}/")
    page.get_by_role("link", name="See this second").click()
    page.wait_for_url(f"**/runs/{recorded['run']}/?t=3.0#lanes")
    expect(page.locator("[data-clock]")).to_have_text("3 s")
    expect(page.locator("#map [data-place]")).to_contain_text("3 s")
    page.go_back()
    page.get_by_role("link", name="Fork from it").click()
    expect(page.locator("#fork-t")).to_be_visible()
    expect(page.locator("#fork-t")).to_have_value("3")
    page.get_by_role("button", name="Fork and compare").click()
    page.wait_for_url(re.compile(rf"/compare/{recorded['run']}/\d+/"))


def test_a_preemptor_shows_its_timeline(page: Page, story: dict[str, Any]) -> None:
    page.goto(f"/runs/{story['run']}/pods/default/boss/")
    rows = page.locator("[data-rows] tr")
    first, second = page.locator('[data-attempt="1"]'), page.locator('[data-attempt="2"]')
    expect(rows.filter(has_text="unschedulable → active")).to_contain_text("AssignedPodDelete")
    expect(first).to_contain_text("1 Insufficient cpu")
    expect(second).to_contain_text("placed")
    expect(page.locator("[data-path] tr")).to_contain_text(["its victims on n1 to leave"])
    expect(page.locator(".way .arrow.strong")).to_have_count(1)
    expect(page.locator(".way a").filter(has_text="evicts worker")).to_have_count(1)
    expect(page.locator(".way .attempt")).to_have_count(2)
    page.get_by_text("Waiting time, attempts and queue moves").click()
    second.locator("[data-t]").click()
    assert page.url.endswith("?t=90")
    expect(second).to_have_class("at")
    page.locator(".way a").filter(has_text="evicts worker").click()
    page.wait_for_url("**/pods/default/worker/**")
    expect(page.locator(".way a").filter(has_text="displaced by boss")).to_have_count(1)


def test_a_copied_link_restores_attempt_step_plugin_and_second(
    browser: Browser, site: Instance, story: dict[str, Any]
) -> None:
    with new_page(browser, site, permissions=["clipboard-read", "clipboard-write"]) as page:
        page.goto(f"/runs/{story['run']}/pods/default/boss/?attempt=1")
        page.get_by_text("Waiting time, attempts and queue moves").click()
        page.locator('[data-attempt="2"] [data-t]').click()
        page.locator('[data-step="filter"] a').click()
        page.locator('.matrix th.plug[data-plugin="NodeResourcesFit"] a').click()
        page.get_by_role("button", name="Copy link to this step").click()
        link = page.evaluate("navigator.clipboard.readText()")
    with new_page(browser, site) as page:
        page.goto(link)
        expect(page.locator("#attempts [aria-current]")).to_contain_text("Attempt 1")
        expect(page.locator("#stepper [aria-current]")).to_contain_text("Filter")
        expect(page.locator("#point-filter th[aria-current]")).to_have_attribute("data-plugin", "NodeResourcesFit")
        expect(page.locator('[data-attempt="2"]')).to_have_class("at")
        expect(page.locator('[data-attempt="2"]')).to_be_visible()
        expect(page.locator(".way .now")).to_have_count(1)


@pytest.mark.long
def test_a_victim_bound_at_the_start_shows_its_timeline(page: Page, site: Instance) -> None:
    text = STORY.read_text().replace('spec: {containers: [{name: c, resources: {requests: {cpu: "3"}}}]}', BOUND, 1)
    run = site.record(text.encode())["run"]
    page.goto(f"/runs/{run}/pods/default/worker/")
    expect(page.locator(".way a").filter(has_text="displaced by boss")).to_have_count(1)
    expect(page.locator(".way .segment")).to_have_count(1)
    expect(page.locator("[data-rows] tr").filter(has_text="evicted")).to_contain_text("for default/boss")
    expect(page.locator("[data-summary]")).to_have_text("The pod was never in the queue.")


def test_hostile_names_stay_text_in_virtual_time(page: Page, site: Instance) -> None:
    evil = "<img src=x onerror=alert(1)>"
    text = STORY.read_text().replace("name: late", f'name: "{evil}"').replace("name: n2", f'name: "{evil}"')
    run = site.record(text.encode(), in_time=True)["run"]
    page.goto(f"/runs/{run}/?t=150")
    chip = lane(page, "unschedulable").locator("a.chip")
    expect(chip).to_have_attribute("title", f"default/{evil}")
    chip.click()
    expect(page.locator("[data-rows] tr").filter(has_text="NodeAdd")).to_contain_text(f"node {evil} was created")
    assert page.locator("img").count() == 0


# Left and right edge of all charts over time, of the slider's track, and the position of the line.
EDGES = """() => {
  const of = (element) => { const { left, right } = element.getBoundingClientRect(); return [left, right]; };
  const slider = document.querySelector("#lanes-t");
  const [left, right] = of(slider);
  const half = parseFloat(getComputedStyle(slider).getPropertyValue("--thumb")) / 2;
  const line = of(document.querySelector(".now-line"));
  return {
    pictures: [...document.querySelectorAll("#lanes [data-scrub]")].map(of),
    slider: [left + half, right - half],
    line: (line[0] + line[1]) / 2,
    lines: document.querySelectorAll(".now-line").length,
  };
}"""
ACCENT = [11, 99, 107]  # --accent on light paper
# The middle of the columns of a PNG that contain a colour, in pixels from the left edge.
MIDDLE = """async ([png, colour]) => {
  const picture = await createImageBitmap(new Blob([Uint8Array.from(atob(png), (byte) => byte.charCodeAt())]));
  const { width, height } = picture;
  const context = new OffscreenCanvas(width, height).getContext("2d");
  context.drawImage(picture, 0, 0);
  const { data } = context.getImageData(0, 0, width, height);
  const at = (pixel) => colour.every((part, channel) => Math.abs(data[4 * pixel + channel] - part) <= 2);
  const columns = [...Array(width * height).keys()].filter(at).map((pixel) => pixel % width).sort((a, b) => a - b);
  return (columns[0] + columns.at(-1) + 1) / 2;
}"""


@pytest.mark.long
@pytest.mark.parametrize("width", selection([390, 800, 2560, 1440], 2))
def test_slider_queues_axis_and_cursor_are_aligned(page: Page, story: dict[str, Any], width: int) -> None:
    page.set_viewport_size({"width": width, "height": 1000})
    for t in (0, 70, 240, 300):
        page.goto(f"/runs/{story['run']}/?t={t}")
        expect(page.locator("[data-clock]")).not_to_have_text("" if t else "-")
        slider = page.get_by_label("Timepoint", exact=True)
        expect(slider).to_have_attribute("aria-valuetext", re.compile("bound|active"))
        expect(page.locator("#map [data-place]")).to_contain_text("cycle")  # it is above and loads later
        page.locator("#lanes-t").scroll_into_view_if_needed()
        found = page.evaluate(EDGES)
        left, right = found["slider"]
        assert right - left > width / 4
        assert len(found["pictures"]) >= 10  # six queues, the axis, three rows of the event track
        for edges in found["pictures"]:
            assert abs(edges[0] - left) < 0.5
            assert abs(edges[1] - right) < 0.5
        place = left + (right - left) * t / 300
        assert found["lines"] == 1
        assert abs(found["line"] - place) < 1
        box = page.locator("#lanes-t").bounding_box()
        assert box
        picture = page.screenshot(clip={**box, "height": box["height"] / 2})  # below, the line is thin on the thumb
        middle = page.evaluate(MIDDLE, [base64.b64encode(picture).decode(), ACCENT])
        assert abs(box["x"] + middle - place) <= 1


def test_a_finished_run_opens_at_its_end_or_at_the_timepoint_of_the_url(page: Page, story: dict[str, Any]) -> None:
    page.goto(f"/runs/{story['run']}/")
    expect_pods(page, "bound", ["late", "boss"])
    expect(page.locator("[data-clock]")).to_have_text("5:00")
    assert "t=" not in page.url
    page.goto(f"/runs/{story['run']}/?t=70")
    expect(page.locator("[data-clock]")).to_have_text("1:10")
    expect(page.locator("[data-events-title]")).to_have_text("Events at 1:00, the last before 1:10")
    page.get_by_role("button", name="Go to the end").click()
    expect(page.locator("[data-clock]")).to_have_text("5:00")
    page.get_by_role("button", name="Go to the start").click()
    expect(page).to_have_url(re.compile(r"\?t=0$"))
    page.get_by_role("button", name="Next timepoint").click()
    expect(page).to_have_url(re.compile(r"\?t=60$"))
    page.reload()
    expect(page.locator("[data-clock]")).to_have_text("1:00")


def marks(page: Page, row: str) -> Locator:
    return page.locator(f'[data-track="{row}"] .mark')


def test_the_event_track(page: Page, story: dict[str, Any]) -> None:
    page.goto(f"/runs/{story['run']}/?t=0")
    expect(marks(page, "scenario")).to_have_count(3)
    expect(marks(page, "nodes")).to_have_count(1)
    expect(marks(page, "evictions")).to_have_count(1)
    expect(page.locator('[data-track="warnings"]')).to_have_count(0)
    expect(page.locator('[data-status="scenario"]')).to_have_text("")
    evicted = marks(page, "evictions").first
    expect(evicted).to_have_class(re.compile("mark-preempted"))
    text = "1:00: default/worker was evicted from n1 (preempted, for default/boss)"
    expect(evicted).to_have_attribute("aria-label", text)
    evicted.hover()
    expect(page.locator('[data-status="evictions"]')).to_have_text(text)
    evicted.click()
    expect(page).to_have_url(re.compile(r"\?t=60$"))
    step = "1:00: step 1 of the scenario: create Pod default/boss"
    expect(page.locator('[data-status="scenario"]')).to_have_text(step)
    first = marks(page, "scenario").first
    first.focus()
    first.press("ArrowRight")
    expect(marks(page, "scenario").nth(1)).to_be_focused()
    page.keyboard.press("End")
    expect(page.locator('[data-status="scenario"]')).to_have_text("4:00: step 3 of the scenario: create Node n2")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"\?t=240$"))
    expect(page.locator("[data-legend]")).to_contain_text("pod preempted")


@pytest.mark.long
def test_events_are_listed_with_links(page: Page, story: dict[str, Any]) -> None:
    page.goto(f"/runs/{story['run']}/?t=90")
    events = page.locator("[data-events] li")
    gone = events.filter(has_text="default/worker left n1 (preempted)")
    expect(gone).to_contain_text("because default/worker was evicted from n1 (preempted, for default/boss), 1:00")
    gone.get_by_role("link", name="1:00").click()
    expect(page.locator("[data-events-title]")).to_have_text("Events at 1:00")
    expect(events.first).to_have_text("step 1 of the scenario: create Pod default/boss")
    expect(events.filter(has_text="attempt 1 of")).to_contain_text("Nominated to n1")
    events.filter(has_text="was evicted").get_by_role("link", name="n1").click()
    page.wait_for_url("**/nodes/n1/?t=60")
    page.go_back()
    events.first.get_by_role("link", name="default/boss").click()
    page.wait_for_url("**/pods/default/boss/?t=60")


@pytest.mark.long
def test_zooming_in(page: Page, story: dict[str, Any]) -> None:
    page.goto(f"/runs/{story['run']}/?t=60")
    slider = page.get_by_label("Timepoint", exact=True)
    expect(slider).to_have_attribute("max", "300")
    page.locator("#lanes [data-do=closer]").click()
    expect(slider).to_have_attribute("max", "120")
    expect(slider).to_have_attribute("min", "45")
    found = page.evaluate(EDGES)
    left, right = found["slider"]
    assert abs(found["line"] - (left + (right - left) / 5)) < 1
    expect(marks(page, "scenario")).to_have_count(2)
    page.get_by_role("button", name="Go to the end").click()  # the visible interval follows
    expect(slider).to_have_attribute("max", "300")
    expect(slider).to_have_attribute("min", "225")
    page.get_by_role("button", name="Whole run").click()
    expect(slider).to_have_attribute("min", "0")


@pytest.mark.long
def test_the_number_of_further_events_is_shown(page: Page, site: Instance) -> None:
    objects = [node("n1", cpu="200"), *(pod(f"there-{n:02}", nodeName="n1") for n in range(40))]
    run = site.record(scenario(until=60, objects=objects, timeline=[{"at": 30, "cordon": "n1"}]))["run"]
    page.goto(f"/runs/{run}/")
    expect(page.locator('[data-count="bound"]')).to_have_text("40")
    expect(lane(page, "bound").locator(".chip")).to_have_count(24)
    expect(page.locator('[data-more="bound"]')).to_have_text("and 16 more")
    lane(page, "bound").scroll_into_view_if_needed()
    expect(page.locator('[data-more="bound"]')).to_be_in_viewport()
    expect(page.locator('[data-status="nodes"]')).to_contain_text("node n1: ")


@pytest.fixture(scope="package")
def busy(site: Instance) -> int:
    """Return a scenario with more moves than one interval holds: 7,000 short-lived pods."""
    arrivals = [
        {"name": "job", "every": "1s", "count": 7000, "duration": "5s", "template": {"spec": pod("x")["spec"]}},
    ]
    timeline = [{"at": 100 * n, "cordon" if n % 2 else "uncordon": "n2"} for n in range(1, 60)]
    text = scenario(until="2h", objects=[node("n1", cpu="64"), node("n2")], timeline=timeline, arrivals=arrivals)
    number: int = site.api("POST", "/scenarios", text)["id"]
    return number


@pytest.mark.long
def test_a_long_run_is_followed_and_then_read_in_intervals(page: Page, site: Instance, busy: int) -> None:
    run = site.api("POST", f"/scenarios/{busy}/runs", {})["id"]
    page.goto(f"/runs/{run}/")
    seen = page.locator('[data-part="clock"]')
    expect(seen).to_have_text(re.compile(r"^\s*at\s+[\d:. s]+\s+of\s+2:00:00\s*$"), timeout=60_000)
    assert "0 / 0" not in page.get_by_label("Progress", exact=True).inner_text()
    until(lambda: site.api("GET", f"/runs/{run}")["state"] == "done", "the end", 300)
    expect(page.locator('[data-part="state"]')).to_contain_text("done", timeout=60_000)
    page.get_by_role("button", name="Go to the newest").click()
    expect(seen).to_have_text("2:00:00", timeout=60_000)
    expect(page.locator("[data-clock]")).to_have_text("2:00:00")
    expect(page.locator("#map [data-place]")).to_have_text("2:00:00, after 7,000 cycles")
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url) if "/lanes/stretch" in request.url else None)
    page.goto(f"/runs/{run}/?t=3600")
    expect(page.locator('[data-count="bound"]')).to_have_text("5")
    expect(lane(page, "bound").locator("a.chip:not(.passed)").first).to_have_text("job-3600")
    go(page, 6800)
    expect(lane(page, "bound").locator("a.chip:not(.passed)").first).to_have_text("job-6800")
    assert len(requests) == 2
    page.get_by_role("button", name="Next timepoint").click()
    expect(page.locator("[data-clock]")).to_have_text("1:53:21")
    expect(page.locator(".lanes.reading")).to_have_count(0)
    expect(marks(page, "nodes").first).to_have_class(re.compile("mark-cordon"))
    total = sum(int(text) for text in marks(page, "scenario").locator("text").all_text_contents())
    singles = marks(page, "scenario").count() - marks(page, "scenario").locator("text").count()
    assert total + singles == 59


@pytest.mark.parametrize("screen", selection([*product(["light", "dark"], [390, 800, 1440, 2560])], 8))
def test_virtual_time_pages_at_every_width(
    browser: Browser, site: Instance, story: dict[str, Any], screen: tuple[Any, int]
) -> None:
    scheme, width = screen
    with new_page(browser, site, width, color_scheme=scheme) as page:
        for address in (f"/runs/{story['run']}/?t=70", f"/runs/{story['run']}/pods/default/boss/?t=90"):
            page.goto(address)
            expect_readable(page)
