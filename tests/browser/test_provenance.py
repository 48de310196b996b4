"""Provenance: from a score down to a line of YAML."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from kubesched_ui.scenarios.samples import FOLDER
from tests.kubesched_ui.instance import Instance


@pytest.fixture(scope="package")
def packed(site: Instance) -> str:
    """Return the page of the last pod that was scored."""
    run = site.record((FOLDER / "09-bin-packing.yaml").read_bytes())["run"]
    scored = [pod for pod in site.api("GET", f"/runs/{run}/pods")["pods"] if pod["score"] is not None]
    return f"/runs/{run}/pods/{scored[-1]['namespace']}/{scored[-1]['name']}/"


def test_from_a_score_to_a_line_of_yaml(page: Page, packed: str) -> None:
    page.goto(f"{packed}?point=score")
    raw = page.locator("[data-from=raw][data-plugin=NodeResourcesFit]").first
    number = raw.inner_text()
    raw.click()
    tree = page.locator("#from-tree")
    expect(tree.locator(".lead")).to_contain_text(re.compile(rf"^{number} = "))
    expect(page).to_have_url(re.compile(r"point=raw&plugin=NodeResourcesFit&node="))
    field = tree.get_by_role("link", name=re.compile(r"^Node .*status\.allocatable\.cpu")).first
    field.click()
    expect(page.locator(".yaml .hit")).to_contain_text("cpu:")
    page.go_back()
    expect(tree.locator(".lead")).to_contain_text(f"{number} = ")
    page.reload()
    expect(tree.locator(".lead")).to_contain_text(f"{number} = ")
    page.keyboard.press("Escape")
    expect(page.locator("#from")).to_be_hidden()
    expect(page).to_have_url(re.compile(r"point=score$"))


def test_by_keyboard_to_another_plugin_and_node(page: Page, packed: str) -> None:
    page.goto(f"{packed}?point=score")
    page.locator("[data-from=total]").first.focus()
    page.keyboard.press("Enter")
    tree = page.locator("#from-tree")
    expect(tree.locator(".lead")).to_contain_text(re.compile(r"^[\d,]+ = "))
    query = page.locator("#from-query")
    query.get_by_label("Point").select_option("filter")
    expect(tree.locator(".tree .value").first).to_have_text("no")
    query.get_by_label("Plugin").select_option("TaintToleration")
    expect(tree.locator(".lead")).to_contain_text("taint")
    query.get_by_role("textbox", name="Node").fill("n2")
    page.keyboard.press("Tab")
    expect(page).to_have_url(re.compile(r"node=n2&plugin=TaintToleration$"))
    expect(tree.locator(".lead")).to_contain_text("n2")
    page.go_back()
    expect(tree.locator(".lead")).to_contain_text("taint")


def test_a_pod_placed_by_an_earlier_cycle_links_there(page: Page, packed: str) -> None:
    page.goto(f"{packed}?point=raw&plugin=NodeResourcesFit&node=" + _chosen(page, packed))
    earlier = page.locator("#from-tree a.chip", has_text="cycle").first
    earlier.click()
    expect(page).to_have_url(re.compile(r"/pods/.*\?cycle=\d+"))


def _chosen(page: Page, packed: str) -> str:
    page.goto(f"{packed}?point=score")
    return page.locator(".scores tr.chosen [data-from=total]").get_attribute("data-node") or ""


def test_step_by_step_through_the_preemption_dry_runs(page: Page, site: Instance) -> None:
    run = site.record((FOLDER / "10-preemption.yaml").read_bytes())["run"]
    page.goto(f"/runs/{run}/pods/default/urgent/?point=postfilter")
    current = page.locator("#trials [data-trial][aria-current]")
    expect(page.locator("#trials [data-trial]")).to_have_count(3)
    page.keyboard.press("j")
    expect(current).to_contain_text("All 2 pods that may be evicted are removed")
    page.keyboard.press("j")
    expect(current).to_contain_text("default/scan-1 is reprieved")
    expect(current).to_contain_text("Insufficient cpu")
    expect(page.locator("#trials [data-state=away]:not(.legend *)")).to_have_text("default/scan-0 · 10")
    page.reload()
    expect(current).to_contain_text("default/scan-1 is reprieved")
    page.keyboard.press("k")
    page.keyboard.press("k")  # back over the first: to the node that was tried before
    expect(page.locator("#trials h3")).to_contain_text("n2")
    expect(current).to_contain_text("default/report-0 is reprieved")
    page.locator("[data-trials-of=n1]").click()
    expect(page.locator("#trials .lead")).to_contain_text("in violation of a PodDisruptionBudget")
    page.go_back()
    expect(page.locator("#trials h3")).to_contain_text("n2")


def test_from_the_start_of_an_attempt_to_the_configuration(page: Page, site: Instance) -> None:
    run = site.record((FOLDER / "14-backoff.yaml").read_bytes())["run"]
    page.goto(f"/runs/{run}/pods/default/unlucky/")
    page.get_by_text("Waiting time, attempts and queue moves").click()
    moves = page.locator("#way tr", has_text="backoff → active")
    moves.nth(2).get_by_role("button", name="How the time 10 s is computed").click()
    tree = page.locator("#from-tree")
    expect(tree.locator(".lead")).to_contain_text("4 s = min(1 s x 2^2, 10 s)")
    expect(page).to_have_url(re.compile(r"\?point=queue&move=\d+$"))
    page.reload()
    expect(tree.locator(".tree .value").first).to_have_text("10 s")
    page.keyboard.press("Escape")
    page.get_by_text("Waiting time, attempts and queue moves").click()
    page.get_by_role("button", name="How the end is computed: 9.1 s").click()
    expect(tree.locator(".lead")).to_contain_text("Its backoff ends at 9.1 s")
    tree.get_by_role("link", name="podInitialBackoffSeconds").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("KubeSchedulerConfiguration")
