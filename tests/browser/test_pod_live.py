"""A pod of a run that goes on: its place in the queue while it waits, then its steps one by one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Problems, new_page
from tests.browser.test_axe import check_page
from tests.kubesched_ui.clusters import as_list, node, pod
from tests.kubesched_ui.instance import CHECKOUT, Instance, until

pytestmark = pytest.mark.long
PODS = 60
# Python imports this module at its start. Each cycle takes a quarter of a second in all processes of the instance; in
# virtual time, each record from the creation of the pod `late` of story.yaml on two seconds.
SLOW = """
import time
from scheduler_core.simulation import Simulation
fast = Simulation.run
def slow(self):
    for trace in fast(self):
        time.sleep(0.25)
        yield trace
Simulation.run = slow
from scheduler_core.virtual_time.scenario_run import ScenarioRun
quick = ScenarioRun.run
def slow_clock(self):
    for record in quick(self):
        time.sleep(2 if record.time >= 120 else 0)
        yield record
ScenarioRun.run = slow_clock
"""
# Notes each number of pods ahead, and the visible steps at each change of the page.
WATCH = """() => {
  window.seen = { ahead: [], steps: [], answers: [] };
  const note = (list, value) => { if (value !== undefined && list.at(-1) !== value) list.push(value); };
  new MutationObserver(() => {
    const turn = document.querySelector("[data-turn]");
    note(window.seen.ahead, turn ? Number(/\\d+/.exec(turn.textContent)?.[0] ?? 0) : undefined);
    const shown = [...document.querySelectorAll("#stepper [data-step]:not(.coming)")];
    note(window.seen.steps, shown.map((step) => step.dataset.step).join(" "));
    const answer = document.querySelector("#pod .answer");
    note(window.seen.answers, answer && answer.checkVisibility() ? answer.textContent.trim() : undefined);
  }).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
}"""


@pytest.fixture(scope="module")
def slow_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    folder = tmp_path_factory.mktemp("slow")
    (folder / "sitecustomize.py").write_text(SLOW)
    site = Instance(folder / "var")
    site.environment["PYTHONPATH"] = f"{folder}:{CHECKOUT}"
    site.start()
    until(site.serves, "the start")
    yield site
    site.kill_all()


@pytest.fixture
def run(slow_site: Instance) -> dict[str, Any]:
    """Start a run of PODS pods, of which the last one is `last`."""
    pods = [pod(f"p{number:02}", "100m") for number in range(PODS - 1)]
    scenario = slow_site.api(
        "POST", "/scenarios", as_list(node("n1", cpu="32"), node("n2", cpu="32"), *pods, pod("last"))
    )
    run: dict[str, Any] = slow_site.api("POST", f"/scenarios/{scenario['id']}/runs", {"tie_break": "name"})
    return run


def watched(page: Page, run: dict[str, Any]) -> dict[str, Any]:
    """Open the page of the last pod and return what was seen until its steps are shown."""
    page.goto(f"/runs/{run['id']}/pods/default/last/")
    page.evaluate(WATCH)
    expect(page.locator("#pod .answer")).to_have_text("Not scheduled yet.")
    turn = page.locator("[data-turn]")
    expect(turn).to_have_text(re.compile(r"^\s*\d+ pods are tried before it. Its turn comes in about \d+ s\.$"))
    expect(page.locator("#stepper [data-step]")).to_have_count(0)
    expect(page.locator("#timeline")).to_contain_text(f"Place {PODS} of {PODS} in the queue")
    expect(page.locator("#pod-news")).to_contain_text("Placed on", timeout=90_000)
    expect(page.locator("#pod .answer")).to_be_visible()
    seen: dict[str, Any] = page.evaluate("window.seen")
    return seen


def test_a_waiting_pod_shows_its_place_and_then_its_steps(browser: Browser, slow_site: Instance, run: Any) -> None:
    problems = Problems()
    with new_page(browser, slow_site, height=720) as page:
        problems.watch(page)
        seen = watched(page, run)
        assert len(seen["ahead"]) >= 10
        assert seen["ahead"] == sorted(seen["ahead"], reverse=True)
        points = page.locator("#stepper [data-step]").evaluate_all("steps => steps.map((step) => step.dataset.step)")
        assert len(points) > 8
        assert [text for text in seen["steps"] if text] == [
            " ".join(points[:number]) for number in range(1, len(points) + 1)
        ], "one step after another"
        assert [text.split()[0] for text in seen["answers"]] == ["Not", "Placed"], "the answer follows the steps"
        expect(page.locator("#timeline .moments")).to_contain_text(f"{PODS - 1} pods were tried before it.")
        expect(page.locator("#timeline .moments")).to_contain_text(f"cycle {PODS}")
    assert problems == []


def test_a_key_shows_all_steps_at_once_and_reduced_motion_does_not_move(
    browser: Browser, slow_site: Instance, run: Any
) -> None:
    with new_page(browser, slow_site, reduced_motion="reduce") as page:
        page.goto(f"/runs/{run['id']}/pods/default/last/")
        expect(page.locator("[data-turn]")).to_contain_text("tried before it")
        assert check_page(page) == []
        expect(page.locator("[data-turn]")).to_contain_text("tried before it")
        page.locator("#stepper .arriving").first.wait_for(timeout=90_000)
        assert page.locator("#stepper .arriving a").first.evaluate("(a) => getComputedStyle(a).animationName") == "none"
        expect(page.locator("#stepper .coming")).not_to_have_count(0)
        page.keyboard.press("Shift")
        expect(page.locator("#stepper .coming")).to_have_count(0)
        expect(page.locator("#pod .answer")).to_contain_text("Placed on")


def test_in_virtual_time_a_waiting_pod_shows_its_queue_then_its_steps(browser: Browser, slow_site: Instance) -> None:
    story = (Path(__file__).parent / "story.yaml").read_bytes()
    scenario = slow_site.api("POST", "/scenarios", story)["id"]
    run = slow_site.api("POST", f"/scenarios/{scenario}/runs", {})["id"]
    with new_page(browser, slow_site) as page:
        address = f"/runs/{run}/pods/default/late/"
        until(lambda: page.goto(address).status == 200, "the creation of the pod")  # type: ignore[union-attr]
        expect(page.locator("#timeline")).to_contain_text("unschedulable", timeout=90_000)
        assert slow_site.api("GET", f"/runs/{run}")["state"] == "running"
        page.locator("#stepper .arriving").first.wait_for(timeout=90_000)
        expect(page.locator("#pod .answer")).to_contain_text("Placed on n2", timeout=90_000)
