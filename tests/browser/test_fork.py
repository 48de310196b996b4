"""From a run to a fork and the comparison; two runs of a list; a suggested fix; two releases."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.examples import selection


def test_fork_and_land_on_the_comparison(page: Page, recorded: dict[str, Any]) -> None:
    page.goto(f"/runs/{recorded['run']}/")
    page.get_by_text("Fork with any change").click()
    page.get_by_label("Before cycle").fill("1")
    page.get_by_text("Advanced: changes and settings as JSON").click()
    page.get_by_label("Changes (JSON list)").fill('[{"weight": {"plugin": "ImageLocality", "weight": 7}}]')
    page.get_by_role("button", name="Fork and compare").click()
    page.wait_for_url(re.compile(rf"/compare/{recorded['run']}/\d+/"))
    expect(page.locator(".answer")).to_contain_text("the same outcome")
    expect(page.locator("#compare")).to_contain_text("ImageLocality × 7")
    page.get_by_label("Change", exact=True).select_option("all")
    page.locator("#pods").get_by_role("button", name="Show").click()
    page.locator("#pods tbody a").first.click()
    expect(page.locator("table.aligned").first).to_be_visible()
    page.reload()
    expect(page.locator("table.aligned").first).to_be_visible()
    page.locator(".compared a[href^='/runs/']").last.click()
    expect(page.get_by_role("heading", name="Fork", exact=True)).to_be_visible()


@pytest.mark.parametrize("part", selection(["", "why/"], 2))
def test_from_a_pending_pod_by_a_suggested_fix_to_its_node(page: Page, recorded: dict[str, Any], part: str) -> None:
    page.goto(f"/runs/{recorded['run']}/pods/shop/search-1/{part}")
    page.locator(".fixes").get_by_role("button", name="Prove it").first.click()
    page.wait_for_url(re.compile(rf"/compare/{recorded['run']}/\d+/\?pod=shop%2Fsearch-1"))
    expect(page.locator("#pod")).to_contain_text("gained")
    fork = re.search(r"/compare/\d+/(\d+)/", page.url)
    assert fork
    page.goto(f"/runs/{fork[1]}/pods/shop/search-1/")
    expect(page.locator(".answer")).to_contain_text("Placed on")


@pytest.mark.parametrize("case", selection([("front-3", "alpha"), ("front-3", "delta"), ("search-1", "epsilon")], 3))
def test_why_not_another_node(page: Page, recorded: dict[str, Any], case: tuple[str, str]) -> None:
    """A node with a lower score, a filtered node, a node of a pending pod: the fix leads there."""
    pod, node = case
    page.goto(f"/runs/{recorded['run']}/pods/shop/{pod}/")
    page.get_by_role("textbox", name="Why not").fill(node)
    page.get_by_role("button", name="Explain").click()
    page.wait_for_url(re.compile(rf"/why/.*node={node}"))
    page.reload()  # the URL has the question
    expect(page.get_by_role("textbox", name="Why not")).to_have_value(node)
    page.get_by_role("button", name="Prove it").first.click()
    page.wait_for_url(re.compile(rf"/compare/{recorded['run']}/\d+/\?pod=shop%2F{pod}"))
    expect(page.locator("#pod").get_by_role("link", name=f"B: {node}")).to_be_visible()


def test_the_fixes_of_a_run_are_loaded_after_its_page(page: Page, recorded: dict[str, Any]) -> None:
    page.goto(f"/runs/{recorded['run']}/")
    part = page.locator("#together")
    expect(part.get_by_role("button", name="Copy").first).to_be_visible()
    part.get_by_role("button", name="Prove it").first.click()
    page.wait_for_url(re.compile(rf"/compare/{recorded['run']}/\d+/"))
    expect(page.locator(".answer")).to_contain_text("placed")


@pytest.mark.long
def test_two_releases_are_compared_on_the_page_of_the_scenario(page: Page, recorded: dict[str, Any]) -> None:
    page.goto(f"/scenarios/{recorded['scenario']}/")
    page.get_by_text("Two releases, or ready configurations").click()
    page.get_by_label("Release", exact=True).select_option("1.27")
    page.get_by_label("with", exact=True).select_option("1.34")
    page.get_by_role("button", name="Compare", exact=True).click()
    page.wait_for_url(re.compile(r"/compare/\d+/\d+/"))
    expect(page.locator(".answer")).to_contain_text("the same outcome")
    page.goto("/runs/")
    boxes = page.get_by_role("checkbox", name=re.compile("^Select"))
    boxes.nth(0).check()
    boxes.nth(1).check()
    page.get_by_role("button", name="Compare selected runs").click()
    page.wait_for_url(re.compile(r"/compare/\d+/\d+/"))
