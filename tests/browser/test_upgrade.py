"""Upgrade preview: releases are selected, the steps load by themselves, causes link to pods."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from scheduler_core.releases import RELEASES
from tests.browser.preview import cluster
from tests.kubesched_ui.clusters import as_list
from tests.kubesched_ui.instance import Instance


@pytest.mark.long
def test_a_preview(page: Page, site: Instance) -> None:
    scenario = site.api("POST", "/scenarios", as_list(*cluster()))["id"]
    page.goto(f"/scenarios/{scenario}/")
    card = page.locator("#upgrade")
    card.locator("summary").filter(has_text="Releases").click()
    expect(card.get_by_role("checkbox")).to_have_count(len(RELEASES))
    for release in RELEASES:
        card.locator(f"input[value='{release}']").set_checked(release in ("1.27", "1.34"))
    card.get_by_role("button", name="Preview the upgrade").click()
    page.wait_for_url(re.compile(r"/upgrades/\d+/$"))
    step = page.locator("#preview section").filter(has=page.get_by_role("heading", name="1.27 → 1.34"))
    # loads without a reload; some seventy runs are played on a busy machine
    expect(step).to_contain_text("Changed in 1.28", timeout=60_000)
    expect(page.locator("[data-part=state]")).to_have_text(re.compile("done"))
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    rows = page.locator("#pods tbody tr")
    expect(rows.first).to_contain_text("moved")
    step.get_by_text("Messages that differ only in wording").click()
    expect(step.locator("dd").first).to_be_visible()
    step.locator(".others .cause-group").first.get_by_role("link", name="1 pod").click()
    expect(page).to_have_url(re.compile("show=words.*cause="))
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("no node")
    step.get_by_role("link", name=re.compile("default.web-")).first.click()
    page.wait_for_url(re.compile(r"/compare/\d+/\d+/\?pod="))
    expect(page.locator("#pod")).to_contain_text("moved", timeout=60_000)
    page.get_by_role("link", name="Find the cause").click()
    # a worker process plays some forty runs, and the page loads the result
    expect(page.locator("#cause")).to_contain_text("sidecar_containers", timeout=60_000)
