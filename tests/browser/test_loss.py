"""From a scenario to the nodes that may be lost, to one loss and its run."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_capacity_and_moves import ANSWERED, owned
from tests.kubesched_ui.instance import Instance
from tests.scheduler_core.build import node


@pytest.mark.long
def test_loss(quiet_page: Page, site: Instance) -> None:
    page = quiet_page
    objects = [node("a", cpu="4"), node("b", cpu="2"), owned("large", "a", "3"), owned("small", "b", "1")]
    made = site.record("\n---\n".join(map(json.dumps, objects)).encode())

    page.goto(f"/scenarios/{made['scenario']}/")
    page.get_by_role("link", name="Experiments", exact=True).last.click()
    page.get_by_role("link", name="Which nodes can fail or be drained?").click()
    page.get_by_role("radio", name=re.compile("Drain")).check()
    page.get_by_role("button", name="Start the experiment").click()
    lead = page.locator(".experiment-answer")
    answer = "1 of 2 nodes cannot be drained without leaving pods pending; the worst is a: 1 pod."
    expect(lead).to_contain_text(answer, timeout=ANSWERED)
    worst = page.locator("#losses tbody tr").first
    expect(worst).to_contain_text("1 pod down")
    worst.get_by_role("link", name="a", exact=True).click()
    expect(page.get_by_role("row").filter(has_text="default/large")).to_contain_text("1 Insufficient cpu")
    page.get_by_role("button", name="Open as run").click()
    page.wait_for_url("**/runs/*/")
    expect(page.locator("h1")).to_contain_text("drain of a")
    answer = "a could take the pod, but is cordoned. 1 other node is smaller than the request of 3 cpu."
    expect(page.locator(".answer").first).to_contain_text(answer, timeout=ANSWERED)
