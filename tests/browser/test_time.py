"""A run in time in a real browser: the queue's lanes are scrubbed and played, a pod's page tells its way."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.test_look import FAINT, NAMELESS, OUTSIDE
from tests.kubesched_ui.instance import Instance

STORY = b"""
apiVersion: kubesched.dev/v1alpha1
kind: Scenario
metadata: {name: a boss comes}
spec:
  until: 5m
  objects:
    - {apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}}
    - {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: urgent}, value: 1000}
    - apiVersion: v1
      kind: Pod
      metadata: {name: worker, namespace: default}
      spec: {containers: [{name: c, resources: {requests: {cpu: "3"}}}]}
    - apiVersion: v1
      kind: Pod
      metadata: {name: held, namespace: default}
      spec: {schedulingGates: [{name: example.com/quota}], containers: [{name: c}]}
  timeline:
    - at: 60s
      create:
        apiVersion: v1
        kind: Pod
        metadata: {name: boss, namespace: default}
        spec: {priorityClassName: urgent, containers: [{name: c, resources: {requests: {cpu: "4"}}}]}
    - at: 2m
      create:
        apiVersion: v1
        kind: Pod
        metadata: {name: late, namespace: default}
        spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}
    - at: 4m
      create: {apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: "4", pods: "9"}}}
"""
BOUND = 'spec: {nodeName: n1, containers: [{name: c, resources: {requests: {cpu: "3"}}}]}'


@pytest.fixture(scope="package")
def story(site: Instance) -> int:
    """A finished run: at 60 s boss preempts worker, which takes 30 s to go; late waits for n2 from 120 s to 240 s."""
    made = site.api("POST", "/scenarios", STORY)
    run: int = site.api("POST", f"/scenarios/{made['id']}/runs", {})["id"]
    assert site.finished(run)["state"] == "done"
    return run


def lane(page: Page, name: str) -> Locator:
    return page.locator(f'[data-lane="{name}"]')


def expect_pods(page: Page, name: str, pods: list[str]) -> None:
    """The pods that are in a lane now, without those that only passed through it."""
    expect(page.locator(f'[data-count="{name}"]')).to_have_text(str(len(pods)))
    expect(lane(page, name).locator("a.chip:not(.passed)")).to_have_text(pods)


def go(page: Page, t: float) -> None:
    slider = page.get_by_label("Moment of the run")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("bound"), timeout=20_000)  # the moves have come
    slider.evaluate("(slider, t) => { slider.value = t; slider.dispatchEvent(new Event('input')); }", t)


def test_scrubbing_changes_the_lanes(page: Page, story: int) -> None:
    page.goto(f"/runs/{story}/?t=70")
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
    told = page.locator("[data-told] li")
    expect(told.filter(has_text="NodeAdd")).to_contain_text("because node n2 was created")


def test_keys_go_from_moment_to_moment_and_playing_moves_on(page: Page, story: int) -> None:
    page.goto(f"/runs/{story}/?t=0")
    slider = page.get_by_label("Moment of the run")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("bound"), timeout=20_000)  # the moves have come
    slider.focus()
    slider.press("ArrowRight")
    expect(page.locator("[data-clock]")).to_have_text("1:00")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("1 unschedulable"))
    slider.press("ArrowLeft")
    expect(page.locator("[data-clock]")).to_have_text("0 s")
    page.get_by_label("Speed").select_option("60")
    slider.press(" ")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.locator("[data-clock]")).to_have_text("5:00", timeout=60_000)
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile(r"\?t=300$"))


def test_a_pod_in_a_lane_leads_to_its_page(page: Page, story: int) -> None:
    page.goto(f"/runs/{story}/?t=70")
    lane(page, "unschedulable").get_by_role("link", name="boss").click()
    page.wait_for_url("**/pods/default/boss/?t=70")
    expect(page.locator("[data-summary]")).to_contain_text("over 2 attempts: 30 s unschedulable")


def test_a_preemptor_tells_its_way(page: Page, story: int) -> None:
    page.goto(f"/runs/{story}/pods/default/boss/")
    rows = page.locator("[data-rows] tr")
    first, second = page.locator('[data-attempt="1"]'), page.locator('[data-attempt="2"]')
    expect(rows.filter(has_text="unschedulable → active")).to_contain_text("AssignedPodDelete")
    expect(first).to_contain_text("1 Insufficient cpu")
    expect(second).to_contain_text("placed")
    expect(page.locator("[data-path] tr")).to_contain_text(["its victims on n1 to leave"])
    expect(page.locator(".way .arrow.strong")).to_have_count(1)
    expect(page.locator(".way a").filter(has_text="evicts worker")).to_have_count(1)
    expect(page.locator(".way .attempt")).to_have_count(2)
    second.locator("[data-t]").click()
    assert page.url.endswith("?t=90")
    expect(second).to_have_class("at")
    page.locator(".way a").filter(has_text="evicts worker").click()
    page.wait_for_url("**/pods/default/worker/**")
    expect(page.locator(".way a").filter(has_text="displaced by boss")).to_have_count(1)


def test_a_victim_that_was_there_from_the_start_tells_its_way(page: Page, site: Instance) -> None:
    text = STORY.decode().replace('spec: {containers: [{name: c, resources: {requests: {cpu: "3"}}}]}', BOUND, 1)
    made = site.api("POST", "/scenarios", text.encode())
    run = site.api("POST", f"/scenarios/{made['id']}/runs", {})["id"]
    site.finished(run)
    page.goto(f"/runs/{run}/pods/default/worker/")
    expect(page.locator(".way a").filter(has_text="displaced by boss")).to_have_count(1)
    expect(page.locator(".way .segment")).to_have_count(1)
    expect(page.locator("[data-rows] tr").filter(has_text="evicted")).to_contain_text("for default/boss")
    expect(page.locator("[data-summary]")).to_have_text("It was never in the queue.")


def test_hostile_names_stay_text_in_time(page: Page, site: Instance) -> None:
    evil = "<img src=x onerror=alert(1)>"
    text = STORY.decode().replace("name: late", f'name: "{evil}"').replace("name: n2", f'name: "{evil}"')
    made = site.api("POST", "/scenarios", text.encode())
    run = site.api("POST", f"/scenarios/{made['id']}/runs", {"in_time": True})["id"]
    site.finished(run)
    page.goto(f"/runs/{run}/?t=150")
    chip = lane(page, "unschedulable").locator("a.chip")
    expect(chip).to_have_attribute("title", f"default/{evil}")
    chip.click()
    expect(page.locator("[data-rows] tr").filter(has_text="NodeAdd")).to_contain_text(f"node {evil} was created")
    assert page.locator("img").count() == 0


@pytest.mark.parametrize("width", [390, 800, 1440, 2560])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_in_time_at_every_width(browser: Browser, site: Instance, story: int, width: int, scheme: Any) -> None:
    context = browser.new_context(
        base_url=f"http://127.0.0.1:{site.port}", viewport={"width": width, "height": 900}, color_scheme=scheme
    )
    page = context.new_page()
    for address in (f"/runs/{story}/?t=70", f"/runs/{story}/pods/default/boss/?t=90"):
        page.goto(address)
        expect(page.locator(".wait").filter(has_text="Reading")).to_have_count(0)
        assert page.evaluate(OUTSIDE) == [], address
        assert page.evaluate(FAINT) == [], address
        assert page.evaluate(NAMELESS) == [], address
    context.close()
