"""From a scenario in two clicks to the form of a comparison, its picture, and the pods that make the difference."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.kubesched_ui.instance import Instance

SAMPLE = Path(__file__).parents[2] / "kubesched_ui" / "scenarios" / "samples" / "09-bin-packing.yaml"
ANSWERED = 30_000  # milliseconds on a busy machine


@pytest.mark.long
def test_compare_configurations(page: Page, site: Instance) -> None:
    scenario = site.api("POST", "/scenarios", SAMPLE.read_bytes())["id"]
    page.goto(f"/scenarios/{scenario}/")
    page.get_by_role("link", name="Experiments", exact=True).last.click()
    page.get_by_role("link", name="Which configuration places pods best?").click()

    expect(page.get_by_text("12 runs")).to_be_visible()
    page.get_by_label("Uploaded with the cluster").uncheck()
    page.get_by_label("Seeds of each").fill("2")
    expect(page.get_by_text("6 runs")).to_be_visible()
    page.get_by_role("button", name="Start the experiment").click()
    page.wait_for_url(re.compile(r"/experiments/\d+/$"))
    expect(page.locator(".experiment-answer")).to_contain_text("use the fewest nodes: 2 instead of 4", timeout=ANSWERED)

    plot = page.locator("#plot")
    expect(plot.locator(".scatterlayer .point")).to_have_count(2)  # two of the three variants coincide
    expect(plot.get_by_role("status")).to_contain_text("Pareto front")
    plot.get_by_label("Horizontal axis").select_option(label="Requested share of cpu, standard deviation")
    expect(page).to_have_url(re.compile(r"x=requested_share%3Acpu%3Astddev"))
    expect(plot.get_by_text("Requested share of cpu, standard deviation, %").first).to_be_visible()  # drawn again
    page.reload()
    expect(plot.get_by_label("Horizontal axis")).to_have_value("requested_share:cpu:stddev")

    row = page.locator("#metrics").get_by_role("row", name=re.compile("Nodes with pods"))
    expect(row.get_by_text("best")).to_have_count(2)
    difference = page.locator("#difference")
    expect(difference).to_contain_text("default/job-1 and 7 equal")
    difference.get_by_text("Pods whose outcomes differ").click()
    expect(difference.get_by_role("rowheader", name="default/job-3")).to_be_visible()
    page.locator("#fullness").scroll_into_view_if_needed()
    expect(page.locator("#fullness .scatterlayer .trace")).to_have_count(2)
    difference.get_by_role("link", name="MostAllocated").click()
    expect(page.get_by_role("heading", name="Computation 3")).to_be_visible()
    page.go_back()
    difference.get_by_role("button", name="Compare pod by pod").click()
    expect(page.get_by_role("heading", name="Comparison of two runs")).to_be_visible()
    expect(page.locator(".answer")).to_contain_text("move", timeout=ANSWERED)


@pytest.mark.long
def test_noise(page: Page, site: Instance) -> None:
    scenario = site.api("POST", "/scenarios", SAMPLE.read_bytes())["id"]
    page.goto(f"/scenarios/{scenario}/experiments/")
    page.get_by_role("link", name="How much does chance decide?").click()
    page.get_by_label("Number of seeds").fill("12")
    expect(page.get_by_text("12 runs")).to_be_visible()
    page.get_by_role("button", name="Start the experiment").click()
    expect(page.locator(".experiment-answer")).to_contain_text(
        "8 of 8 pods are placed with each of 12 seeds", timeout=ANSWERED
    )
    expect(page.locator(".barlayer .point").first).to_be_visible()
    heading = page.locator("#cells").get_by_role("link", name="Pods placed")
    heading.press("Enter")
    expect(page).to_have_url(re.compile("sort=placed"))
    expect(heading).to_be_focused()  # the table was replaced
    page.get_by_text("Node groups and pods").click()
    expect(page.get_by_text("12 of 12 seeds").first).to_be_visible()
