"""The ways from a scenario to the answers of buy and tune."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect


@pytest.mark.long
def test_buy_from_scenario_to_answer(page: Page, recorded: dict[str, int]) -> None:
    page.goto(f"/scenarios/{recorded['scenario']}/")
    page.get_by_role("link", name="Experiments").last.click()
    page.get_by_role("link", name="Which nodes should be bought?", exact=True).click()
    row = page.locator(".node-type").last
    for label, text in (("Name", "huge"), ("Price of one", "2.5"), ("cpu", "64"), ("memory", "256Gi")):
        row.get_by_label(label, exact=True).fill(text)
    page.get_by_text("Time of the search").click()
    page.get_by_label("Processor time for the search, s").fill("1")
    page.get_by_role("button", name="Start the experiment").click()
    expect(page.locator(".experiment-answer")).to_contain_text("no set costs less", timeout=60_000)
    chart = page.locator("[data-chart=prices]")
    chart.scroll_into_view_if_needed()
    expect(chart).to_contain_text("Proved bound")


@pytest.mark.long
def test_tune_from_scenario_to_configuration(page: Page, recorded: dict[str, int]) -> None:
    page.goto(f"/scenarios/{recorded['scenario']}/experiments/tune/")
    page.get_by_label("Aim 1", exact=True).select_option("nodes_used")
    page.get_by_label("Aim 2", exact=True).select_option("requested_share:cpu:stddev")
    page.get_by_label("Configurations to try").fill("4")
    page.get_by_label("Search the Pareto front").check()
    page.get_by_role("button", name="Start the experiment").click()
    expect(page.locator(".experiment-answer")).to_contain_text("Of 4 configurations", timeout=60_000)
    # In this scenario all configurations place the pods alike.
    expect(page.get_by_text("There is nothing to tune")).to_be_visible()
    expect(page.locator("[data-chart]")).to_have_count(0)
